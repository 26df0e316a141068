package networkd

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// heldOurs are the settings of our files that a File holds, or that name the interface.
var heldOurs = []string{"Link.MTUBytes", "Network.Address", "Network.Gateway", "Network.IPoIB", "Address.Address",
	"Route.Destination", "Route.Gateway", "Match.Name", "NetDev.Name", "NetDev.MACAddress", "IPoIB.Mode",
	"IPoIB.PartitionKey"}

// Added are the settings of a file of ours that no Render writes.
func Added(text string) (added []tool.Setting) {
	f, _ := Parse(text) // lines that are not understood are added ones
	written := map[string]bool{}
	for _, ours := range []string{Render("", f.Interface), RenderNetdev("", f.Interface)} {
		for _, section := range tool.Sections(ours) {
			for _, s := range section.Settings {
				written[section.Name+"."+s.Name+"="+s.Value] = true
			}
		}
	}
	for _, section := range tool.Sections(text) {
		far := section.Name == "Route" && !slices.ContainsFunc(section.Settings, isGateway)
		for _, s := range section.Settings {
			s.Name = section.Name + "." + s.Name
			held := slices.Contains(heldOurs, s.Name) && (!far || s.Name != "Route.Destination")
			if !held && !written[s.Name+"="+s.Value] {
				added = append(added, s)
			}
		}
	}
	return added
}

// isGateway reports whether a setting makes a route one that a File holds.
func isGateway(s tool.Setting) bool { return s.Name == "Gateway" && !strings.HasPrefix(s.Value, "_") }
