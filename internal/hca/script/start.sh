# Stores a job and starts its unit.
#   STATEDIR ID UNIT LOCK HOLDER JOB_SH_SHA256 JOB_SH REQUEST ARGV ANSWERS
umask 077
dir=$1/jobs/$2
mkdir -p "$1/jobs" || exit 72
mkdir "$dir" || exit 73
printf '%s' "$7" >"$dir/job.sh" && printf '%s' "$8" >"$dir/request" &&
  printf '%s' "$9" >"$dir/argv" && printf '%s' "${10}" >"$dir/answers" || exit 72
sum=$(sha256sum <"$dir/job.sh")
if [ "${sum%% *}" != "$6" ]; then
  echo "job.sh has SHA-256 ${sum%% *} instead of $6" >&2
  exit 74
fi
printf '1 requested %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$dir/states" || exit 72
sync "$dir/job.sh" "$dir/request" "$dir/argv" "$dir/answers" "$dir/states" "$dir"
# Stopping the unit must never stop the tool in the middle: the stop signal is
# one that nothing heeds, systemd then waits for the job, and never kills it.
if systemd-run --quiet --collect --unit="$3" --description="Flash job $2 of terraform-provider-infiniband" \
  --property=KillMode=mixed --property=KillSignal=SIGCONT --property=SendSIGKILL=no \
  --property=TimeoutStopSec=45min --property=OOMScoreAdjust=-1000 \
  systemd-inhibit --what=shutdown:sleep:idle --mode=block --who=terraform-provider-infiniband \
  --why="the flash of a card is being written" \
  /bin/sh "$dir/job.sh" "$dir" "$4" "$5" outer; then
  exit 0
fi
status=$?
echo "systemd-run ended with status $status" >"$dir/reason"
printf '5 failed %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >>"$dir/states"
echo 76 >"$dir/exit"
sync "$dir/states" "$dir/exit"
exit 76
