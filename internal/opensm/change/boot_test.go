package change

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

const otherPort = ib.GUID(0xe41d2d0300e44ed2)

func withList(ports string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=" + ports + "\n"}
	}
}

func withUnit(name, active, atBoot string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Units[name] = inventory.Unit{LoadState: "loaded", ActiveState: active, UnitFileState: atBoot}
	}
}

const testPort = ib.GUID(0xe41d2d0300e44ed1)

func testHost(change ...func(*inventory.Snapshot)) *inventory.Snapshot {
	s := &inventory.Snapshot{
		Host: "intel9", OS: inventory.OS{ID: "ubuntu", VersionID: "24.04", Kernel: "6.8.0-90-generic"},
		Cards: []inventory.Card{{PCI: ib.MustParsePCIAddress("0000:01:00.0"), RDMADevice: "mlx4_0", Ports: []inventory.Port{{
			Number: 1, State: "Initializing", Physical: "LinkUp", LinkLayer: "InfiniBand", PortGUID: testPort,
			IsSM: fact.Known(false),
		}}}},
		Packages: map[string]string{"opensm": "3.3.23-3"}, Units: map[string]inventory.Unit{},
		Files: map[string]inventory.File{tool.DefaultPath: {Content: "PORTS=NONE\n"},
			platform.ModulesLoadPath: {Content: "ib_umad\nmlx4_ib\n"}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func silentSystemd(s *inventory.Snapshot) {
	s.Units, s.UnitsWhy = nil, "systemctl show ended with status 1"
}

// The shared service is planned like the instance: those that start because it does are named, and
// those that do not run are not started by the apply.
func TestOthersStart(t *testing.T) {
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 14}
	both, other := withList(`"`+testPort.String()+" "+otherPort.String()+`"`), tool.Unit(otherPort)
	off, on := withUnit(tool.Service, "inactive", "disabled"), withUnit(tool.Service, "active", "enabled")
	const boot = "starts at the next boot, too"
	for name, c := range map[string]struct {
		change []func(*inventory.Snapshot)
		says   string // of the finding; empty: none
		starts bool   // the shared service
	}{
		"switched off":      {[]func(*inventory.Snapshot){both, off}, boot, false},
		"runs, not at boot": {[]func(*inventory.Snapshot){both, off, withUnit(other, "active", "static")}, boot, true},
		"skipped at boot":   {[]func(*inventory.Snapshot){both, withUnit(tool.Service, "inactive", "enabled")}, "", false},
		"stopped alone":     {[]func(*inventory.Snapshot){both, on}, "", false},
		"all run":           {[]func(*inventory.Snapshot){both, on, withUnit(other, "activating", "static")}, "", true},
		"nobody else":       {[]func(*inventory.Snapshot){off}, "", true},
		"masked":            {[]func(*inventory.Snapshot){both, off, func(s *inventory.Snapshot) { s.Units[other] = inventory.Unit{LoadState: "masked"} }}, "", false},
		"ours": {[]func(*inventory.Snapshot){both, off, func(s *inventory.Snapshot) {
			s.Files[tool.DropInPath(otherPort)] = inventory.File{Content: found.DropInText(otherPort, false)}
		}}, "", false},
		"package comes first": {[]func(*inventory.Snapshot){both, func(s *inventory.Snapshot) { s.Packages = nil }}, "starts when the package is installed, and at boot", false},
		"silent":              {[]func(*inventory.Snapshot){both, silentSystemd}, boot, false},
	} {
		s := testHost(c.change...)
		var said string
		for _, f := range judge.Check(found.Of(s, d.PortGUID), d, judge.PlanFacts{}) {
			if f.Rule.Code == "SM035" {
				said += f.Evidence
			}
		}
		if (said == "") != (c.says == "") || !strings.Contains(said, c.says) || said != "" && !strings.Contains(said, other) {
			t.Errorf("%s: %q", name, said)
		}
		commands := startCommands(found.Of(s, testPort), false)
		if got := slices.ContainsFunc(commands, func(c shellcmd.Command) bool {
			return strings.Contains(c.String(), "systemctl start -- opensm.service")
		}); got != c.starts {
			t.Errorf("%s: the service is started: %t", name, got)
		}
	}
}
