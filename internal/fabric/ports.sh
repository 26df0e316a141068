# PortInfo and P_Keys of many ports. $1 device, $2 port to ask through; then of
# each port its kind (ca, sw, or pkeys for a ca of which nothing else is wanted),
# its way (a LID, or a route with a leading 0,) and its number; of a switch of
# Mellanox also vendor, its LID and 0. Eight are asked at
# once: a process costs more than its answer. Each section, named by way and number,
# leaves in one write, shorter than a pipe takes at once.
device=$1 through=$2
shift 2
ask() {
	if [ "$1" = vendor ]; then
		# One without an agent of this class keeps the tool waiting three times.
		report=$(section "vendor $2" 0 "$(vendstat -C "$device" -P "$through" -t 500 -N "$2" 2>&1)")
		printf '%s\n' "$report"
		return
	fi
	case $2 in
	0 | 0,*) direct=-D ;;
	*) direct= ;;
	esac
	info='' sm='' keys=''
	if [ "$1" != pkeys ]; then
		info=$(smpquery -C "$device" -P "$through" $direct portinfo "$2" "$3" 2>&1)
	fi
	case $info in
	*IsSM*) sm=$(sminfo -C "$device" -P "$through" $direct "$2" 2>&1) ;;
	esac
	info=$(printf '%s\n' "$info" | grep -E '^(# Port info|Lid:|SMLid:|CapMask:|Link(State|Width|Speed)|PhysLinkState|NeighborMTU|MtuCap)')
	if [ "$1" != sw ]; then
		keys=$(smpquery -C "$device" -P "$through" $direct pkeys "$2" "$3" 2>&1)
	fi
	report=$(section "$2 $3" 0 "$info
$sm
$keys")
	printf '%s\n' "$report"
}
echo '@begin 1'
running=0
while [ $# -ge 3 ]; do
	ask "$1" "$2" "$3" &
	shift 3
	running=$((running + 1))
	if [ "$running" -ge 8 ]; then
		wait
		running=0
	fi
done
wait
echo '@end'
