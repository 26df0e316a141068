# Prints the note on the last reboot for a card, if there is one.
#   STATEDIR CARD
note=$1/activation/$2
if [ ! -e "$note" ]; then exit 0; fi
cat "$note"
