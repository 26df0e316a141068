package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// The pages say of hosts what the code does with them.
func TestWriteHosts_pages_are_up_to_date(t *testing.T) {
	for _, page := range []string{"templates/index.md.tmpl", "docs/index.md"} {
		text, err := os.ReadFile(filepath.Join("../../..", page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), hostsBegin+hostsSection()+hostsEnd) {
			t.Errorf("%s: the section of hosts is out of date: run make generate", page)
		}
	}
}

func TestWriteHosts(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + hostsBegin + "| an old table |\n" + hostsEnd + "after\n")
	if err := writeHosts(page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != "before\n"+hostsBegin+hostsSection()+hostsEnd+"after\n" {
		t.Errorf("%v\n%s", err, got)
	}
	write("a page without the section\n")
	if err := writeHosts(page); err == nil {
		t.Error("a page without the section was accepted")
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
		"| RHEL 9 and 10 with AlmaLinux, Rocky Linux and CentOS Stream | `dnf` | packaged | packaged | NetworkManager | `mlx4.conf`, with `dracut` | " +
			"ConnectX-3 and older (RHEL 10); InfiniHost; QLogic; ConnectX-2 |",
		"| TrueNAS SCALE 25.10 | none | in the system | none: run it on another host | TrueNAS middleware | `kernel_extra_options` | – |",
		"No kernel has a driver for QLogic (kernels from 6.17).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
