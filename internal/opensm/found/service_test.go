package found

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

const testPort = ib.GUID(0xe41d2d0300e44ed1)

func snapshotWith(change func(*inventory.Snapshot)) *inventory.Snapshot {
	s := &inventory.Snapshot{Host: "intel9", OS: inventory.OS{ID: "ubuntu", VersionID: "24.04"},
		Units: map[string]inventory.Unit{}, Files: map[string]inventory.File{}}
	change(s)
	return s
}

// A unit without a file is neither stopped nor disabled by systemctl, unless it still runs.
func TestAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		unit inventory.Unit
		want bool
	}{
		"not loaded": {inventory.Unit{}, true}, "has a file": {inventory.Unit{LoadState: "loaded", ActiveState: "inactive"}, false},
		"file gone":           {inventory.Unit{LoadState: "not-found", ActiveState: "inactive"}, true},
		"file gone, and runs": {inventory.Unit{LoadState: "not-found", ActiveState: "active"}, false},
		"masked":              {inventory.Unit{LoadState: "masked", ActiveState: "inactive"}, false},
	} {
		s := snapshotWith(func(s *inventory.Snapshot) {
			if c.unit != (inventory.Unit{}) {
				s.Units[tool.Unit(testPort)] = c.unit
			}
		})
		if got := Of(s, testPort).Absent; got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if Of(snapshotWith(func(s *inventory.Snapshot) { s.Units, s.UnitsWhy = nil, "systemctl show ended with status 1" }),
		testPort).Absent {
		t.Error("a silent systemd has no units")
	}
}

// What could not be read is not edited, and so nothing is stopped by it.
func TestList_denied(t *testing.T) {
	s := snapshotWith(func(s *inventory.Snapshot) {
		s.Files, s.Denied = nil, map[string]bool{tool.DefaultPath: true}
	})
	if err := Of(s, testPort).List.Err(s.Host); err == nil || !strings.Contains(err.Error(), "could not be read, and is not edited") {
		t.Error(err)
	}
}

// An instance does not come back at the boot where nothing starts it: Debian's unit needs its list of ports, starts
// nothing without a PORTS line, and is not started itself while it is masked.
func TestOf_startsAtBoot(t *testing.T) {
	for name, c := range map[string]struct {
		list    string // of /etc/default/opensm; "-": no file
		service inventory.Unit
		want    bool
	}{
		"all ports":     {"PORTS=ALL\n", inventory.Unit{UnitFileState: "enabled"}, true},
		"by its GUID":   {"PORTS=" + testPort.String() + "\n", inventory.Unit{UnitFileState: "enabled"}, true},
		"another word":  {"PORTS=all\n", inventory.Unit{UnitFileState: "enabled"}, false},
		"no PORTS line": {"# PORTS=ALL\n", inventory.Unit{UnitFileState: "enabled"}, false},
		"no list":       {"-", inventory.Unit{UnitFileState: "enabled"}, false},
		"not enabled":   {"PORTS=ALL\n", inventory.Unit{UnitFileState: "disabled"}, false},
		"masked":        {"PORTS=ALL\n", inventory.Unit{LoadState: "masked", UnitFileState: "enabled"}, false},
	} {
		l := Of(snapshotWith(func(s *inventory.Snapshot) {
			s.Units[tool.Service], s.Units[tool.Unit(testPort)] = c.service, inventory.Unit{ActiveState: "active"}
			if c.list != "-" {
				s.Files[tool.DefaultPath] = inventory.File{Content: c.list}
			}
		}), testPort)
		if got, known := l.Enabled.Get(); got != c.want || !known {
			t.Errorf("%s: starts at boot: %t, known: %t", name, got, known)
		}
	}
}
