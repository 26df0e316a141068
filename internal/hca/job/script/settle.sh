# Closes a job after the card was read.
#   DIR HOW
umask 077
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
if [ -f "$1/settled" ]; then exit 0; fi
printf '6 verified %s\n7 settled %s\n' "$now" "$now" >>"$1/states" || exit
printf '%s\n' "$2" >"$1/settled.new" && sync "$1/states" "$1/settled.new" && mv "$1/settled.new" "$1/settled" && sync "$1"
