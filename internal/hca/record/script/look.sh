# Prints the flash jobs of a host, oldest first, one "key value" a line.
#   STATEDIR
# It opens no card and takes no lock: a lock that is held for a moment has a job wait.
# shellcheck disable=SC2154 # find_job sets JOB_PIDS and JOB_WHY
printf 'now %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"

# systemd first, the processes next, and the end of a job last: a job without an end
# that neither had shown has stopped.
units=$(systemctl show --property=Id,ActiveState -- 'infiniband-flash-*.service' 2>&1)
status=$?
active=' '
if [ "$status" -eq 0 ]; then
  id=
  while IFS='=' read -r key value; do
    case $key in
    Id) id=$value ;;
    ActiveState)
      printf 'unit %s %s\n' "$value" "$id"
      case $value in inactive | failed) ;; *) active="$active$id " ;; esac
      ;;
    esac
  done <<END
$units
END
else
  while IFS= read -r line; do
    printf 'systemd %s: %s\n' "$status" "$line"
    break
  done <<END
$units
END
fi

# lines KEY FILE: the lines of a file, also of one that a full disk has cut.
lines() {
  [ -f "$2" ] || return 0
  line=
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s %s\n' "$1" "$line"
    line=
  done <"$2"
}

for directory in "$1"/jobs/*; do
  [ -d "$directory" ] || continue
  job=${directory##*/}
  printf 'job %s\n' "$job"
  lines request "$directory/request"
  case $active in *" infiniband-flash-$job.service "*) ;; *)
    if [ ! -s "$directory/exit" ] && [ ! -f "$directory/settled" ]; then
      find_job '' "$directory"
      for pid in $JOB_PIDS; do printf 'process %s\n' "$pid"; done
      if [ -n "$JOB_WHY" ]; then printf 'hidden %s\n' "$JOB_WHY"; fi
    fi
    ;;
  esac
  # The output before the end: what follows the end is not seen as a part of it.
  if [ ! -f "$directory/settled" ] && [ -f "$directory/output" ]; then
    tail -c 2000 "$directory/output" | while IFS= read -r line || [ -n "$line" ]; do
      printf 'output %s\n' "$line"
      line=
    done
  fi
  lines state "$directory/states"
  lines exit "$directory/exit"
  lines reason "$directory/reason"
  lines settled "$directory/settled"
done
echo 'end'
