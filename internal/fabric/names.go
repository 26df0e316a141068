package fabric

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// GiveNames gives nodes the names of a node name map. Where the hosts show that this is their only fabric, the
// GUIDs of the map that no node has are kept for Compare.
func (f *Fabric) GiveNames(names map[ib.GUID]string, hosts map[string]*inventory.Snapshot) {
	unknown := maps.Clone(names)
	for _, n := range f.Nodes {
		n.Given = names[n.GUID]
		delete(unknown, n.GUID)
	}
	if f.isOnly(hosts) {
		f.unknown = unknown
	}
	f.sort()
}

// isOnly reports whether the hosts have no port with a link that this fabric does not have.
func (f *Fabric) isOnly(hosts map[string]*inventory.Snapshot) bool {
	here, compared := map[ib.GUID]bool{}, false
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			here[p.GUID] = true
		}
	}
	for _, s := range hosts {
		for _, p := range LinkedPorts(s) {
			// One port elsewhere is enough: what this fabric lacks may be on the other.
			if compared = true; !here[p.GUID] {
				return false
			}
		}
	}
	return compared && f.NoLink == ""
}

// CallFabric gives the ports of adapters the names of their fabric. fabricOf is the name of the fabric of a
// host's port as it was configured, empty if it was not.
func (f *Fabric) CallFabric(fabricOf func(host string, port ib.GUID) string) {
	f.called = map[string]string{}
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			if n.Switch {
				continue
			}
			p.Fabric = fabricOf(n.Host, p.GUID)
			// One port for each name is enough to find the cable.
			if _, known := f.called[p.Fabric]; p.Fabric != "" && !known {
				f.called[p.Fabric] = p.Label()
			}
		}
	}
}

// checkNames says what is wrong with the names of nodes and of the fabric.
func (f *Fabric) checkNames(add adder) {
	if names := slices.Sorted(maps.Keys(f.called)); len(names) > 1 {
		var words []string
		for _, name := range names {
			words = append(words, fmt.Sprintf("%s (%s)", f.called[name], Printable(name)))
		}
		add(TwoFabrics, "fabric", "Ports that the configuration puts on different fabrics are on one: %s. Look at the "+
			"cables, or correct fabrics in the provider block.", strings.Join(words, ", "))
	}
	for _, guid := range slices.Sorted(maps.Keys(f.unknown)) {
		instead := "It is misspelled, or the node is off or without a cable."
		for _, n := range f.Nodes {
			// Labels and tools show any of the three, and a map is by node GUID.
			if n.SystemGUID == guid || slices.ContainsFunc(n.Ports, func(p *Port) bool { return p.GUID == guid }) {
				instead = fmt.Sprintf("It is another GUID of %s, whose node GUID is %s.", n.Label(), n.GUID)
			}
		}
		add(UnknownGUID, guid.String(), "No node of the fabric has the GUID %s, which node_name_map calls %s. %s", guid,
			Printable(f.unknown[guid]), instead)
	}
}
