# Runs a command that opens a card, unless another program uses the card.
#   LOCK CARD shared|exclusive COMMAND…
# Ends with the status of the command; with 75 if the lock is taken, 78 if the card
# is in use, and 79 if that cannot be told. The users are on standard error then.
lock=$1 card=$2 mode=$3
shift 3
mkdir -p "${lock%/*}"

# look STATUS: ends the script if somebody uses the card.
look() {
	find_users '' "$lock"
	if [ -n "$USERS_WHY" ]; then
		printf '%s\n' "$USERS_WHY" >&2
		exit 79
	fi
	users_now=$(users_of "$card")
	if [ -z "$users_now" ]; then
		find_update '' "$card" flock -s -n -E 75 "$lock" flock -w 2 -E 74 "$lock.reader"
		users_now=$(users_of "$card")
	fi
	[ -z "$users_now" ] || {
		printf '%s\n' "$users_now" >&2
		exit 78
	}
}

# Readers keep off writers by the lock, and off each other by a second one: a query
# that does not get the semaphore of the flash takes it from whoever has it. Who has
# waited for another reader looks again: somebody else may have come meanwhile.
status=74 tries=0
while [ "$status" = 74 ] && [ "$tries" -lt 25 ]; do
	look
	case $mode in
	shared) flock -s -n -E 75 "$lock" flock -w 2 -E 74 "$lock.reader" "$@" ;;
	exclusive) flock -n -E 75 "$lock" "$@" ;;
	esac
	status=$?
	tries=$((tries + 1))
done
[ "$status" = 74 ] && status=75
# What failed beside a program that has begun since says nothing about the card.
case $status in 0 | 75) ;; *) look ;; esac
exit "$status"
