// Package mstfwreset has the argument vectors of mstfwreset, which starts the chip of a card anew without a
// restart of its host, and of the questions before it.
//
// It must not run anything, and must not decide whether a card may be reset.
package mstfwreset

import (
	_ "embed" // the script is a file so that a shell checker can read it
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

// Driver is the only driver that the tool takes away from a card and gives back.
const Driver = "mlx5_core"

// Reset is the argument vector of a reset: the driver goes, the PCI link goes down and comes back, the driver
// returns. The level is always named: without one the tool takes the lowest that the card offers, and level 4
// restarts the host and says "FW was loaded" before that. It asks one question, which a line with y answers.
func Reset(pci ib.PCIAddress) []string {
	return []string{"mstfwreset", "-d", pci.String(), "-l", "3", "r"}
}

// Offers asks a card how it can be reset. It reads one register (MFRL), which disturbs no update.
func Offers(pci ib.PCIAddress) shellcmd.Command {
	return shellcmd.New("mstreg", "-d", pci.String(), "--reg_name", "MFRL", "--get").AsRoot()
}

// ParseOffers reads the answer to Offers: whether the card offers a reset of the whole chip while its host
// runs (level 3, type 0), and needs no new scan of the bus after it, which the tool does not make.
func ParseOffers(output string) (whole, rescan bool, err error) {
	fields := map[string]uint64{}
	for n, line := range tool.Lines(output) {
		name, value, ok := strings.Cut(line, "|")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "Field Name" {
			continue
		}
		if fields[name], err = strconv.ParseUint(value, 0, 32); err != nil {
			return false, false, tool.Errorf(n, line, "%q is no number", value)
		}
	}
	levels, known := fields["reset_trigger"]
	types, also := fields["reset_type"]
	if !known || !also {
		return false, false, fmt.Errorf("the answer has no reset_trigger or no reset_type")
	}
	return levels&(1<<3) != 0 && types&1 != 0, fields["pci_rescan_required"] != 0, nil
}

// Function is one function of a slot.
type Function struct {
	PCI    string
	Driver string // empty without one
	VFs    int    // virtual functions that it has
}

// Host is what the tool meets on a host.
type Host struct {
	Lacks     []string // programs that it needs
	Virtual   bool     // it refuses on virtual machines
	Managers  []int    // process ids of opensm
	Functions []Function
}

//go:embed look.sh
var lookScript string

// Look asks a host for what the tool meets at a card.
func Look(pci ib.PCIAddress) shellcmd.Command {
	return shellcmd.Script("look-for-reset", answer.Functions+lookScript, "", pci.String()).AsRoot()
}

// ParseLook reads the answer to Look.
func ParseLook(output string) (h Host, err error) {
	err = answer.Read(output, func(i answer.Item) error {
		switch i.Word {
		case "lacks":
			h.Lacks = append(h.Lacks, i.Name)
		case "virtual":
			h.Virtual = true
		case "opensm":
			pid, bad := strconv.Atoi(i.Name)
			if bad != nil {
				return i.Errorf("want a process id")
			}
			h.Managers = append(h.Managers, pid)
		case "function":
			words := strings.SplitN(i.Name, " ", 3)
			if len(words) != 3 {
				return i.Errorf("want an address, a number and a driver")
			}
			vfs, bad := strconv.Atoi(words[1])
			if bad != nil {
				return i.Errorf("want the number of virtual functions")
			}
			h.Functions = append(h.Functions, Function{words[0], words[2], vfs})
		default:
			return i.Errorf("a fact that is not known")
		}
		return nil
	})
	return h, err
}
