# Notes that a reboot is about to make a card run what is in its flash, and
# prints the note before it.
#   STATEDIR CARD CONTENT BOOTID
umask 077
mkdir -p "$1/activation" || exit
if [ -f "$1/activation/$2" ]; then cat "$1/activation/$2"; fi
printf 'content=%s\nboot_id=%s\n' "$3" "$4" >"$1/activation/$2.new" &&
  sync "$1/activation/$2.new" && mv "$1/activation/$2.new" "$1/activation/$2" && sync "$1/activation"
