# Who else uses a card. Functions for scripts that open a card, to be called right
# before: two programs that use a card at once break each other's accesses, and a
# query beside a burn has made that burn fail. For uid 0; sh, dash, bash, busybox.
#
#   find_users ROOT LOCK  looks through /proc and sets
#                           USERS     a line for each process that is not under
#                                     LOCK: PID START CARD USER<TAB>COMMAND
#                           USERS_WHY why it could not be seen; empty if it could
#   find_update ROOT CARD RUN…  adds a line to USERS if the firmware of the card is being
#                           updated; RUN… are the words, or none, by which a command runs
#                           under LOCK
#   users_of CARD         prints those of the lines that concern a card
#   find_job ROOT DIR     prints "@process JOB PID" for each process of the job with
#                         that directory, or "@hidden JOB WHY" if they cannot be seen
#
# START is in seconds since 1970, 0 if unknown. PID is 0 for an update of the firmware: its
# owner may be no process of this host. CARD is a PCI address, that of
# the card for one of its virtual functions, or "any" if the process may use each. A
# process that ends while it is looked at is no user.

# shellcheck disable=SC2034 # both are for the caller
find_users() {
	USERS='' USERS_WHY=''
	if [ ! -r "$1/proc/1/comm" ]; then
		USERS_WHY='the processes in /proc cannot be read'
		return 0
	fi
	# The first name is printed by every find that knows these words. Links are
	# read and not followed: what is behind one may be a file server that is gone.
	users_open=$(find "$1/proc/1/comm" "$1"/proc/[0-9]*/fd -name comm -o -lname "$2" -o -lname '*/mstflint_lockfiles/*' \
		-o -lname '/dev/mst/*' -o -lname '/dev/vfio/*[0-9]' -o -lname '*.[0-7]/config' -o -lname '*/resource[0-9]*' \
		2>/dev/null)
	case $users_open in
	"$1/proc/1/comm"*) ;;
	*)
		USERS_WHY='find of findutils, which shows what files processes have open, is missing or does not work'
		return 0
		;;
	esac
	users_own=' ' users_held=' ' users_some=' ' users_guests=' '
	while IFS= read -r users_line; do
		case $users_line in */fd/[0-9]*) users_file "$2" "$users_line" ;; esac
	done <<END
$users_open
END
	for users_dir in "$1"/proc/[0-9]*; do
		users_named "$users_dir" && users_some="$users_some${users_dir##*/} "
	done
	for users_pid in $users_some; do
		case $users_own in *" $users_pid "*) ;; *) users_under "$1" "$users_pid" "$2" || users_process "$1" "$users_pid" ;; esac
	done
}

# users_under ROOT PID LOCK: whether a process that bears the name of a tool is under
# LOCK now. One of ours may have begun after the open files were listed: it has the
# lock open before it has its name. One that ends loses its command line before its
# files, so that users_process, which looks later, does not take it either.
users_under() {
	[ -n "$(find "$1/proc/$2/fd" -lname "$3" 2>/dev/null)" ]
}

# A BMC, another host or a driver may send the card an image, and no process here shows it.
# mstflint 4.21 to 4.26 cancels that with a mere query; a read of the register of updates does
# not. A tool that was killed leaves the register as it was.
find_update() {
	users_value='' users_card=$2
	IFS= read -r users_value 2>/dev/null <"$1/sys/bus/pci/devices/$2/device"
	shift 2
	# ConnectX-3 has no such register, and a chip in recovery mode no firmware.
	case $users_value in 0x101[1-9a-f] | 0x102? | 0xa2d?) ;; *) return 0 ;; esac
	command -v mstreg >/dev/null 2>&1 || return 0
	users_line=$("$@" mstreg -d "$users_card" --reg_id 0x9062 --reg_len 0x20 --get 2>/dev/null)
	# The fourth word has the owner in its first digit, and in its last one the state, 0 for idle.
	case $users_line in *'0x0000000c | 0x'???????[1-9]*) ;; *) return 0 ;; esac
	users_line=${users_line##*'0x0000000c | 0x'}
	case $users_line in
	1* | 3*) users_who='the BMC' ;;
	2*) users_who='another host' ;;
	4*) users_who='the driver' ;;
	5*) users_who='a tool' ;;
	*) users_who='somebody' ;;
	esac
	users_line=${users_line#???????}
	users_line=${users_line%"${users_line#?}"}
	set -- LOCKED INITIALIZE DOWNLOAD VERIFY APPLY ACTIVATE UPLOAD UPLOAD_PENDING DOWNSTREAM
	shift $((users_line - 1))
	USERS="${USERS}0 0 $users_card $users_who	update of the firmware of the card, state $1
"
}

users_of() {
	while IFS=' ' read -r users_pid users_start users_card users_text; do
		case $users_card in "${1%.*}".* | any) printf '%s %s %s %s\n' "$users_pid" "$users_start" "$users_card" "$users_text" ;; esac
	done <<END
