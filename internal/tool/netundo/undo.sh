# Undoes an unconfirmed change of one IPoIB interface. $1 is the directory that
# holds what was saved; $2 is "boot" if it runs before the network service of a
# boot, and "routes" if it only puts back what others have added. Written by Terraform (ibfabric/infiniband).
LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
dir=$1 boot=${2:-}
# @GENERATE@
read -r name <"$dir/interface"
# networkd configures in the background, and drops routes at its start.
settle() {
	read -r index 2>/dev/null <"/sys/class/net/$1/ifindex" || return 0
	n=0
	while [ "$n" -lt 5 ]; do
		admin=
		while read -r line; do
			case $line in ADMIN_STATE=*) admin=${line#*=} ;; esac
		done 2>/dev/null <"/run/systemd/netif/links/$index"
		case $admin in pending | initialized | configuring) sleep 1 ;; *) return 0 ;; esac
		n=$((n + 1))
	done
}
# Whether $1 is a line of the file $2.
listed() {
	while read -r entry; do
		[ "$entry" != "$1" ] || return 0
	done <"$2"
	return 1
}
# Sets words to those of $1 without what ip prints and does not take.
plain() {
	words=
	for word in $1; do
		case $word in
		linkdown | dead | pervasive | offload | offload_failed | trap | rt_offload | rt_trap) ;;
		'[detached]' | '[unresolved]') ;;
		*) words="$words${words:+ }$word" ;;
		esac
	done
}
# Sets words to those of $1 without the word $2 and the one behind it.
drop() {
	words='' skip=
	for word in $1; do
		if [ -n "$skip" ]; then
			skip=
		elif [ "$word" = "$2" ]; then
			skip=1
		else
			words="$words${words:+ }$word"
		fi
	done
}
# Adds what the words $1 say. What is there already is no failure.
add() {
	# shellcheck disable=SC2086 # words
	said=$(ip $1 2>&1) && return 0
	case $said in *"File exists"*) return 0 ;; esac
	return 1
}
# Puts back one route that others have added, but for those of the list $1.
put_back_route() {
	plain "$route"
	full=$words
	drop "$full" nhid
	route=$words
	to=${route%% *} all=0.0.0.0/0 one=/32
	[ "$family" = -4 ] || all=::/0 one=/128
	case $to in default) to=$all ;; */*) ;; *) to=$to$one ;; esac
	via=${route#* via }
	[ -z "$1" ] || [ "$device" != "$name" ] || ! listed "$to ${via%% *}" "$dir/$1" || return 0
	if [ "$full" != "$route" ]; then
		# The nexthop object holds the gateway.
		drop "$full" via
		add "$family route add $words" && return 0
	fi
	add "$family route add $route dev $device" || echo "routes $device $route ($said)"
}
# Whether the policy rule is there.
there() (
	ip "$family" rule show >"$dir/rules-now"
	while read -r p r; do
		[ "$p $r" != "$preference $rule" ] || exit 0
	done <"$dir/rules-now"
	exit 1
)
# Puts back what others have added, but for the routes of the list $1, and prints what it
# cannot put back: the kind, the interface and the text. What is there stays as it is.
put_back() (
	set -f
	# The rules first: without that of the main table no gateway is within reach.
	[ ! -s "$dir/rules" ] || settle "$name"
	while read -r family preference rule; do
		# The kernel takes its own ones a second time. Those that a file has set end with it.
		! there || continue
		[ -z "$1" ] || [ ! -s "$dir/rules-ours" ] || [ "$rule" = "${rule#* proto static}" ] || continue
		plain "$rule"
		add "$family rule add preference ${preference%:} $words" || echo "rules - ${preference%:} $words ($said)"
	done <"$dir/rules"
	settled=
	while read -r device nexthop; do
		settle "$device"
		plain "$nexthop"
		drop "$words" scope
		add "nexthop add $words" || echo "nexthops $device $words ($said)"
	done <"$dir/nexthops"
	while read -r device family route; do
		if [ "$family" = unread ]; then
			printf '%s\n' "routes $device routes that could not be read before the change ($route)"
			continue
		fi
		[ "$device" = "$settled" ] || settle "$device"
		settled=$device
		put_back_route "$1"
	done <"$dir/routes"
	while read -r device neighbour; do
		settle "$device"
		add "neighbour add $neighbour dev $device nud permanent" || echo "neighbours $device $neighbour ($said)"
	done <"$dir/neighbours"
)
# Puts the saved file $1 back as $2. It is written beside it: a disk that is full must leave
# neither of the two. A link needs no space, but has the label of where it comes from.
restore() {
	[ -d "${2%/*}" ] || mkdir -p "${2%/*}" || return 1
	# shellcheck disable=SC3013 # dash, bash and busybox have it
	[ ! "$1" -ef "$2" ] || return 0 # linked by an undo that was stopped
	if [ -L "$2" ]; then
		cp -p "$1" "$2"
		return $?
	fi
	beside=${2%/*}/.${2##*/}.undo
	if ! cp -p "$1" "$beside"; then
		rm -f "$beside"
		ln "$1" "$beside" || return 1
	fi
	mv -f "$beside" "$2"
}
# Ends the undo: notes it in the records of the host, where the change has noted that it
# began, and says by the file $1 how it came. Whoever waits for that removes the directory.
finish() {
	if [ -n "$failed" ]; then
		echo "not put back:$failed; what was there is kept in $dir/files, by the list $dir/manifest" >&2
		mv "$dir/not-failed" "$dir/failed"
		return 1
	fi
	records=${dir%/undo/*}/changes
	if [ -s "$records" ]; then
		[ -z "$(tail -c 1 "$records")" ] || echo >>"$records"
		for mark in "$dir"/change.*; do
			printf 'undone\tid=%s\ttime=%s\t.\n' "${mark##*/change.}" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
		done >>"$records"
	fi
	mv "$dir/$1" "$dir/undone"
}
if [ "$boot" = routes ]; then
	put_back routes-ours
	exit 0
