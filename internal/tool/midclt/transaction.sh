# Stores network configuration and commits it. $1 holds the options of the
# commit, then follow the calls with their arguments. If one fails, everything
# that was stored is taken back.
commit=$1
shift
back() {
	midclt -t 180 call interface.rollback >/dev/null
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
