# P_Key tables of adapters' ports. $1 device, $2 port to ask through; then of each
# port its LID and its number. Eight are asked at once, as in ports.sh. Each answer
# leaves in one write, shorter than a pipe takes at once.
device=$1 through=$2
shift 2
ask() {
	keys=$(smpquery -C "$device" -P "$through" pkeys "$1" "$2" 2>&1)
	printf '@port %s %s\n%s\n@done\n' "$1" "$2" "$keys"
}
running=0
while [ $# -ge 2 ]; do
	ask "$1" "$2" &
	shift 2
	running=$((running + 1))
	if [ "$running" -ge 8 ]; then
		wait
		running=0
	fi
done
wait
printf '@end\n'
