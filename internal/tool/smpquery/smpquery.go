// Package smpquery builds the command lines of smpquery of infiniband-diags and
// reads what it prints about one port: its PortInfo and its P_Keys. PortInfo is
// also what ibportstate prints, so its reader is here.
//
// It must not run anything.
package smpquery

import (
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// timeout bounds the tool: a port that does not answer costs three tries of a
// second.
const timeout = 30 * time.Second

// Target is how a management datagram finds a node: its LID, or the ports to
// leave by from here, "0,1,3", which works without a subnet manager.
// A route needs no LIDs, but the management agent of each switch on it.
type Target struct {
	LID   uint16
	Route string
}

func query(device string, port int, op string, t Target, more ...string) shellcmd.Command {
	args := []string{"-C", device, "-P", strconv.Itoa(port)}
	if t.Route != "" {
		// Without a LID nothing else finds a node: a fabric without a subnet manager has none.
		args = append(args, "-D", op, t.Route)
	} else {
		args = append(args, op, strconv.Itoa(int(t.LID)))
	}
	return shellcmd.New("smpquery", append(args, more...)...).AsRoot().WithTimeout(timeout)
}

// PKeys asks for the P_Key table of a port, through a port of this host.
func PKeys(device string, port int, t Target, number int) shellcmd.Command {
	return query(device, port, "pkeys", t, strconv.Itoa(number))
}

// fields yields the "Name:....value" lines of an answer. Lines that begin with a
// tab list bits of the field before; those with # are headings.
func fields(output string, each func(n int, line, name, value string) error) error {
	for n, line := range tool.Lines(output) {
		// A tool's warnings can stand between; a name with a blank is a sentence, see below.
		if line == "" || line[0] == '\t' || line[0] == '#' || line[0] == ' ' {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		value := strings.TrimLeft(rest, ".")
		if !ok || len(value) == len(rest) || strings.ContainsAny(name, " \t") {
			continue
		}
		if err := each(n, line, name, value); err != nil {
			return err
		}
	}
	return nil
}
