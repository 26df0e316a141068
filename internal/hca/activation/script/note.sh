# Notes that a reboot is about to make a card run what is in its flash, and
# prints the note before it; with a fifth word it only prints that. A note on
# the same content from another boot stays as it is: that reboot has been tried.
#   STATEDIR CARD CONTENT BOOTID [look]
umask 077
note=$1/activation/$2
if [ "${5-}" != look ]; then mkdir -p "$1/activation" || exit; fi
if [ -f "$note" ]; then
  content='' boot_id=''
  while IFS='=' read -r key value; do
    case $key in
      content) content=$value ;;
      boot_id) boot_id=$value ;;
    esac
  done <"$note"
  printf 'content=%s\nboot_id=%s\n' "$content" "$boot_id"
  if [ "$content" = "$3" ] && [ "$boot_id" != "$4" ]; then exit 0; fi
fi
if [ "${5-}" = look ]; then exit 0; fi
printf 'content=%s\nboot_id=%s\n' "$3" "$4" >"$note.new" &&
  sync "$note.new" && mv "$note.new" "$note" && sync "$1/activation"
