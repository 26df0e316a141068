# Prints what is known of a job.
#   DIR UNIT LOCK HOLDER [claim]
echo '@begin 1'
# Before all else: from here on the job has begun, which is seen below, or never begins.
if [ "$5" = claim ]; then mkdir "$1/claim" 2>/dev/null; fi
# The unit first: if it is gone and exit is read afterwards, a missing exit
# means that the job did not get that far.
answer unit systemctl is-active -- "$2"
answer now date -u +%Y-%m-%dT%H:%M:%SZ
values /proc/sys/kernel/random/boot_id
case $OUTPUT in
active | activating | deactivating | reloading | refreshing | maintenance) ;;
*)
  # systemd that is busy, or that was replaced in between, has been seen to know
  # nothing of a unit whose tool was writing: the processes and the lock decide.
  find_job '' "$1"
  mkdir -p "${3%/*}"
  flock -s -n -E 75 "$3" true
  case $? in
  0) echo '@lock free' ;;
  75) echo '@lock taken' ;;
  *) echo '@lock unknown' ;;
  esac
  contents "$4"
  ;;
esac
if [ ! -d "$1" ]; then
  echo '@absent'
  echo '@end'
  exit 0
fi
# A full disk takes the end of a journal as a power cut does; it can be seen.
if [ ! -s "$1/exit" ]; then
  if [ -f "$1/exit.new" ]; then echo '@cut'; fi
  df -Pk "$1" 2>/dev/null | while read -r _ _ _ free _ at; do printf '@free %s %s\n' "$free" "$at"; done
fi
contents "$1/exit"
if [ -f "$1/settled" ]; then echo '@settled'; fi
contents "$1/reason" "$1/states" "$1/held"
if [ -f "$1/output" ]; then answer output tail -c 6000 "$1/output"; fi
echo '@end'
