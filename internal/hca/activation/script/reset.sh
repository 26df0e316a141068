# Resets the chip of one card, as a systemd unit of its own: a session that is lost while the link is down would
# leave the card without link and driver. Comes behind the functions that look for users of a card.
#   reset.sh DIR LOCK outer|inner CARD COMMAND…
# Written into DIR: begun, right before the command; output; exit, the last one. Without it, and without the unit,
# the reset was cut off.
set -u
umask 077
LC_ALL=C
export LC_ALL
dir=$1
lock=$2
phase=$3
pci=$4
shift 4

# The rename makes exit appear whole or not at all.
finish() {
  sync "$dir/output" 2>/dev/null
  printf '%s\n' "$1" >"$dir/exit.new" && sync "$dir/exit.new" && mv "$dir/exit.new" "$dir/exit" && sync "$dir"
  exit 0
}

refuse() {
  printf '%s\n' "$2" >"$dir/output"
  finish "$1"
}

if [ "$phase" = outer ]; then
  # systemd may start this unit long after it was asked for, and given up.
  mkdir "$dir/claim" 2>/dev/null || exit 0
  # A reader holds the lock for a moment.
  try=0
  while :; do
    flock -n -E 75 "$lock" /bin/sh "$dir/reset.sh" "$dir" "$lock" inner "$pci" "$@"
    status=$?
    if [ "$status" -ne 75 ]; then exit "$status"; fi
    try=$((try + 1))
    if [ "$try" -ge 60 ]; then refuse 75 'the lock of this host was not free for a minute'; fi
    sleep 1
  done
fi

# A program of others does not know the lock.
# shellcheck disable=SC2154 # find_users sets USERS_WHY
find_users '' "$lock"
if [ -n "$USERS_WHY" ]; then refuse 77 "whether another program uses the card is not known: $USERS_WHY"; fi
find_update '' "$pci"
others=$(users_of "$pci")
if [ -n "$others" ]; then refuse 77 "busy: $others"; fi

# On the disk before it is done: what a killed reset leaves must not look like one that never began.
if ! { printf '1\n' >"$dir/begun" && sync "$dir/begun" "$dir"; }; then
  refuse 72 'the note on the reset cannot be written, no space may be left'
fi
# One answer: a question that nobody foresaw meets the end of the file.
printf 'y\n' | "$@" >"$dir/output" 2>&1
finish $?
