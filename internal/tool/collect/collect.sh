# Prints everything about a host that the provider wants to know, in one run.
#   $1  root of the file system, empty for the real one (a fixture in tests)
#   $2  state directory   $3  lock file   $4…  kernel-independent package names
# Changes nothing but that flock makes the empty lock files and their directory. For uid 0; sh, dash,
# bash and busybox. Built-ins read files, because every fork costs a millisecond
# on the host and there are a hundred files; what is not there is not printed.
#
# The last lines of this file name all that is collected, in order. Functions of sh
# share their variables: what a function leaves for its caller is in capitals.

ROOT=$1 STATE_DIR=$2 LOCK=$3
shift 3
PACKAGES=$*
TAB=$(printf '\t')

# briefly SECONDS COMMAND…: not for long, for what asks another machine or a disk.
briefly() {
	if has timeout; then set -- timeout "$@"; else shift; fi
	"$@"
}

# under_lock COMMAND…: under the shared lock of the cards, one reader after the other,
# and not for ever: a card that hangs must not hang the plan.
under_lock() {
	has timeout && set -- timeout 90 "$@"
	has flock && mkdir -p "${LOCK%/*}" 2>/dev/null && [ -w "${LOCK%/*}" ] && set -- flock -s -n -E 75 "$LOCK" flock -w 2 -E 74 "$LOCK.reader" "$@"
	tries=0
	while [ "$tries" -lt 25 ]; do
		"$@"
		STATUS=$?
		[ "$STATUS" = 74 ] || return "$STATUS"
		# Somebody else may have come while another reader had its turn.
		find_users "$ROOT" "$LOCK"
		[ -z "$USERS_WHY$(users_of "$CARD")" ] || break
		tries=$((tries + 1))
	done
	return 75
}

# card_is_free CARD: whether nobody else uses it, as far as that can be seen; what was
# seen is printed.
card_is_free() {
	find_users "$ROOT" "$LOCK"
	printf '@users %s\n' "$USERS_WHY"
	while IFS= read -r LINE; do
		[ -n "$LINE" ] && printf '@user %s\n' "$LINE"
	done <<E
$USERS
E
	[ -z "$USERS_WHY" ] && [ -z "$(users_of "$1")" ]
}

# ask_card NAME CARD COMMAND…: asks a tool about a card that nobody else uses, and
# looks again who does if the tool fails.
ask_card() {
	question=$1 CARD=$2
	shift 2
	card_is_free "$CARD" || return 1
	find_update "$ROOT" "$CARD" under_lock
	LINE=$(users_of "$CARD")
	if [ -n "$LINE" ]; then
		printf '@user %s\n' "$LINE"
		return 1
	fi
	answer "$question $CARD" under_lock "$@"
	[ "$STATUS" = 0 ] || card_is_free "$CARD" || return 1
}

# ask_driver CARD: asks the driver of a card which no tool can read, and which nobody else uses. That
# disturbs no update (Linux mlx5_fw_version_query).
ask_driver() {
	driver=$(readlink "$ROOT/sys/bus/pci/devices/$1/driver")
	[ "${driver##*/}" = mlx5_core ] && has devlink || return 0
	CARD=$1
	answer "devlink $1" under_lock devlink dev info "pci/$1"
}

# way_to ADDRESS [FROM]: the way to a server of storage, once for each; FROM is the
# address of the host that the connection is bound to.
ASKED=''
way_to() {
	case " $ASKED " in *" $1/${2:-} "*) return 0 ;; esac
	ASKED="$ASKED $1/${2:-}"
	has ip && answer "way $1${2:+ from $2}" ip -o route get "$1" ${2:+from "$2"}
}

# ways_in SEPARATORS TEXT: the ways to the addresses among the words of a text.
ways_in() {
	IFS=$1
	set -f
	# shellcheck disable=SC2086 # words
	set -- $2
	set +f
	unset IFS
	for word do
		case $word in
		'' | :* | *[!0-9a-f.:]* | *.*:* | *:*.*) ;;
		*.*.*.* | *:*:*) way_to "$word" ;;
		esac
	done
}

# What is read has to hold for the commands that follow. The kernel calls a new device
# mlx4_0, and a moment later udev calls it ibp1s0. A device that keeps udev busy must
# not hold up the plan.
wait_for_udev() {
	[ -z "$ROOT" ] && has udevadm && udevadm settle --timeout=5 >/dev/null 2>&1
}

