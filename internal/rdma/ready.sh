# What a host has for RDMA beside its cards: modules, limits, listeners of storage, GPUs. It reads only,
# and as the login user: the limit of locked memory is that of a login.
echo '@begin 1'
printf '@uid %s\n' "$(id -u)"
# shellcheck disable=SC3045 # not of POSIX, and every shell that is /bin/sh has it
printf '@memlock %s\n' "$(ulimit -l 2>/dev/null)"
for file in /etc/security/limits.conf /etc/security/limits.d/*.conf; do
	readable "$file" || continue
	while read -r domain kind item limit _ || [ -n "$domain" ]; do
		case $domain in '#'*) continue ;; esac
		[ "$item" = memlock ] && printf '@limit %s %s %s\n' "$domain" "$kind" "$limit"
	done <"$file"
done

# A module that is built in has no directory unless it has parameters.
[ -d /sys/module ] && echo '@modules'
for module in ib_uverbs rdma_cm rdma_ucm rpcrdma nfsd target_core_mod nvmet nvidia_peermem; do
	[ -d /sys/module/$module ] && printf '@module %s\n' "$module"
done
first_line /proc/sys/kernel/osrelease
list=/lib/modules/$LINE/modules.builtin
if [ -r "$list" ] && has grep; then
	answer builtin grep -E '/(ib_uverbs|rdma_cm|rdma_ucm|rpcrdma|nfsd|target_core_mod|nvmet)\.ko' "$list"
fi
has rping && echo '@rping'

# listed DIRECTORY: whether it is there; one that cannot be listed is named.
listed() {
	[ -d "$1" ] || return 1
	[ -r "$1" ] && [ -x "$1" ] && return 0
	printf '!%s\n' "$1"
	return 1
}

# Everybody may read this one; the number of threads is for root.
listed /proc/fs/nfsd && contents /proc/fs/nfsd/portlist
# LIO keeps the keys of its users beside these files.
if listed /sys/kernel/config/target; then
	echo '@configfs target'
	for portal in /sys/kernel/config/target/iscsi/*/*/np/*; do
		[ -d "$portal" ] || continue
		printf '@portal %s\n' "$portal"
		values "${portal%/np/*}"/enable "$portal"/iser
	done
	for group in /sys/kernel/config/target/srpt/*/*; do
		[ -f "$group"/enable ] || continue
		printf '@srp %s\n' "$group"
		values "$group"/enable
	done
fi
if listed /sys/kernel/config/nvmet; then
	echo '@configfs nvmet'
	for port in /sys/kernel/config/nvmet/ports/*; do
		[ -d "$port" ] || continue
		printf '@port %s\n' "$port"
		values "$port"/addr_trtype "$port"/addr_traddr "$port"/addr_trsvcid
		for subsystem in "$port"/subsystems/*; do
			[ -L "$subsystem" ] && printf '@serves %s %s\n' "$port" "${subsystem##*/}"
		done
	done
fi

# The link to a device goes from its host bridge over its root port. Of GPUs, those of NVIDIA.
for device in /sys/bus/pci/devices/*; do
	first_line "$device"/vendor
	vendor=$LINE
	first_line "$device"/class
	case $vendor$LINE in
	0x10de0x03*)
		driver=''
		[ -L "$device"/driver ] && driver=$(readlink "$device"/driver)
		printf '@gpu %s %s\n' "${device##*/}" "${driver##*/}"
		;;
	*) [ -d "$device"/infiniband ] || continue ;;
	esac
	printf '@place %s %s\n' "${device##*/}" "$(readlink "$device")"
	values "$device"/numa_node
done
for netdev in /sys/class/net/*; do
	[ -L "$netdev"/master ] || continue
	master=$(readlink "$netdev"/master)
	master=${master##*/}
	while read -r LINE; do
		[ "$LINE" = DEVTYPE=vrf ] && printf '@vrf %s %s\n' "${netdev##*/}" "$master"
	done </sys/class/net/"$master"/uevent
done
has midclt && answer protocols midclt call rdma.capable_protocols
echo '@end'
