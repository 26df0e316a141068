package judge

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
)

// secondPort gives the host a second port, with an address that a definition of ours gives
// it, or nobody's.
func secondPort(defined bool, address string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		port := s.Cards[0].Ports[0]
		port.Number, port.PortGUID = 2, ipoibtest.Port+1
		s.Cards[0].Ports = append(s.Cards[0].Ports, port)
		dev := s.Netdevs[1]
		dev.Name, dev.PortGUID, dev.Addresses = "ibp1s0d1", ipoibtest.Port+1, ipoibtest.Prefixes(address)
		s.Netdevs = append(s.Netdevs, dev)
		if !defined {
			return
		}
		t := found.Target{Ref: ipoib.Ref{PortGUID: ipoibtest.Port + 1}, Name: "ibp1s0d1"}
		for _, f := range found.At(ipoibtest.Host(), ipoib.Ref{}).Files(t, requestFor(ib.ModeConnected, 65520, address).Config) {
			s.Files[f.Path] = inventory.File{Content: f.Text, Mode: "600"}
		}
	}
}

// A subnet that this provider has given to another interface may be about to move: what a
// person has to do says so. What nobody here has given cannot.
func TestCheck_overlapWithWhatWeGave(t *testing.T) {
	t.Parallel()
	const address = "172.16.0.20/24"
	old := []ipoib.Ref{{PortGUID: ipoibtest.Port + 1}}
	for name, tc := range map[string]struct {
		s        *inventory.Snapshot
		leaving  []ipoib.Ref
		severity finding.Severity
		says     []string
		not      string
	}{
		"given by us": {s: ipoibtest.Host(secondPort(true, address)), severity: finding.Refuse,
			says: []string{address + " of ibp1s0d1 on intel9. This provider gave it to that interface, for port " +
				(ipoibtest.Port + 1).String(), "two applies are needed", "First take it from the resource of that port",
				"take them from both first", "create_before_destroy", "deposed object, remove the block of this resource, apply"}},
		"replaced": {s: ipoibtest.Host(secondPort(true, address)), leaving: old, severity: finding.Warn,
			says: []string{"The interface that is replaced must lose the subnet first", "remove that line"}},
		"given by nobody": {s: ipoibtest.Host(secondPort(false, address)), severity: finding.Refuse,
			says: []string{"Give each interface a subnet of its own."}, not: "two applies"},
		"replaced, given by nobody": {s: ipoibtest.Host(secondPort(false, address)), leaving: old, severity: finding.Refuse,
			says: []string{"Give each interface a subnet of its own."}, not: "two applies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := checkOn(tc.s, requestFor(ib.ModeConnected, 65520, address), PlanFacts{Leaving: tc.leaving})
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

// A lease that another interface got later blocks no plan: that is where it can be mended. It does block a new address.
func TestCheck_leaseOfAnotherInterface(t *testing.T) {
	t.Parallel()
	const address = "172.16.0.20/24"
	leased := func(s *inventory.Snapshot) {
		secondPort(false, "172.16.0.5/28")(s)
		s.Netdevs[len(s.Netdevs)-1].Dynamic = map[netip.Prefix]bool{netip.MustParsePrefix("172.16.0.5/28"): true}
		s.Netdevs[1].Addresses = ipoibtest.Prefixes(address)
		was := requestFor(ib.ModeConnected, 65520, address)
		for _, f := range found.At(ipoibtest.Host(), was.Ref()).Files(found.Target{Ref: was.Ref(), Name: "ibp1s0"}, was.Config) {
			s.Files[f.Path] = inventory.File{Content: f.Text, Mode: "600"}
		}
	}
	for asked, want := range map[string]finding.Severity{address: finding.Warn, "172.16.0.21/24": finding.Refuse} {
		all := checkOn(ipoibtest.Host(leased), requestFor(ib.ModeConnected, 65520, asked), PlanFacts{})
		i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Rule == finding.SubnetTwice })
		if i < 0 || all[i].Severity != want || !strings.Contains(all[i].Evidence, asked+" overlaps 172.16.0.5/28 of ibp1s0d1") {
			t.Errorf("%s: %v", asked, all)
		}
	}
}

// Of what the host takes back by itself the plan has the undo to do.
func TestCheck_whatUndoesAnEarlierChange(t *testing.T) {
	t.Parallel()
	for became, says := range map[string][]string{
		"waiting": {"it is not undone yet. The host does that by itself", "The apply does that first, and then makes what is configured.",
			"wait for its end"},
		"undoing":     {"the host undoes it now", "Wait two minutes and plan again"},
		"confirmed":   {"That change was confirmed and holds", "Apply: it removes what is left"},
		"by the host": {"it was undone by the host."},
	} {
		s := ipoibtest.Host(func(s *inventory.Snapshot) {
			s.Undos = map[string]string{ipoib.Ref{PortGUID: ipoibtest.Port}.ID(): became}
		})
		found := checkOn(s, requestFor(ib.ModeConnected, 65520), PlanFacts{})
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
