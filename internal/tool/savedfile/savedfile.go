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

// Keep gives a file another name, which must be free.
func Keep(file, name string) shellcmd.Command {
	return shellcmd.Script("keep-file", keepScript, file, name).AsRoot().Changes()
}

// mv alone would replace an existing file; its own switch against that is silent.
const keepScript = `# $1 path of the file, $2 its new path
[ ! -e "$2" ] || exit 17
mv -- "$1" "$2"
`
