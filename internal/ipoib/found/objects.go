package found

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/networkd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// Look is what one snapshot shows of one interface: all that is derived from the host, made once.
// It is shared and read-only.
type Look struct {
	Target
	Host    string
	Stack   ipoib.Stack // what configures the network of the host
	Silence string      // why Stack is not known; empty if it is, or if the host has none

	Present bool              // the interface exists
	Netdev  *inventory.Netdev // what the kernel has by the name of the interface; nil if nothing
	// OtherGUID is the GUID in the hardware address of a P_Key child, if it is not that of
	// the port; else zero. ib_ipoib gives such a child no carrier.
	OtherGUID ib.GUID
	Live      Live

	Driver    string // of the card: "mlx4_core"
	Sleeping  bool   // the port is known from the card's flash only: its module is not loaded
	Capable   bool   // connected mode is possible
	LinkLayer string
	PortState string
	Physical  string
	SMLID     uint16
	IBMTU     int // largest InfiniBand MTU of the port in bytes; 0 if the driver does not show it (mlx5)

	// Persisted is what our own files or database rows bring back at boot.
	Persisted StoredConfig
	// NotAtBoot says which modules of what Persisted brings back are not loaded at boot; empty if
	// none is known to be missing.
	NotAtBoot string
	// Added is what somebody has added to our own files.
	Added []Added
	// Lacking is what somebody has taken out of our own files, or changed there, one sentence for
	// each file.
	Lacking []string
	// Missing are those of our own files that are not there, while others are.
	Missing []string
	// Unmanaged is what was configured for the same interface outside this provider.
	Unmanaged []Unmanaged
	// Undone says what became of an earlier change of which something is left: one of the words
	// of Undo…, or by what it was undone; empty if there was none.
	Undone string

	host *hostFacts
}

// Live is the interface as the kernel has it.
type Live struct {
	ipoib.Config
	Up      bool // administratively up
	Carrier bool // up, a subnet manager and a joined broadcast group
	// Leased are IPv4 addresses that end by themselves. Of an interface whose own definition asks for
	// DHCP they are not among Addresses.
	Leased []netip.Prefix

	BondMode string // of a bond, that of its driver: "active-backup"; Mode is that of its first port
	Slaves   []Slave
}

// StoredConfig is the configuration that survives a reboot.
type StoredConfig struct {
	Found     bool // anything of ours, complete or not
	Interface string
	Config    ipoib.Config
	Fault     string   // why the interface would not work after a boot; empty if nothing is known to be wrong
	Sources   []string // paths of files, or "interface ibs4d1", "udev tunable …"
}

// What became of an earlier change that is not put away, besides what the host wrote when it
// undid it.
const (
	UndoWaits = "waiting"   // the host will undo it, unless it is confirmed
	UndoRuns  = "undoing"   // the host undoes it now
	UndoFails = "failed"    // the host could not put back every file
	UndoNever = "confirmed" // it holds; what was saved for an undo is left
)

// Unmanaged is a definition for the interface that this provider did not write.
type Unmanaged struct {
	Line string // what it is, as messages say it
	// Path is the file that could be taken over, if Obstacle is empty.
	Path string
	// Obstacle says why it cannot be taken over, and how to change that; empty if it can.
	Obstacle string
	// Config is what the file says of the interface.
	Config ipoib.Config
	// Unkept are the settings that our definition will not have.
	Unkept []string
	// UnkeptLines are the lines of the file with each of them, where its stack names many settings alike.
	UnkeptLines map[string][]int
	// Saved is where the file is kept once it is taken over.
	Saved string

	// LostPort is the interface of a file of ours whose port the host does not have any more.
	LostPort ipoib.Ref
	// Awaited is such a file that may match the interface once that has a name. Until then
	// nothing is refused for it: a resource of this plan may keep it right, or remove it.
	Awaited bool

	// LostMark is true of a file with the name of one of ours that does not say any more that it is.
	LostMark bool

	ID string // of a definition of netplan; the UUID of a profile of NetworkManager
}