$USERS
END
}

# A process of a job has a file below its directory open, also if the directory was
# removed, or runs the script in it.
find_job() {
	users_job='' users_id=${2##*/}
	users_open=$(find "$1/proc/1/comm" "$1"/proc/[0-9]*/fd -name comm -o -lname "$2/*" 2>/dev/null)
	case $users_open in
	"$1/proc/1/comm"*) ;;
	*)
		printf '@hidden %s %s\n' "$users_id" 'the processes in /proc cannot be seen'
		return 0
		;;
	esac
	while IFS= read -r users_line; do
		case $users_line in
		*/fd/[0-9]*)
			users_pid=${users_line%/fd/*}
			users_pid=${users_pid##*/}
			case " $users_job " in *" $users_pid "*) ;; *) users_job="$users_job $users_pid" ;; esac
			;;
		esac
	done <<END
$users_open
END
	for users_dir in "$1"/proc/[0-9]*; do
		users_value=
		IFS= read -r users_value 2>/dev/null <"$users_dir/cmdline"
		case $users_value in
		*"$2/job.sh"*)
			case " $users_job " in *" ${users_dir##*/} "*) ;; *) users_job="$users_job ${users_dir##*/}" ;; esac
			;;
		esac
	done
	for users_pid in $users_job; do printf '@process %s %s\n' "$users_id" "$users_pid"; done
}

# users_file LOCK FILE: takes down what one open file says of its process.
users_file() {
	users_link=$(readlink "$2") || return 0
	users_pid=${2%/fd/*}
	users_pid=${users_pid##*/}
	if [ "$users_link" = "$1" ]; then
		# What runs below flock has inherited its lock file.
		users_own="$users_own$users_pid "
		return 0
	fi
	# Who only reads the configuration space, as lspci does, disturbs nobody.
	while read -r users_word users_value; do
		case $users_word$users_value in flags:*[04]) return 0 ;; esac
	done 2>/dev/null <"${2%/fd/*}/fdinfo/${2##*/}"
	# udev reads the space of each card for a moment. Of a file that has been closed
	# meanwhile there were no flags to see.
	[ "$(readlink "$2")" = "$users_link" ] || return 0
	case $users_link in
	/dev/vfio/*) users_vfio "${2%/proc/[0-9]*/fd/*}" "$users_link" ;;
	*)
		users_address "$users_link"
		users_holds
		;;
	esac
}

# users_holds: takes down that process users_pid has users_card open.
users_holds() {
	case $users_some in *" $users_pid "*) ;; *) users_some="$users_some$users_pid " ;; esac
	case $users_held in *" $users_pid=$users_card "*) ;; *) users_held="$users_held$users_pid=$users_card " ;; esac
}

# users_vfio ROOT FILE: takes down the cards that a process has by VFIO, most often for a
# guest. Nobody on the host sees what is done to them. The file is that of an IOMMU group
# with all its devices, or since kernel 6.6 that of one device.
users_vfio() {
	case $2 in
	*/devices/*) set -- "$1" "$(readlink "$1/sys/class/vfio-dev/${2##*/}/device")" ;;
	*)
		users_link=${2##*/}
		set -- "$1" "$1/sys/kernel/iommu_groups/${users_link#noiommu-}/devices"/*
		[ -e "$2" ] || [ -L "$2" ] || set -- "$1" ''
		;;
	esac
	users_link=$1
	shift
	for users_word in "$@"; do
		users_address "$users_word"
		# What is no PCI device is no card; which device it is may not be known.
		case $users_card/$users_word in any/?*) continue ;; esac
		users_value=
		IFS= read -r users_value 2>/dev/null <"$users_link/sys/bus/pci/devices/$users_card/vendor"
		case $users_value in 0x15b3 | '') ;; *) continue ;; esac
		# A virtual function has no flash.
		[ ! -L "$users_link/sys/bus/pci/devices/$users_card/physfn" ] || continue
		users_holds
		case $users_guests in *" $users_pid "*) ;; *) users_guests="$users_guests$users_pid " ;; esac
	done
}

# users_address TEXT: sets users_card to the PCI address in the name of a device
# or a path of sysfs; "any" for every other name.
users_address() {
	users_card=${1%/config}
	users_card=${users_card%/resource*}
	users_card=${users_card##*/}
	users_card=${users_card#pciconf-}
	case $users_card in
	[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f].[0-7]) users_card=0000:$users_card ;;
	[0-9a-f][0-9a-f][0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f].[0-7]) ;;
	*) users_card=any ;;
	esac
}

# users_named DIR: whether a process, not yet listed, is by its name one of the
# tools, or an interpreter that may run one.
users_named() {
	users_word='' users_value=''
	case $users_some in *" ${1##*/} "*) return 1 ;; esac
	IFS= read -r users_word 2>/dev/null <"$1/comm" || return 1
	case $users_word in
	mst* | mlx* | flint* | devlink | ethtool) return 0 ;;
	python* | perl* | sh | bash | dash) ;;
	*) return 1 ;;
	esac
	# read skips the NUL that ends each word.
	IFS= read -r users_value 2>/dev/null <"$1/cmdline"
	case $users_value in */mst* | */mlx*) return 0 ;; esac
	return 1
}

