# Keeps what settings of a card were before the first change, and what each was set to last.
#   STATEDIR CARD [NAME BEFORE SET]...
umask 077
dir=$1/settings/$2
shift 2
mkdir -p "$dir" || exit
while [ $# -ge 3 ]; do
  before=$2
  if [ -f "$dir/$1" ]; then read -r before _ <"$dir/$1" || exit; fi
  printf '%s %s\n' "$before" "$3" >"$dir/.new" && sync "$dir/.new" && mv "$dir/.new" "$dir/$1" || exit
  shift 3
done
sync "$dir"