// Added are the settings that somebody has added to a file of ours.
type Added struct {
	Path     string
	Settings []tool.Setting
	// Saved is where the file is kept once it is written anew or removed.
	Saved string
}

// Target is the interface as files are written for it.
type Target struct {
	ipoib.Ref
	Name    string // empty if there is none yet, but for a P_Key child of an interface that is there
	Parent  string // of a P_Key child, the interface of the port
	Address string // hardware address of the interface of the port
	// Ports are those of a bond, the preferred one first.
	Ports []BondPort
	// Profile is the UUID of the profile of NetworkManager, if it is not the one that we give.
	Profile string

	driver   string   // of the card
	others   []string // names of the host's interfaces that are not IPoIB
	siblings []uint16 // P_Keys of other children that networkd has by files of ours
	hooks    []string // files of networkd that configure the interface of the port, or did
}

// BondPort is one of the two ports of a bond.
type BondPort struct {
	GUID   ib.GUID
	Netdev *inventory.Netdev // its interface; nil if there is none
	Port   *inventory.Port   // nil if the host does not show it
}

// Name is that of its interface; empty if there is none.
func (p BondPort) Name() string {
	if p.Netdev == nil {
		return ""
	}
	return p.Netdev.Name
}

// State says how its port is.
func (p BondPort) State() string {
	var port inventory.Port
	if p.Port != nil {
		port = *p.Port
	}
	return fmt.Sprintf("state %s, physical state %s", cmp.Or(port.State, "unknown"), cmp.Or(port.Physical, "unknown"))
}

// Slave is a port of a bond as the kernel has it.
type Slave struct {
	Name string
	In   bool // it is part of the bond
	Mode ib.IPoIBMode
	MTU  int // in datagram mode Linux takes a smaller one than the bond has, without a word
}

// IsMade reports whether a change makes the interface itself, as a P_Key child and a bond.
func (t Target) IsMade() bool { return t.PKey != 0 || t.Bond.Name != "" }

// guids are the ports of the interface.
func (t Target) guids() []ib.GUID {
	if t.Bond.Name == "" {
		return []ib.GUID{t.PortGUID}
	}
	return []ib.GUID{t.PortGUID, t.Bond.Backup}
}

// twoPorts are the ports of a bond; of another interface two without names, for the paths of their files.
func (t Target) twoPorts() []BondPort {
	if len(t.Ports) == 2 {
		return t.Ports
	}
	return make([]BondPort, 2)
}

// File is one file of ours.
type File struct {
	Path string
	Mode uint32
	Text string
	// added are the settings of such a file that nothing of ours writes.
	added func(text string) []tool.Setting
	// settings are all settings of such a file, each in one spelling.
	settings func(text string) []tool.Setting
}

// IsOn reports whether a host has the file as it is to be: its text, and no more rights than it may give.
func (f File) IsOn(on inventory.File) bool {
	return on.Content == f.Text && (f.Mode != 0o600 || on.Mode == "600")
}

// reader is what differs in the files of the network stacks. What the stacks do with these files
// is in package change.
type reader interface {
	// files are our files that define the interface at boot, the main one first.
	files(t Target, want ipoib.Config) []File
	// own reads our files back.
	own(h *hostFacts, t Target) StoredConfig
}

// hostFacts is what all interfaces of one snapshot share: the network stack, and each file of a
// network stack in the form that its tool reads. A file is parsed once, when somebody asks first.
type hostFacts struct {
	snap    *inventory.Snapshot
	stack   ipoib.Stack
	running fact.Of[[]ipoib.Stack]

	looks     memo.Map[ipoib.Ref, *Look]
	plans     memo.Map[string, []netplan.Device]
	renderers memo.Map[string, string]
	networks  memo.Map[string, networkd.File]
	keyfiles  memo.Map[string, nmcli.Profile]
	ifcfgs    memo.Map[string, nmcli.Profile]
	stanzas   memo.Map[string, ifupdown.File]

	middleware func() *Middleware
}

