package ipoib

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// backend is what differs between the network stacks that are configured by files.
// fileStack has the rest, above all the guard.
type backend interface {
	// files are our files that define the interface at boot, the main one first.
	files(t target, want Config) []file
	// own reads our files back.
	own(s *inventory.Snapshot, t target) StoredConfig
	// take makes the stack apply the written files now.
	take(ctx context.Context, c *change, want Config) error
	// note makes the stack read the written files where the interface already is as they
	// say.
	note(ctx context.Context, c *change) error
	// release makes the stack forget the interface after our files were removed.
	release(ctx context.Context, c *change) error
	// way says how an undo makes the stack read its files again.
	way() netundo.Stack
}

// file is one file of ours.
type file struct {
	path string
	mode uint32
	text string
	// added are the settings of such a file that nothing of ours writes.
	added func(text string) []tool.Setting
	// settings are all settings of such a file, each in one spelling.
	settings func(text string) []tool.Setting
}

// target is the interface that is configured.
type target struct {
	port     ib.GUID
	pkey     uint16   // zero for the interface of the port itself
	name     string   // empty if there is none yet
	parent   string   // of a P_Key child
	address  string   // hardware address of the interface of the port
	driver   string   // of the card
	others   []string // names of the host's interfaces that are not IPoIB
	siblings []uint16 // P_Keys of other children that networkd has by files of ours
	hooks    []string // files of networkd that configure the interface of the port, or did
	profile  string   // UUID of the profile of NetworkManager, if it is not the one that we give
}

// link has what definitions match an interface by.
func (t target) link() ipconf.Link {
	return ipconf.Link{Name: t.name, PKey: t.pkey, Others: t.others, PortGUID: t.port, Driver: t.driver}
}

// ownAddress is the hardware address of the interface. A P_Key child has another one than
// its parent.
func (t target) ownAddress() string {
	if t.pkey != 0 {
		return ""
	}
	return t.address
}

// id names the files of an interface.
func (t target) id() string {
	if t.pkey == 0 {
		return t.port.Hex()
	}
	return fmt.Sprintf("%s-%04x", t.port.Hex(), t.pkey)
}

// targetOf finds the interface of a port, or names the P_Key child of it as the
// kernel and all stacks do.
func targetOf(s *inventory.Snapshot, port ib.GUID, pkey uint16) target {
	t := bareTarget(s, port, pkey)
	t.profile = profileOf(s, t)
	return t
}

func bareTarget(s *inventory.Snapshot, port ib.GUID, pkey uint16) target {
	t := target{port: port}
	if card, _, found := s.CardByPortGUID(port); found {
		t.driver = card.Driver
	}
	for _, other := range s.Netdevs {
		if !other.IB {
			t.others = append(t.others, other.Name)
		}
	}
	n, ok := s.NetdevByPortGUID(port)
	if !ok || n.Parent != "" {
		if pkey != DefaultPKey {
			t.pkey, t.siblings = pkey, siblingsOf(s, target{port: port, pkey: pkey})
		}
		return t
	}
	t.name, t.address = n.Name, n.Address
	if pkey == 0 || pkey == DefaultPKey {
		return t
	}
	t.pkey, t.parent, t.name = pkey, n.Name, childName(n.Name, pkey)
	t.siblings, t.hooks = siblingsOf(s, t), hookedFiles(s, t, n)
	return t
}

func childName(parent string, pkey uint16) string { return fmt.Sprintf("%s.%04x", parent, pkey) }

// backendOf is the backend of a stack. netplan has no P_Key children; its
// renderer makes them.
func backendOf(k Stack, t target) backend {
	switch k {
	case StackNetplan:
		if t.pkey == 0 {
			return netplanNetworkd{}
		}
		return networkdBackend{planned: true}
	case StackNetplanNM:
		if t.pkey == 0 {
			return netplanNM{}
		}
		return nmBackend{}
	case StackNM:
		return nmBackend{}
	case StackNetworkd:
		return networkdBackend{}
	case StackIfupdown, StackIfupdown2, StackMiddleware, StackUnknown:
	}
	return ifupdownBackend{}
}

// backends are all that write files; each recognises its own.
var backends = []backend{netplanNetworkd{}, netplanNM{}, networkdBackend{}, networkdBackend{planned: true}, nmBackend{},
	ifupdownBackend{}}

// settings is an interface in the form that the files of all stacks share.
func settings(t target, want Config) ipconf.Interface {
	return ipconf.Interface{
		Name: t.name, Address: t.address, Parent: t.parent, PKey: t.pkey,
		Mode: want.Mode, MTU: want.MTU, Addresses: sortPrefixes(want.Addresses), Routes: ipconf.SortedRoutes(want.Routes),
	}
}

// readBack is an interface as one of our files defines it.
func readBack(i ipconf.Interface) Config {
	return Config{Mode: i.Mode, MTU: i.MTU, Addresses: sortPrefixes(i.Addresses), Routes: ipconf.SortedRoutes(i.Routes)}
}

// isOurs reports whether the file is there and ours.
func isOurs(s *inventory.Snapshot, path string) bool { return platform.IsOurs(s.Files[path].Content) }

// describe says what someone else's file says of an interface.
func describe(i ipconf.Interface) string {
	var parts []string
	if i.Mode != "" {
		parts = append(parts, "mode "+i.Mode.String())
	}
	if i.MTU != 0 {
		parts = append(parts, fmt.Sprintf("MTU %d", i.MTU))
	}
	if len(i.Addresses) > 0 {
		parts = append(parts, "addresses "+joinPrefixes(i.Addresses))
	}
	if len(i.Routes) > 0 {
		parts = append(parts, "routes "+joinRoutes(i.Routes))
	}
	if i.DHCP {
		parts = append(parts, "DHCP")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
