# Says how far the last reset of each card is. Comes behind the functions of an answer.
#   STATEDIR
ROOT=$1/activation/
echo '@begin 1'
for dir in "$ROOT"reset-*; do
  [ -d "$dir" ] || continue
  values "$dir/id" "$dir/content" "$dir/boot" "$dir/begun" "$dir/exit"
  name=${dir##*/reset-}
  systemctl is-active --quiet "infiniband-reset-$name.service" && echo "@runs $name"
  [ ! -f "$dir/exit" ] || section "$name" 0 "$(tail -c 2000 "$dir/output" 2>/dev/null)"
done
echo '@end'
