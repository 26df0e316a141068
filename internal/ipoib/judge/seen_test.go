package judge

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
)

// What somebody gives to an interface, or writes into a definition of it, after the plan is not
// replaced, unless it is what is asked for. Mode and MTU change without anybody's hand where the carrier goes.
func TestCheckSeen(t *testing.T) {
	t.Parallel()
	was := requestFor("connected", 65520, "172.16.0.20/24")
	want := requestFor("connected", 9000, "172.16.0.30/24")
	want.Consent.AdoptFiles = []string{aPlan}
	files := found.At(ipoibtest.Host(), ipoib.Ref{}).Files(found.Target{Ref: ipoib.Ref{PortGUID: ipoibtest.Port}, Name: "ibp1s0"},
		was.Config)
	own := files[0]
	set := func(mode string, mtu int, addresses ...string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			n := &s.Netdevs[1]
			n.Mode, n.MTU, n.Addresses = mode, mtu, ipoibtest.Prefixes(addresses...)
		}
	}
	leased := func(address string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			s.Netdevs[1].Dynamic = map[netip.Prefix]bool{netip.MustParsePrefix(address): true}
		}
	}
	in := func(from, to string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			s.Files[own.Path] = inventory.File{Content: strings.Replace(s.Files[own.Path].Content, from, to, 1)}
		}
	}
	host := func(edits ...func(*inventory.Snapshot)) *inventory.Snapshot {
		return ipoibtest.Host(append([]func(*inventory.Snapshot){set("connected", 65520, "172.16.0.20/24"),
			func(s *inventory.Snapshot) {
				for _, f := range files {
					s.Files[f.Path] = inventory.File{Content: f.Text}
				}
			}}, edits...)...)
	}
	carried := func(s *inventory.Snapshot) { s.Netdevs[1].Carrier = true }
	lost := func(s *inventory.Snapshot) { s.Netdevs[1].Carrier = false }
	type edits []func(*inventory.Snapshot)
	for name, tt := range map[string]struct {
		before, then edits
		changed      string // empty: nothing that the plan has not shown is replaced
	}{
		"nothing": {},
		"address": {then: edits{set("connected", 65520, "172.16.0.20/24", "10.9.9.9/24")},
			changed: "the interface has address 10.9.9.9/24"},
		"address that the plan shows": {before: edits{set("connected", 65520, "172.16.0.20/24", "10.9.9.9/24")}},
		"address that is asked for":   {then: edits{set("connected", 65520, "172.16.0.30/24")}},
		"address of the kernel":       {then: edits{set("connected", 65520, "172.16.0.20/24", "fe80::1/64")}},
		"lease":                       {then: edits{set("connected", 65520, "172.16.0.20/24", "10.7.0.64/24"), leased("10.7.0.64/24")}},
		"MTU": {before: edits{carried}, then: edits{set("connected", 4000, "172.16.0.20/24")},
			changed: "the interface has MTU 4000"},
		"mode": {before: edits{carried}, then: edits{set("datagram", 2044, "172.16.0.20/24")},
			changed: "the interface has mode datagram"},
		"MTU that is asked for":            {before: edits{carried}, then: edits{set("connected", 9000, "172.16.0.20/24")}},
		"MTU that NetworkManager put back": {before: edits{carried}, then: edits{lost, set("connected", 4000, "172.16.0.20/24")}},
		"mode and MTU of a new link":       {before: edits{set("datagram", 2044)}, then: edits{carried, set("connected", 4000)}},
		"MTU of another broadcast group": {before: edits{carried, set("datagram", 2044, "172.16.0.20/24")},
			then: edits{set("datagram", 4092, "172.16.0.20/24")}},
		"MTU that no group gives": {before: edits{carried, set("datagram", 2044, "172.16.0.20/24")},
			then: edits{set("datagram", 1500, "172.16.0.20/24")}, changed: "the interface has MTU 1500"},
		"mode that nothing stores": {before: edits{carried}, then: edits{set("datagram", 2044), func(s *inventory.Snapshot) {
			delete(s.Files, files[1].Path)
		}}},
		"address in our file": {then: edits{in("172.16.0.20/24", "10.3.3.3/24")},
			changed: files[1].Path + " has address 10.3.3.3/24"},
		"address in our file, as asked": {then: edits{in("172.16.0.20/24", "172.16.0.30/24")}},
		"MTU in our file":               {then: edits{in("65520", "4000")}, changed: files[1].Path + " has MTU 4000"},
		"settings added to our file": {then: edits{in("      mtu", "      nameservers: {addresses: [1.1.1.1]}\n      mtu")},
			changed: own.Path + " has line 9: nameservers.addresses"},
		"settings added, which the plan shows": {
			before: edits{in("      mtu", "      nameservers: {addresses: [1.1.1.1]}\n      mtu")},
			then:   edits{in("      nameservers", "\n      nameservers")}},
		"another value": {
			before:  edits{in("      mtu", "      nameservers: {addresses: [1.1.1.1]}\n      mtu")},
			then:    edits{in("1.1.1.1", "8.8.8.8")},
			changed: own.Path + " has line 9: nameservers.addresses"},
		"comment added to our file": {then: edits{in("      mtu", "      # ask Kim\n      mtu")}},
		"our file broken":           {then: edits{in("network:", "network")}, changed: own.Path + " is not a netplan file"},
		"file to take over": {then: edits{putUnmanaged(aPlan,
			"network: {ethernets: {ibp1s0: {addresses: [172.16.0.20/24, 10.3.3.3/24]}}}")},
			changed: aPlan + " has address 10.3.3.3/24"},
		"file to take over that the plan shows": {before: edits{putUnmanaged(aPlan,
			"network: {ethernets: {ibp1s0: {addresses: [172.16.0.20/24, 10.3.3.3/24]}}}")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := host(tt.before...)
			text, err := json.Marshal(found.At(s, ipoib.Ref{PortGUID: ipoibtest.Port}).Seen()) // as it is kept beside a state
			var seen found.Seen
			if err != nil || json.Unmarshal(text, &seen) != nil {
				t.Fatal(err)
			}
			found := CheckSeen(found.At(host(append(tt.before, tt.then...)...), want.Ref()), seen, want)
			if tt.changed == "" && len(found) > 0 || tt.changed != "" && (len(found) != 1 || found[0].Rule.Code != "HO019" ||
				!strings.Contains(found[0].Evidence, tt.changed)) {
				t.Errorf("got %v", found)
			}
		})
	}
}

