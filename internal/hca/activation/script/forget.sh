# Removes the note on a reboot if it is on this content: the card runs it, or the
# reboot was refused.
#   STATEDIR CARD CONTENT
note=$1/activation/$2
if [ ! -f "$note" ]; then exit 0; fi
content=''
while IFS='=' read -r key value; do
  if [ "$key" = content ]; then content=$value; fi
done <"$note"
if [ "$content" = "$3" ]; then rm -f -- "$note"; fi
