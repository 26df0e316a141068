# Notes a reset of a card and starts its unit. Ends with 75 if who asked has given it up, with 76 if an earlier one
# still runs, or if the unit was not started and does not come.
#   STATEDIR CARD ID CONTENT BOOTID UNIT LOCK RESET_SH PCI COMMAND…
umask 077
notes=$1/activation
dir=$notes/reset-$2
id=$3
content=$4
boot=$5
unit=$6
lock=$7
script=$8
shift 8
mkdir -p "$notes" "${lock%/*}" || exit 72
# Only one makes this directory: this request goes on, or it was given up.
mkdir "$notes/asked-$id" || exit 75
# leave STATUS
leave() {
  rmdir "$notes/asked-$id"
  exit "$1"
}
if systemctl is-active --quiet "$unit"; then
  echo 'an earlier reset of the card still runs' >&2
  leave 76
fi
rm -rf -- "$dir"
mkdir "$dir" || leave 72
printf '%s\n' "$content" >"$dir/content" || leave 72
printf '%s\n' "$boot" >"$dir/boot" || leave 72
printf '%s' "$script" >"$dir/reset.sh" || leave 72
printf '%s\n' "$id" >"$dir/id" || leave 72
sync "$dir/content" "$dir/boot" "$dir/reset.sh" "$dir/id" "$dir"
# Stopping the unit must never stop the tool in the middle; see the unit of a flash job.
systemd-run --quiet --collect --unit="$unit" --description="Reset of card $1 by terraform-provider-infiniband" \
  --property=KillMode=mixed --property=KillSignal=SIGCONT --property=SendSIGKILL=no \
  --property=TimeoutStopSec=15min --property=OOMScoreAdjust=-1000 \
  systemd-inhibit --what=shutdown:sleep:idle --mode=block --who=terraform-provider-infiniband \
  --why="a card is being reset" \
  /bin/sh "$dir/reset.sh" "$dir" "$lock" outer "$@" && leave 0
# systemd-run fails, too, where its request has reached a busy systemd, which starts the unit sooner or later. Here
# the reset never begins, or it has begun.
mkdir "$dir/claim" 2>/dev/null || leave 0
leave 76
