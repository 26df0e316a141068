package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// The pages say what the code does: each has its sections, as they are written now.
func TestWriteSections_pages_are_up_to_date(t *testing.T) {
	for page, names := range map[string]string{"README.md": "support", "templates/index.md.tmpl": "hosts support cards",
		"docs/index.md": "hosts support cards", "templates/resources.md.tmpl": "proof",
		"templates/guides/burn.md": "tools"} {
		text := source(t, "../"+page)
		for _, s := range sections {
			with, ok := s.put(text)
			if ok != slices.Contains(strings.Fields(names), s.name) {
				t.Errorf("%s has the section %s: %t", page, s.name, ok)
			}
			if ok && with != text {
				t.Errorf("%s: the section %s is out of date: run make generate", page, s.name)
			}
		}
	}
	for _, o := range objects {
		page := source(t, "../docs/resources/"+strings.TrimPrefix(o.name, "infiniband_")+".md")
		if !strings.Contains(page, "Cards: "+o.cards()+".\n\nReal programs: "+o.real+".\n") {
			t.Errorf("the page of %s does not say where it works", o.name)
		}
	}
}

func TestWriteSections(t *testing.T) {
	hosts := sections[0]
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + hosts.begin() + "| an old table |\n" + hosts.end() + "after\n")
	if err := writeSections(page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != "before\n"+hosts.begin()+hostsSection()+hosts.end()+"after\n" {
		t.Errorf("%v\n%s", err, got)
	}
	write("a page without a section\n")
	if err := writeSections(page); err == nil {
		t.Error("a page without a section was accepted")
	}
}

func TestHostsSection(t *testing.T) {
	text := hostsSection()
	for _, d := range platform.All {
		if !strings.Contains(text, "| "+d.Title+" |") {
			t.Errorf("%s is not in the table", d.Title)
		}
	}
	for _, want := range []string{
		"| RHEL, AlmaLinux, Rocky Linux, CentOS Stream: releases 9 and 10 | `dnf` | packaged | packaged |\n",
		"(guides/burn.md#versions-of-mstflint)", "| Where link types of ConnectX-3 are stored |",
		"| RHEL | NetworkManager | `mlx4.conf`, with `dracut` | ConnectX-3 and older (RHEL 10); InfiniHost; QLogic; ConnectX-2 |",
		"| TrueNAS SCALE 25.10 | none | in the system | none: run it on another host |\n", "| TrueNAS | TrueNAS middleware | `kernel_extra_options` | – |",
		"Linux has removed the driver for QLogic (kernels from 6.17).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// What FW052 says of a distribution's own mstflint is in the guide, too.
func TestToolsSection_names_the_packages_of_distributions(t *testing.T) {
	text, found := toolsSection(), 0
	for _, d := range platform.All {
		for _, a := range d.Tools {
			if a.Format == "" {
				continue
			}
			found++
			if row := "| " + strings.TrimSpace(d.Short+" "+a.Release) + " | " + a.Advice + " |\n"; !strings.Contains(text, row) {
				t.Errorf("%q is missing in\n%s", row, text)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d distributions", found)
	}
}
