package judge

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// unknowns sets each fact that the checks use to unknown, by its type and field;
// what is no field of a type in inventory has a name of its own.
var unknowns = map[string]struct {
	set     []func(*inventory.Snapshot)
	says    string
	truenas bool
}{
	"SSHPath.Devs": {[]func(*inventory.Snapshot){unknownSession}, "are not known: the tool hung", false},
	"Storage.Dev": {[]func(*inventory.Snapshot){storageVia(fact.Unknown[string]("the tool hung"))},
		"not known: nfs4 nas:/tank (the tool hung)", false},
	"default route": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) {
		s.Netdevs = append(s.Netdevs, inventory.Netdev{Name: "br-ex", Kind: "openvswitch"})
		s.Routes.Default = []inventory.DefaultRoute{{Dev: "br-ex"}}
	}}, "not known: br-ex is an interface of kind openvswitch", false},
	"TrueNAS.PendingChanges":       {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.TrueNAS.PendingChanges = fact.Unknown[bool]("the tool hung") }}, "whether changes are pending is not known: the tool hung", true},
	"TrueNAS.CheckinWaiting":       {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.TrueNAS.CheckinWaiting = fact.Unknown[int]("the tool hung") }}, "check-in is waited for is not known: the tool hung", true},
	"interfaces of the middleware": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.TrueNAS.Interfaces = nil }}, "list of interfaces is not understood", true},
	"tunables of the middleware": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.TrueNAS.Tunables = nil }},
		"list of tunables is not understood", true},
	"udev rules": {[]func(*inventory.Snapshot){denyPath("/etc/udev/rules.d")},
		"/etc/udev/rules.d of xeon2zfs cannot be read", true},
	"a file of netplan": {[]func(*inventory.Snapshot){denyPath("/etc/netplan/x.yaml")},
		"/etc/netplan/x.yaml cannot be read", false},
	"services": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.Units = nil }},
		ipoib.NetworkdUnit, false},
	"state of the port": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) {
		s.Cards[0].Ports[0].Physical, s.Cards[0].Ports[0].SMLID = "", 0
	}}, "its phys_state and sm_lid cannot be read", false},
	"version of ifupdown2": {[]func(*inventory.Snapshot){withIfupdown2}, "version of ifupdown2 on intel9 is not known",
		false},
	"network stack": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.Commands, s.Units = nil, nil }},
		"systemd did not say which network services run: it was not read", false},
	"operating system": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.OS = inventory.OS{} }},
		"not supported", false},
	"link layer": {[]func(*inventory.Snapshot){func(s *inventory.Snapshot) { s.Cards, s.Netdevs = nil, nil }},
		"No port of intel9 has the GUID", false},
}

func denyPath(path string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) { s.Denied = map[string]bool{path: true} }
}

func withIfupdown2(s *inventory.Snapshot) {
	s.Files = map[string]inventory.File{"/etc/network/interfaces": {Content: "source /etc/network/interfaces.d/*\n"}}
	s.Commands, s.Units = map[string]bool{"ifup": true, "ifreload": true}, map[string]inventory.Unit{}
}

// No fact that a check uses passes in silence where it is not known, and no fact
// of the types that only these checks read is forgotten here.
func TestCheck_unknown_facts(t *testing.T) {
	for _, of := range []any{inventory.SSHPath{}, inventory.Storage{}, inventory.TrueNAS{}} {
		typ := reflect.TypeOf(of)
		for i := range typ.NumField() {
			f := typ.Field(i)
			if name := typ.Name() + "." + f.Name; strings.HasPrefix(f.Type.String(), "fact.Of[") && unknowns[name].says == "" {
				t.Errorf("no case sets %s to unknown", name)
			}
		}
	}
	stored, free := storedInterface(t, "eno1", false, "192.0.2.10/24"), storedInterface(t, "ibp1s0", false)
	for name, tt := range unknowns {
		t.Run(name, func(t *testing.T) {
			d := requestFor("connected", 9216, "172.16.0.20/24")
			before := []func(*inventory.Snapshot){}
			if tt.truenas {
				before = append(before, onTrueNAS(stored, free))
			}
			for _, f := range checkOn(ipoibtest.Host(before...), d, PlanFacts{}) {
				if strings.Contains(f.Evidence, tt.says) {
					t.Fatalf("also if it is known: %s", f.Evidence)
				}
			}
			for _, f := range checkOn(ipoibtest.Host(append(before, tt.set...)...), d, PlanFacts{}) {
				if strings.Contains(f.Evidence, tt.says) {
					if !f.Severity.Blocks() && f.Rule.Code != finding.PortWithoutSubnetManager.Code {
						t.Errorf("%s does not block: %+v", name, f)
					}
					return
				}
			}
			t.Errorf("nothing says %q", tt.says)
		})
	}
}

// A systemd that does not answer is a warning where the interface is as asked and the state
// has it, and refuses any change.
func TestCheck_silent_systemd(t *testing.T) {
	want := requestFor(ib.ModeConnected, 65520, "172.16.0.20/24")
	silent := func(s *inventory.Snapshot) { s.Units, s.UnitsWhy = nil, "systemctl show ended with status 1" }
	asAsked := func(s *inventory.Snapshot) {
		s.Netdevs[1].Mode, s.Netdevs[1].MTU, s.Netdevs[1].Addresses = "connected", 65520, ipoibtest.Prefixes("172.16.0.20/24")
	}
	stackUnknown := func(s *inventory.Snapshot) {
		s.Files = nil
		delete(s.Commands, "netplan")
	}
	withFile := func(s *inventory.Snapshot) {
		s.Files[platform.ModulesLoadPath] = inventory.File{Content: "ib_ipoib\nmlx4_ib\n"}
		for _, f := range found.At(s, want.Ref()).Files(found.At(s, want.Ref()).Target, want.Config) {
			s.Files[f.Path] = inventory.File{Content: f.Text}
		}
	}
	for name, c := range map[string]struct {
		change []func(*inventory.Snapshot)
		held   bool
		code   string
		want   finding.Severity
	}{
		"stack not known, as asked":          {with(silent, stackUnknown, asAsked), true, "IP023", finding.Warn},
		"stack not known, not in the state":  {with(silent, stackUnknown, asAsked), false, "IP023", finding.Refuse},
		"stack not known, other address":     {with(silent, stackUnknown), true, "IP023", finding.Refuse},
		"stack not known, a file not read":   {with(silent, stackUnknown, asAsked, denyPath("/etc/network/interfaces")), true, "IP023", finding.Refuse},
		"service not known, as asked":        {with(silent, asAsked, withFile), true, "IP019", finding.Warn},
		"service not known, not at boot":     {with(silent, asAsked), true, "IP019", finding.Refuse},
		"service not known, other live mode": {with(silent, withFile), true, "IP019", finding.Refuse},
	} {
		s := ipoibtest.Host(c.change...)
		all := checkOn(s, want, PlanFacts{Held: c.held})
		i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Rule.Code == c.code })
		if i < 0 || all[i].Severity != c.want {
			t.Errorf("%s: %+v", name, all)
		}
		if quiet := c.want == finding.Warn; c.held && found.At(s, want.Ref()).OnlySilence(want) != quiet {
			t.Errorf("%s: only silence: %t", name, !quiet)
		}
	}
}

func with(all ...func(*inventory.Snapshot)) []func(*inventory.Snapshot) { return all }
