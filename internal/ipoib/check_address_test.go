package ipoib

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// secondPort gives the host a second port, with an address that a definition of ours gives
// it, or nobody's.
func secondPort(defined bool, address string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		port := s.Cards[0].Ports[0]
		port.Number, port.PortGUID = 2, testPort+1
		s.Cards[0].Ports = append(s.Cards[0].Ports, port)
		dev := s.Netdevs[1]
		dev.Name, dev.PortGUID, dev.Addresses = "ibp1s0d1", testPort+1, pfx(address)
		s.Netdevs = append(s.Netdevs, dev)
		if !defined {
			return
		}
		t := target{port: testPort + 1, name: "ibp1s0d1"}
		for _, f := range (netplanNetworkd{}).files(t, requestFor(ib.ModeConnected, 65520, address).Config) {
			s.Files[f.path] = inventory.File{Content: f.text, Mode: "600"}
		}
	}
}

// A subnet that this provider has given to another interface may be about to move: what a
// person has to do says so. What nobody here has given cannot.
func TestCheck_overlapWithWhatWeGave(t *testing.T) {
	t.Parallel()
	const address = "172.16.0.20/24"
	old := []Place{{PortGUID: testPort + 1}}
	for name, tc := range map[string]struct {
		s        *inventory.Snapshot
		leaving  []Place
		severity finding.Severity
		says     []string
		not      string
	}{
		"given by us": {s: testHost(secondPort(true, address)), severity: finding.Refuse,
			says: []string{address + " of ibp1s0d1 on intel9. This provider gave it to that interface, for port " +
				(testPort + 1).String(), "two applies are needed", "First take it from the resource of that port",
				"take them from both first", "create_before_destroy", "deposed object, remove the block of this resource, apply"}},
		"replaced": {s: testHost(secondPort(true, address)), leaving: old, severity: finding.Warn,
			says: []string{"The interface that is replaced must lose the subnet first", "remove that line"}},
		"given by nobody": {s: testHost(secondPort(false, address)), severity: finding.Refuse,
			says: []string{"Give each interface a subnet of its own."}, not: "two applies"},
		"replaced, given by nobody": {s: testHost(secondPort(false, address)), leaving: old, severity: finding.Refuse,
			says: []string{"Give each interface a subnet of its own."}, not: "two applies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := Check(tc.s, requestFor(ib.ModeConnected, 65520, address), PlanFacts{Leaving: tc.leaving})
			i := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Rule == finding.SubnetTwice })
			if i < 0 || found[i].Severity != tc.severity {
				t.Fatalf("not IP013 of that severity: %v", found)
			}
			text := found[i].Summary + "\n" + found[i].Detail()
			for _, part := range tc.says {
				if !strings.Contains(text, part) {
					t.Errorf("no %q in:\n%s", part, text)
				}
			}
			if tc.not != "" && strings.Contains(text, tc.not) {
				t.Errorf("%q in:\n%s", tc.not, text)
			}
		})
	}
}

// A plan without changes ends in no call of the provider, so it promises no undo by the
// apply alone.
func TestCheck_whatUndoesAnEarlierChange(t *testing.T) {
	t.Parallel()
	for became, says := range map[string][]string{
		"waiting": {"it is not undone yet. The host does that by itself", "An apply that changes this interface does it first.",
			"plan again"},
		"undoing":     {"the host undoes it now", "Wait two minutes and plan again"},
		"confirmed":   {"That change was confirmed and holds", "Apply: it removes what is left"},
		"by the host": {"it was undone by the host."},
	} {
		s := testHost(func(s *inventory.Snapshot) {
			s.Undos = map[string]string{target{port: testPort}.id(): became}
		})
		found := Check(s, requestFor(ib.ModeConnected, 65520), PlanFacts{})
		i := slices.IndexFunc(found, func(f finding.Finding) bool {
			return f.Rule == finding.NetworkChangeUnconfirmed && became != "confirmed" || f.Rule == finding.ConfirmedChangeLeft
		})
		if i < 0 {
			t.Fatalf("%s: no IP027: %v", became, found)
		}
		for _, part := range says {
			if text := found[i].Detail(); !strings.Contains(text, part) {
				t.Errorf("%s: no %q in:\n%s", became, part, text)
			}
		}
	}
}
