# Prints everything about a host that the provider wants to know, in one run.
#   $1  root of the file system, empty for the real one (a fixture in tests)
#   $2  state directory   $3  lock file   $4…  kernel-independent package names
# Changes nothing but that flock makes the empty lock files and their directory. For uid 0; sh, dash,
# bash and busybox. Built-ins read files, because every fork costs a millisecond
# on the host and there are a hundred files; what is not there is not printed.
#
#   =PATH<TAB>LINE  first line of a file        !PATH  there but not readable
#   @WORD …         a fact, or the begin of a section whose lines follow
#   |LINE           a line of the section       @.     its end
R=$1 S=$2 L=$3
shift 3
P=$*
T=$(printf '\t')

# g PATH…: one line of each file.
g() {
	for f do
		[ -f "$f" ] || continue
		v=
		# A file without a newline at its end makes read fail and still read.
		if IFS= read -r v 2>/dev/null <"$f" || [ -n "$v" ]; then
			printf '=%s\t%s\n' "${f#"$R"}" "$v"
		else
			printf '!%s\n' "${f#"$R"}"
		fi
	done
}

# c PATH…: whole text files. "@.+" says that the last line has no newline.
c() {
	for f do
		[ -f "$f" ] || continue
		if [ ! -r "$f" ]; then
			printf '!%s\n' "${f#"$R"}"
			continue
		fi
		printf '@file %s\n' "${f#"$R"}"
		v=
		while IFS= read -r v; do
			printf '|%s\n' "$v"
			v=
		done <"$f"
		if [ -n "$v" ]; then
			printf '|%s\n@.+\n' "$v"
		else
			echo '@.'
		fi
	done
}

# t TEXT: lines of a section.
t() {
	[ -n "$1" ] || return 0
	while IFS= read -r v; do
		printf '|%s\n' "$v"
	done <<E
$1
E
}

# r NAME COMMAND…: what a command prints, and its status. Errors go into the
# same stream: mstflint reports on standard output, getopt on the other one.
r() {
	n=$1
	shift
	o=$("$@" 2>&1 </dev/null)
	b=$?
	printf '@run %s\t%s\n' "$b" "$n"
	t "$o"
	echo '@.'
}

# h COMMAND: whether it is there.
h() { command -v "$1" >/dev/null 2>&1; }

# k COMMAND…: under the shared lock of the cards, one reader after the other, and
# not for ever: a card that hangs must not hang the plan.
k() {
	h timeout && set -- timeout 90 "$@"
	h flock && mkdir -p "${L%/*}" 2>/dev/null && [ -w "${L%/*}" ] && set -- flock -s -n -E 75 "$L" flock -w 2 -E 74 "$L.reader" "$@"
	i=0
	while [ "$i" -lt 25 ]; do
		"$@"
		b=$?
		[ "$b" = 74 ] || return "$b"
		# Somebody else may have come while another reader had its turn.
		find_users "$R" "$L"
		[ -z "$USERS_WHY$(users_of "$q")" ] || break
		i=$((i + 1))
	done
	return 75
}

# u CARD: whether nobody else uses a card, as far as that can be seen; what was
# seen is printed.
u() {
	find_users "$R" "$L"
	printf '@users %s\n' "$USERS_WHY"
	while IFS= read -r v; do
		[ -n "$v" ] && printf '@user %s\n' "$v"
	done <<E
$USERS
E
	[ -z "$USERS_WHY" ] && [ -z "$(users_of "$1")" ]
}

# a NAME CARD COMMAND…: asks a tool about a card that nobody else uses, and looks
# again who does if the tool fails.
a() {
	x=$1 q=$2
	shift 2
	u "$q" || return 1
	r "$x $q" k "$@"
	[ "$b" = 0 ] || u "$q" || return 1
}

# l SECONDS COMMAND…: not for long, for what asks another machine or a disk.
l() {
	if h timeout; then set -- timeout "$@"; else shift; fi
	"$@"
}

# w ADDRESS: the way to a server of storage, once for each.
W=
w() {
	case " $W " in *" $1 "*) return 0 ;; esac
	W="$W $1"
	h ip && r "way $1" ip -o route get "$1"
}

