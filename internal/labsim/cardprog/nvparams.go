package cardprog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// words are the names of the values of a setting by number, from the database of mstflint 4.21.
var words = map[string][]string{
	"CQE_COMPRESSION":      {"BALANCED", "AGGRESSIVE"},
	"LEGACY_BOOT_PROTOCOL": {"NONE", "PXE", "ISCSI", "", "PXE_WO_FAIL_ISCSI", "ISCSI_WO_FAIL_PXE"},
	"IP_VER":               {"IPv4", "IPv6", "IPv4_IPv6", "IPv6_IPv4"},
	"PCI_WR_ORDERING":      {"per_mkey", "force_relax"},
	"PCI_ATOMIC_MODE":      {"PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED"},
	"BOOT_RETRY_CNT":       {"NONE", "_1", "_2", "_3", "_4", "_5", "_6", "UNLIMITED"},
}

// largest are the largest values of numbers.
var largest = map[string]int64{"NUM_OF_VFS": 127, "BOOT_PKEY": 0xffff, "BOOT_VLAN": 0xfff}

// laterParameters is a part of what a VPI card of ConnectX-4 or later shows, in the order of the tool and
// with the defaults of a firmware that was queried with mstconfig 4.21: one port for each function, and
// InfiniBand unless something else was set.
func laterParameters(nv card.NV, version toolVersion) []parameter {
	link := linkNames[nv.LinkType[0]]
	if nv.LinkType[0] == card.LinkUnset {
		link = linkNames[card.LinkIB]
	}
	retries := "BOOT_RETRY_CNT"
	if version.atLeast(31) {
		retries += "1"
	}
	return []parameter{
		{"NON_PREFETCHABLE_PF_BAR", "False(0)"}, {"NUM_OF_VFS", "8"}, {"NUM_OF_PF", "1"}, {"SRIOV_EN", "False(0)"},
		{"VF_LOG_BAR_SIZE", "1"}, {"NUM_PF_MSIX", "63"}, {"NUM_VF_MSIX", "11"}, {"CQE_COMPRESSION", "BALANCED(0)"},
		{"PCI_ATOMIC_MODE", "PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED(0)"}, {"PCI_WR_ORDERING", "per_mkey(0)"},
		{"HOST_CHAINING_DESCRIPTORS", "Array[0..7]"}, {"LINK_TYPE_P1", link}, {"KEEP_ETH_LINK_UP_P1", "True(1)"},
		{"KEEP_IB_LINK_UP_P1", "False(0)"}, {"KEEP_LINK_UP_ON_BOOT_P1", "False(0)"},
		{"KEEP_LINK_UP_ON_STANDBY_P1", "False(0)"}, {"PORT_OWNER", "True(1)"}, {"ALLOW_RD_COUNTERS", "True(1)"},
		{"IP_VER", "IPv4(0)"}, {"UEFI_HII_EN", "True(1)"}, {"BOOT_VLAN", "0"}, {"LEGACY_BOOT_PROTOCOL", "PXE(1)"},
		{retries, "NONE(0)"}, {"BOOT_VLAN_EN", "False(0)"}, {"BOOT_PKEY", "0"}, {"ATS_ENABLED", "False(0)"},
		{"EXP_ROM_UEFI_ARM_ENABLE", "False(0)"}, {"EXP_ROM_UEFI_x86_ENABLE", "False(0)"},
		{"EXP_ROM_PXE_ENABLE", "True(1)"}, {"ADVANCED_PCI_SETTINGS", "False(0)"},
	}
}

// withSettings are the parameters with what was set of them.
func withSettings(list []parameter, set card.Settings) []parameter {
	all := slices.Clone(list)
	for i, p := range all {
		if value, ok := set[p.name]; ok {
			all[i].value = value
		}
	}
	return all
}

// base is the name of a parameter without its port and the number of its kind.
func base(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_P1"), "_P2")
	return strings.TrimSuffix(name, "1")
}

// valueOf reads a value as set does. late is what the tool says only after the question.
func valueOf(p parameter, text string) (value, wrong, late string) {
	number, err := strconv.ParseInt(text, 0, 32)
	names := words[base(p.name)]
	if strings.HasSuffix(p.value, "True(1)") || strings.HasSuffix(p.value, "False(0)") {
		names = []string{"False", "True"}
	}
	if names == nil {
		switch limit, has := largest[base(p.name)]; {
		case err != nil:
			return "", "Cannot parse the value", ""
		case has && number > limit:
			return "", "", fmt.Sprintf("Parameter %s' value is larger than maximum allowed %d", p.name, limit)
		}
		return strconv.FormatInt(number, 10), "", ""
	}
	at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, text) })
	if err == nil {
		at = int(number)
	}
	if at < 0 || at >= len(names) || names[at] == "" {
		return "", "Unknown value " + text, ""
	}
	return fmt.Sprintf("%s(%d)", names[at], at), "", ""
}

// layers prints the table of a later card with all layers, in the columns of the version.
func layers(p *labsim.Proc, c configCall, dev *labsim.Card, version toolVersion, pick func([]parameter) []parameter) {
	head, name, width := 16, 36, 16
	if version.atLeast(26) {
		head, name, width = 20, 44, 21
	}
	kind := strings.ReplaceAll(dev.Chip.Name, "-", "")
	p.Printf("\nDevice #1:\n----------\n\n%-*s%-*s\n%-*s%-*s\n\n", head, "Device type:", head, kind, head, "Device:", head,
		c.device)
	p.Printf("%-*s%-*s%-*sNext Boot\n", name+9, "Configurations:", width, "Default", width, "Current")
	fw := dev.Running()
	defaults := pick(parameters(dev.Chip, fw, card.NV{}, version))
	current := pick(withSettings(parameters(dev.Chip, fw, fw.Config, version), dev.CurrentSettings()))
	next := pick(withSettings(parameters(dev.Chip, fw, dev.NextNV(), version), dev.NextSettings()))
	differs := false
	for i, row := range next {
		mark := " "
		if row.value != defaults[i].value || row.value != current[i].value {
			mark, differs = "*", true
		}
		indent := 8
		if version.atLeast(26) {
			indent = 7
		}
		p.Printf("%s%*s%-*s%-*s%-*s%-*s\n", mark, indent, "", name, row.name, width, defaults[i].value+" ", width,
			current[i].value+" ", width, row.value)
	}
	if differs {
		p.Printf("The '*' shows parameters with next value different from default/current value.\n")
	}
}