machine_and_system() {
	printf '@uid %s\n' "${SUDO_UID:-$(id -u)}"
	values "$ROOT"/proc/sys/kernel/osrelease "$ROOT"/proc/sys/kernel/hostname "$ROOT"/proc/sys/kernel/random/boot_id \
		"$ROOT"/proc/cmdline "$ROOT"/sys/kernel/security/lockdown "$ROOT"/etc/machine-id
	contents "$ROOT"/etc/os-release
	first_line "$ROOT"/proc/sys/kernel/osrelease
	KERNEL=$LINE
	[ -n "$KERNEL" ] || ! has uname || answer uname uname -sr
}

# What the running kernel has, loaded or not; nothing where its modules are not
# installed (a container, or a kernel that an upgrade has removed).
kernel_modules() {
	if [ -n "$KERNEL" ] && [ -d "$ROOT/lib/modules/$KERNEL" ] && has modinfo; then
		answer modinfo modinfo -n mlx4_core mlx4_ib mlx5_core mlx5_ib ib_qib ib_mthca ib_ipoib ib_umad
	fi
	[ -d "$ROOT/lib/modules/$KERNEL" ] && echo '@kernel-installed'
}

# virtual_function DEVICE: whether it is one; prints of which of those in PHYSICAL, none if its
# link leads to none of them. It comes behind its own.
virtual_function() {
	[ -e "$1"/physfn ] || [ -L "$1"/physfn ] || return 1
	for physical in $PHYSICAL ''; do
		# shellcheck disable=SC3013 # not of POSIX, and every shell that is /bin/sh has it
		[ -n "$physical" ] && [ "$1"/physfn -ef "${1%/*}/$physical" ] && break
	done
	printf '@virtual %s %s\n' "${1##*/}" "$physical"
}

# Functions of network and InfiniBand class, and chips in recovery mode, of the
# makers of InfiniBand cards: Mellanox, QLogic, PathScale, Topspin.
pci_functions() {
	PHYSICAL=''
	for device in "$ROOT"/sys/bus/pci/devices/*; do
		bdf=${device##*/}
		first_line "$device"/vendor
		vendor=$LINE
		for entry in "$device"/net/*; do
			[ -e "$entry" ] && printf '@net %s %s\n' "$bdf" "${entry##*/}"
		done
		case $vendor in 0x15b3 | 0x1077 | 0x1fc1 | 0x1867) ;; *) continue ;; esac
		first_line "$device"/class
		case $vendor$LINE in 0x15b30x06????) continue ;; 0x15b3* | *0x0207?? | *0x0c06??) ;; *) continue ;; esac
		printf '@pci %s\n' "$bdf"
		values "$device"/vendor "$device"/device "$device"/subsystem_vendor "$device"/subsystem_device "$device"/class \
			"$device"/current_link_speed "$device"/current_link_width "$device"/max_link_speed "$device"/max_link_width \
			"$device"/mlx4_port1 "$device"/mlx4_port2 "$device"/mlx4_port1_mtu "$device"/mlx4_port2_mtu "$device"/net/*/dev_port "$device"/sriov_totalvfs
		# One question to the firmware for each: its limit would be another.
		for sensor in "$device"/hwmon/hwmon*/temp*_input; do
			values "${sensor%_input}"_label "$sensor"
		done
		virtual_function "$device" || PHYSICAL="$PHYSICAL $bdf"
		if [ -e "$device"/driver ]; then
			driver=$(readlink "$device"/driver)
			printf '@driver %s %s\n' "$bdf" "${driver##*/}"
		fi
		for entry in "$device"/infiniband/*; do
			[ -e "$entry" ] && printf '@rdma %s %s\n' "$bdf" "${entry##*/}"
		done
	done
}

# Counters and the rest of the tables are left alone: each read of them is a command
# to the firmware.
rdma_devices() {
	for device in "$ROOT"/sys/class/infiniband/*; do
		values "$device"/node_guid "$device"/sys_image_guid "$device"/node_desc "$device"/fw_ver "$device"/hw_rev "$device"/hca_type "$device"/board_id
		for port in "$device"/ports/*; do
			values "$port"/state "$port"/phys_state "$port"/rate "$port"/lid "$port"/sm_lid "$port"/cap_mask "$port"/link_layer "$port"/gids/0 "$port"/pkeys/0
		done
	done
}

# Leaves their names in IPOIB.
ipoib_interfaces() {
	IPOIB=''
	for netdev in "$ROOT"/sys/class/net/*; do
		first_line "$netdev"/type
		[ "$LINE" = 32 ] || continue
		IPOIB="$IPOIB ${netdev##*/}"
		values "$netdev"/type "$netdev"/address "$netdev"/mtu "$netdev"/flags "$netdev"/mode "$netdev"/pkey "$netdev"/parent "$netdev"/umcast \
			"$netdev"/dev_port "$netdev"/operstate "$netdev"/carrier "$netdev"/ifindex "$netdev"/iflink
	done
}

