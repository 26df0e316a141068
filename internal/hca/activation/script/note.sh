# Notes that a reboot is asked for so that a card runs what it is to run.
#   STATEDIR CARD CONTENT BOOTID
umask 077
note=$1/activation/$2
mkdir -p "$1/activation" &&
  printf 'content=%s\nboot_id=%s\n' "$3" "$4" >"$note.new" &&
  sync "$note.new" && mv "$note.new" "$note" && sync "$1/activation"