# users_physical ROOT: takes the function of the card for a virtual one in users_card.
users_physical() {
	users_link=$1/sys/bus/pci/devices/$users_card/physfn
	if [ -e "$users_link" ] || [ -L "$users_link" ]; then
		users_address "$(readlink "$users_link")"
	fi
}

# users_process ROOT PID: adds a process to USERS if it uses a card.
users_process() {
	# Threads of drivers, such as mlx5_health, have no command line.
	users_line=$(tr '\000\n' '\n ' 2>/dev/null <"$1/proc/$2/cmdline") || return 0
	[ -n "$users_line" ] || return 0
	users_tool='' users_device='' users_next='' users_text='' users_verb=''
	while IFS= read -r users_word; do
		users_text="$users_text $users_word"
		users_argument "$users_word"
	done <<END
$users_line
END
	# The words of a virtual machine fill a page.
	case $users_guests in
	*" $2 "*)
		IFS= read -r users_text <<END
$users_line
END
		users_text="$users_text (has the card by VFIO, as for a guest)"
		;;
	esac
	users_cards='' users_any=''
	for users_value in $users_held; do
		case $users_value in "$2=any") users_any=1 ;; "$2="*) users_cards="$users_cards ${users_value#*=}" ;; esac
	done
	if [ -z "$users_cards" ]; then
		case "$users_tool$users_any $users_device" in
		# Without a device mstflint and flint work on a file, and devlink and ethtool write no flash.
		' '* | 'none ' | 'mstflint ' | 'flint ' | 'devlink ' | 'ethtool ') return 0 ;;
		*' ') users_cards=any ;;
		ethtool*)
			users_address "$(readlink "$1/sys/class/net/$users_device/device")"
			users_cards=$users_card
			;;
		*)
			users_address "$users_device"
			users_cards=$users_card
			;;
		esac
	fi
	users_since "$1" "$2" || return 0
	for users_card in $users_cards; do
		users_physical "$1"
		USERS="$USERS$2 $users_start $users_card $users_who	${users_text# }
"
	done
}

# users_argument WORD: takes the next word of a command line.
users_argument() {
	if [ -n "$users_next" ]; then
		users_device=$1 users_next=''
		return 0
	fi
	case $users_tool in
	'')
		users_tool=${1##*/}
		users_tool=${users_tool%.py}
		case $users_tool in
		mst* | mlx* | flint* | devlink | ethtool) ;;
		python* | perl* | sh | bash | dash | -*) users_tool='' ;;
		*) users_tool=none ;;
		esac
		;;
	none) ;;
	ethtool)
		# "ethtool -f enp1s0np0 FILE" has the driver write the flash (mlx5e_flash_device).
		case $users_verb$1 in -f | --flash) users_verb=- users_next=1 ;; esac
		;;
	devlink)
		# "devlink dev flash pci/0000:01:00.0 file …" has the driver write the flash, and
		# "dev reload … action fw_activate" has it start the firmware anew.
		case $users_verb$1 in
		dev) users_verb='dev ' ;;
		'dev flash' | 'dev reload') users_verb=- users_next=1 ;;
		esac
		;;
	*)
		case $1 in
		-d | --device | -device | --dev | -dev) users_next=1 ;;
		--device=* | -device=* | --dev=* | -dev=* | -d=*) users_device=${1#*=} ;;
		-d[0-9a-f/]*) users_device=${1#-d} ;;
		esac
		;;
	esac
}

# users_since ROOT PID: sets users_who and users_start; fails if the process is gone.
users_since() {
	users_who='' users_start='' users_value=''
	while read -r users_word users_value users_line; do
		case $users_word in Uid:) users_who=$users_value ;; esac
	done 2>/dev/null <"$1/proc/$2/status"
	[ -n "$users_who" ] || return 1
	users_who=$(id -nu "$users_who" 2>/dev/null || printf '%s' "$users_who")
	# The 22nd field of stat; the second, the name, may hold blanks. Ticks are
	# hundredths of a second on every machine that has such cards.
	IFS= read -r users_value 2>/dev/null <"$1/proc/$2/stat"
	while read -r users_word users_line users_next; do
		case $users_word in btime) users_start=$users_line ;; esac
	done 2>/dev/null <"$1/proc/stat"
	users_next=''
	users_ticks "${users_value##*) }"
}

# users_ticks FIELDS: adds the 20th of the fields to users_start.
users_ticks() {
	# shellcheck disable=SC2086 # a list of numbers
	set -- $1
	if [ -n "$users_start" ] && [ $# -ge 20 ]; then
		shift 19
		users_start=$((users_start + $1 / 100))
	else
		users_start=0
	fi
}
