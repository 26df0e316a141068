// Package netundo builds the commands by which a host undoes a change of one
// network interface by itself, unless the change is confirmed in time: whoever
// made the change may be cut off by it, or be dead.
//
// netplan try is not used for it: it dies with the connection without reverting,
// and what it reverts stays in /etc/netplan (netplan 0.106 to 1.1.2).
//
// It must not run anything.
package netundo

import (
	_ "embed" // the scripts
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemdrun"
)

//go:embed save.sh
var saveScript string

//go:embed undo.sh
var undoScript string

const stateDir = "/var/lib/terraform-provider-infiniband/undo/"

// Guard is the undo of one port's interface.
type Guard struct{ Port ib.GUID }

// Dir is where the former state is kept until the change is confirmed.
func (g Guard) Dir() string { return stateDir + g.Port.Hex() }

// Unit is the transient unit that undoes the change, without suffix.
func (g Guard) Unit() string { return "infiniband-undo-" + g.Port.Hex() }

// Before is the live state that an undo goes back to.
type Before struct {
	Interface      string
	Mode           ib.IPoIBMode
	MTU            int
	Up             bool
	Added, Removed []netip.Prefix // addresses that the change will add and remove
}

// Save keeps the live state and the files that a change is about to write or
// remove.
func (g Guard) Save(b Before, files ...string) shellcmd.Command {
	up := "down"
	if b.Up {
		up = "up"
	}
	args := []string{
		g.Dir(), b.Interface, b.Mode.String(), strconv.Itoa(b.MTU), up,
		words(b.Added), words(b.Removed), undoScript,
	}
	return shellcmd.Script("save-interface", saveScript, append(args, files...)...).AsRoot().Changes()
}

// Arm has the host undo the change after delay.
func (g Guard) Arm(delay time.Duration) shellcmd.Command {
	return systemdrun.After(delay, g.Unit(), "/bin/sh", g.Dir()+"/undo.sh", g.Dir())
}

// Decide claims the decision. It fails if the host has begun to undo the change.
func (g Guard) Decide() shellcmd.Command { return coreutils.MakeDirectory(g.Dir() + "/decided") }

// Disarm stops the timer.
func (g Guard) Disarm() shellcmd.Command { return systemctl.Stop(g.Unit() + ".timer") }

// Forget removes what was saved.
func (g Guard) Forget() shellcmd.Command { return coreutils.RemoveTree(g.Dir()) }

// UndoNow undoes an unconfirmed change at once, if there is one; it prints
// "undone" then, and nothing if there was none.
func (g Guard) UndoNow() shellcmd.Command {
	return shellcmd.Script("undo-unconfirmed-change", undoNowScript, g.Dir(), g.Unit()+".timer").AsRoot().Changes()
}

const undoNowScript = `# $1 directory, $2 timer
[ -f "$1/undo.sh" ] || exit 0
if [ ! -d "$1/decided" ]; then
	/bin/sh "$1/undo.sh" "$1" >&2
	echo undone
fi
systemctl stop "$2" 2>/dev/null
rm -rf "$1"
`

func words(prefixes []netip.Prefix) string {
	all := make([]string, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.String()
	}
	return strings.Join(all, " ")
}