modules_and_programs() {
	values "$ROOT"/sys/module/mlx4_core/parameters/port_type_array "$ROOT"/sys/class/infiniband_mad/abi_version
	for module in mlx4_core mlx4_en mlx4_ib mlx5_core mlx5_ib ib_qib ib_mthca ib_core ib_uverbs ib_ipoib ib_umad rdma_cm mstflint_access; do
		[ -d "$ROOT"/sys/module/$module ] && printf '@module %s\n' "$module"
	done
	for program in mstflint mstconfig lspci flock sha256sum ip netplan networkctl nmcli ifup udevadm systemctl systemd-run systemd-inhibit \
		opensm ibstat sminfo saquery ibnetdiscover ibportstate upsc apt-get dpkg-query dnf rpm pacman midclt modprobe update-initramfs dracut \
		mkinitcpio ifreload busctl ping iperf3 qperf ib_write_bw; do
		if has $program; then
			printf '@command %s\n' "$program"
		else
			printf '@absent %s\n' "$program"
		fi
	done
}

# Which way the operator's connection comes in; leaves the operator's address in
# CLIENT. sudo drops SSH_CONNECTION from the environment, so look for it among the
# ancestors. Their environment is separated by NUL, which read skips, so only the last
# of the four words, the port of the server, runs into what follows.
ssh_session() {
	CLIENT=${SSH_CONNECTION:-} ancestor=${PPID:-1}
	while [ -z "$CLIENT" ] && [ "$ancestor" -gt 1 ] && [ -f "$ROOT"/proc/"$ancestor"/environ ] && [ -r "$ROOT"/proc/"$ancestor"/environ ]; do
		while IFS= read -r LINE || [ -n "$LINE" ]; do
			case $LINE in *SSH_CONNECTION=*)
				CLIENT=${LINE##*SSH_CONNECTION=}
				break
				;;
			esac
			LINE=''
		done 2>/dev/null <"$ROOT"/proc/"$ancestor"/environ
		parent=1
		while IFS=":$TAB " read -r key number; do
			[ "$key" = PPid ] && parent=$number
		done 2>/dev/null <"$ROOT"/proc/"$ancestor"/status
		ancestor=$parent
	done
	server=${CLIENT#* }
	server=${server#* }
	server=${server%% *}
	CLIENT=${CLIENT%% *}
	[ -n "$CLIENT" ] && printf '@ssh %s %s\n' "$CLIENT" "$server"
}

addresses_and_routes() {
	if has ip; then
		answer ip-addr ip -j -d addr show
		# Of all tables: those of a VRF and of rules count as well. Without -4, "all" names both families.
		answer ip-route ip -j -4 route show table all default
		[ -n "$CLIENT" ] && answer ip-ssh ip -o route get "$CLIENT"
	fi
	# The kernel's table: destination, prefix length, four more columns, metric, two
	# counters, flags, interface. The entry of "lo" stands for "no route". Of IPoIB
	# interfaces also the routes that have a gateway.
	if readable "$ROOT"/proc/net/ipv6_route; then
		while IFS=' ' read -r to length _ _ gateway _ _ _ _ netdev; do
			case $gateway in 00000000000000000000000000000000) ;; *)
				case "$IPOIB " in *" $netdev "*) printf '@via %s %s %s %s\n' "$netdev" "$to" "$length" "$gateway" ;; esac
				;;
			esac
			case $to/$length in 00000000000000000000000000000000/00) ;; *) continue ;; esac
			[ "$netdev" = lo ] || printf '@route6 %s %s\n' "$netdev" "$gateway"
		done <"$ROOT"/proc/net/ipv6_route
	fi
	# The table of IPv4: interface, destination, gateway, flags, three more columns, mask.
	if [ -n "$IPOIB" ] && [ -r "$ROOT"/proc/net/route ]; then
		while IFS=" $TAB" read -r netdev to gateway _ _ _ _ mask _; do
			case $gateway in 00000000) continue ;; esac
			case "$IPOIB " in *" $netdev "*) printf '@via %s %s %s %s\n' "$netdev" "$to" "$mask" "$gateway" ;; esac
		done <"$ROOT"/proc/net/route
	fi
}

