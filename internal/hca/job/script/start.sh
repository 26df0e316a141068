# Stores a job and starts its unit.
#   STATEDIR ID UNIT LOCK HOLDER SHA256 JOB_SH REQUEST ARGV ANSWERS
# SHA256 is that of the four files together.
umask 077
jobs=$1/jobs
id=$2
unit=$3
lock=$4
holder=$5
want=$6
shift 6
dir=$jobs/$id
# What could not be stored whole was never a job: its request would be one that nobody can read.
forget() {
  rm -rf "$dir"
  exit "$1"
}
mkdir -p "$jobs" "${lock%/*}" || exit 72
mkdir "$dir" || exit 73
printf '%s' "$1" >"$dir/job.sh" || forget 72
printf '%s' "$2" >"$dir/request" || forget 72
printf '%s' "$3" >"$dir/argv" || forget 72
printf '%s' "$4" >"$dir/answers" || forget 72
sum=$(cat "$dir/job.sh" "$dir/request" "$dir/argv" "$dir/answers" | sha256sum)
if [ "${sum%% *}" != "$want" ]; then
  echo "the files of the job have SHA-256 ${sum%% *} instead of $want; no space may be left" >&2
  forget 74
fi
printf '1 requested %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$dir/states" || forget 72
sync "$dir/job.sh" "$dir/request" "$dir/argv" "$dir/answers" "$dir/states" "$dir"
# Stopping the unit must never stop the tool in the middle: the stop signal is
# one that nothing heeds, systemd then waits for the job, and never kills it.
if systemd-run --quiet --collect --unit="$unit" --description="Flash job $id of terraform-provider-infiniband" \
  --property=KillMode=mixed --property=KillSignal=SIGCONT --property=SendSIGKILL=no \
  --property=TimeoutStopSec=45min --property=OOMScoreAdjust=-1000 \
  systemd-inhibit --what=shutdown:sleep:idle --mode=block --who=terraform-provider-infiniband \
  --why="the flash of a card is being written" \
  /bin/sh "$dir/job.sh" "$dir" "$lock" "$holder" outer; then
  exit 0
else
  status=$?
fi
# systemd-run fails too where its request has reached a busy systemd, which starts the unit
# sooner or later. Only one makes this directory: here the job never begins, or it has begun.
mkdir "$dir/claim" 2>/dev/null || exit 0
echo "systemd-run ended with status $status" >"$dir/reason"
printf '5 failed %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >>"$dir/states"
echo 76 >"$dir/exit"
sync "$dir/states" "$dir/exit"
exit 76
