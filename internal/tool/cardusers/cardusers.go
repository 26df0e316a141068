// Package cardusers looks for programs of others that use a card, right before the
// card is opened: mstflint and its kin protect a card from one another in no way
// that holds, and a query beside a burn has made that burn fail (mstflint 4.21).
//
// It must not run anything, and must not decide what follows from a user.
package cardusers

import (
	_ "embed" // the scripts are files so that a shell checker can read them
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
)

// Functions are functions of sh for scripts that open a card; the file says what
// each does.
//
//go:embed users.sh
var Functions string

//go:embed guard.sh
var guard string

// The exit statuses of a guarded command. It was not run, or its failure means nothing,
// because another program was using the card.
const (
	Busy    = 78 // another program uses the card; Parse reads standard error
	Unknown = 79 // who uses the card could not be seen; standard error says why
)

// waitForReaders is how long a reader waits for others of ours, see guard.sh.
const waitForReaders = time.Minute

// ParseUser reads one line of a user as the functions print it.
func ParseUser(line string) (inventory.CardUser, error) {
	head, command, ok := strings.Cut(line, "\t")
	fields := strings.SplitN(head, " ", 4)
	if !ok || len(fields) != 4 {
		return inventory.CardUser{}, fmt.Errorf("want process id, time, card, user, and behind a tab the command, got %q",
			line)
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil {
		return inventory.CardUser{}, fmt.Errorf("process id %q is not a number", fields[0])
	}
	since, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return inventory.CardUser{}, fmt.Errorf("time %q is not a number", fields[1])
	}
	u := inventory.CardUser{PID: pid, Name: fields[3], Command: command}
	if since > 0 {
		u.Since = time.Unix(since, 0)
	}
	if fields[2] == "any" {
		u.Any = true
		return u, nil
	}
	u.Card, err = ib.ParsePCIAddress(fields[2])
	return u, err
}

// Parse reads the users that a guarded command printed.
func Parse(output string) ([]inventory.CardUser, error) {
	var users []inventory.CardUser
	for n, line := range tool.Lines(output) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		u, err := ParseUser(line)
		if err != nil {
			return nil, tool.Errorf(n, line, "%v", err)
		}
		users = append(users, u)
	}
	return users, nil
}

// WithSharedLock returns cmd, which reads a card, as a command that runs only if no program
// of others uses the card, and together with no other command of ours.
func WithSharedLock(cmd shellcmd.Command, pci ib.PCIAddress) shellcmd.Command {
	return withLock(cmd, pci, "shared")
}

// Exclusive returns cmd, which writes a card, as WithSharedLock does. No other command
// of ours runs at that time.
func Exclusive(cmd shellcmd.Command, pci ib.PCIAddress) shellcmd.Command {
	return withLock(cmd, pci, "exclusive")
}

func withLock(cmd shellcmd.Command, pci ib.PCIAddress, mode string) shellcmd.Command {
	w := cmd.Within("unless-in-use", Functions+guard, flock.File, pci.String(), mode).AsRoot()
	if t := cmd.Timeout(); t > 0 {
		w = w.WithTimeout(t + waitForReaders)
	}
	return w
}