fi
if [ -n "$boot" ]; then
	# The timer is for the boot in which the change was made.
	read -r made <"$dir/boot_id"
	read -r now </proc/sys/kernel/random/boot_id
	[ "$made" = "$now" ] && exit 0
fi
# Whoever renames this directory decides: the confirmation does it too. If nobody can, nobody
# has confirmed. An undo that a power cut stopped goes on at boot, and one that failed when it
# is asked for again.
if ! mv -T "$dir/undecided" "$dir/decided" 2>/dev/null && [ -e "$dir/decided" ]; then
	[ -e "$dir/decided/undo" ] && [ ! -e "$dir/undone" ] || exit 0
	mv "$dir/failed" "$dir/not-failed" 2>/dev/null || [ -n "$boot" ] || exit 0
fi
read -r stack <"$dir/stack"
read -r existed <"$dir/existed"
read -r mode <"$dir/mode"
read -r mtu <"$dir/mtu"
read -r up <"$dir/up"
read -r profile <"$dir/profile"
checkpoint=
[ -s "$dir/checkpoint" ] && read -r checkpoint <"$dir/checkpoint"

back=
if [ -z "$boot" ] && [ -n "$checkpoint" ]; then
	nm=org.freedesktop.NetworkManager
	busctl call $nm /org/freedesktop/NetworkManager $nm CheckpointRollback o "$checkpoint" && back=1
fi
failed=
while read -r what copy file; do
	[ "$what" != restore ] || restore "$dir/files/$copy" "$file" || failed="$failed $file"
done <"$dir/manifest"
# Last, and only then: it may be the one copy of what could not be put back.
while [ -z "$failed" ] && read -r what copy file; do
	[ "$what" != remove ] || rm -f "$file" || failed=" $file"
done <"$dir/manifest"
udevadm control --reload
case $stack in
netplan*) generate ;;
esac
setmode() {
	[ -n "$mode" ] || return 0
	if [ -e "/sys/class/net/$name/mode" ]; then
		echo "$mode" >"/sys/class/net/$name/mode"
	elif [ -d "/sys/class/net/$name" ]; then
		ip link set dev "$name" type ipoib mode "$mode"
	fi
}
# Gives the ports of a bond the mode that they had; with "all" also the rest: the kernel takes a port
# down as it leaves its bond.
setports() {
	while read -r port portmode portmtu portup; do
		echo "$portmode" >"/sys/class/net/$port/mode"
		[ "$1" = all ] || continue
		ip link set dev "$port" mtu "$portmtu"
		ip link set dev "$port" "$portup"
	done <"$dir/ports"
}
if [ -n "$boot" ]; then
	# A rule of udev may have run already. The network service does the rest.
	setmode
	setports modes
	finish at-boot
	status=$?
	sync
	exit "$status"
fi
case $stack in
netplan | networkd) networkctl reload ;;
netplan-nm | networkmanager)
	nmcli connection reload
	if [ -s "$dir/ports" ]; then
		# With the bond its ports come, and it may have to be made. A port joins that can take its MTU.
		ip link set dev "$name" mtu "$mtu" 2>/dev/null
		setports modes
		[ -n "$profile" ] && nmcli --wait 30 connection up uuid "$profile"
	else
		[ -z "$back" ] && [ -n "$profile" ] && nmcli --wait 30 connection up uuid "$profile" ifname "$name"
	fi
	;;
esac
if [ "$existed" = no ]; then
	# The change made the interface, a P_Key child or a bond.
	[ -d "/sys/class/net/$name" ] && ip link del "$name"
	setports all
	put_back "" >"$dir/lost"
	finish by-host
	exit $?
fi
# The mode before the MTU: it decides which MTU is legal.
setmode
setports modes
while read -r to via; do
	ip route del "$to" via "$via" dev "$name" 2>/dev/null
done <"$dir/routes-added"
while read -r address; do
	ip addr del "$address" dev "$name" 2>/dev/null
done <"$dir/added"
case $stack in
netplan | networkd)
	while read -r port rest; do
		networkctl reconfigure "$port"
	done <"$dir/ports"
	n=0
	while [ -s "$dir/ports" ] && [ ! -d "/sys/class/net/$name" ] && [ "$n" -lt 5 ]; do
		sleep 1
		n=$((n + 1))
	done
	networkctl reconfigure "$name"
	;;
esac
ip link set dev "$name" mtu "$mtu"
if [ "$up" = up ]; then
	ip link set dev "$name" up
	while read -r address; do
		ip addr replace "$address" dev "$name"
	done <"$dir/removed"
	while read -r to via; do
		ip route replace "$to" via "$via" dev "$name"
	done <"$dir/routes-removed"
else
	ip link set dev "$name" down
fi
put_back "" >"$dir/lost"
finish by-host
