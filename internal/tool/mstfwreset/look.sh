# What mstfwreset meets on this host at one card. Reads only, and opens no card. Comes behind the functions
# of an answer.
#   ROOT CARD
ROOT=$1
echo '@begin 1'
for program in mstfwreset mstreg lspci setpci; do
	has "$program" || echo "@lacks $program"
done
# lscpu, by which the tool knows a virtual machine, takes this flag.
grep -q '^flags.* hypervisor' "$ROOT/proc/cpuinfo" 2>/dev/null && echo '@virtual'
# The tool refuses beside one, on whatever port that is.
for dir in "$ROOT"/proc/[0-9]*; do
	first_line "$dir/comm"
	case $LINE in opensm) echo "@opensm ${dir##*/}" ;; esac
done
# A reset takes all functions of a slot, and their virtual ones.
for dir in "$ROOT/sys/bus/pci/devices/${2%.*}".*; do
	[ -e "$dir" ] || continue
	driver=$(readlink "$dir/driver")
	first_line "$dir/sriov_numvfs"
	echo "@function ${dir##*/} ${LINE:-0} ${driver##*/}"
done
echo '@end'