// The plan of an update names what its apply writes: by what the last look has found, whatever is there now.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	was, faster := requestFor("connected", 65520, "172.16.0.20/24"), requestFor("connected", 9000, "172.16.0.20/24")
	files := found.At(ipoibtest.Host(), ipoib.Ref{}).Files(found.Target{Ref: ipoib.Ref{PortGUID: ipoibtest.Port}, Name: "ibp1s0"},
		was.Config)
	plan, rule := files[0].Path, files[1].Path
	const list = "/etc/modules-load.d/terraform-infiniband.conf"
	sound := func(s *inventory.Snapshot) {
		n := &s.Netdevs[1]
		n.Mode, n.MTU, n.Addresses = "connected", 65520, ipoibtest.Prefixes("172.16.0.20/24")
		for _, f := range files {
			s.Files[f.Path] = inventory.File{Content: f.Text, Mode: "600"}
		}
		s.Files[list] = inventory.File{Content: "ib_ipoib\nmlx4_ib\n"}
	}
	for name, c := range map[string]struct {
		edit  func(*inventory.Snapshot)
		wants ipoib.Request
		says  string
	}{
		"nothing": {func(*inventory.Snapshot) {}, was, ""},
		"MTU":     {func(*inventory.Snapshot) {}, faster, "mtu: 65520 -> 9000; writes " + plan},
		"no rule": {func(s *inventory.Snapshot) { delete(s.Files, rule) }, was,
			"mends mode at boot is \"\", not connected; writes " + rule},
		"no rule, and MTU": {func(s *inventory.Snapshot) { delete(s.Files, rule) }, faster,
			"mtu: 65520 -> 9000; writes " + plan + ", " + rule},
		"no list": {func(s *inventory.Snapshot) { delete(s.Files, list) }, faster,
			"mtu: 65520 -> 9000; writes " + plan + ", " + list},
		"open to all": {func(s *inventory.Snapshot) { s.Files[plan] = inventory.File{Content: files[0].Text, Mode: "644"} },
			requestFor("datagram", 65520, "172.16.0.20/24"), "mode: connected -> datagram; writes " + plan + ", " + rule},
		"MTU by hand": {func(s *inventory.Snapshot) { s.Netdevs[1].MTU = 4000 }, was,
			"mends MTU is 4000, not 65520"},
	} {
		look := found.At(ipoibtest.Host(sound, c.edit), was.Ref())
		seen := look.Seen()
		seen.ToDo = ToDo(look, was)
		if got := Announce(found.At(ipoibtest.Host(sound), was.Ref()), was.Config, seen, c.wants); got != c.says {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.says)
		}
	}
}
