package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
)

// object is one line of the tables of what is supported. What a distribution and a chip
// can do is asked of the code; what proves it is named here, and held by a test.
type object struct {
	name string
	// feature is what a host needs packages for; empty: nothing, or nothing that matters.
	feature platform.Feature
	cards   func() string
	lab     []platform.Kind // whole life on simulated hosts of these families
	labTest string          // file and name of the test
	// real is what runs for it in make testbed or on machines of make reallab-scenarios, on Debian.
	real, realTest string // several tests are separated by ;, and none is empty
}

const (
	everyKind = "acctest/generated_test.go TestBinary_configuration_of_every_import"
	burned    = "the real mstflint burns an emulated ConnectX-3 Pro, ConnectX-4, ConnectX-5 and ConnectX-6"
	burnTest  = "acctest/firmware_test.go TestFirmware_life_of_a_card"
)

// The families of everySystem in acctest: one of each way of configuring a host.
var (
	everySystem = []platform.Kind{platform.KindUbuntu, platform.KindDebian, platform.KindRHEL, platform.KindTrueNAS}
	withPorts   = everySystem[:3] // where it manages ports and subnet managers
	onDebian    = []platform.Kind{platform.KindDebian}
	onUbuntu    = []platform.Kind{platform.KindUbuntu}
)

var objects = []object{
	{"infiniband_card", "", anyCard, everySystem, everyKind, "it reads an emulated ConnectX-3 Pro with the real mstflint " +
		"and lspci", burnTest},
	{"infiniband_firmware_image", "", burnable, everySystem, everyKind, "the real mstflint burns what was staged", burnTest},
	{"infiniband_firmware", platform.FeatureFirmware, burnable, everySystem, everyKind, burned,
		burnTest + ";acctest/later_chips_test.go TestLater_chips_are_restored_at_destroy"},
	{"infiniband_firmware_backup", platform.FeatureFirmware, copied, everySystem, everyKind,
		"the real mstflint reads an emulated ConnectX-3 Pro before each burn", burnTest},
	{"infiniband_guids", platform.FeatureFirmware, identifiable, everySystem, everyKind,
		"the real mstflint sets those of an emulated ConnectX-3 Pro", burnTest},
	{"infiniband_link_type", "", switchable, everySystem, everyKind,
		"the real mstconfig stores those of an emulated ConnectX-3 Pro; the stock mlx4 driver switches its ports",
		burnTest + ";acctest/kernels_linktype_test.go TestKernels_link_types"},
	{"infiniband_nv_config", "", switchable, onUbuntu, "acctest/nvconfig_test.go TestNVConfig_life",
		"the real mstconfig stores those of an emulated ConnectX-3 Pro", "acctest/nvconfig_test.go TestNVConfig_ConnectX3"},
	{"infiniband_activation", "", activated, everySystem, everyKind,
		"the real mstconfig stores the types of an emulated ConnectX-4, and a stock kernel shows them after the restart",
		"acctest/kernels_connectx4link_test.go TestKernels_connectX4_link_type"},
	{"infiniband_port", platform.FeatureDiagnostics, anyCard, withPorts, everyKind,
		"the real ibportstate sets ports, at once and at boot, on stock kernels", "acctest/port_test.go TestPort_life;acctest/portup_test.go TestPort_life_Debian13"},
	// The diagnostics are where files in /etc stay: everywhere but on TrueNAS.
	{"infiniband_virtual_functions", platform.FeatureDiagnostics, virtual, onUbuntu,
		"acctest/sriov_test.go TestVirtualFunctions_life", "none, as no emulated card has virtual functions", ""},
	{"infiniband_opensm", platform.FeatureOpenSM, anyCard, withPorts, everyKind, "the real opensm, on stock kernels",
		"acctest/kernels_cable_test.go TestKernels_cable"},
	{"infiniband_node_names", platform.FeatureDiagnostics, anyCard, withPorts, "acctest/nodenames_test.go TestNodeNames_life",
		"the real iblinkinfo and opensm, on ibsim, call nodes as these files do", "nodenames/real_test.go TestNames_are_what_the_tools_read"},
	{"infiniband_ipoib_interface", "", anyCard, everySystem, everyKind,
		"the real netplan, NetworkManager, systemd-networkd and ifupdown, on stock kernels",
		"acctest/stacks_test.go TestStacks"},
	{"infiniband_benchmark", platform.FeatureIperf3, anyCard, onDebian,
		"provider/labs_test.go TestAccExample_labPointToPoint", "the real iperf3 and qperf, on stock kernels",
		"acctest/evidence_test.go TestEvidence"},
}

