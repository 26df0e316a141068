package cardprog

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// parameter is one row of mstconfig's query of a ConnectX-3.
type parameter struct{ name, value string }

var linkNames = map[int]string{card.LinkIB: "IB(1)", card.LinkETH: "ETH(2)", card.LinkVPI: "VPI(3)", card.LinkUnset: "ETH(2)"}

// parameters lists what the running firmware advertises: EN firmware has no
// LINK_TYPE.
func parameters(fw card.Firmware, nv card.NV) []parameter {
	list := []parameter{{"SRIOV_EN", "True(1)"}, {"NUM_OF_VFS", "8"}}
	if fw.VPI {
		list = append(list, parameter{"LINK_TYPE_P1", linkNames[nv.LinkType[0]]}, parameter{"LINK_TYPE_P2", linkNames[nv.LinkType[1]]})
	}
	return append(list, []parameter{
		{"LOG_BAR_SIZE", "3"}, {"BOOT_PKEY_P1", "0"}, {"BOOT_PKEY_P2", "0"},
		{"BOOT_OPTION_ROM_EN_P1", "True(1)"}, {"BOOT_VLAN_EN_P1", "False(0)"}, {"BOOT_RETRY_CNT_P1", "0"},
		{"LEGACY_BOOT_PROTOCOL_P1", "PXE(1)"}, {"BOOT_VLAN_P1", "1"},
		{"BOOT_OPTION_ROM_EN_P2", "True(1)"}, {"BOOT_VLAN_EN_P2", "False(0)"}, {"BOOT_RETRY_CNT_P2", "0"},
		{"LEGACY_BOOT_PROTOCOL_P2", "PXE(1)"}, {"BOOT_VLAN_P2", "1"},
		{"IP_VER_P1", "IPv4(0)"}, {"IP_VER_P2", "IPv4(0)"}, {"CQ_TIMESTAMP", "True(1)"},
	}...)
}

// configCall is a parsed mstconfig command line.
type configCall struct {
	device  string
	yes     bool
	verbose bool
	command string
	args    []string
}

// parseConfig follows the tool's own parser: exact options before the command,
// everything after it is an argument.
func parseConfig(args []string) (c configCall, bad string) {
	for len(args) > 0 {
		switch a := args[0]; {
		case a == "-d" || a == "--dev":
			if len(args) < 2 {
				return c, "option " + a
			}
			c.device, args = args[1], args[1:]
		case a == "-y" || a == "--yes":
			c.yes = true
		case a == "-e" || a == "--enable_verbosity":
			c.verbose = true
		case a == "-v" || a == "--version":
			c.command = "version"
		case strings.HasPrefix(a, "-"):
			return c, "option " + a
		default:
			c.command, c.args = a, args[1:]
			return c, ""
		}
		args = args[1:]
	}
	return c, ""
}

// mstconfig is the simulated program for ConnectX-3 and ConnectX-3 Pro.
func mstconfig(_ context.Context, p *labsim.Proc) int {
	c, bad := parseConfig(p.Args[1:])
	version := versionOf(p)
	fail := func(format string, args ...any) int {
		p.Printf("-E- "+format+"\n", args...)
		return 3
	}
	switch c.command {
	case "version":
		p.Printf("mstconfig, mstflint %s, Git SHA Hash: N/A\n", version.text)
		return 0
	case "q", "query", "s", "set":
	default:
		bad = "command " + c.command
	}
	if bad != "" {
		return p.Unknown(bad)
	}
	if c.device == "" {
		if strings.HasPrefix(c.command, "s") {
			return fail("set command expects device to be specified.")
		}
		return p.Unknown("query of all devices")
	}
	dev, found := findCard(p, c.device)
	switch {
	case !found || p.UID != 0:
		return fail("Failed to open the device")
	case version.atLeast(26):
		return fail("Unsupported device")
	case !dev.Running().Loaded:
		return fail("Device in Livefish mode is not supported")
	case !dev.Bound():
		return fail("Failed to open device: %s. Cannot perform operation, Driver might be down.", c.device)
	}
	if strings.HasPrefix(c.command, "q") {
		return configQuery(p, c, dev)
	}
	return configSet(p, c, dev, fail)
}

