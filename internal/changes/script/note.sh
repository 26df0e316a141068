# Notes one line in the records of a host.
#   STATEDIR FILE LIMIT EVENT REST
# Two files at most are kept, each of about LIMIT bytes. A line ends with a dot, so that
# one that a full disk has cut is known.
umask 077
mkdir -p "$1" || exit 72
file=$1/$2
size=$(wc -c 2>/dev/null <"$file")
if [ "${size:-0}" -ge "$3" ]; then
  # Of two that come here at once only one moves the file.
  # shellcheck disable=SC2016 # for the inner shell
  flock -n "$file.lock" sh -c 'size=$(wc -c <"$1") && [ "$size" -ge "$2" ] && mv -f "$1" "$1.old"' sh "$file" "$3"
fi
if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then echo >>"$file"; fi
line=$(printf '%s\ttime=%s\t%s\t.' "$4" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$5")
printf '%s\n' "$line" >>"$file"
# Not every shell's printf says that the disk is full.
case $(tail -n 50 "$file") in
*"$line"*) sync "$file" ;;
*)
  echo "no space may be left in $1" >&2
  exit 72
  ;;
esac