echo '@begin 1'
printf '@uid %s\n' "${SUDO_UID:-$(id -u)}"
g "$R"/proc/sys/kernel/osrelease "$R"/proc/sys/kernel/hostname "$R"/proc/sys/kernel/random/boot_id \
	"$R"/proc/cmdline "$R"/sys/kernel/security/lockdown "$R"/etc/machine-id
c "$R"/etc/os-release
v=
if [ -r "$R"/proc/sys/kernel/osrelease ]; then
	IFS= read -r v <"$R"/proc/sys/kernel/osrelease
elif h uname; then
	r uname uname -sr
fi
# What the running kernel has, loaded or not; nothing where its modules are not
# installed (a container, or a kernel that an upgrade has removed).
if [ -n "$v" ] && [ -d "$R/lib/modules/$v" ] && h modinfo; then
	r modinfo modinfo -n mlx4_core mlx4_ib mlx5_core mlx5_ib ib_qib ib_mthca ib_ipoib ib_umad
fi
[ -d "$R/lib/modules/$v" ] && echo '@kernel-installed'

# Functions of network and InfiniBand class, and chips in recovery mode, of the
# makers of InfiniBand cards: Mellanox, QLogic, PathScale, Topspin.
for d in "$R"/sys/bus/pci/devices/*; do
	v='' b=''
	[ -f "$d"/vendor ] && IFS= read -r v <"$d"/vendor
	for n in "$d"/net/*; do
		[ -e "$n" ] && printf '@net %s %s\n' "${d##*/}" "${n##*/}"
	done
	case $v in 0x15b3 | 0x1077 | 0x1fc1 | 0x1867) ;; *) continue ;; esac
	[ -f "$d"/class ] && IFS= read -r b <"$d"/class
	case $v$b in 0x15b30x06????) continue ;; 0x15b3* | *0x0207?? | *0x0c06??) ;; *) continue ;; esac
	printf '@pci %s\n' "${d##*/}"
	g "$d"/vendor "$d"/device "$d"/subsystem_vendor "$d"/subsystem_device "$d"/class \
		"$d"/current_link_speed "$d"/current_link_width "$d"/max_link_speed "$d"/max_link_width \
		"$d"/mlx4_port1 "$d"/mlx4_port2 "$d"/mlx4_port1_mtu "$d"/mlx4_port2_mtu "$d"/net/*/dev_port
	[ -e "$d"/physfn ] && printf '@virtual %s\n' "${d##*/}"
	if [ -e "$d"/driver ]; then
		n=$(readlink "$d"/driver)
		printf '@driver %s %s\n' "${d##*/}" "${n##*/}"
	fi
	for n in "$d"/infiniband/*; do
		[ -e "$n" ] && printf '@rdma %s %s\n' "${d##*/}" "${n##*/}"
	done
done

for d in "$R"/sys/class/infiniband/*; do
	g "$d"/node_guid "$d"/sys_image_guid "$d"/node_desc "$d"/fw_ver "$d"/hw_rev "$d"/hca_type "$d"/board_id
	for n in "$d"/ports/*; do
		# Counters and the rest of the tables are left alone: each read of them
		# is a command to the firmware.
		g "$n"/state "$n"/phys_state "$n"/rate "$n"/lid "$n"/sm_lid "$n"/cap_mask "$n"/link_layer "$n"/gids/0 "$n"/pkeys/0
	done
done

I=
for d in "$R"/sys/class/net/*; do
	v=
	[ -f "$d"/type ] && IFS= read -r v <"$d"/type
	[ "$v" = 32 ] || continue
	I="$I ${d##*/}"
	g "$d"/type "$d"/address "$d"/mtu "$d"/flags "$d"/mode "$d"/pkey "$d"/parent "$d"/umcast "$d"/dev_port \
		"$d"/operstate "$d"/carrier "$d"/ifindex "$d"/iflink
done

g "$R"/sys/module/mlx4_core/parameters/port_type_array "$R"/sys/class/infiniband_mad/abi_version
for m in mlx4_core mlx4_en mlx4_ib mlx5_core mlx5_ib ib_qib ib_mthca ib_core ib_uverbs ib_ipoib ib_umad rdma_cm mstflint_access; do
	[ -d "$R"/sys/module/$m ] && printf '@module %s\n' "$m"
