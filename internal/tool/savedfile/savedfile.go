// Package savedfile builds the commands that keep a file of somebody else beside its
// place, under another name.
//
// It must not run anything.
package savedfile

import (
	"crypto/sha256"
	"encoding/hex"
	"path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// NameOf is where a file of ours is kept in which somebody has written: beside its place, and
// hidden, so that no service reads it. The same text has the same name and is kept once.
func NameOf(file, text string) string {
	dir, base := path.Split(file)
	sum := sha256.Sum256([]byte(text))
	return dir + "." + base + ".changed-" + hex.EncodeToString(sum[:6])
}

// There is the exit status of Free if something has the name.
const There = 17 // EEXIST

// Free fails with status There if something has a name already.
func Free(name string) shellcmd.Command {
	return shellcmd.Script("look-for-saved-file", freeScript, name).AsRoot()
}

const freeScript = `# $1 path
[ ! -e "$1" ] || exit 17
`

// Link gives a file a second name, and leaves the first: it is for a file that is replaced or
// removed afterwards. What has the name already must be the same text.
func Link(file, name string) shellcmd.Command {
	return shellcmd.Script("link-file", linkScript, file, name).AsRoot().Changes()
}

// A hard link needs no space, and is whole or not there. A symbolic link is copied: its target
// stays where it is. So is a file where there are no hard links. The name is not linked
// over: after a replacement that failed, both names are one file, and an editor may have
// written into it since.
const linkScript = `# $1 path of the file, $2 its second path
sum() { sha256sum <"$1" | cut -d ' ' -f 1; }
if [ -e "$2" ]; then
	[ "$(sum "$1")" = "$(sum "$2")" ] && exit 0
	echo "$2 is there already, with another text. Look at it, and give it another name." >&2
	exit 17
fi
[ ! -h "$1" ] && ln -- "$1" "$2" 2>/dev/null && exit 0
if cp -p -- "$1" "$2.new" && sync "$2.new" && mv -f -- "$2.new" "$2"; then exit 0; fi
rm -f -- "$2.new"
exit 1
`

// Keep gives a file another name, which must be free.
func Keep(file, name string) shellcmd.Command {
	return shellcmd.Script("keep-file", keepScript, file, name).AsRoot().Changes()
}

// mv alone would replace an existing file; its own switch against that is silent.
const keepScript = `# $1 path of the file, $2 its new path
[ ! -e "$2" ] || exit 17
mv -- "$1" "$2"
`
