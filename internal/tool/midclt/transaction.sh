# Stores network configuration and commits it. $1 holds the options of the
# commit, $2 the init script that undoes it at a restart, then follow the calls
# with their arguments. If one fails, everything that was stored is taken back, and
# the status is 1. If that fails too, the init script stays, and the status is 3.
# Prints the id of the init script.
commit=$1
# By the host's clock, like the comparison at the restart.
guard=$(printf '%s' "$2" | sed "s/@until@/$(($(date +%s) + 900))/")
shift 2
entry=$(midclt call initshutdownscript.create "$guard") || exit 1
id=$(printf '%s' "$entry" | sed -n 's/.*"id": *\([0-9][0-9]*\).*/\1/p')
if [ -z "$id" ]; then
	echo "initshutdownscript.create answered without an id: $entry" >&2
	exit 1
fi
back() {
	midclt -t 180 call interface.rollback >/dev/null || exit 3
	midclt call initshutdownscript.delete "$id" >/dev/null
	exit 1
}
while [ $# -gt 0 ]; do
	case $1 in
	interface.update)
		midclt call "$1" "$2" "$3" >/dev/null || back
		shift 3
		;;
	interface.delete)
		midclt call "$1" "$2" >/dev/null || back
		shift 2
		;;
	datastore.update)
		midclt call "$1" "$2" "$3" "$4" >/dev/null || back
		shift 4
		;;
	*)
		echo "unexpected call $1" >&2
		back
		;;
	esac
done
midclt -t 180 call interface.commit "$commit" >/dev/null || back
echo "$id"