func configHead(p *labsim.Proc, c configCall, dev *labsim.Card, column string) {
	kind := strings.ReplaceAll(dev.Chip.Name, "-", "")
	p.Printf("\nDevice #1:\n----------\n\nDevice type:    %-16s\nDevice:         %-16s\n\n%-45s%s\n", kind, c.device, "Configurations:", column)
}

func configQuery(p *labsim.Proc, c configCall, dev *labsim.Card) int {
	rows := parameters(dev.Running(), dev.NextNV())
	if len(c.args) > 0 {
		var picked []parameter
		for _, a := range c.args {
			row, ok := find(rows, a)
			if !ok {
				p.Printf("-E- %s\n", missing(a))
				return 3
			}
			picked = append(picked, row)
		}
		rows = picked
	}
	configHead(p, c, dev, "Next Boot")
	for _, r := range rows {
		p.Printf("         %-36s%-16s\n", r.name, r.value)
	}
	return 0
}

func find(rows []parameter, name string) (parameter, bool) {
	for _, r := range rows {
		if strings.EqualFold(r.name, name) {
			return r, true
		}
	}
	return parameter{}, false
}

// missing tells a parameter that this firmware lacks from an unknown word.
func missing(name string) string {
	if strings.HasPrefix(strings.ToUpper(name), "LINK_TYPE_P") {
		return fmt.Sprintf("Device doesn't support %s configuration", name)
	}
	return "Unknown Parameter: " + name
}

var linkValues = map[string]int{"1": card.LinkIB, "0x1": card.LinkIB, "ib": card.LinkIB, "2": card.LinkETH, "0x2": card.LinkETH, "eth": card.LinkETH,
	"3": card.LinkVPI, "0x3": card.LinkVPI, "vpi": card.LinkVPI}

func configSet(p *labsim.Proc, c configCall, dev *labsim.Card, fail func(string, ...any) int) int {
	rows, nv := parameters(dev.Running(), dev.NextNV()), dev.NextNV()
	next := nv
	var lines []string
	seen := map[string]bool{}
	for _, a := range c.args {
		name, value, ok := strings.Cut(a, "=")
		name = strings.ToUpper(name)
		row, known := find(rows, name)
		port, isLink := map[string]int{"LINK_TYPE_P1": 0, "LINK_TYPE_P2": 1}[name]
		switch {
		case !ok:
			return p.Unknown("set " + a)
		case seen[name]:
			return fail("Duplicate parameter, %s.", name)
		case !known:
			return fail("%s", missing(name))
		case !isLink:
			return p.Unknown("set " + name)
		}
		seen[name] = true
		v, legal := linkValues[strings.ToLower(value)]
		if !legal {
			return fail("illegal VPI link type (should be 1|2|3).")
		}
		next.LinkType[port] = v
		lines = append(lines, fmt.Sprintf("         %-36s%-16s%-16s\n", name, row.value, linkNames[v]))
	}
	if len(lines) == 0 {
		return p.Unknown("set without parameters")
	}
	configHead(p, c, dev, "Next Boot       New")
	p.Printf("%s", strings.Join(lines, ""))
	p.Printf("\n Apply new Configuration? (y/n) [n] : ")
	if c.yes {
		p.Printf("y\n")
	} else {
		answer, _ := bufio.NewReader(p.Stdin).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			p.Printf("-E- Aborted by user.\n")
			return 2
		}
	}
	p.Printf("Applying... ")
	dev.SetNV(next)
	p.Printf("Done!\n-I- Please reboot machine to load new configurations.\n")
	return 0
}