done
for m in mstflint mstconfig lspci flock sha256sum ip netplan networkctl nmcli ifup udevadm systemctl systemd-run systemd-inhibit opensm ibstat sminfo \
	saquery ibnetdiscover ibportstate upsc apt-get dpkg-query dnf rpm pacman midclt modprobe update-initramfs dracut mkinitcpio ifreload busctl cloud-init \
	ping iperf3 qperf ib_write_bw; do
	if h $m; then
		printf '@command %s\n' "$m"
	else
		printf '@absent %s\n' "$m"
	fi
done

# Which way the operator's connection comes in. sudo drops SSH_CONNECTION from
# the environment, so look for it among the ancestors. Their environment is
# separated by NUL, which read skips, so only the last of the four words, the
# port of the server, runs into what follows.
x=${SSH_CONNECTION:-} p=${PPID:-1}
while [ -z "$x" ] && [ "$p" -gt 1 ] && [ -f "$R"/proc/"$p"/environ ] && [ -r "$R"/proc/"$p"/environ ]; do
	while IFS= read -r v || [ -n "$v" ]; do
		case $v in *SSH_CONNECTION=*)
			x=${v##*SSH_CONNECTION=}
			break
			;;
		esac
		v=
	done 2>/dev/null <"$R"/proc/"$p"/environ
	q=1
	while IFS=":$T " read -r m v; do
		[ "$m" = PPid ] && q=$v
	done 2>/dev/null <"$R"/proc/"$p"/status
	p=$q
done
q=${x#* }
q=${q#* }
q=${q%% *}
x=${x%% *}
[ -n "$x" ] && printf '@ssh %s %s\n' "$x" "$q"

if h ip; then
	r ip-addr ip -j -d addr show
	r ip-route ip -j route show default
	[ -n "$x" ] && r ip-ssh ip -o route get "$x"
fi

# The kernel's table: destination, prefix length, four more columns, metric, two
# counters, flags, interface. The entry of "lo" stands for "no route". Of IPoIB
# interfaces also the routes that have a gateway.
if [ -r "$R"/proc/net/ipv6_route ]; then
	while IFS=' ' read -r v b m m n m m m m x; do
		case $n in 00000000000000000000000000000000) ;; *)
			case "$I " in *" $x "*) printf '@via %s %s %s %s\n' "$x" "$v" "$b" "$n" ;; esac
			;;
		esac
		case $v/$b in 00000000000000000000000000000000/00) ;; *) continue ;; esac
		[ "$x" = lo ] || printf '@route6 %s %s\n' "$x" "$n"
	done <"$R"/proc/net/ipv6_route
fi
# The table of IPv4: interface, destination, gateway, flags, three more columns, mask.
if [ -n "$I" ] && [ -r "$R"/proc/net/route ]; then
	while IFS=" $T" read -r x v n b m m m q m; do
		case $n in 00000000) continue ;; esac
		case "$I " in *" $x "*) printf '@via %s %s %s %s\n' "$x" "$v" "$q" "$n" ;; esac
	done <"$R"/proc/net/route
fi

# Who manages which interface, by its number. These are the services' own notes
# for their next start and for libsystemd; a question over D-Bus would cost a
# fork and an answer for each of hundreds of interfaces.
for f in "$R"/run/systemd/netif/links/*; do
	[ -f "$f" ] || continue
	m='' q=''
	while IFS= read -r v; do
		case $v in ADMIN_STATE=*) m=${v#*=} ;; NETWORK_FILE=*) q=${v#*=} ;; esac
	done <"$f"
	[ -n "$q" ] && printf '@networkd %s %s %s\n' "${f##*/}" "$m" "$q"
done
for f in "$R"/run/NetworkManager/devices/*; do
	[ -f "$f" ] || continue
	m='' q=''
	while IFS= read -r v; do
		case $v in managed=*) m=${v#*=} ;; connection-uuid=*) q=${v#*=} ;; esac
	done <"$f"
	[ -n "$m" ] && printf '@nm %s %s %s\n' "${f##*/}" "$m" "$q"