# Who manages which interface, by its number. These are the services' own notes
# for their next start and for libsystemd; a question over D-Bus would cost a
# fork and an answer for each of hundreds of interfaces.
network_managers() {
	for link in "$ROOT"/run/systemd/netif/links/*; do
		[ -f "$link" ] || continue
		state='' network_file=''
		while IFS= read -r LINE; do
			case $LINE in ADMIN_STATE=*) state=${LINE#*=} ;; NETWORK_FILE=*) network_file=${LINE#*=} ;; esac
		done <"$link"
		[ -n "$network_file" ] && printf '@networkd %s %s %s\n' "${link##*/}" "$state" "$network_file"
	done
	for link in "$ROOT"/run/NetworkManager/devices/*; do
		[ -f "$link" ] || continue
		managed='' profile=''
		while IFS= read -r LINE; do
			case $LINE in managed=*) managed=${LINE#*=} ;; connection-uuid=*) profile=${LINE#*=} ;; esac
		done <"$link"
		[ -n "$managed" ] && printf '@nm %s %s %s\n' "${link##*/}" "$managed" "$profile"
	done
	contents "$ROOT"/run/network/ifstate
}

# The mounts that hold what is written: a root of a live image, a diskless node or an image-based system is made anew at
# each boot, or parts of it are. The upper directory of an overlay may be below /run or /media.
roots() {
	has grep && answer roots grep -sE '^[^ ]+ (/|/etc|/usr|/var|/var/lib|/run(/[^ ]*)?|/media/[^ ]*) ' "$ROOT"/proc/mounts
}

# Storage that comes over the network: mounts, iSCSI sessions, NVMe over
# fabrics, and SRP targets, which name the InfiniBand device itself.
network_storage() {
	if has grep; then
		answer mounts grep -sE ' (nfs4?|cifs|smb3|lustre|beegfs|ceph|9p|fuse\.(ceph-fuse|glusterfs|sshfs)) ' "$ROOT"/proc/mounts
		while IFS=' ' read -r source _ kind options _; do
			case $kind in
			nfs* | cifs | smb3)
				case ,$options in *,addr=*)
					options=,$options
					options=${options##*,addr=}
					way_to "${options%%,*}"
					;;
				esac
				continue
				;;
			esac
			case ,$options in *,mon_addr=*)
				options=,$options
				options=${options##*,mon_addr=}
				source=${options%%,*}
				;;
			esac
			ways_in ',@/=[]' "$source"
			ways_in ',@/=[]:' "$source"
		done <<E
$OUTPUT
E
	fi
	for connection in "$ROOT"/sys/class/iscsi_connection/*; do
		values "$connection"/address
		first_line "$connection"/address
		[ -n "$LINE" ] && way_to "$LINE"
	done
	values "$ROOT"/sys/class/iscsi_session/*/ifacename
	for controller in "$ROOT"/sys/class/nvme/*; do
		LINE=''
		values "$controller"/transport
		case $LINE in tcp | rdma) ;; *) continue ;; esac
		values "$controller"/address
		first_line "$controller"/address
		server=${LINE#*traddr=} from=''
		case $LINE in *,host_traddr=*) from=${LINE##*,host_traddr=} ;; esac
		way_to "${server%%,*}" "${from%%,*}"
	done
	values "$ROOT"/sys/class/scsi_host/*/local_ib_device
}

# Sockets of NFS, SMB, iSCSI and NVMe/TCP servers that listen or have clients. A
# kernel without IPv6 has no second table; grep ends with 2 for a file that is not there.
served_storage() {
	has grep || return 0
	ipv6=$ROOT/proc/net/tcp6
	[ -e "$ipv6" ] || ipv6=''
	answer sockets grep -hE -m 500 ': [0-9A-F]+:(0801|01BD|0CBC|1144) [0-9A-F]+:[0-9A-F]+ (01|0A) ' "$ROOT"/proc/net/tcp ${ipv6:+"$ipv6"}
}

