# Keeps what settings of a card were before the first change, what each was set to last, and what loads that:
# a start after the boot SINCE.
#   STATEDIR CARD SINCE [NAME BEFORE SET]...
umask 077
dir=$1/settings/$2
since=$3
shift 3
mkdir -p "$dir" || exit
while [ $# -ge 3 ]; do
  before=$2
  if [ -f "$dir/$1" ]; then read -r before _ <"$dir/$1" || exit; fi
  printf '%s %s %s\n' "$before" "$3" "$since" >"$dir/.new" && sync "$dir/.new" && mv "$dir/.new" "$dir/$1" || exit
  shift 3
done
sync "$dir"
