# Prints what is known of a job, one "key value" a line, then a blank line and
# the end of the tool's output.
#   DIR UNIT LOCK HOLDER
# shellcheck disable=SC2154 # find_job sets JOB_PIDS and JOB_WHY
# The unit first: if it is gone and exit is read afterwards, a missing exit
# means that the job did not get that far.
unit=$(systemctl is-active -- "$2" 2>&1)
case $unit in
active | activating | deactivating | reloading | refreshing | maintenance | inactive | failed) ;;
*) unit="unknown ${unit:-systemctl says nothing}" ;;
esac
printf 'unit %s\n' "$unit" | head -n 1
printf 'boot %s\n' "$(cat /proc/sys/kernel/random/boot_id)"
case $unit in
inactive | failed | unknown*)
  # systemd that is busy, or that was replaced in between, has been seen to know
  # nothing of a unit whose tool was writing: the processes and the lock decide.
  find_job '' "$1"
  for pid in $JOB_PIDS; do printf 'process %s\n' "$pid"; done
  if [ -n "$JOB_WHY" ]; then printf 'hidden %s\n' "$JOB_WHY"; fi
  mkdir -p "${3%/*}"
  flock -s -n -E 75 "$3" true
  case $? in
  0) echo 'lock free' ;;
  75) echo 'lock taken' ;;
  *) echo 'lock unknown' ;;
  esac
  if [ -f "$4" ]; then
    while IFS= read -r line; do printf 'holder %s\n' "$line"; done <"$4"
  fi
  ;;
esac
if [ ! -d "$1" ]; then
  echo 'absent'
  exit 0
fi
# A full disk takes the end of a journal as a power cut does; it can be seen.
if [ ! -s "$1/exit" ]; then
  if [ -f "$1/exit.new" ]; then echo 'cut'; fi
  df -Pk "$1" 2>/dev/null | while read -r _ _ _ free _ at; do printf 'free %s %s\n' "$free" "$at"; done
fi
if [ -s "$1/exit" ]; then printf 'exit %s\n' "$(cat "$1/exit")"; fi
if [ -f "$1/settled" ]; then echo 'settled'; fi
if [ -f "$1/reason" ]; then printf 'reason %s\n' "$(cat "$1/reason")"; fi
if [ -f "$1/states" ]; then
  while read -r number name time; do printf 'state %s %s %s\n' "$number" "$name" "$time"; done <"$1/states"
fi
if [ -f "$1/held" ]; then
  while IFS= read -r line; do printf 'held %s\n' "$line"; done <"$1/held"
fi
echo
if [ -f "$1/output" ]; then tail -c 6000 "$1/output"; fi
