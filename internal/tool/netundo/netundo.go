// Package netundo builds the commands by which a host undoes a change of one network
// interface by itself, unless the change is confirmed in time. The change may cut off
// whoever made it, or the provider may have died. netplan try does not serve: it dies
// with the connection without reverting, and what it reverts stays in /etc/netplan
// (netplan 0.106 to 1.1.2).
//
// It must not run anything.
package netundo

import (
	_ "embed" // the scripts
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemdrun"
)

//go:embed save.sh
var saveScript string

//go:embed undo.sh
var undoSteps string

// undoScript runs on the host without the provider, so it brings what it calls.
var undoScript = strings.Replace(undoSteps, "# @GENERATE@\n", netplan.GenerateFunction, 1)

//go:embed boot.service
var bootUnit string

const stateDir = "/var/lib/terraform-provider-infiniband/undo/"

// Guard is the undo of one interface: of the hexadecimal GUID of a port, and
// "-KEY" behind it for a P_Key child. Change names one change of it: two applies that
// change the same interface must not confirm, undo or go on with each other's.
type Guard struct{ ID, Change string }

// Taken is the exit status of Save while another change is open. A step of a change has
// it too, once another change has taken its place.
const Taken = 75

// mark exists as long as the saved state belongs to this change.
func (g Guard) mark() string { return g.Dir() + "/change." + g.Change }

// Dir is where the former state is kept until the change is confirmed.
func (g Guard) Dir() string { return stateDir + g.ID }

// Unit is the transient unit that undoes the change, without suffix.
func (g Guard) Unit() string { return "infiniband-undo-" + g.ID }

// BootUnit is the path of the unit that undoes the change if the host restarts before
// it is confirmed. A transient unit does not survive a restart.
func (g Guard) BootUnit() string {
	return "/etc/systemd/system/infiniband-undo-boot-" + g.ID + ".service"
}

func (g Guard) bootLink() string {
	return "/etc/systemd/system/sysinit.target.wants/infiniband-undo-boot-" + g.ID + ".service"
}

// Stack is how the host takes files that were put back.
type Stack string

// The ways of taking files back.
const (
	Netplan        Stack = "netplan"
	NetplanNM      Stack = "netplan-nm"
	Networkd       Stack = "networkd"
	NetworkManager Stack = "networkmanager"
	Ifupdown       Stack = "ifupdown"
)

// Before is the live state that an undo goes back to.
type Before struct {
	Stack          Stack
	Interface      string
	Existed        bool // false if the change makes the interface
	Mode           ib.IPoIBMode
	MTU            int
	Up             bool
	Profile        string         // UUID of the profile that NetworkManager uses
	Added, Removed []netip.Prefix // addresses that the change will add and remove
	RoutesAdded    []ipconf.Route
	RoutesRemoved  []ipconf.Route
	RoutesOurs     []ipconf.Route // that the change decides on: they are not those of others
	RulesEnd       bool           // the change ends policy rules of a file
	Ports          []Port         // of a bond; their modes are its mode
}

// Port is the interface of a port of a bond. The kernel takes it down as it leaves the bond.
type Port struct {
	Name string
	Mode ib.IPoIBMode
	MTU  int
	Up   bool
}

func word(yes bool, is, isNot string) string {
	if yes {
		return is
	}
	return isNot
}

func (b Before) lists() string {
	var lines []string
	for _, list := range []struct {
		name     string
		prefixes []netip.Prefix
	}{{"added", b.Added}, {"removed", b.Removed}} {
		for _, p := range list.prefixes {
			lines = append(lines, list.name+" "+p.String())
		}
	}
	for _, list := range []struct {
		name   string
		routes []ipconf.Route
	}{{"routes-added", b.RoutesAdded}, {"routes-removed", b.RoutesRemoved}, {"routes-ours", b.RoutesOurs}} {
		for _, r := range list.routes {
			lines = append(lines, list.name+" "+r.To.String()+" "+r.Via.String())
		}
	}
	for _, p := range b.Ports {
		lines = append(lines, fmt.Sprintf("ports %s %s %d %s", p.Name, p.Mode, p.MTU, word(p.Up, "up", "down")))
	}
	if b.RulesEnd {
		lines = append(lines, "rules-ours static")
	}
	return strings.Join(lines, "\n")
}

// Save keeps the live state and the files that a change is about to write or
// remove, and has the next boot undo the change unless it is confirmed. It fails with
// status Taken, and changes nothing, while another change of the interface is open.
func (g Guard) Save(b Before, files ...string) shellcmd.Command {
	unit := strings.ReplaceAll(bootUnit, "@DIR@", g.Dir())
	args := []string{
		g.Dir(), g.Change, string(b.Stack), b.Interface, word(b.Existed, "yes",
			"no"), b.Mode.String(), strconv.Itoa(b.MTU), word(b.Up, "up", "down"),
		b.Profile, b.lists(), undoScript, g.BootUnit(), unit,
	}
	return shellcmd.Script("save-interface", saveScript, append(args, files...)...).AsRoot().Changes()
}

// Checkpoint keeps which checkpoint of NetworkManager belongs to the change.
func (g Guard) Checkpoint(path string) shellcmd.Command {
	return coreutils.WriteFile(g.Dir()+"/checkpoint", path+"\n")
}