done
c "$R"/run/network/ifstate
if [ -e "$R"/run/cloud-init/enabled ] && [ ! -e "$R"/etc/cloud/cloud-init.disabled ]; then
	m=on
	# Only whether "network: {config: disabled}" is there: the rest holds secrets.
	for f in "$R"/etc/cloud/cloud.cfg "$R"/etc/cloud/cloud.cfg.d/*.cfg; do
		[ -r "$f" ] || continue
		q=
		while read -r v; do
			case $q$v in network:*config:*disabled*) m=off ;; esac
			q=
			case $v in network:) q=$v ;; esac
		done <"$f"
	done
	printf '@cloud %s\n' "$m"
fi

# Storage that comes over the network: mounts, iSCSI sessions, NVMe over
# fabrics, and SRP targets, which name the InfiniBand device itself.
if h grep; then
	r mounts grep -sE ' (nfs4?|cifs|smb3) ' "$R"/proc/mounts
	while IFS=' ' read -r m m m q m; do
		case ,$q in *,addr=*)
			q=,$q
			q=${q##*,addr=}
			w "${q%%,*}"
			;;
		esac
	done <<E
$o
E
	# Sockets of NFS, SMB, iSCSI and NVMe/TCP servers that listen or have clients. A
	# kernel without IPv6 has no second table; grep ends with 2 for a file that is not there.
	m=$R/proc/net/tcp6
	[ -e "$m" ] || m=
	r sockets grep -hE -m 500 ': [0-9A-F]+:(0801|01BD|0CBC|1144) [0-9A-F]+:[0-9A-F]+ (01|0A) ' "$R"/proc/net/tcp ${m:+"$m"}
fi
for d in "$R"/sys/class/iscsi_connection/*; do
	g "$d"/address
	v=
	[ -f "$d"/address ] && IFS= read -r v <"$d"/address
	[ -n "$v" ] && w "$v"
done
for d in "$R"/sys/class/nvme/*; do
	v=
	[ -f "$d"/transport ] && IFS= read -r v <"$d"/transport
	case $v in tcp | rdma) ;; *) continue ;; esac
	g "$d"/transport "$d"/address
	IFS= read -r v <"$d"/address
	v=${v#*traddr=}
	w "${v%%,*}"
done
g "$R"/sys/class/scsi_host/*/local_ib_device

# A pool that is suspended keeps whoever asks for its status waiting in the kernel.
m=
for f in "$R"/proc/spl/kstat/zfs/*/state; do
	g "$f"
	v=
	[ -f "$f" ] && IFS= read -r v <"$f"
	case $v in SUSPENDED) m=1 ;; esac
done
if [ -d "$R"/sys/module/zfs ]; then
	echo '@module zfs'
	[ -z "$m" ] && h zpool && r zpool l 5 zpool status
fi

# The lines of upsmon.conf hold passwords; only the name behind MONITOR is used.
if h upsc; then
	x=
	for f in "$R"/etc/nut/upsmon.conf "$R"/etc/ups/upsmon.conf; do
		[ -f "$f" ] || continue
		if [ ! -r "$f" ]; then
			printf '!%s\n' "${f#"$R"}"
			continue
		fi
		while IFS=" $T" read -r m v q || [ -n "$m" ]; do
			[ "$m" = MONITOR ] && x="$x $v"
		done <"$f"
	done
	if [ -z "$x" ]; then
		r ups-list l 3 upsc -l
		# What upsc complains of has blanks, names have none.
		while IFS= read -r v; do
			case $v in '' | *' '*) ;; *) x="$x $v" ;; esac
		done <<E
$o
E
	fi
	for v in $x; do
		r "ups $v" l 3 upsc "$v" ups.status
	done
fi

if h mstflint; then
	r mstflint-v mstflint -v
fi
for d in "$R"/sys/bus/pci/devices/*; do
	v='' b=''
	[ -f "$d"/vendor ] && IFS= read -r v <"$d"/vendor
	[ -f "$d"/class ] && IFS= read -r b <"$d"/class
	[ -e "$d"/physfn ] && continue
	case $v$b in 0x15b30x06????) continue ;; 0x15b3*) ;; *) continue ;; esac
	d=${d##*/}
	h mstflint || u "$d"
	h mstflint && a flash "$d" mstflint -d "$d" q
	h lspci && r "vpd $d" lspci -vvs "$d"
