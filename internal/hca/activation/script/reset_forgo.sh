# Keeps a reset from beginning, whose request may be on its way. Ends with 75 if it has begun.
#   STATEDIR CARD ID
umask 077
notes=$1/activation
id=''
IFS= read -r id 2>/dev/null <"$notes/reset-$2/id"
mkdir -p "$notes" || exit 72
if [ "$id" = "$3" ]; then
  mkdir "$notes/reset-$2/claim" 2>/dev/null || exit 75
else
  mkdir "$notes/asked-$3" 2>/dev/null || exit 75
fi
