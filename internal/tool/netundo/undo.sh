# Undoes an unconfirmed change of one IPoIB interface. $1 is the directory that
# holds what was saved. Written by Terraform (ibfabric/infiniband).
LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
dir=$1
# Whoever makes this directory decides: the confirmation makes it too.
mkdir "$dir/decided" 2>/dev/null || exit 0
read -r name <"$dir/interface"
read -r mode <"$dir/mode"
read -r mtu <"$dir/mtu"
read -r up <"$dir/up"
while read -r what file; do
	case $what in
	restore) cp -p "$dir/files/${file##*/}" "$file" ;;
	remove) rm -f "$file" ;;
	esac
done <"$dir/manifest"
udevadm control --reload
netplan generate
networkctl reload
# The mode before the MTU: it decides which MTU is legal.
if [ -n "$mode" ] && [ -e "/sys/class/net/$name/mode" ]; then
	echo "$mode" >"/sys/class/net/$name/mode"
fi
networkctl reconfigure "$name"
while read -r address; do
	ip addr del "$address" dev "$name" 2>/dev/null
done <"$dir/added"
ip link set dev "$name" mtu "$mtu"
if [ "$up" = up ]; then
	ip link set dev "$name" up
	while read -r address; do
		ip addr replace "$address" dev "$name"
	done <"$dir/removed"
else
	ip link set dev "$name" down
fi
: >"$dir/undone"
