# Marks failed burns for all who read this host. Without a text it removes such marks.
#   DIR TEXT ID...
umask 077
dir=$1
text=$2
shift 2
for id do
  if [ -z "$text" ]; then
    rm -f "$dir/$id" || exit
    continue
  fi
  mkdir -p "$dir" && printf '%s' "$text" >"$dir/.$id" && mv "$dir/.$id" "$dir/$id" || exit
done