done

if h systemctl; then
	r systemctl systemctl show --property=Id,LoadState,ActiveState,SubState,UnitFileState,ActiveEnterTimestamp -- \
		opensm.service NetworkManager.service systemd-networkd.service networking.service \
		kubelet.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service \
		'opensm@*.service' 'infiniband-*.service' 'infiniband-*.timer'
fi
if h dpkg-query; then
	v=
	[ -r "$R"/proc/sys/kernel/osrelease ] && IFS= read -r v <"$R"/proc/sys/kernel/osrelease
	# shellcheck disable=SC2086,SC2016 # a list of words; dpkg-query expands the format
	r dpkg dpkg-query -W -f '${Package}\t${db:Status-Abbrev}\t${Version}\n' -- $P "linux-modules-extra-$v"
elif h pacman; then
	# shellcheck disable=SC2086 # a list of words
	r pacman pacman -Q -- $P
elif h rpm; then
	# shellcheck disable=SC2086 # a list of words
	r rpm rpm -q --qf '%{NAME}\t%{VERSION}-%{RELEASE}\n' -- $P
fi

# A directory that cannot be listed may hold anything.
for f in /etc/netplan /run/netplan /etc/systemd/network /run/systemd/network /etc/network/interfaces.d \
	/etc/NetworkManager/system-connections /run/NetworkManager/system-connections /etc/sysconfig/network-scripts /etc/udev/rules.d; do
	[ -d "$R$f" ] || continue
	if [ ! -r "$R$f" ] || [ ! -x "$R$f" ]; then printf '!%s\n' "$f"; fi
