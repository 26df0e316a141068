# What one port sees of its fabric. $1 device, $2 port; every answer behind a
# line "@NAME status", with the messages of the program among it.
part() {
	name=$1
	shift
	text=$("$@" 2>&1)
	status=$?
	printf '@%s %s\n%s\n' "$name" "$status" "$text"
}
lacking=
for program in ibnetdiscover iblinkinfo ibqueryerrors sminfo smpquery; do
	if ! command -v "$program" >/dev/null 2>&1; then
		lacking=yes
		printf '@missing %s\n' "$program"
	fi
done
if [ -n "$lacking" ]; then
	printf '@end\n'
	exit 0
fi
part net ibnetdiscover -C "$1" -P "$2"
part links iblinkinfo -l -C "$1" -P "$2"
part sm sminfo -C "$1" -P "$2"
# Counters are asked for by LID. Without a file of thresholds the tool would hide the
# small ones; on service level 0 it needs no path records. Status 1: there are some.
[ "$status" != 0 ] || part errors ibqueryerrors -C "$1" -P "$2" --threshold-file /dev/null --skip-sl
printf '@end\n'
