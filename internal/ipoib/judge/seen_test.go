package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
)

// What somebody gives to an interface, or writes into a definition of it, after the plan is not
// replaced, unless it is what is asked for. Mode and MTU change without anybody's hand.
func TestCheckSeen(t *testing.T) {
	t.Parallel()
	was := requestFor("connected", 65520, "172.16.0.20/24")
	want := requestFor("connected", 9000, "172.16.0.30/24")
	want.Consent.AdoptFiles = []string{aPlan}
	own := found.At(ipoibtest.Host(), ipoib.Ref{}).Files(found.Target{Ref: ipoib.Ref{PortGUID: ipoibtest.Port}, Name: "ibp1s0"},
		was.Config)[0]
	set := func(mode string, mtu int, addresses ...string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			n := &s.Netdevs[1]
			n.Mode, n.MTU, n.Addresses = mode, mtu, ipoibtest.Prefixes(addresses...)
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
				s.Files[own.Path] = inventory.File{Content: own.Text}
			}}, edits...)...)
	}
	type edits []func(*inventory.Snapshot)
	for name, tt := range map[string]struct {
		before, then edits
		changed      string // empty: nothing that the plan has not shown is replaced
	}{
		"nothing": {},
		"address": {then: edits{set("connected", 65520, "172.16.0.20/24", "10.9.9.9/24")},
			changed: "the interface has address 10.9.9.9/24"},
		"address that the plan shows":      {before: edits{set("connected", 65520, "172.16.0.20/24", "10.9.9.9/24")}},
		"address that is asked for":        {then: edits{set("connected", 65520, "172.16.0.30/24")}},
		"address of the kernel":            {then: edits{set("connected", 65520, "172.16.0.20/24", "fe80::1/64")}},
		"MTU that NetworkManager put back": {then: edits{set("connected", 4000, "172.16.0.20/24")}},
		"mode and MTU of the driver":       {then: edits{set("datagram", 2044)}},
		"address in our file": {then: edits{in("172.16.0.20/24", "10.3.3.3/24")},
			changed: own.Path + " has address 10.3.3.3/24"},
		"address in our file, as asked": {then: edits{in("172.16.0.20/24", "172.16.0.30/24")}},
		"MTU in our file":               {then: edits{in("65520", "4000")}, changed: own.Path + " has MTU 4000"},
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
