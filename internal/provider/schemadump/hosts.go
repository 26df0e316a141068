package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// The section of a page that is written from the descriptions of the distributions.
const (
	hostsBegin = "<!-- hosts: written by make generate -->\n"
	hostsEnd   = "<!-- /hosts -->\n"
)

// hostsSection is the table of the distributions with what each makes different.
func hostsSection() string {
	var b strings.Builder
	b.WriteString("\n| Distribution | Packages by | `mstflint` | `opensm` | Usual network stack | Link types of mlx4 " +
		"last in | No driver for |\n|---|---|---|---|---|---|---|\n")
	for _, d := range platform.All {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", d.Title, installer(d),
			packageOf(d, platform.FeatureFirmware),
			packageOf(d, platform.FeatureOpenSM), strings.Join(d.Stacks,
				", "), typeStore(d), orDash(strings.Join(d.Driverless(), "; ")))
	}
	b.WriteString("\n")
	for _, d := range platform.All {
		if d.Note != "" {
			fmt.Fprintf(&b, "* %s: %s\n", d.Short, d.Note)
		}
	}
	fmt.Fprintf(&b, "* All: what configures the network is found on the host. No kernel has a driver for %s.\n\n",
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

// writeHosts puts the section into a page.
func writeHosts(file string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(page), hostsBegin)
	_, tail, ended := strings.Cut(rest, hostsEnd)
	if !found || !ended {
		return fmt.Errorf("%s has no section between %q and %q", file, hostsBegin, hostsEnd)
	}
	//nolint:gosec // a page of this repository, named by its makefile
	return os.WriteFile(file, []byte(head+hostsBegin+hostsSection()+hostsEnd+tail), 0o600)
}
