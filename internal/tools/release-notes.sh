#!/bin/sh
# Prints the section of CHANGELOG.md about the version $1.
set -eu
cd "$(dirname "$0")/../.."
awk -v version="$1" '
	/^## / { if (found) exit; found = ($2 == version && NF == 2); next }
	found { print; lines++ }
	END { if (!lines) exit 1 }
' CHANGELOG.md || {
	echo "CHANGELOG.md has no section '## $1'. Is it still marked as unreleased?" >&2
	exit 1
}