# A pool that is suspended keeps whoever asks for its status waiting in the kernel.
zfs_pools() {
	suspended=''
	for file in "$ROOT"/proc/spl/kstat/zfs/*/state; do
		values "$file"
		first_line "$file"
		case $LINE in SUSPENDED) suspended=1 ;; esac
	done
	if [ -d "$ROOT"/sys/module/zfs ]; then
		echo '@module zfs'
		[ -z "$suspended" ] && has zpool && answer zpool briefly 5 zpool status
	fi
}

# The lines of upsmon.conf hold passwords; only the name behind MONITOR is used.
power_supplies() {
	has upsc || return 0
	supplies=''
	for file in "$ROOT"/etc/nut/upsmon.conf "$ROOT"/etc/ups/upsmon.conf; do
		readable "$file" || continue
		while IFS=" $TAB" read -r key supply _ || [ -n "$key" ]; do
			[ "$key" = MONITOR ] && supplies="$supplies $supply"
		done <"$file"
	done
	if [ -z "$supplies" ]; then
		answer ups-list briefly 3 upsc -l
		# What upsc complains of has blanks, names have none.
		while IFS= read -r LINE; do
			case $LINE in '' | *' '*) ;; *) supplies="$supplies $LINE" ;; esac
		done <<E
$OUTPUT
E
	fi
	for supply in $supplies; do
		answer "ups $supply" briefly 3 upsc "$supply" ups.status
	done
}

cards_by_the_tools() {
	has mstflint && answer mstflint-v mstflint -v
	for device in "$ROOT"/sys/bus/pci/devices/*; do
		[ -e "$device"/physfn ] || [ -L "$device"/physfn ] && continue
		first_line "$device"/vendor
		vendor=$LINE
		[ "$vendor" = 0x15b3 ] || continue
		first_line "$device"/class
		case $LINE in 0x06????) continue ;; esac
		bdf=${device##*/}
		if has mstflint; then
			ask_card flash "$bdf" mstflint -d "$bdf" q && [ "$STATUS" != 0 ] && ask_driver "$bdf"
		else
			card_is_free "$bdf" && ask_driver "$bdf"
		fi
		has lspci && answer "vpd $bdf" lspci -vvs "$bdf"
	done
}

systemd_units() {
	has systemctl || return 0
	# The pattern finds loaded instances only. One that is masked or enabled need not be loaded.
	set --
	for file in "$ROOT"/etc/systemd/system/opensm@*.service "$ROOT"/run/systemd/system/opensm@*.service \
		"$ROOT"/etc/systemd/system/*.wants/opensm@*.service; do
		# The name of a template alone is an error of the whole command.
		[ -L "$file" ] && [ "${file##*/}" != opensm@.service ] && set -- "$@" "${file##*/}"
	done
	answer systemctl systemctl show --property=Id,LoadState,ActiveState,UnitFileState -- \
		opensm.service NetworkManager.service systemd-networkd.service networking.service \
		kubelet.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service \
		'opensm@*.service' 'infiniband-*.service' 'infiniband-*.timer' "$@"
}

