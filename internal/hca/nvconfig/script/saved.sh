# Says what save.sh has kept of a card: the value of before and the one that was set, by the name of the
# setting.
#   STATEDIR CARD
ROOT=$1/settings/$2/
echo '@begin 1'
values "$ROOT"*
echo '@end'
