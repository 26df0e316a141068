# Prints what is known of a job, one "key value" a line, then a blank line and
# the end of the tool's output.
#   DIR UNIT
if [ ! -d "$1" ]; then
  echo 'absent'
  exit 0
fi
# The unit first: if it is gone and exit is read afterwards, a missing exit
# means that the job did not get that far.
unit=$(systemctl is-active -- "$2" 2>/dev/null)
printf 'unit %s\n' "${unit:-unknown}"
printf 'boot %s\n' "$(cat /proc/sys/kernel/random/boot_id)"
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
