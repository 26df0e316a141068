package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// hostsSection has the distributions with what each makes different, in two tables that
// fit into a page.
func hostsSection() string {
	var b strings.Builder
	b.WriteString("\n| Distribution | Packages by | `mstflint` | `opensm` |\n|---|---|---|---|\n")
	for _, d := range platform.All {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Title, installer(d), packageOf(d, platform.FeatureFirmware),
			packageOf(d, platform.FeatureOpenSM))
	}
	b.WriteString("\n| Distribution | Usual network stack | Where link types of ConnectX-3 are stored | No driver for |\n|---|---|---|---|\n")
	for _, d := range platform.All {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Short, strings.Join(d.Stacks, ", "), typeStore(d),
			orDash(strings.Join(d.Driverless(), "; ")))
	}
	b.WriteString("\n")
	for _, d := range platform.All {
		if d.Note != "" {
			fmt.Fprintf(&b, "* %s: %s\n", d.Short, d.Note)
		}
	}
	b.WriteString("* All: the packaged `mstflint` may not suit ConnectX-3. " +
		"[Versions of mstflint](guides/burn.md#versions-of-mstflint) says what to install.\n")
	fmt.Fprintf(&b, "* All: what configures the network is found on the host. Linux has removed the driver for %s.\n\n",
		strings.Join(platform.DriverlessAnywhere(), ", "))
	return b.String()
}

func installer(d *platform.Description) string {
	if d.Installer == nil {
		return "none"
	}
	return "`" + d.Installer.Program + "`"
}

// packageOf says where the program of a feature comes from.
func packageOf(d *platform.Description, f platform.Feature) string {
	names := d.Packages[f]
	switch {
	case len(names) > 0:
		return "packaged"
	case d.Installer != nil:
		return "not packaged: install it by hand " + d.ByHand
	case f == platform.FeatureFirmware:
		return "in the system"
	}
	return "none: run it on another host"
}

// typeStore says what keeps the link types of mlx4 cards for the next boot.
func typeStore(d *platform.Description) string {
	text := "`" + d.LinkTypesIn() + "`"
	if d.Initramfs != "" {
		text += ", with `" + d.Initramfs + "`"
	}
	return text
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// section is a part of pages that is written from the code.
type section struct {
	name string
	text func() string
}

var sections = []section{{"hosts", hostsSection}, {"support", supportSection}, {"cards", cardsSection},
	{"proof", proofSection}, {"tools", toolsSection}}

func (s section) begin() string { return "<!-- " + s.name + ": written by make generate -->\n" }
func (s section) end() string   { return "<!-- /" + s.name + " -->\n" }

// put puts the section into a page; not ok if the page has no place for it.
func (s section) put(page string) (with string, ok bool) {
	head, rest, found := strings.Cut(page, s.begin())
	_, tail, ended := strings.Cut(rest, s.end())
	return head + s.begin() + s.text() + s.end() + tail, found && ended
}

// writeSections puts the sections into a page that has places for them.
func writeSections(file string) error {
	read, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page, some := string(read), false
	for _, s := range sections {
		if with, ok := s.put(page); ok {
			page, some = with, true
		}
	}
	if !some {
		return fmt.Errorf("%s has no place for a section, %q to %q", file, sections[0].begin(), sections[0].end())
	}
	//nolint:gosec // a page of this repository, named by its makefile
	return os.WriteFile(file, []byte(page), 0o600)
}
