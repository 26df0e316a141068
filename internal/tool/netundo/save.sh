# Saves what a change of one IPoIB interface may have to be undone to.
# $1 directory, $2 interface, $3 mode, $4 MTU, $5 "up" or "down", $6 addresses
# that the change adds and $7 that it removes (blank-separated), $8 the text of
# the undo script, then the files that the change writes or removes.
set -eu
dir=$1 name=$2
umask 077
rm -rf "$dir"
mkdir -p "$dir/files"
printf '%s\n' "$name" >"$dir/interface"
printf '%s\n' "$3" >"$dir/mode"
printf '%s\n' "$4" >"$dir/mtu"
printf '%s\n' "$5" >"$dir/up"
for address in $6; do printf '%s\n' "$address"; done >"$dir/added"
for address in $7; do printf '%s\n' "$address"; done >"$dir/removed"
printf '%s\n' "$8" >"$dir/undo.sh"
shift 8
: >"$dir/manifest"
for file; do
	if [ -e "$file" ]; then
		cp -p "$file" "$dir/files/${file##*/}"
		printf 'restore %s\n' "$file" >>"$dir/manifest"
	else
		printf 'remove %s\n' "$file" >>"$dir/manifest"
	fi
done
