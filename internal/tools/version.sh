#!/bin/sh
# Prints the version of a build of this tree: on a tag the tag's, after a tag the
# next patch, and without any tag the first. It is a plain number in any case:
# `init` takes a pre-release only where a configuration names it exactly.
set -eu
cd "$(dirname "$0")/../.."
first=0.1.0

# A tree that was unpacked inside somebody's repository has no tags of its own.
[ "$(git rev-parse --show-cdup 2>/dev/null)" = "" ] || { echo "$first"; exit 0; }
tags='--tags --match=v[0-9]*.[0-9]*.[0-9]* --exclude=*-*'
# shellcheck disable=SC2086 # a list of options
last=$(set -f; git describe $tags --abbrev=0 2>/dev/null) || { echo "$first"; exit 0; }
# shellcheck disable=SC2086
here=$(set -f; git describe $tags --dirty)
version=${last#v}
if [ "$here" != "$last" ]; then
	version=${version%.*}.$((${version##*.} + 1))
fi
echo "$version"
