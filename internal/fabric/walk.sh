# What one port sees of its fabric. $1 device, $2 port.
echo '@begin 1'
lacking=
for program in ibnetdiscover iblinkinfo ibqueryerrors sminfo smpquery; do
	has "$program" && continue
	lacking=yes
	printf '@missing %s\n' "$program"
done
if [ -z "$lacking" ]; then
	# A name of a node name map would stand for what the node says of itself.
	answer net ibnetdiscover -C "$1" -P "$2" --node-name-map /dev/null
	answer links iblinkinfo -l -C "$1" -P "$2" --node-name-map /dev/null
	answer sm sminfo -e -C "$1" -P "$2"
	# Counters are asked for by LID. Without a file of thresholds the tool would hide the
	# small ones; on service level 0 it needs no path records. Status 1: there are some.
	[ "$STATUS" != 0 ] || answer errors ibqueryerrors -C "$1" -P "$2" --node-name-map /dev/null --threshold-file /dev/null --skip-sl
fi
echo '@end'
