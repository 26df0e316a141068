# Forgets what save.sh has kept of a card.
#   STATEDIR CARD
rm -rf -- "$1/settings/$2"