// cell says how far an object is proven on a distribution; empty: it cannot be had there.
func (o object) cell(d *platform.Description) string {
	proof := "parts"
	switch {
	case d.Kind == platform.KindDebian && o.realTest != "":
		proof = "programs"
	case slices.Contains(o.lab, d.Kind):
		proof = "lab"
	}
	if o.feature == "" || len(d.Packages[o.feature]) > 0 {
		return proof
	}
	switch {
	case d.Installer != nil:
		return proof + byHand
	case o.feature == platform.FeatureFirmware:
		return proof
	case o.feature == platform.FeatureIperf3:
		return "not tried"
	}
	return ""
}

const legend = "* programs: real programs on booted Debian, with an emulated card, and the simulated lab.\n" +
	"* lab: simulated hosts only: created, imported, and planned again with no change.\n" +
	"* parts: simulated hosts only, and only what the distribution does its own way, such as packages and files.\n" +
	"* –: not to be had there.\n\n" +
	"**Nothing was ever tried with a real card.**\n"

// namePrefix begins the name of each resource. The table leaves it out: a page is narrow.
const namePrefix = "infiniband_"

// supportSection is the table of objects by distribution, with their proof, and the cards
// of each. Pages are narrow: more columns would not be seen.
func supportSection() string {
	var b strings.Builder
	b.WriteString("\n| `" + namePrefix + "…` |")
	for _, d := range platform.All {
		b.WriteString(" " + d.Short + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(platform.All)) + "\n")
	for _, o := range objects {
		fmt.Fprintf(&b, "| `%s` |", strings.TrimPrefix(o.name, namePrefix))
		for _, d := range platform.All {
			b.WriteString(" " + strings.Replace(orDash(o.cell(d)), byHand, "¹", 1) + " |")
		}
		b.WriteString("\n")
	}
	return b.String() + "\n" + legend + "\n¹ The package of the tool has to be installed by hand.\n\n" + cardsOfObjects() + "\n"
}

// cardsOfObjects lists the cards that the objects are for.
func cardsOfObjects() string {
	var b strings.Builder
	var cards []string
	of := map[string][]string{}
	for _, o := range objects {
		if of[o.cards()] == nil {
			cards = append(cards, o.cards())
		}
		of[o.cards()] = append(of[o.cards()], "`"+o.name+"`")
	}
	b.WriteString("They are for these cards:\n\n")
	for _, c := range cards {
		fmt.Fprintf(&b, "* %s: %s\n", strings.Join(of[c], ", "), c)
	}
	return b.String()
}

// byHand is said of a distribution that has no package of the tool.
const byHand = ", package by hand"

// proofSection is what the page of each resource says of it.
func proofSection() string {
	var b strings.Builder
	word := "if"
	for _, o := range objects {
		fmt.Fprintf(&b, "{{ %s eq .Name %q }}\n## Where it works\n\n| Distribution | Proof |\n|---|---|\n", word, o.name)
		for _, d := range platform.All {
			fmt.Fprintf(&b, "| %s | %s |\n", d.Title, orDash(o.cell(d)))
		}
		fmt.Fprintf(&b, "\nCards: %s.\n\nReal programs: %s.\n\n%s", o.cards(), o.real, legend)
		word = "else if"
	}
	b.WriteString("{{ else if eq .Name \"infiniband_fabric_file\" }}\n## Where it works\n\nEverywhere: it asks no host. " +
		"The file is on the machine that runs Terraform.\n{{ else if eq .Name \"infiniband_fabric_baseline\" }}\n" +
		"## Where it works\n\nWhere `infiniband_fabric` does: the host needs the programs of infiniband-diags. Nothing is " +
		"changed on it.\n{{ end }}\n")
	return b.String()
}

