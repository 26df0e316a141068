# Saves what a change of one IPoIB interface may have to be undone to.
# $1 directory, $2 name of this change, and after a shift: $2 network stack, $3
# interface, $4 whether it existed ("yes", "no"), $5 mode, $6 MTU, $7 "up" or "down",
# $8 profile of NetworkManager or "", $9 lists, one entry a line: "added ADDRESS",
# "removed ADDRESS", "routes-added TO VIA", "routes-removed TO VIA", "routes-ours TO
# VIA", "rules-ours static", "ports NAME MODE MTU up|down" of a bond; then the text of the undo script, the path and the text of a unit that runs
# it at boot, and the files that the change writes or removes.
set -eu
final=$1 dir=$1.$2 change=$2 newline='
'
shift
umask 077
rm -rf "$final".*
mkdir -p "$dir/files"
: >"$dir/change.$change"
# What an undo writes about itself is made now, and later renamed only: a disk that has become
# full must not stop it.
mkdir "$dir/undecided"
: >"$dir/undecided/undo"
: >"$dir/not-failed"
: >"$dir/lost"
: >"$dir/rules-now"
echo 'by the host' >"$dir/by-host"
echo 'at boot' >"$dir/at-boot"
printf '%s\n' "$2" >"$dir/stack"
printf '%s\n' "$3" >"$dir/interface"
printf '%s\n' "$4" >"$dir/existed"
printf '%s\n' "$5" >"$dir/mode"
printf '%s\n' "$6" >"$dir/mtu"
printf '%s\n' "$7" >"$dir/up"
printf '%s\n' "$8" >"$dir/profile"
for list in added removed routes-added routes-removed routes-ours rules-ours ports; do
	: >"$dir/$list"
done
for list in routes rules nexthops neighbours; do
	: >"$dir/$list"
done
printf '%s\n' "$9" | while read -r list entry; do
	[ -z "$list" ] || printf '%s\n' "$entry" >>"$dir/$list"
done
# Network services drop what others have added to the network. networkd also drops that of
# every other interface that a reload has it configure anew, and the rules of all
# (ManageForeignRoutingPolicyRules=). Routes of the kernel, of routers and of DHCP come
# back by themselves.
devices=$3
case $2 in
netplan | networkd)
	for link in /sys/class/net/*; do
		[ "${link##*/}" = "$3" ] || ! read -r index 2>/dev/null <"$link/ifindex" ||
			! grep -q '^NETWORK_FILE=.' "/run/systemd/netif/links/$index" 2>/dev/null || devices="$devices ${link##*/}"
	done
	for family in -4 -6; do
		ip "$family" rule show 2>/dev/null | while read -r rule; do
			printf '%s\n' "$family $rule" >>"$dir/rules"
		done
	done
	;;
esac
for device in $devices; do
	ip nexthop show dev "$device" 2>/dev/null | while read -r nexthop; do
		printf '%s\n' "$device $nexthop" >>"$dir/nexthops"
	done
	for family in -4 -6; do
		ip "$family" neighbour show dev "$device" nud permanent 2>/dev/null | while read -r neighbour; do
			printf '%s\n' "$device ${neighbour% PERMANENT*}" >>"$dir/neighbours"
		done
		[ "$device" != "$3" ] || [ "$4" = yes ] || continue
		if ! said=$(ip "$family" route show table all dev "$device" 2>&1); then
			[ "$family" = -6 ] && [ ! -e /proc/net/if_inet6 ] || # the kernel has no IPv6
				printf '%s\n' "$device unread ip $family route: ${said%%"$newline"*}" >>"$dir/routes"
			continue
		fi
		printf '%s\n' "$said" | while read -r route; do
			case " $route " in
			"  " | *" proto kernel "* | *" proto ra "* | *" proto dhcp "* | *" proto redirect "* | *" expires "*) ;;
			*) printf '%s\n' "$device $family $route" >>"$dir/routes" ;;
			esac
		done
	done
done
cat /proc/sys/kernel/random/boot_id >"$dir/boot_id"
shift 9
printf '%s\n' "$1" >"$dir/undo.sh"
unit=$2
printf '%s\n' "$3" >"$dir/unit"
shift 3
: >"$dir/manifest"
copy=0
for file; do
	copy=$((copy + 1))
	if [ -e "$file" ]; then
		cp -p "$file" "$dir/files/$copy"
		printf 'restore %s %s\n' "$copy" "$file" >>"$dir/manifest"
	else
		printf 'remove %s %s\n' "$copy" "$file" >>"$dir/manifest"
	fi
done
# At once, and only if no other change of this interface is open: a directory is not
# moved onto one that has something in it.
if ! mv -T "$dir" "$final"; then
	rm -rf "$dir"
	exit 75
fi
dir=$final
# Last, when everything it needs is there. The link is what enabling makes.
mkdir -p /etc/systemd/system/sysinit.target.wants
cp "$dir/unit" "$unit"
chmod 644 "$unit"
ln -sf "$unit" "/etc/systemd/system/sysinit.target.wants/${unit##*/}"
sync
