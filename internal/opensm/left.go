package opensm

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// losing names the other ports on which opensm runs because of PORTS=ALL.
func losing(s *inventory.Snapshot, o Observation) string {
	var ports []string
	for _, g := range o.Others {
		if !platform.IsOurs(s.Files[opensm.DropInPath(g)].Content) {
			ports = append(ports, g.String())
		}
	}
	if len(ports) == 0 {
		return ""
	}
	return fmt.Sprintf(" opensm also runs on %s: without a resource it goes on until %s or the host restarts, and then "+
		"does not start again.", strings.Join(ports, " and "), opensm.Service)
}

// LeftAlone says what becomes of the instance of a port that gets no resource, while other
// ports of its host do. It is empty where nothing is known to become of it.
func LeftAlone(s *inventory.Snapshot, port ib.GUID) string {
	o := Observe(s, port)
	ports, err := opensm.ParseDefault(s.Files[opensm.DefaultPath].Content)
	if _, there := s.Files[opensm.DefaultPath]; !there || err != nil || o.Managed || layoutOf(s).own {
		return ""
	}
	const after = "After that it does not start again, and no subnet manager of this host serves the port until a " +
		"resource has it started. Write that one without an import block."
	replaced := fmt.Sprintf("The apply of a subnet manager on another port of this host replaces ALL in %s by a list "+
		"without this port.", opensm.DefaultPath)
	switch {
	case ports.All && fact.Yes(o.Active):
		return fmt.Sprintf("%s of %s says PORTS=ALL, so %s runs. %s %s goes on until %s or the host restarts: if the "+
			"link comes up before, it serves the port, with the options that all instances of the host share. %s",
			opensm.DefaultPath, s.Host, o.Unit, replaced, o.Unit, opensm.Service, after)
	case ports.All:
		return fmt.Sprintf("%s of %s says PORTS=ALL, so %s starts with %s. %s %s", opensm.DefaultPath, s.Host, o.Unit,
			opensm.Service, replaced, after)
	case ports.Has(port) && !fact.Yes(s.StartsAtBoot(opensm.Service)):
		return fmt.Sprintf("%s of %s lists this port, and %s is not enabled. The apply of a subnet manager on another port "+
			"of this host enables it, so that %s starts at the next boot, with the options that all instances of the host "+
			"share. Take the port out of the list if that is not wanted.", opensm.DefaultPath, s.Host, opensm.Service, o.Unit)
	case ports.Has(port):
		return fmt.Sprintf("%s of %s lists this port. It stays in the list, and %s stays as it is: when the port has a "+
			"link, it serves it, with the options that all instances of the host share.", opensm.DefaultPath, s.Host, o.Unit)
	}
	return ""
}