// cardsSection is the table of cards.
func cardsSection() string {
	var names []string
	var cells string
	var b strings.Builder
	b.WriteString("\n| Card | Firmware | GUIDs | Link types |\n|---|---|---|---|\n")
	flush := func(name, next string) {
		if next != cells && len(names) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(names, ", "), cells)
			names = nil
		}
		if cells = next; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, c := range sorted() {
		flush(c.Name, strings.Join([]string{burns(c), guidsOf(c), linkTypesOf(c)}, " | "))
	}
	for _, a := range ib.OlderAdapters() {
		flush(a.Name, "left alone | not set | "+typesOfOlder(a))
	}
	flush("", "")
	return b.String() + "\n"
}

// sorted are the chips, with those together that can do the same.
func sorted() []ib.Chip {
	all := ib.Chips()
	slices.SortStableFunc(all, func(a, b ib.Chip) int {
		order := []string{burnedAlways, burnedLater, burnedByItself, burnedSecure, notBurned}
		if a.IB != b.IB && burns(a) == burns(b) {
			return map[bool]int{true: -1, false: 1}[a.IB]
		}
		return slices.Index(order, burns(a)) - slices.Index(order, burns(b))
	})
	return all
}

const (
	burnedAlways   = "burned"
	burnedLater    = "burned; secure firmware without a copy (FW039)"
	burnedByItself = "burned by its own firmware (fw_ctrl); secure firmware without a copy (FW039)"
	burnedSecure   = "burned if its firmware is secure, without a copy (FW039); else read (FW061)"
	notBurned      = "read, not burned (FW061)"
)

func burns(c ib.Chip) string {
	switch {
	case release.ChipUnproven(c.Name) != "":
		return notBurned
	case release.CopyUnproven(c.Name) != "":
		return burnedSecure
	case c.IsFS2():
		return burnedAlways
	case release.OnlyByFirmware(c.Name) != "":
		return burnedByItself
	}
	return burnedLater
}

// later reports whether a chip behind ConnectX-3 is burned.
func later(c ib.Chip) bool { return burns(c) == burnedLater || burns(c) == burnedByItself }

func guidsOf(c ib.Chip) string {
	switch burns(c) {
	case notBurned, burnedSecure:
		return "not set (GU014)"
	case burnedAlways:
		return "set"
	}
	return "set where its firmware takes them (fw_ctrl), else GU014"
}

func linkTypesOf(c ib.Chip) string {
	switch {
	case !c.IB:
		return "Ethernet only"
	case c.Driver == "mlx4_core":
		return "set, in the card's configuration or by the driver"
	}
	return "set where mstconfig shows them"
}

func typesOfOlder(a ib.Adapter) string {
	if a.Driver == "mlx4_core" {
		return "not tried"
	}
	return "InfiniBand only"
}

// namesOf are the names of the chips that a test holds for.
func namesOf(holds func(ib.Chip) bool) string {
	var names []string
	for _, c := range ib.Chips() {
		if holds(c) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

func anyCard() string { return "each with a driver" }

func virtual() string { return "ConnectX-4 and later, with mlx5_core" }

func activated() string {
	return "those whose firmware, GUIDs, link types or settings are set; a reset in place of the restart for ConnectX-4 and later, " +
		"in the simulated lab only"
}

func burnable() string {
	return namesOf(func(c ib.Chip) bool { return burns(c) == burnedAlways }) + "; with secure firmware without a copy " +
		"(FW039): " + namesOf(func(c ib.Chip) bool { return later(c) || burns(c) == burnedSecure })
}

func copied() string {
	return namesOf(func(c ib.Chip) bool { return burns(c) == burnedAlways }) + "; unless their firmware is secure: " +
		namesOf(later)
}

func identifiable() string {
	return namesOf(func(c ib.Chip) bool { return burns(c) == burnedAlways }) + "; where their firmware takes them (fw_ctrl): " +
		namesOf(later)
}

func switchable() string {
	return namesOf(func(c ib.Chip) bool { return c.Driver == "mlx4_core" }) + "; where mstconfig shows them: " +
		namesOf(func(c ib.Chip) bool { return c.Driver != "mlx4_core" && c.IB })
}
