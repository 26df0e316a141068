# Sets the error counters of ports to zero. $1 device, $2 port to ask through; then of each port the LID that leads to
# it, and its number. 0xfff are the counters without those of data, and bit 16 is PortXmitWait.
device=$1 through=$2
shift 2
echo '@begin 1'
while [ $# -ge 2 ]; do
	answer "$1 $2" perfquery -C "$device" -P "$through" -R "$1" "$2" 0x10fff
	shift 2
done
echo '@end'
