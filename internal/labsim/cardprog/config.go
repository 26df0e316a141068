package cardprog

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// parameter is one row of mstconfig's query of a ConnectX-3.
type parameter struct{ name, value string }

var linkNames = map[int]string{card.LinkIB: "IB(1)", card.LinkETH: "ETH(2)", card.LinkVPI: "VPI(3)",
	card.LinkUnset: "ETH(2)"}

// parameters lists what the running firmware advertises: EN firmware has no
// LINK_TYPE.
func parameters(chip card.Chip, fw card.Firmware, nv card.NV, version toolVersion) []parameter {
	if chip.Format != card.FS2 {
		return laterParameters(nv, version)
	}
	list := []parameter{{"SRIOV_EN", "True(1)"}, {"NUM_OF_VFS", "8"}}
	if fw.VPI {
		list = append(list, parameter{"LINK_TYPE_P1", linkNames[nv.LinkType[0]]},
			parameter{"LINK_TYPE_P2", linkNames[nv.LinkType[1]]})
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

// failure says what is wrong and gives the status of it.
type failure func(format string, args ...any) int

// mstconfig is the simulated program for ConnectX-3 and ConnectX-3 Pro.
func mstconfig(_ context.Context, p *labsim.Proc) int {
	c, bad := parseConfig(p.Args[1:])
	version := versionOf(p)
	fail := failure(func(format string, args ...any) int {
		p.Printf("-E- "+format+"\n", args...)
		return 3
	})
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
	var list []setting
	if strings.HasPrefix(c.command, "s") {
		var wrong string
		if list, wrong = settings(c.args); wrong != "" {
			return fail("%s", wrong)
		}
		if c.device == "" {
			return fail("set command expects device to be specified.")
		}
	}
	if c.device == "" {
		return p.Unknown("query of all devices")
	}
	dev, found := findCard(p, c.device)
	switch {
	case !found || p.UID != 0:
		return fail("Failed to open the device")
	case !dev.HasFlash(), version.atLeast(26) && dev.Config.Model.Switchable:
		return fail("Unsupported device")
	case !dev.Running().Loaded:
		return fail("Device in Livefish mode is not supported")
	case !dev.Bound():
		return fail("Failed to open device: %s. Cannot perform operation, Driver might be down.", c.device)
	}
	p.HoldOpen(configFile(p, dev))
	if strings.HasPrefix(c.command, "q") {
		return configQuery(p, c, dev, version, fail)
	}
	return configSet(p, c, dev, version, list, fail)
}

// table prints the head of a card's table and the names of the columns.
func table(p *labsim.Proc, c configCall, dev *labsim.Card, columns string) {
	kind := strings.ReplaceAll(dev.Chip.Name, "-", "")
	p.Printf("\nDevice #1:\n----------\n\nDevice type:    %-16s\nDevice:         %-16s\n\n%-45s%s\n", kind, c.device,
		"Configurations:", columns)
}

func configQuery(p *labsim.Proc, c configCall, dev *labsim.Card, version toolVersion, fail failure) int {
	fw := dev.Running()
	rows := withSettings(parameters(dev.Chip, fw, dev.NextNV(), version), dev.NextSettings())
	for _, a := range c.args {
		if _, ok := find(rows, a); !ok {
			if c.verbose && dev.Chip.Format == card.FS2 {
				table(p, c, dev, "Default         Next Boot")
			} else if !c.verbose {
				table(p, c, dev, "Next Boot")
			}
			return fail("%s", missingParameter(a))
		}
	}
	pick := func(all []parameter) (picked []parameter) {
		for _, a := range c.args {
			row, _ := find(all, a)
			picked = append(picked, row)
		}
		if len(c.args) == 0 {
			return all
		}
		return picked
	}
	switch {
	case !c.verbose:
		table(p, c, dev, "Next Boot")
		for _, r := range pick(rows) {
			p.Printf("         %-36s%-16s\n", r.name, r.value)
		}
	case dev.Chip.Format == card.FS2:
		twoLayers(p, c, dev, pick(parameters(dev.Chip, fw, card.NV{}, version)), pick(rows))
	default:
		layers(p, c, dev, version, pick)
	}
	return 0
}

// twoLayers prints the table of a ConnectX-3, whose firmware does not show current values.
func twoLayers(p *labsim.Proc, c configCall, dev *labsim.Card, defaults, rows []parameter) {
	table(p, c, dev, "Default         Next Boot")
	differs := false
	for i, r := range rows {
		mark := " "
		if r.value != defaults[i].value {
			mark, differs = "*", true
		}
		p.Printf("%s        %-36s%-16s%-16s\n", mark, r.name, defaults[i].value, r.value)
	}
	if differs {
		p.Printf("The '*' shows parameters with next value different from default/current value.\n")
	}
	p.Printf("Device Firmware does not support reading current configurations\n")
}

// find looks a parameter up; the tool knows names in capitals only.
func find(rows []parameter, name string) (parameter, bool) {
	for _, r := range rows {
		if r.name == name {
			return r, true
		}
	}
	return parameter{}, false
}

// missingParameter tells a parameter that this firmware lacks from an unknown word.
func missingParameter(name string) string {
	if name == "LINK_TYPE_P1" || name == "LINK_TYPE_P2" {
		return fmt.Sprintf("Device doesn't support %s configuration", name)
	}
	return "Unknown Parameter: " + name
}

// setting is one argument of set.
type setting struct {
	name, text string
}

// settings reads the arguments of set as the tool does before it opens the card.
func settings(args []string) (list []setting, wrong string) {
	seen := map[string]bool{}
	for _, a := range args {
		name, text, ok := strings.Cut(a, "=")
		switch {
		case !ok || name == "" || text == "":
			return nil, "Invalid Configuration argument " + a
		case seen[name]:
			return nil, fmt.Sprintf("Duplicate parameter, %s.", name)
		}
		seen[name] = true
		list = append(list, setting{name: name, text: text})
	}
	if len(list) == 0 {
		return nil, "missing configuration arguments. For more information please run mstconfig -h|--help."
	}
	return list, ""
}

// linkValue reads a value of LINK_TYPE: a name in any spelling, or any number.
func linkValue(text string) (int, bool) {
	for n, name := range linkNames {
		if n != card.LinkUnset && strings.EqualFold(text, strings.TrimSuffix(name, fmt.Sprintf("(%d)", n))) {
			return n, true
		}
	}
	n, err := strconv.ParseUint(text, 0, 31)
	return int(n), err == nil
}

// change is one argument of set with the value that it gives.
type change struct {
	row   parameter // as the next boot has it now
	value string
	link  int // type that a LINK_TYPE gets
	late  string
}

// changes reads the arguments of set against what the card has.
func changes(dev *labsim.Card, rows []parameter, list []setting) (all []change, wrong string) {
	for _, s := range list {
		row, known := find(rows, s.name)
		one := change{row: row}
		if strings.HasPrefix(s.name, "LINK_TYPE_P") {
			v, ok := linkValue(s.text)
			if !ok {
				return nil, fmt.Sprintf("Failed to parse %s=%s", s.name, s.text)
			}
			name, ok := linkNames[v]
			if !ok || v == card.LinkUnset || v == card.LinkVPI && dev.Chip.Format != card.FS2 {
				name, one.late = strconv.Itoa(v), "Failed to set configuration: illegal VPI link type (should be 1|2|3)."
			}
			one.link, one.value = v, name
		} else if known {
			if one.value, wrong, one.late = valueOf(row, s.text); wrong != "" {
				return nil, wrong
			}
		}
		if all = append(all, one); !known && !strings.HasPrefix(s.name, "LINK_TYPE_P") {
			return nil, "Unknown Parameter: " + s.name
		}
	}
	for i, s := range list {
		if all[i].row.name == "" {
			return nil, missingParameter(s.name)
		}
	}
	return all, ""
}

func configSet(p *labsim.Proc, c configCall, dev *labsim.Card, version toolVersion, list []setting, fail failure) int {
	rows := withSettings(parameters(dev.Chip, dev.Running(), dev.NextNV(), version), dev.NextSettings())
	table(p, c, dev, "Next Boot       New")
	all, wrong := changes(dev, rows, list)
	if wrong != "" {
		return fail("%s", wrong)
	}
	for _, one := range all {
		p.Printf("         %-36s%-16s%-16s\n", one.row.name, one.row.value, one.value)
	}
	p.Printf("\n Apply new Configuration? (y/n) [n] : ")
	if c.yes {
		p.Printf("y\n")
	} else {
		answer, _ := bufio.NewReader(p.Stdin).ReadString('\n')
		if a := strings.ToLower(strings.TrimSuffix(answer, "\n")); a != "y" && a != "yes" {
			p.Printf("-E- Aborted by user.\n")
			return 2
		}
	}
	for _, one := range all {
		if one.late != "" {
			p.Printf("Applying... Failed!\n")
			return fail("%s", one.late)
		}
	}
	next := dev.NextNV()
	for _, one := range all {
		if port, isLink := map[string]int{"LINK_TYPE_P1": 0, "LINK_TYPE_P2": 1}[one.row.name]; isLink {
			next.LinkType[port] = one.link
		} else {
			dev.Set(one.row.name, one.value)
		}
	}
	dev.SetNV(next)
	how := "reboot"
	if dev.PowerCycle {
		how = "power cycle"
	}
	p.Printf("Applying... Done!\n-I- Please %s machine to load new configurations.\n", how)
	return 0
}
