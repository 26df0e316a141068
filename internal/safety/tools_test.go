package safety

import (
	"strings"
	"testing"
)

func TestCheckTool(t *testing.T) {
	for _, c := range []struct {
		tool, version, format string
		want                  ToolSupport
	}{
		{"mstflint", "4.14.0", "FS2", ToolWorks},
		{"mstflint", "4.21.0", "FS2", ToolWorks},
		{"mstflint", "4.26.0", "FS2", ToolWorks},
		{"mstflint", "4.29.0", "FS2", ToolUnproven},
		{"mstflint", "4.30.0", "FS2", ToolCrashes},
		{"mstflint", "4.36.0", "FS2", ToolCrashes},
		{"mstflint", "4.36.0", "FS4", ToolWorks},
		{"mstflint", "4.6.0", "FS2", ToolTooOld},
		{"mstflint", "4.13.1", "FS3", ToolTooOld},
		{"mstflint", "3.9.0", "FS4", ToolTooOld},
		{"mstflint", "4.14.0", "FS4", ToolWorks},
		{"mstflint", "five", "FS2", ToolUnread},
		{"mstflint", "", "FS2", ToolUnread},
		{"mstconfig", "4.25.0", "FS2", ToolWorks},
		{"mstconfig", "4.26.0", "FS2", ToolRemoved},
		{"mstconfig", "4.26.0", "FS3", ToolWorks},
	} {
		got, why := CheckTool(c.tool, c.version, c.format)
		if got != c.want || why == "" {
			t.Errorf("%s %s for %s: grade %d (%s), want %d", c.tool, c.version, c.format, got, why, c.want)
		}
	}
}

func TestPackageAdvice(t *testing.T) {
	for _, c := range []struct{ platform, id, release, format, want string }{
		{"", "debian", "12", "FS2", "Debian 12 has mstflint 4.21.0"},
		{"", "debian", "13", "FS2", "4.31.0, which crashes"},
		{"", "debian", "13", "FS4", "apt install mstflint."},
		{"ubuntu", "ubuntu", "24.04", "FS2", "cannot configure it"},
		{"", "almalinux", "9.4", "FS2", "mstflint-4.25.0-1"},
		{"", "rhel", "8.10", "FS2", "Release 8.10"},
		{"", "ol", "10.0", "FS2", "no driver for ConnectX-3"},
		{"", "rocky", "10.0", "FS4", "dnf install mstflint."},
		{"truenas", "truenas", "25.10.3", "FS2", "nothing may be installed"},
		{"truenas", "debian", "12", "FS2", "nothing may be installed"},
		{"", "arch", "", "FS2", "build release 4.25.0"},
		{"", "gentoo", "", "FS2", "4.25 or older"},
		{"", "", "", "", "Install the package mstflint"},
	} {
		got := PackageAdvice(HostFacts{Platform: c.platform, OSID: c.id, Release: c.release}, c.format)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s, %s: %q, want %q in it", c.id, c.release, c.format, got, c.want)
		}
	}
}

func TestCheckKernel(t *testing.T) {
	for _, c := range []struct {
		driver, id, release string
		lacks               bool
	}{
		{"mlx4_core", "rhel", "10.0", true},
		{"mlx4_core", "rocky", "10", true},
		{"mlx4_core", "rocky", "9.4", false},
		{"mlx5_core", "rocky", "10.0", false},
		{"mlx4_core", "debian", "10", false},
	} {
		if why := CheckKernel(c.driver, HostFacts{OSID: c.id, Release: c.release}); (why != "") != c.lacks {
			t.Errorf("%s on %s %s: %q", c.driver, c.id, c.release, why)
		}
	}
}
