# What one port sees of its fabric. $1 device, $2 port; every answer behind a
# line "@NAME status", with the messages of the program among it.
part() {
	name=$1
	shift
	text=$("$@" 2>&1)
	status=$?
	printf '@%s %s\n%s\n' "$name" "$status" "$text"
}
for program in ibnetdiscover iblinkinfo ibqueryerrors sminfo smpquery; do
	command -v "$program" >/dev/null 2>&1 || printf '@missing %s\n' "$program"
done
part net ibnetdiscover -C "$1" -P "$2"
part links iblinkinfo -l -C "$1" -P "$2"
part sm sminfo -C "$1" -P "$2"
# Counters are asked for by LID.
[ "$status" != 0 ] || part errors ibqueryerrors -C "$1" -P "$2" --threshold-file /dev/null --skip-sl
printf '@end\n'
