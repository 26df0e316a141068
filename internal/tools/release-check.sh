#!/usr/bin/env bash
# Builds what a release would publish, without publishing it, and uses it as a
# person would. $1 is the version; with "this" as $2 only the platform of this
# machine is built. It builds what is committed, in clones, and leaves nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
export VERSION=$1
name=terraform-provider-infiniband
platform=$(go env GOOS)_$(go env GOARCH)
unset TF_CLI_CONFIG_FILE TF_CLI_ARGS TF_PLUGIN_CACHE_DIR TF_DATA_DIR TF_LOG || true

step() { printf '\n-- %s (%ss)\n' "$*" "$SECONDS"; }
fail() {
	printf 'release-check: %s\n' "$*" >&2
	exit 1
}

for program in git gpg unzip sha256sum cmp; do
	command -v "$program" >/dev/null || fail "$program is not installed"
done
[ -z "$(git status --porcelain)" ] || echo "Changes that are not committed are not in this build."

# Not $TMPDIR: the name of the socket of a gpg-agent has at most 108 bytes.
work=$(mktemp -d /tmp/release-check.XXXXXX)
export GNUPGHOME=$work/gnupg
lab=
cleanup() {
	if [ -n "$lab" ]; then
		kill "$lab" 2>/dev/null || true
		wait "$lab" 2>/dev/null || true
	fi
	gpgconf --kill all >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap cleanup EXIT

step "a key for one day"
mkdir -m 700 "$GNUPGHOME"
export GPG_PASSPHRASE=for-one-day
gpg --batch --quiet --pinentry-mode loopback --passphrase "$GPG_PASSPHRASE" --quick-generate-key 'release-check <release-check@example.org>' rsa2048 sign 1d 2>/dev/null
GPG_FINGERPRINT=$(gpg --batch --with-colons --list-keys 2>/dev/null | awk -F: '$1 == "fpr" { print $10; exit }')
export GPG_FINGERPRINT

# Two clones, with paths of different lengths.
build() {
	git clone -q "$root" "$1"
	if [ "${2:-}" = this ]; then
		sed -i -E "s/^( *goos): \[linux, .*/\1: [${platform%_*}]/; s/^( *goarch): .*/\1: [${platform#*_}]/" "$1/.goreleaser.yml"
	fi
	(cd "$1" && "$root/.tools/bin/goreleaser" release --snapshot --clean >"$1.log" 2>&1) || {
		cat "$1.log"
		fail "goreleaser"
	}
}
first=$work/a
second=$work/another/place
step "first build"
build "$first" "${2:-}"
step "second build"
mkdir -p "${second%/*}"
build "$second" "${2:-}"
dist=$first/bin/release

step "what there is"
# The first build is the provider, the second the simulated lab.
listed() { sed -n -E "s/^ *$1: \[(.*)\]/\1/p" "$first/.goreleaser.yml" | sed -n "$2p" | tr -d ','; }
platforms=
manifest=${name}_${VERSION}_manifest.json
cp "$first/.release/terraform-registry-manifest.json" "$dist/$manifest"
cp "$second/.release/terraform-registry-manifest.json" "$second/bin/release/$manifest"
files=("$manifest")
for os in $(listed goos 2); do
	for arch in $(listed goarch 2); do
		files+=("infiniband-lab_${VERSION}_${os}_$arch".{tar.gz,cdx.json})
	done
done
for os in $(listed goos 1); do
	for arch in $(listed goarch 1); do
		platforms="$platforms ${os}_$arch"
		files+=("${name}_${VERSION}_${os}_$arch".{zip,cdx.json})
	done
done
[ -n "$platforms" ] || fail "no platform"
sums=${name}_${VERSION}_SHA256SUMS
diff <(printf '%s\n' "${files[@]}" | sort) <(awk '{ print $2 }' "$dist/$sums" | sort) || fail "SHA256SUMS names other files"
(cd "$dist" && sha256sum --check --quiet "$sums") || fail "the checksums are wrong"
grep -q '"6.0"' "$dist/$manifest" || fail "the manifest does not name protocol 6.0"
(cd "$dist" && du -h -- *.zip *.tar.gz)

step "both builds have the same bytes"
for file in "${files[@]}" "$sums"; do
	cmp "$dist/$file" "$second/bin/release/$file" || fail "$file differs between two builds"
done

step "signature"
gpg --batch --verify "$dist/$sums.sig" "$dist/$sums" 2>&1 | grep -i 'good signature' || fail "the signature is not good"
echo >>"$second/bin/release/$sums"
! gpg --batch --verify "$dist/$sums.sig" "$second/bin/release/$sums" 2>/dev/null || fail "a changed file passes for signed"

step "archive and list of its parts"
unpacked=$work/unpacked
unzip -q -d "$unpacked" "$dist/${name}_${VERSION}_$platform.zip"
binary=$(cd "$unpacked" && ls ${name}*)
for file in LICENSE LICENSES-of-modules.txt; do
	[ -s "$unpacked/$file" ] || fail "$file is not in the zip file"
done
[ "$("$unpacked/$binary" -version)" = "$name $VERSION" ] || fail "-version prints $("$unpacked/$binary" -version)"
parts=0
while read -r path version; do
	grep -qF "\"pkg:golang/$path@$version\"" "$dist/${name}_${VERSION}_$platform.cdx.json" || fail "$path $version is not in the list"
	grep -qxF "$path $version" "$unpacked/LICENSES-of-modules.txt" || fail "the licence of $path $version is not in the zip file"
	parts=$((parts + 1))
done < <(go version -m "$unpacked/$binary" | awk '$1 == "dep" { print $2, $3 }')
[ "$parts" -gt 0 ] || fail "go version -m names no module"
echo "$binary, $(stat -c %s "$unpacked/$binary") bytes, from $parts modules, each in the list and with its licence"

if [ "${platform%_*}" = linux ]; then
	step "a simulated lab, of its own archive"
	mkdir "$work/lab"
	tar -xzf "$dist/infiniband-lab_${VERSION}_$platform.tar.gz" -C "$work/lab"
	for file in LICENSE LICENSES-of-modules.txt examples/lab-crossflash/main.tf examples/modules/lab/main.tf; do
		[ -s "$work/lab/$file" ] || fail "$file is not in the archive of the lab"
	done
	[ "$("$work/lab/infiniband-lab" version)" = "infiniband-lab $VERSION" ] || fail "the lab is of another version"
else
	step "a simulated lab"
	mkdir "$work/lab"
	cp -r examples "$work/lab/"
	go build -o "$work/lab/infiniband-lab" ./internal/labsim/cmd/infiniband-lab
fi
"$work/lab/infiniband-lab" serve crossflash >"$work/lab.txt" &
lab=$!
until grep -q '^Firmware images' "$work/lab.txt"; do
	kill -0 "$lab" 2>/dev/null || fail "the lab did not start"
	sleep 0.2
done
variables=$(sed -n 's/.*TF_CLI_ARGS_.*-var-file=\([^"]*\)".*/\1/p' "$work/lab.txt")
consent=$(sed -n "s/.* terraform apply -var '\(.*\)'/\1/p" "$work/lab.txt")

# The zip files of a mirror lie as they are published. Nothing but the mirror is asked.
mirror=$work/mirror
for registry in registry.terraform.io registry.opentofu.org; do
	mkdir -p "$mirror/$registry/ibfabric/infiniband"
	cp "$dist"/*.zip "$mirror/$registry/ibfabric/infiniband/"
done
printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$mirror" >"$work/rc"
export TF_CLI_CONFIG_FILE=$work/rc

install() { # engine
	local dir
	dir=$work/$(basename "$1") lock=()
	step "$("$1" version | head -1): lock, init, validate, plan"
	cp -r "$work/lab/examples" "$dir"
	cd "$dir/lab-crossflash"
	for p in $platforms; do lock+=("-platform=$p"); done
	"$1" providers lock -fs-mirror="$mirror" "${lock[@]}" >lock.log || { cat lock.log; fail "providers lock"; }
	[ "$(grep -c '"h1:' .terraform.lock.hcl)" = "${#lock[@]}" ] || { cat .terraform.lock.hcl; fail "the lock file does not have each platform"; }
	"$1" init -input=false -no-color -lockfile=readonly >init.log || { cat init.log; fail "init"; }
	"$1" validate -no-color
	"$1" plan -input=false -no-color -var-file="$variables" -var "$consent" >plan.log || { cat plan.log; fail "plan"; }
	grep '^Plan: .* to add, 0 to change, 0 to destroy' plan.log || { cat plan.log; fail "the plan is not what it should be"; }
	cd "$root"
}
engine=$(internal/tools/engine.sh)
tofu=$(internal/tools/engine.sh tofu)
install "$tofu"
if "$engine" version | grep -q '^Terraform'; then
	install "$engine"
else
	echo "NOT INSTALLED into Terraform: this machine has none of version 1.11 or newer."
fi

step "the release is whole"
