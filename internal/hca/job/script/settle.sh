# Closes a job after the card was read.
#   DIR HOW
umask 077
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
if [ -f "$1/settled" ]; then exit 0; fi
# A job that was interrupted has not taken away what its driver was to send.
while IFS='=' read -r key value; do
  case $key in package_path | package_at) rm -f -- "$value" ;; esac
done 2>/dev/null <"$1/request"
printf '6 verified %s\n7 settled %s\n' "$now" "$now" >>"$1/states" || exit
printf '%s\n' "$2" >"$1/settled.new" && sync "$1/states" "$1/settled.new" && mv "$1/settled.new" "$1/settled" && sync "$1"