# When the subnet managers of this provider were started, and when their files changed last: one that is
# older than a file may run with something else. The clock may have been set in between, so that the time
# since the boot is read as well. The provider touches the file of /run after it has told one to read its files again.
subnet_managers() {
	set --
	for directory in "$ROOT"/etc/systemd/system/opensm@*.service.d; do
		[ -f "$directory"/terraform-infiniband.conf ] || continue
		directory=${directory##*/}
		set -- "$@" "${directory%.d}"
	done
	[ $# -gt 0 ] && has systemctl && has stat && has date || return 0
	(
		TZ=UTC
		export TZ
		answer sm-started systemctl show --property=Id,ActiveEnterTimestamp,ActiveEnterTimestampMonotonic -- "$@"
	)
	set --
	for file in "$ROOT"/etc/opensm/terraform-*.conf "$ROOT"/etc/systemd/system/opensm@*.service.d/terraform-infiniband.conf \
		"$ROOT"/run/terraform-infiniband-*.read; do
		[ -f "$file" ] && plain "$file" && set -- "$@" "$file"
	done
	answer sm-files stat -c '%Z %n' "$@"
	answer sm-now date +%s
	values "$ROOT"/proc/uptime
}

packages() {
	# shellcheck disable=SC2086,SC2016 # a list of words; dpkg-query and rpm expand the format
	if has dpkg-query; then
		answer dpkg dpkg-query -W -f '${Package}\t${db:Status-Abbrev}\t${Version}\n' -- $PACKAGES "linux-modules-extra-$KERNEL"
	elif has pacman; then
		answer pacman pacman -Q -- $PACKAGES
	elif has rpm; then
		answer rpm rpm -q --qf '%{NAME}\t%{VERSION}-%{RELEASE}\n' -- $PACKAGES
	fi
}

# has_line FILE PATTERN…: whether a line of it matches a pattern of case.
has_line() {
	searched=$1
	shift
	LINE=''
	while IFS= read -r LINE || [ -n "$LINE" ]; do
		for pattern do
			# shellcheck disable=SC2254 # a pattern it is
			case $LINE in $pattern) return 0 ;; esac
		done
		LINE=''
	done <"$searched"
	return 1
}

# concerns_drivers FILE: whether a file of modprobe.d may have options of these drivers. A
# backslash can stand in the middle of a name, and install takes a pattern.
concerns_drivers() {
	# shellcheck disable=SC1003 # a backslash it is
	has_line "$1" '*mlx4[-_]core*' '*ib[-_]ipoib*' '*port[-_]type[-_]array*' '*install*[*?[]*' '*\\*'
}

# hidden FILE: whether /etc/modprobe.d has another file of its name.
hidden() {
	other=$ROOT/etc/modprobe.d/${1##*/}
	[ "$1" != "$other" ] && { [ -e "$other" ] || [ -L "$other" ]; }
}

# What modprobe reads. A file of /etc hides those of its name elsewhere. The initial RAM disk
# does not have all the other directories, so that of those no file hides one.
modprobe_files() {
	for parent in /etc /run /usr/local/lib /usr/lib /lib; do
		directory=$ROOT$parent/modprobe.d
		[ -d "$directory" ] || continue
		# shellcheck disable=SC3013 # not of POSIX, and every shell that is /bin/sh has it
		[ "$parent" = /lib ] && [ "$directory" -ef "$ROOT/usr/lib/modprobe.d" ] && continue
		if [ ! -r "$directory" ] || [ ! -x "$directory" ]; then printf '!%s\n' "$parent/modprobe.d"; fi
		for file in "$directory"/*.conf "$directory"/*.alias; do
			hidden "$file" && continue
			readable "$file" && concerns_drivers "$file" && contents "$file"
		done
	done
}

# texts FILE…: contents, and directories: where one is, no file can be written.
texts() {
	contents "$@"
	for file do
		[ -d "$file" ] && plain "$file" && printf '@directory %s\n' "${file#"$ROOT"}"
	done
}

configuration_files() {
	# A directory that cannot be listed may hold anything.
	for directory in /etc/netplan /run/netplan /etc/systemd/network /run/systemd/network /etc/network/interfaces.d \
		/etc/NetworkManager/system-connections /run/NetworkManager/system-connections /etc/sysconfig/network-scripts /etc/udev/rules.d \
		/etc/modules-load.d; do
		[ -d "$ROOT$directory" ] || continue
		if [ ! -r "$ROOT$directory" ] || [ ! -x "$ROOT$directory" ]; then printf '!%s\n' "$directory"; fi
	done
	texts "$ROOT"/etc/netplan/*.yaml "$ROOT"/run/netplan/*.yaml "$ROOT"/lib/netplan/*.yaml \
		"$ROOT"/etc/udev/rules.d/*ipoib*.rules "$ROOT"/etc/udev/rules.d/*infiniband*.rules \
		"$ROOT"/etc/modules-load.d/*infiniband*.conf "$ROOT"/etc/modules "$ROOT"/etc/default/opensm "$ROOT"/etc/rdma/mlx4.conf \
		"$ROOT"/etc/modprobe.d/terraform-infiniband.conf \
		"$ROOT"/etc/opensm/*.conf "$ROOT"/etc/rdma/partitions.conf "$ROOT"/etc/systemd/system/opensm@.service \
		"$ROOT"/etc/rdma/ib-node-name-map "$ROOT"/etc/opensm/ib-node-name-map \
		"$ROOT"/etc/systemd/system/opensm.service.d/*.conf "$ROOT"/etc/systemd/system/opensm@*.service.d/*.conf \
		"$ROOT"/etc/systemd/system/infiniband-port-*.service \
		"$ROOT"/etc/systemd/system/multi-user.target.wants/infiniband-port-*.service "$ROOT"/usr/local/sbin/terraform-infiniband-port \
		"$ROOT"/etc/systemd/system/infiniband-vfs-*.service "$ROOT"/etc/systemd/system/multi-user.target.wants/infiniband-vfs-*.service \
		"$ROOT"/etc/network/interfaces "$ROOT"/etc/network/interfaces.d/* \
		"$ROOT"/etc/systemd/network/*.network "$ROOT"/etc/systemd/network/*.netdev "$ROOT"/etc/systemd/network/*.network.d/*.conf \
		"$ROOT"/run/systemd/network/*.network "$ROOT"/run/systemd/network/*.network.d/*.conf \
		"$ROOT"/usr/lib/systemd/network/*.network.d/*.conf "$ROOT"/usr/local/lib/systemd/network/*.network.d/*.conf
	# RHEL ships this one with hundreds of lines of comments.
	file=$ROOT/etc/rdma/opensm.conf
	if readable "$file"; then
		printf '@file %s\n' "${file#"$ROOT"}"
		while IFS= read -r LINE; do
			case $LINE in '' | '#'*) ;; *) printf '|%s\n' "$LINE" ;; esac
		done <"$file"
		echo '@.'
	fi
	contents "$ROOT"/etc/NetworkManager/NetworkManager.conf "$ROOT"/etc/NetworkManager/conf.d/*.conf \
		"$ROOT"/run/NetworkManager/conf.d/*.conf "$ROOT"/usr/lib/NetworkManager/conf.d/*.conf
	# Profiles of NetworkManager hold secrets; those of InfiniBand, and ours of a bond, have none. One
	# that has no type gets it from its device.
	set -- '*[Tt][Yy][Pp][Ee]*=*[Ii][Nn][Ff][Ii][Nn][Ii][Bb][Aa][Nn][Dd]*' '*CONNECTED_MODE=*' 'ibfabric.terraform.infiniband=*'
	for netdev in $IPOIB; do
		set -- "$@" "*DEVICE=*$netdev*"
	done
	for file in "$ROOT"/etc/NetworkManager/system-connections/* "$ROOT"/run/NetworkManager/system-connections/* "$ROOT"/etc/sysconfig/network-scripts/ifcfg-*; do
		if [ -d "$file" ]; then
			texts "$file"
		else
			readable "$file" && has_line "$file" "$@" && contents "$file"
		fi
	done
	modprobe_files
	for file in "$ROOT"/etc/udev/rules.d/*; do
		[ -f "$file" ] || continue
		plain "$file" && printf '@rule %s\n' "${file#"$ROOT"}"
		readable "$file" && has_line "$file" '*mlx4_port*' && contents "$file"
	done
}

# The initial RAM disk has copies of these, which are older than they are. Of modprobe.d
# it has all files, so that one which somebody has edited or removed still counts at boot.
# Packages come and go in the directories of the system: there only a file that concerns the
# drivers counts.
initial_ram_disk() {
	for file in /etc/modprobe.d/terraform-infiniband.conf /etc/rdma/mlx4.conf; do
		[ -f "$ROOT$file" ] || continue
		# A rebuild has not succeeded for every kernel. The disk of the running one may be new all the same.
		if [ -e "$ROOT$STATE_DIR/initramfs-outdated" ]; then
			printf '@late %s\n' "$file"
			continue
		fi
		found=''
		set -- "$ROOT$file"
		case $file in
			/etc/modprobe.d/*) set -- "$ROOT/etc/modprobe.d" "$ROOT"/etc/modprobe.d/*.conf ;;
		esac
		for disk in "$ROOT/boot/initrd.img-$KERNEL" "$ROOT/boot/initramfs-$KERNEL.img" "$ROOT/boot/initramfs-linux.img"; do
			[ -f "$disk" ] || continue
			found=1
			late=''
			for source in "$@"; do
				# shellcheck disable=SC3013 # not of POSIX, and every shell that is /bin/sh has it
				[ "$source" -nt "$disk" ] && late=1
			done
			[ "$file" = /etc/rdma/mlx4.conf ] || for source in "$ROOT"/usr/local/lib/modprobe.d/*.conf \
				"$ROOT"/usr/lib/modprobe.d/*.conf "$ROOT"/lib/modprobe.d/*.conf; do
				# shellcheck disable=SC3013 # as above
				[ "$source" -nt "$disk" ] && ! hidden "$source" && concerns_drivers "$source" && late=1
			done
			[ -n "$late" ] && printf '@late %s\n' "$file"
		done
		[ -n "$found" ] || printf '@no-disk %s\n' "$file"
	done
}

flash_jobs() {
	for directory in "$ROOT$STATE_DIR"/jobs/*; do
		[ -d "$directory" ] || continue
		job=${directory##*/}
		printf '@job %s\n' "$job"
		contents "$directory"/request "$directory"/states "$directory"/exit
		if [ ! -s "$directory"/exit ] && [ ! -e "$directory"/settled ]; then
			find_job "$ROOT" "${directory#"$ROOT"}"
		fi
		if [ -e "$directory"/settled ]; then
			printf '@settled %s\n' "$job"
		elif [ -f "$directory"/output ]; then
			answer "log $job" tail -n 40 "$directory"/output
		fi
	done
}

# A host that was drained, and was not given back since. Burns that failed, here or elsewhere.
notes() { contents "$ROOT$STATE_DIR"/resume-owed "$ROOT$STATE_DIR"/stops/*; }

# Definitions that were taken over, and files of ours with what others had added, are kept beside their places.
saved_definitions() {
	for directory in "$ROOT"/etc/netplan "$ROOT"/etc/systemd/network "$ROOT"/etc/systemd/network/*.network.d "$ROOT"/etc/network/interfaces.d \
		"$ROOT"/etc/NetworkManager/system-connections "$ROOT"/etc/sysconfig/network-scripts "$ROOT"/etc/udev/rules.d; do
		for file in "$directory"/.*.before-infiniband-*; do
			[ -e "$file" ] && plain "$file" && printf '@saved %s\n' "${file#"$ROOT"}"
		done
	done
}

unconfirmed_changes() {
	for directory in "$ROOT$STATE_DIR"/undo/*; do
		[ -f "$directory"/undo.sh ] || continue
		became=waiting
		[ -d "$directory"/decided ] && became=confirmed
		[ -e "$directory"/decided/undo ] && became=undoing
		[ -e "$directory"/failed ] && became=failed
		if [ -f "$directory"/undone ]; then
			became=
			IFS= read -r became <"$directory"/undone
			became=${became:-by the host}
		fi
		printf '@undo %s %s\n' "${directory##*/}" "$became"
	done
}