done
c "$R"/etc/netplan/*.yaml "$R"/run/netplan/*.yaml "$R"/lib/netplan/*.yaml "$R"/etc/udev/rules.d/*ipoib*.rules "$R"/etc/udev/rules.d/*infiniband*.rules \
	"$R"/etc/modules-load.d/*infiniband*.conf "$R"/etc/modules "$R"/etc/default/opensm "$R"/etc/rdma/mlx4.conf \
	"$R"/etc/opensm/*.conf "$R"/etc/rdma/partitions.conf "$R"/etc/systemd/system/opensm@.service \
	"$R"/etc/systemd/system/opensm.service.d/*.conf "$R"/etc/systemd/system/opensm@*.service.d/*.conf \
	"$R"/etc/systemd/system/infiniband-port-*.service \
	"$R"/etc/systemd/system/multi-user.target.wants/infiniband-port-*.service "$R"/usr/local/sbin/terraform-infiniband-port \
	"$R"/etc/network/interfaces "$R"/etc/network/interfaces.d/* \
	"$R"/etc/systemd/network/*.network "$R"/etc/systemd/network/*.netdev "$R"/etc/systemd/network/*.network.d/*.conf \
	"$R"/run/systemd/network/*.network
# RHEL ships this one with hundreds of lines of comments.
f=$R/etc/rdma/opensm.conf
if [ -f "$f" ] && [ ! -r "$f" ]; then
	printf '!%s\n' "${f#"$R"}"
elif [ -r "$f" ]; then
	printf '@file %s\n' "${f#"$R"}"
	while IFS= read -r v; do
		case $v in '' | '#'*) ;; *) printf '|%s\n' "$v" ;; esac
	done <"$f"
	echo '@.'
fi
# Profiles of NetworkManager hold secrets; those of InfiniBand have none.
for f in "$R"/etc/NetworkManager/system-connections/* "$R"/run/NetworkManager/system-connections/* "$R"/etc/sysconfig/network-scripts/ifcfg-*; do
	[ -f "$f" ] || continue
	if [ ! -r "$f" ]; then
		printf '!%s\n' "${f#"$R"}"
		continue
	fi
	m=
	while IFS= read -r v || [ -n "$v" ]; do
		case $v in
		*[Tt][Yy][Pp][Ee]*=*[Ii][Nn][Ff][Ii][Nn][Ii][Bb][Aa][Nn][Dd]* | *CONNECTED_MODE=*) m=1 ;;
		# NetworkManager takes the type of a profile that has none from the device.
		*DEVICE=*)
			for q in $I; do
				case $v in *"$q"*) m=1 ;; esac
			done
			;;
		esac
		v=
	done <"$f"
	[ -n "$m" ] && c "$f"
done
for f in "$R"/etc/modprobe.d/*.conf; do
	[ -f "$f" ] || continue
	if [ ! -r "$f" ]; then
		printf '!%s\n' "${f#"$R"}"
		continue
	fi
	m=
	while IFS= read -r v || [ -n "$v" ]; do
		case $v in *mlx4_core* | *ib_ipoib*) m=1 ;; esac
		v=
	done <"$f"
	[ -n "$m" ] && c "$f"
done
for f in "$R"/etc/udev/rules.d/*; do
	[ -f "$f" ] && printf '@rule %s\n' "${f#"$R"}"
done
# The initial RAM disk has copies of these, which are older than they are.
v=
[ -r "$R"/proc/sys/kernel/osrelease ] && IFS= read -r v <"$R"/proc/sys/kernel/osrelease
for f in /etc/modprobe.d/terraform-infiniband.conf /etc/rdma/mlx4.conf; do
	[ -f "$R$f" ] || continue
	m=
	for q in "$R/boot/initrd.img-$v" "$R/boot/initramfs-$v.img" "$R/boot/initramfs-linux.img"; do
		[ -f "$q" ] || continue
		m=1
		# shellcheck disable=SC3013 # not of POSIX, and every shell that is /bin/sh has it
		[ "$R$f" -nt "$q" ] && printf '@late %s\n' "$f"
	done
	[ -n "$m" ] || printf '@no-disk %s\n' "$f"
done

for d in "$R$S"/jobs/*; do
	[ -d "$d" ] || continue
	printf '@job %s\n' "${d##*/}"
	c "$d"/request "$d"/states "$d"/exit
	if [ ! -s "$d"/exit ] && [ ! -e "$d"/settled ]; then
		find_job "$R" "${d#"$R"}"
		for v in $JOB_PIDS; do printf '@process %s %s\n' "${d##*/}" "$v"; done
		[ -n "$JOB_WHY" ] && printf '@hidden %s %s\n' "${d##*/}" "$JOB_WHY"
	fi
	if [ -e "$d"/settled ]; then
		printf '@settled %s\n' "${d##*/}"
	elif [ -f "$d"/output ]; then
		r "log ${d##*/}" tail -n 40 "$d"/output
	fi
done

for d in "$R$S"/undo/*; do
	[ -f "$d"/undo.sh ] || continue
	v=waiting
	[ -d "$d"/decided ] && v=decided
	[ -f "$d"/undone ] && IFS= read -r v <"$d"/undone
	printf '@undo %s %s\n' "${d##*/}" "$v"
done

if h stat; then
	set --
	for f in "$R"/etc/netplan/*.yaml "$R"/etc/udev/rules.d/*ipoib*.rules "$R"/etc/udev/rules.d/*infiniband*.rules \
		"$R"/etc/modprobe.d/*.conf "$R"/etc/modules-load.d/*infiniband*.conf "$R"/etc/default/opensm "$R"/etc/rdma/mlx4.conf \
		"$R"/etc/opensm/*.conf "$R"/etc/systemd/system/opensm@.service \
		"$R"/etc/systemd/system/opensm.service.d/*.conf "$R"/etc/systemd/system/opensm@*.service.d/*.conf \
		"$R"/etc/NetworkManager/system-connections/infiniband-* "$R$S"/images/*.bin; do
		[ -f "$f" ] && set -- "$@" "$f"
	done
	[ $# -gt 0 ] && r stat stat -c '%a %U:%G %s %n' "$@"
fi
d=$R$S
while [ ! -d "$d" ] && [ -n "$d" ]; do d=${d%/*}; done
h df && r df df -Pk "${d:-/}"

if h midclt; then
	for m in system.version interface.query system.advanced.config initshutdownscript.query tunable.query \
		interface.has_pending_changes interface.checkin_waiting; do
		r "midclt $m" midclt call "$m"
	done
fi
echo '@end'
