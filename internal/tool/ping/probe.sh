# $1 family 4 or 6  $2 destination  $3 interface or -  $4 count  $5 MTU of the interface
# $6 headers in front of ping's data  $7 MTU to try first, or 0  $8... further sizes of packets
export LC_ALL=C
family=$1 dst=$2 dev=$3 count=$4 mtu=$5 headers=$6 guess=$7
shift 7
command -v ping >/dev/null || exit 127
[ "$dev" = - ] && dev=
probe() {
  n=$1
  shift
  ping -"$family" -n -c "$n" -i 0.2 -W 1 ${dev:+-I "$dev"} "$@" "$dst" 2>&1
}
report() {
  name=$1
  shift
  answer "$name" probe "$@"
}
end() {
  echo '@end'
  exit 0
}
# fits SIZE: whether one of two packets of this size gets there in one piece
fits() { probe 2 -M do -s "$(($1 - headers))" >/dev/null; }
echo '@begin 1'
report default "$count"
report full "$count" -M do -s "$((mtu - headers))"
fragment=$((mtu * 2))
[ "$fragment" -gt 65507 ] && fragment=65507
report fragmented "$count" -s "$fragment"
for size; do
  report "size $size" "$count" -M do -s "$((size - headers))"
done
# Only where small packets pass and the largest do not is there something to find.
if fits "$mtu"; then
  printf '@path %s\n' "$mtu"
  end
fi
low=$((headers + 56))
fits "$low" || end
high=$mtu
if [ "$guess" -gt "$low" ] && [ "$guess" -lt "$high" ]; then
  if fits "$guess"; then
    low=$guess
    fits "$((guess + 1))" || high=$((guess + 1))
  else
    high=$guess
  fi
fi
while [ "$((high - low))" -gt 1 ]; do
  middle=$(((low + high) / 2))
  if fits "$middle"; then low=$middle; else high=$middle; fi
done
printf '@path %s\n' "$low"
end