// Arm has the host undo the change after delay.
func (g Guard) Arm(delay time.Duration) shellcmd.Command {
	return systemdrun.After(delay, g.Unit(), "/bin/sh", g.Dir()+"/undo.sh", g.Dir())
}

// PutBack puts back what others have added, which network services drop. It prints what it
// cannot put back, one a line: the kind, the interface, and the text with the reason.
func (g Guard) PutBack() shellcmd.Command {
	return g.Step(shellcmd.New("/bin/sh", g.Dir()+"/undo.sh", g.Dir(), "routes").AsRoot().Changes())
}

// Begun is the exit status of Decide if the host has begun to undo the change.
const Begun = 76

// Decide claims the decision for the caller. It fails with status Begun if the host has begun
// to undo the change.
func (g Guard) Decide() shellcmd.Command {
	return shellcmd.Script("confirm-change", decideScript, g.Dir()).AsRoot().Changes().OnlyWith(g.mark())
}

// A power cut between the two has the next boot undo the change.
const decideScript = `# $1 directory
if ! mv -T "$1/undecided" "$1/decided"; then
	[ ! -e "$1/decided" ] || exit 76
	exit 1
fi
rm "$1/decided/undo"
`

// Step is a step of the change. It does not run once the host has begun to undo the
// change, or another change has taken its place.
func (g Guard) Step(cmd shellcmd.Command) shellcmd.Command {
	return cmd.Unless(g.decidedPath()).OnlyWith(g.mark())
}

func (g Guard) decidedPath() string { return g.Dir() + "/decided" }

// Forget stops the timer of a confirmed change and removes what was saved for it. It
// removes the unit before the directory. If it is interrupted between the two, the
// directory alone does nothing. The removal is on the disk when it ends: a power cut in the
// seconds after would bring the unit back, and the next boot would undo a change that was
// confirmed.
func (g Guard) Forget() shellcmd.Command {
	return shellcmd.Script("forget-confirmed-change", forgetScript, g.mark(), g.Unit()+".timer", g.bootLink(),
		g.BootUnit(), g.Dir()).AsRoot().Changes()
}

const forgetScript = `# $1 mark of the change, $2 timer, $3 link and $4 path of the unit of the next boot, $5 directory
[ -e "$1" ] || exit 0
systemctl stop "$2"
status=$?
rm -rf "$3" "$4" "$5" && sync "${3%/*}" "${4%/*}" "${5%/*}" && exit "$status"
`

// CallOff takes back what was prepared for a change that was not begun, and leaves the
// interface alone. It fails if the host has begun to undo the change.
func (g Guard) CallOff() shellcmd.Command {
	return shellcmd.Script("call-off-change", callOffScript, g.mark(), g.Unit()+".timer", g.bootLink(), g.BootUnit(),
		g.Dir()).AsRoot().Changes()
}

const callOffScript = `# $1 mark of the change, $2 timer, $3 link and $4 path of the unit of the next boot, $5 directory
[ -e "$1" ] || exit 0
mv -T "$5/undecided" "$5/decided" || exit 1
systemctl stop "$2" 2>/dev/null # if it was started; without its directory it does nothing
rm -rf "$3" "$4" "$5"
`

// What UndoNow prints, besides what the host wrote when it undid a change by itself.
const (
	Undone    = "undone"
	Confirmed = "confirmed"  // nothing was undone, and what was left of the change is put away
	TakenOver = "taken over" // by another change of the same interface
)

// UndoNow undoes an unconfirmed change at once, if there is one. It prints Undone, or
// what the host wrote when it undid the change by itself, or Confirmed; it prints nothing
// if there was no change. If a change is named, it undoes no other one: it prints TakenOver if
// the saved state belongs to another change by now. Lines as those of PutBack follow. It fails,
// and removes nothing, if files could not be put back; called again it goes on.
func (g Guard) UndoNow() shellcmd.Command {
	mark := ""
	if g.Change != "" {
		mark = g.mark()
	}
	return shellcmd.Script("undo-unconfirmed-change", undoNowScript, g.Dir(), g.Unit()+".timer", g.bootLink(),
		g.BootUnit(), mark).AsRoot().Changes()
}

const undoNowScript = `# $1 directory, $2 timer, $3 link and $4 path of the unit of the next boot, $5 mark of the change or ""
if [ -n "$5" ] && [ ! -e "$5" ]; then
	echo taken over
	exit 0
fi
[ -f "$1/undo.sh" ] || exit 0
if [ -f "$1/undone" ]; then
	how=
	read -r how <"$1/undone"
	echo "${how:-by the host}"
elif [ ! -d "$1/decided" ] || [ -e "$1/decided/undo" ]; then
	n=0
	/bin/sh "$1/undo.sh" "$1" >&2 || n=60
	# The timer's own run may have begun.
	while [ ! -f "$1/undone" ] && [ ! -e "$1/failed" ] && [ "$n" -lt 60 ]; do
		sleep 1
		n=$((n + 1))
	done
	if [ ! -f "$1/undone" ]; then
		echo "the undo has not come to its end; $1 is kept" >&2
		exit 1
	fi
	echo undone
else
	echo confirmed
fi
cat "$1/lost" 2>/dev/null
systemctl stop "$2" 2>/dev/null
rm -rf "$3" "$4" && rm -rf "$1"
`
