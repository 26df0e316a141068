// Package mstconfig builds the command lines of mstconfig and reads its tables,
// of the versions 4.6 to 4.36 (mlxconfig of MFT prints the same).
//
// It must not run anything, and has no way to ask for a reset: without a
// device the tool resets every card of the host.
package mstconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const (
	program = "mstconfig"
	timeout = 60 * time.Second
)

// Query reads the non-volatile configuration of a card. ConnectX-3 needs a tool before
// 4.26 and firmware from 2.31.5000 on. If the firmware of the card takes no commands,
// the tool (4.21) waits for 17 seconds. timeout ends it on the host with status 124, so
// that no process is left that still uses the card. On a busy host an answer may come
// after those 17 seconds: an answer that is cut off would refuse a plan.
func Query(pci ib.PCIAddress) shellcmd.Command {
	return shellcmd.New("timeout", "45", program, "-d", pci.String(), "q").AsRoot().WithTimeout(timeout)
}

// QueryLayers is Query with the default and the current value of each setting, where tool and
// firmware know them. The tool asks the card three times for them.
func QueryLayers(pci ib.PCIAddress) shellcmd.Command {
	return shellcmd.New("timeout", "150", program, "-d", pci.String(), "--enable_verbosity", "q").AsRoot().
		WithTimeout(3 * timeout)
}

// linkTypes are the values of LINK_TYPE_Pn, from 1 on: IB, ETH, VPI. VPI lets the port sense
// its peer and exists on ConnectX-3 only; later tools refuse it.
var linkTypes = []ib.LinkType{ib.LinkTypeIB, ib.LinkTypeETH, ib.LinkTypeAuto}

// SetLinkTypes sets the link type of the given ports for the next boot. The
// tool's one question, whether to apply, is answered with yes.
func SetLinkTypes(pci ib.PCIAddress, types map[int]ib.LinkType) (shellcmd.Command, error) {
	if len(types) == 0 {
		return shellcmd.Command{}, fmt.Errorf("no port of card %s to set", pci)
	}
	argv := []string{"-d", pci.String(), "set"}
	for _, port := range slices.Sorted(maps.Keys(types)) {
		value := slices.Index(linkTypes, types[port]) + 1
		if port < 1 || port > 2 || value == 0 {
			return shellcmd.Command{}, fmt.Errorf("invalid link type %q of port %d of card %s", types[port], port, pci)
		}
		argv = append(argv, fmt.Sprintf("LINK_TYPE_P%d=%d", port, value))
	}
	return answered(argv), nil
}

// Set sets one setting for the next boot. A set of several is not atomic: the tool writes the groups of
// settings one after the other, and keeps those that were written before one is refused (4.21).
func Set(pci ib.PCIAddress, name, value string) (shellcmd.Command, error) {
	if !paramName.MatchString(name) || !settable.MatchString(value) {
		return shellcmd.Command{}, fmt.Errorf("invalid setting %q of card %s", name+"="+value, pci)
	}
	return answered([]string{"-d", pci.String(), "set", name + "=" + value}), nil
}

// settable is a number or a word, as the tool takes it.
var settable = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func answered(argv []string) shellcmd.Command {
	return shellcmd.New(program, argv...).AsRoot().Changes().WithStdin("y\n").WithTimeout(timeout)
}
