# Has netplan write the files of networkd. One whose text stays is put back with its inode
# and its time: networkd configures every interface anew whose file has others, and then
# drops the routes that others have added to it (systemd 252 to 257).
generate() {
	kept=/run/infiniband-netplan.$$
	rm -rf "$kept"
	mkdir -m 700 "$kept"
	for file in /run/systemd/network/10-netplan-*; do
		[ ! -e "$file" ] || mv "$file" "$kept"
	done
	netplan generate
	generated=$?
	for file in "$kept"/*; do
		[ -e "$file" ] || continue
		new=/run/systemd/network/${file##*/}
		if [ -e "$new" ]; then
			[ "$(cat "$file")" != "$(cat "$new")" ] || mv -f "$file" "$new"
		elif [ "$generated" != 0 ]; then
			mv "$file" "$new" # netplan takes none away if it does not accept its own
		fi
	done
	rm -rf "$kept"
	return "$generated"
}