// Middleware is what the middleware of TrueNAS has stored, as far as it is understood.
type Middleware struct {
	Interfaces    []midclt.Interface
	InterfacesErr error
	Tunables      []midclt.Tunable
	TunablesErr   error
	Pending       fact.Bool
	Waiting       fact.Of[int] // seconds left for a check-in
	RulesDir      []string     // files of the directory of udev
}

// link has what definitions match an interface by.
func (t Target) link() ipconf.Link {
	if t.Bond.Name != "" { // it has no hardware address of its own
		return ipconf.Link{Name: t.Name, Others: t.others}
	}
	return ipconf.Link{Name: t.Name, PKey: t.PKey, Others: t.others, PortGUID: t.PortGUID, Driver: t.driver}
}

// ownAddress is the hardware address of the interface. A P_Key child has another one than
// its parent.
func (t Target) ownAddress() string {
	if t.PKey != 0 {
		return ""
	}
	return t.Address
}

// configured is the interface in the form that the files of all stacks share.
func (t Target) configured(want ipoib.Config) ipconf.Interface {
	return ipconf.Interface{Name: t.Name, Address: t.Address, Parent: t.Parent, PKey: t.PKey, Settings: want.Sorted()}
}

// childName is what the kernel, networkd, NetworkManager and ifupdown all call a child.
func childName(parent string, pkey uint16) string { return fmt.Sprintf("%s.%04x", parent, pkey) }

func (h *hostFacts) content(at string) string { return h.snap.Files[at].Content }

// plan, and those below, give a file as its tool reads it. The error is a part of the answer: some
// tools go on with the rest of a file that they do not understand, and others stop.
func (h *hostFacts) plan(at string) ([]netplan.Device, error) {
	return h.plans.Get(at, "", func() ([]netplan.Device, error) { return netplan.Parse(h.content(at)) })
}

// renderer is read apart from what a file defines: it counts also where a definition of the file is
// not understood.
func (h *hostFacts) renderer(at string) string {
	text, _ := h.renderers.Get(at, "", func() (string, error) { return netplan.Renderer(h.content(at)), nil })
	return text
}

func (h *hostFacts) network(at string) (networkd.File, error) {
	return h.networks.Get(at, "", func() (networkd.File, error) { return networkd.Parse(h.content(at)) })
}

func (h *hostFacts) keyfile(at string) (nmcli.Profile, error) {
	return h.keyfiles.Get(at, "", func() (nmcli.Profile, error) { return nmcli.Parse(h.content(at)) })
}

func (h *hostFacts) ifcfg(at string) (nmcli.Profile, error) {
	return h.ifcfgs.Get(at, "", func() (nmcli.Profile, error) { return nmcli.ParseIfcfg(h.content(at)) })
}

func (h *hostFacts) stanza(at string) (ifupdown.File, error) {
	return h.stanzas.Get(at, "", func() (ifupdown.File, error) { return ifupdown.Parse(h.content(at)) })
}

// marked reports whether a file is there and its first line says that it is ours.
func (h *hostFacts) marked(at string) bool { return platform.IsOurs(h.content(at)) }

// saysOurs reports whether a file says that it is ours: by its first line, or, after
// NetworkManager has rewritten it, by the user data of the profile.
func (h *hostFacts) saysOurs(at string) bool {
	if h.marked(at) {
		return true
	}
	p, err := h.keyfile(at)
	return err == nil && p.Ours
}

// hasPort reports whether a GUID is that of a port that some card of the host has, by its
// driver or by its flash.
func (h *hostFacts) hasPort(guid ib.GUID) bool {
	if _, _, here := h.snap.CardByPortGUID(guid); here {
		return true
	}
	if _, here := h.snap.NetdevByPortGUID(guid); here {
		return true
	}
	return slices.ContainsFunc(h.snap.Cards, func(c inventory.Card) bool {
		return c.Flash != nil && (c.Flash.GUIDs.Port1 == guid || c.Flash.GUIDs.Port2 == guid)
	})
}
