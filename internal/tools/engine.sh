#!/bin/sh
# Prints the path of the Terraform-compatible engine to use. Order: $ENGINE if
# set, terraform on PATH, tofu on PATH (each if it is 1.11 or newer), else an OpenTofu built from source into
# .tools/bin (a few minutes, once). With "tofu" as first argument the answer is
# an OpenTofu in any case.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
built=$root/.tools/bin/tofu-1.12.6

build_tofu() {
	[ -x "$built" ] && return
	echo "Building OpenTofu 1.12.6 from source (once, about 4 minutes on 2 cores) …" >&2
	mkdir -p "$root/.tools/bin"
	# `go install module@version` is refused: OpenTofu's go.mod has a replace line.
	# A module of our own repeats it.
	(cd "$root/internal/tools/tofu" && GOFLAGS=-mod=readonly go build -trimpath -o "$built" github.com/opentofu/opentofu/cmd/tofu) >&2
}

# The consents of the provider are write-only arguments, which 1.11 brought.
recent() {
	minor=$("$1" version 2>/dev/null | sed -n '1s/.* v1\.\([0-9]*\)\..*/\1/p')
	[ "${minor:-0}" -ge 11 ]
}

if [ "${1:-}" = tofu ]; then
	engine=$(command -v tofu) && recent "$engine" && echo "$engine" && exit 0
	build_tofu
	echo "$built"
	exit 0
fi
if [ -n "${ENGINE:-}" ]; then
	command -v "$ENGINE" && exit 0
	echo "ENGINE=$ENGINE is not a program on PATH" >&2
	exit 1
fi
for name in terraform tofu; do
	engine=$(command -v "$name") && recent "$engine" && echo "$engine" && exit 0
done
build_tofu
echo "$built"
