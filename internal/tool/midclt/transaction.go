package midclt

import (
	_ "embed" // the script
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

//go:embed transaction.sh
var transactionScript string

// Step is one call of a Transaction.
type Step []string

// Store is the step that stores the configuration of an interface.
func Store(name string, u Update) Step { return Step{"interface.update", argument(name), argument(u)} }

// Drop is the step that removes the stored configuration of an interface.
func Drop(name string) Step { return Step{"interface.delete", argument(name)} }

// StoreRowMTU is the step that stores an MTU by a private method, which skips the API's
// validation. The middleware applies the value like any other. A step that stores the
// interface has to precede it, so that there is a state to go back to.
func StoreRowMTU(row, mtu int) Step {
	return Step{"datastore.update", argument("network.interfaces"), argument(row),
		argument(map[string]int{"int_mtu": mtu})}
}

// Guard is an init script that undoes a commit if the host restarts before the
// check-in. The middleware keeps timer and former configuration of a commit in
// memory only (TrueNAS 25.10, plugins/interface: checkin), so that a restart, or
// one of the middleware, makes an unconfirmed change last.
type Guard struct {
	comment, command string
}

// maxCommand is the longest command in characters that the API takes.
const maxCommand = 1024

// NewGuard makes a guard of the steps that lead back. comment tells it from others. It
// acts only at a restart within a quarter of an hour: a guard that was left behind must
// not undo what somebody has decided since. It fails if the steps are too long for the
// middleware.
func NewGuard(comment string, back ...Step) (Guard, error) {
	parts := []string{`[ "$(date +%s)" -lt @until@ ]`}
	for _, s := range back {
		parts = append(parts, shellcmd.Join(append([]string{"midclt", "call"}, s...)))
	}
	// Nobody is there to check in. The former configuration needs no proof.
	parts = append(parts, shellcmd.Join([]string{"midclt", "-t", "180", "call", "interface.commit", `{"rollback":false}`}))
	g := Guard{comment: comment, command: strings.Join(parts, " && ")}
	if len(g.command) > maxCommand {
		return Guard{}, fmt.Errorf("the former configuration takes %d characters, more than the %d that an init script of "+
			"the middleware may have", len(g.command), maxCommand)
	}
	return g, nil
}

func (g Guard) create() string {
	return argument(map[string]any{
		"type": "COMMAND", "command": g.command, "when": "POSTINIT", "enabled": true,
		"timeout": int(commitTimeout.Seconds()), "comment": g.comment,
	})
}

// Exit statuses of a Transaction that was refused. After any other one it is not known what is
// stored.
const (
	TakenBack    = 1 // nothing of it is stored
	NotTakenBack = 3 // it may all be stored, and the guard stays
)

// GuardTime is how long after a change a restart makes the guard act.
const GuardTime = 15 * time.Minute

// Transaction stores and commits in one run on the host and prints the id of the
// guard. The middleware undoes it unless Checkin follows within timeout, and
// after a restart the guard does. It is one command because stored and
// uncommitted changes have no timer: a provider that dies between the two would
// leave them for the next boot, or for someone else's commit.
func Transaction(timeout time.Duration, guard Guard, steps ...Step) shellcmd.Command {
	args := []string{argument(map[string]any{"rollback": true, "checkin_timeout": int(timeout.Seconds())}), guard.create()}
	for _, s := range steps {
		args = append(args, s...)
	}
	return shellcmd.Script("store-and-commit", transactionScript, args...).
		AsRoot().Changes().WithTimeout(commitTimeout + time.Minute)
}

// ParseGuard reads the id that Transaction prints.
func ParseGuard(out []byte) (int, error) {
	text := strings.TrimSpace(string(out))
	id, err := strconv.Atoi(text)
	if err != nil || id <= 0 {
		return 0, tool.Errorf(1, text, "expected the id of an init script")
	}
	return id, nil
}

// settle ends a transaction and removes its guard in one run: a guard that stays after
// a check-in would undo it. If the id of the guard is not known, settle only ends the
// transaction.
func settle(method string, guard int) shellcmd.Command {
	text := "midclt -t 180 call " + method
	if guard > 0 {
		text += " && midclt call initshutdownscript.delete " + strconv.Itoa(guard) + " >/dev/null"
	}
	return shellcmd.Script(method, text+"\n").AsRoot().Changes().WithTimeout(commitTimeout + 10*time.Second)
}

// Checkin keeps what was committed.
func Checkin(guard int) shellcmd.Command { return settle("interface.checkin", guard) }

// Rollback undoes what was stored and not checked in.
func Rollback(guard int) shellcmd.Command { return settle("interface.rollback", guard) }

// InitScript is one entry of initshutdownscript.query.
type InitScript struct {
	ID      int    `json:"id"`
	Comment string `json:"comment"`
}

// ParseInitScripts reads the answer of initshutdownscript.query.
func ParseInitScripts(out []byte) ([]InitScript, error) {
	var all []InitScript
	err := decode(out, &all)
	return all, err
}

// DeleteInitScript removes an init script.
func DeleteInitScript(id int) shellcmd.Command {
	return call("initshutdownscript.delete", id).Changes()
}