file_modes() {
	has stat || return 0
	set --
	for file in "$ROOT"/etc/netplan/*.yaml "$ROOT"/etc/udev/rules.d/*ipoib*.rules "$ROOT"/etc/udev/rules.d/*infiniband*.rules \
		"$ROOT"/etc/modprobe.d/*.conf "$ROOT"/etc/modules-load.d/*infiniband*.conf "$ROOT"/etc/default/opensm "$ROOT"/etc/rdma/mlx4.conf \
		"$ROOT"/etc/opensm/*.conf "$ROOT"/etc/systemd/system/opensm@.service \
		"$ROOT"/etc/systemd/system/opensm.service.d/*.conf "$ROOT"/etc/systemd/system/opensm@*.service.d/*.conf \
		"$ROOT"/etc/NetworkManager/system-connections/infiniband-* "$ROOT$STATE_DIR"/images/*.bin \
		"$ROOT"/usr/local/sbin/terraform-infiniband-port; do
		[ -f "$file" ] && plain "$file" && set -- "$@" "$file"
	done
	[ $# -gt 0 ] && answer stat stat -c '%a %U:%G %s %n' "$@"
}

# The name of a staged image says what it should hold.
hashes_of_images() {
	set -- "$ROOT$STATE_DIR"/images/*.bin
	[ -f "$1" ] && has sha256sum && answer sha256sum sha256sum -- "$@"
}

free_space() {
	directory=$ROOT$STATE_DIR
	while [ ! -d "$directory" ] && [ -n "$directory" ]; do directory=${directory%/*}; done
	has df && answer df df -Pk "${directory:-/}"
}

truenas() {
	has midclt || return 0
	for method in system.version interface.query system.advanced.config initshutdownscript.query tunable.query \
		interface.has_pending_changes interface.checkin_waiting; do
		answer "midclt $method" midclt call "$method"
	done
}

echo '@begin 1'
machine_and_system
kernel_modules
wait_for_udev
pci_functions
rdma_devices
ipoib_interfaces
modules_and_programs
ssh_session
addresses_and_routes
network_managers
roots
network_storage
served_storage
zfs_pools
power_supplies
cards_by_the_tools
systemd_units
subnet_managers
packages
configuration_files
initial_ram_disk
flash_jobs
notes
saved_definitions
unconfirmed_changes
file_modes
hashes_of_images
free_space
truenas
echo '@end'
