# Prints the records of a host, and its flash jobs, oldest first.
#   STATEDIR
# It opens no card and takes no lock: a lock that is held for a moment has a job wait.
echo '@begin 1'
printf '@now %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"

# systemd first, the processes next, and the end of a job last: a job without an end
# that neither had shown has stopped.
answer units systemctl show --property=Id,ActiveState -- 'infiniband-flash-*.service'
active=' '
if [ "$STATUS" = 0 ]; then
  id=
  while IFS='=' read -r key value; do
    case $key=$value in
    Id=*) id=$value ;;
    ActiveState=inactive | ActiveState=failed) ;;
    ActiveState=*) active="$active$id " ;;
    esac
  done <<END
$OUTPUT
END
fi

if [ -e "$1" ] && [ ! -d "$1" ]; then printf '!%s is no directory\n' "$1"; fi
for file in "$1/benchmarks.old" "$1/benchmarks" "$1/changes.old" "$1/changes"; do
  if [ -e "$file" ]; then answer changes cat "$file"; fi
done
if [ -e "$1/jobs" ] && [ ! -d "$1/jobs" ]; then printf '!%s is no directory\n' "$1/jobs"; fi
for directory in "$1"/jobs/*; do
  [ -d "$directory" ] || continue
  job=${directory##*/}
  printf '@job %s\n' "$job"
  contents "$directory/request"
  case $active in *" infiniband-flash-$job.service "*) ;; *)
    if [ ! -s "$directory/exit" ] && [ ! -f "$directory/settled" ]; then find_job '' "$directory"; fi
    ;;
  esac
  # The output before the end: what follows the end is not seen as a part of it.
  if [ ! -f "$directory/settled" ] && [ -f "$directory/output" ]; then
    answer output tail -c 2000 "$directory/output"
  fi
  contents "$directory/states" "$directory/exit" "$directory/reason" "$directory/settled"
done
echo '@end'
