package networkd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// The settings of our files whose values a File holds, whatever they are, or that name the
// interface.
var (
	heldOfNetwork = []string{"Link.MTUBytes", "Network.Address", "Network.Gateway", "Address.Address", "Route.Destination",
		"Route.Gateway", "Match.Name"}
	heldOfNetdev = []string{"NetDev.Name", "NetDev.MACAddress", "IPoIB.Mode", "IPoIB.PartitionKey"}
)

// Added are the settings of a .network file of ours that Render does not write.
func Added(text string) []tool.Setting {
	f, _ := Parse(text) // lines that are not understood are added ones
	return addedTo(Render("", f.Interface), heldOfNetwork, text)
}

// AddedToNetdev are those of a .netdev file.
func AddedToNetdev(text string) []tool.Setting {
	f, _ := Parse(text)
	return addedTo(RenderNetdev("", f.Interface), heldOfNetdev, text)
}

// AddedToParent are those of the drop-in by which a parent interface gets its child of a
// partition.
func AddedToParent(text string, pkey uint16) []tool.Setting {
	f, _ := Parse(text)
	return addedTo(RenderParent("", f.child(pkey)), nil, text)
}

// AddedToBareParent are those of the .network file of a parent that nothing else configures.
func AddedToBareParent(text string, pkey uint16) []tool.Setting {
	f, _ := Parse(text)
	return addedTo(RenderBareParent("", f.Name, f.child(pkey)), nil, text)
}

// child is the child of a partition. It has the name that its parent had when the file was
// written.
func (f File) child(pkey uint16) string {
	end := fmt.Sprintf(".%04x", pkey)
	i := slices.IndexFunc(f.Children, func(name string) bool { return strings.HasSuffix(name, end) })
	if i < 0 {
		return ""
	}
	return f.Children[i]
}

// addedTo are the settings of a text that ours does not have, but for those that are held.
func addedTo(ours string, held []string, text string) (added []tool.Setting) {
	written := map[string]bool{}
	for _, section := range tool.Sections(ours) {
		for _, s := range section.Settings {
			written[section.NameOf(s)+"="+s.Value] = true
		}
	}
	for _, section := range tool.Sections(text) {
		far := section.Name == "Route" && !slices.ContainsFunc(section.Settings, isGateway)
		for _, s := range section.Settings {
			s.Name = section.NameOf(s)
			isHeld := slices.Contains(held, s.Name) && (!far || s.Name != "Route.Destination")
			if !isHeld && !written[s.Name+"="+s.Value] {
				added = append(added, s)
			}
		}
	}
	return added
}

// isGateway reports whether a setting makes a route one that a File holds.
func isGateway(s tool.Setting) bool { return s.Name == "Gateway" && !strings.HasPrefix(s.Value, "_") }
