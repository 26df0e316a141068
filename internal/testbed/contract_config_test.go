//go:build testbed && linux

package testbed

import "testing"

// linkTypes is the short way to see what was stored: a query of everything takes ninety
// thousand accesses of registers.
const linkTypes = "@ q LINK_TYPE_P1 LINK_TYPE_P2"

// configDeals hold the simulated mstconfig to the real one.
func configDeals() []deal {
	return append([]deal{
		{name: "version", card: vpiCard, args: "-v"},
		{name: "query VPI", card: vpiCard, args: "@ q"},
		{name: "query, the long word", card: vpiCard, args: "@ query LINK_TYPE_P1"},
		{name: "query EN", card: enCard, args: "@ q"},
		{name: "query ConnectX-3", card: oldCard, args: "@ q"},
		{name: "query by short address", card: vpiCard, args: "-d 01:00.0 q LINK_TYPE_P1"},
		{name: "query with defaults", card: vpiCard, args: "@ -e q"},
		{name: "query one", card: vpiCard, args: "@ q LINK_TYPE_P1"},
		{name: "query two, the later first", card: vpiCard, args: "@ q LINK_TYPE_P2 SRIOV_EN"},
		{name: "query one in small letters", card: vpiCard, args: "@ q link_type_p1"},
		{name: "query what EN lacks", card: enCard, args: "@ q LINK_TYPE_P1"},
		{name: "query what nobody knows", card: vpiCard, args: "@ q NONSENSE"},
		{name: "query with a late option", card: vpiCard, args: "@ q -y"},
		{name: "query of no device", card: vpiCard, args: "-d 0000:09:00.0 q"},
		{name: "query of an empty flash", card: enCard, flash: wipe, args: "@ q"},
	}, setDeals()...)
}

func setDeals() []deal {
	const both = "set LINK_TYPE_P1=1 LINK_TYPE_P2=1"
	return []deal{
		{name: "set, answered y", card: vpiCard, stdin: "y\n", args: "@ " + both, then: []string{"@ q", "@ -e q"}},
		{name: "set, answered YES", card: vpiCard, stdin: "YES\n", args: "@ " + both},
		{name: "set, answered n", card: vpiCard, stdin: "n\n", args: "@ " + both, then: []string{linkTypes}},
		{name: "set, EOF", card: vpiCard, args: "@ " + both},
		{name: "set, -y", card: vpiCard, args: "-y @ " + both,
			then: []string{linkTypes, "-y @ set LINK_TYPE_P2=2", linkTypes}},
		{name: "set, --yes", card: vpiCard, args: "--yes @ s LINK_TYPE_P1=3"},
		{name: "set by name", card: vpiCard, args: "-y @ set LINK_TYPE_P1=IB LINK_TYPE_P2=vpi", then: []string{linkTypes}},
		{name: "set in hexadecimal", card: vpiCard, args: "-y @ set LINK_TYPE_P1=0x1"},
		{name: "set in small letters", card: vpiCard, args: "-y @ set link_type_p1=1"},
		{name: "set the second port first", card: vpiCard, args: "-y @ set LINK_TYPE_P2=1 LINK_TYPE_P1=2"},
		{name: "set 4", card: vpiCard, args: "-y @ set LINK_TYPE_P1=4", then: []string{linkTypes}},
		{name: "set 0", card: vpiCard, args: "-y @ set LINK_TYPE_P1=0"},
		{name: "set a word", card: vpiCard, args: "-y @ set LINK_TYPE_P1=FC"},
		{name: "set nothing", card: vpiCard, args: "-y @ set"},
		{name: "set without a value", card: vpiCard, args: "-y @ set LINK_TYPE_P1"},
		{name: "set twice", card: vpiCard, args: "-y @ set LINK_TYPE_P1=1 LINK_TYPE_P1=2"},
		{name: "set what nobody knows", card: vpiCard, args: "-y @ set NONSENSE=1"},
		{name: "set what EN lacks", card: enCard, args: "-y @ set LINK_TYPE_P1=1"},
		{name: "set without a device", card: vpiCard, args: "-y set LINK_TYPE_P1=1"},
		{name: "set a number and a bool", card: vpiCard, args: "-y @ set NUM_OF_VFS=4",
			then: []string{"-y @ set BOOT_OPTION_ROM_EN_P1=0", "@ q NUM_OF_VFS SRIOV_EN BOOT_OPTION_ROM_EN_P1"}},
		{name: "set ConnectX-3", card: oldCard, args: "-y @ " + both, then: []string{linkTypes}},
	}
}

// TestContract_simulated_mstconfig_is_the_real_one compares what both print, how
// they end, and what the next boot will use.
func TestContract_simulated_mstconfig_is_the_real_one(t *testing.T) {
	t.Parallel()
	list := configDeals()
	for i := range list {
		list[i].tool = "mstconfig"
	}
	contract(t, "config", list)
}
