// Package inventory holds what is known of a host and its cards: pure facts, which
// package hosts fills and verdicts read. What could not be read is unknown with its
// reason (package fact), and no fact is told a second time in another shape.
//
// It must not read anything, decide anything, or import Terraform.
package inventory

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
)

// StateDir is where jobs, images and backups lie on every host.
const StateDir = "/var/lib/terraform-provider-infiniband"

// RebuildMark is there from before a setting of the driver is stored until the initial RAM disks
// of all kernels were rebuilt with it.
const RebuildMark = StateDir + "/initramfs-outdated"

// OwedNote is there from before a host is drained until the resume commands have run. It has the time,
// and then these commands.
const OwedNote = StateDir + "/resume-owed"

// BackupFile is the copy of a backup's firmware that its host keeps.
func BackupFile(sha256 string) string { return StateDir + "/backups/" + sha256 + ".bin" }

// Snapshot is what one collection found on one host. It is read-only.
type Snapshot struct {
	Derived *Derived // what others have made of it: see Derive; nil if it is put together by hand, and may change

	Host   string
	Sudo   time.Duration // how long the host's sudo took to start the collection
	OS     OS
	BootID string
	// MachineID is what the operating system calls itself; cloned disks share it.
	MachineID fact.Of[string]
	Cmdline   string
	Lockdown  fact.Of[string] // "none", "integrity", "confidentiality"; empty if the kernel has no such file
	UID       int             // of the login user
	Hostname  string
	Cards     []Card   // sorted by PCI address; also virtual functions and InfiniBand cards of other vendors
	Netdevs   []Netdev // all, sorted by name
	Routes    Routes
	SSH       SSHPath
	Modules   map[string]bool // loaded, of those that matter here
	Commands  map[string]bool // those that were looked for: true if on the PATH
	// installed version by package, of those that matter here, in the names of the distribution
	Packages map[string]string
	// KernelModules says of each module that matters here whether the running kernel
	// has it, loaded or not; nil if that is not known.
	KernelModules map[string]bool
	// NoModules is true if the modules of the running kernel are not installed: the
	// host is a container, or an upgrade has removed them and waits for a restart.
	NoModules bool
	MSTFlint  Tool
	Units     map[string]Unit // systemd units that matter here, by name
	UnitsWhy  string          // why the state of units is not known; empty if it is, or without systemd
	Files     map[string]File // configuration files that matter here, by absolute path
	// Changed is the last change of content, name or mode of files where that matters, by path.
	Changed          map[string]time.Time
	Now              time.Time         // the host's clock; zero where nothing is compared with it
	Uptime           time.Duration     // since the boot; zero as Now
	Denied           map[string]bool   // files and directories of the same that are there and could not be read
	Directories      map[string]bool   // those in places where such a file would be
	StaleInInitramfs []string          // files of which the initial RAM disk has an older copy
	NoDisk           []string          // files of which the initial RAM disk may have a copy, and no such disk was found
	Unread           map[string]bool   // files that are there and could not be read
	Jobs             []Job             // flash jobs recorded on the host, oldest first
	Owed             string            // what OwedNote has; empty if no resume command is owed
	Stops            []Stop            // marks of burns that failed, here or elsewhere, oldest first
	Staged           map[string]bool   // firmware images kept here, by lower-case hash; false: it has other content by now
	TrueNAS          *TrueNAS          // nil elsewhere
	StateFree        fact.Of[int64]    // bytes free where jobs, backups and images are kept
	Mounts           []Mount           // that hold what is written; none if they are not known
	Storage          []Storage         // that this host uses over the network, and the way to each
	Servers          fact.Of[[]Server] // of files and blocks that this host is, sorted by name
	Pools            []Pool            // of ZFS
	Scans            fact.Of[[]Pool]   // those that are scrubbed or resilvered
	Battery          fact.Of[[]UPS]    // power supplies that run on battery or are low
	// Users are the programs of others that used a card while it was looked at.
	Users fact.Of[[]CardUser]

	// Ifstate holds the interfaces that ifup has taken up.
	Ifstate map[string]bool
	// Undos are changes of interfaces that were not confirmed, by port and P_Key,
	// and what became of each: "waiting", "undoing", "confirmed", or by what it was undone.
	Undos map[string]string
	// Saved are the files that hold a definition of an interface as it was before this
	// provider took it over.
	Saved []string
}

// OS identifies the distribution.
type OS struct {
	ID         string // "ubuntu", "debian", "truenas", … ; TrueNAS is recognised by its middleware
	VersionID  string // "24.04", "25.10.3"
	PrettyName string
	Kernel     string // uname -r
}

// Tool is an installed vendor tool.
type Tool struct {
	Present bool
	Version string // "4.21.0"
}

// Card is one PCI function of the vendor with its two views: what the tool
// reads from flash, and what the kernel sees running.
type Card struct {
	PCI                    ib.PCIAddress
	VendorID, DeviceID     uint16
	SubVendorID, SubDevice uint16
	Chip                   ib.Chip // zero Name if unknown
	Livefish               bool    // shows its recovery PCI id
	Virtual                bool
	Physical               fact.Of[ib.PCIAddress] // of a virtual function: the one that it is of
	Driver                 string                 // "mlx4_core"; empty if none is bound
	PartNumber             string                 // from VPD; empty if unreadable
	Serial                 fact.Of[string]        // from VPD
	PCIe                   PCIe
	NUMA                   fact.Of[int]       // node of the slot
	MaxVFs                 int                // virtual functions that it can have now; 0 if none
	Celsius                map[string]float64 // by sensor: "asic", "Module0"; empty if the driver shows none

	RDMADevice  string  // "mlx4_0", "ibp1s0"; empty if the driver made none
	RunningPSID ib.PSID // sysfs board_id; empty if it shows none that can be one
	RunningFW   string  // sysfs fw_ver, normalised to %d.%d.%04d
	NodeGUID    ib.GUID // running, sysfs
	SystemGUID  ib.GUID
	Ports       []Port

	Flash      *Flash // nil if neither the tool nor the driver tells it
	FlashError string // first error line of the tool, or why it was not asked
	// FlashFailure is the kind of failure behind FlashError, one of
	// mstflint.FailureKind, "timeout", "output not understood", "busy" or "users not
	// known"; empty if the card has no flash to ask for.
	FlashFailure string
	FlashTaken   bool // somebody else was at the card, the flash semaphore is set, or our own lock was held
}

// Adapter is what the card is by its PCI id; ok is false for an unknown one.
func (c *Card) Adapter() (a ib.Adapter, ok bool) { return ib.AdapterByPCI(c.VendorID, c.DeviceID) }

// Model is the chip, or of a card that the chip table does not hold what its PCI id
// stands for; empty if nobody knows.
func (c *Card) Model() string {
	if a, ok := c.Adapter(); ok && c.Chip.Name == "" {
		return a.Name
	}
	return c.Chip.Name
}

// Kinds of failures that say nothing about the card.
const (
	FlashBusy         = "busy"                                     // another program uses it
	FlashLocked       = "another operation of ours holds the card" // mstflint.FailureLocked
	FlashUsersUnknown = "users not known"                          // it was not asked, since it may be in use
	FlashToolMissing  = "tool not installed"                       // mstflint.FailureToolMissing
)

// PCIe is the link of the card, now and at best.
type PCIe struct {
	Width, MaxWidth int    // lanes; 0 if unknown
	Speed, MaxSpeed string // "8.0 GT/s"; empty if unknown
}

// Port is one port as the kernel sees it.
type Port struct {
	Number     int
	TypeNow    string // mlx4_portN: "ib", "eth", "auto (ib)", "auto (eth)"; empty if there is no such file
	State      string // "Down", "Initializing", "Armed", "Active"; empty if there is no RDMA port
	Physical   string // "LinkUp", "Polling", "Disabled", …
	Rate       string // "40 Gb/sec (4X QDR)"; meaningful only if Physical is LinkUp
	LinkLayer  string // "InfiniBand" or "Ethernet"
	LID, SMLID uint16
	PortGUID   ib.GUID   // low half of GID 0; zero if unknown
	Prefix     ib.GUID   // high half: the subnet prefix
	IBMTU      int       // largest InfiniBand MTU in bytes; 0 if the driver does not show it (mlx5)
	IsSM       fact.Bool // an SM is bound to this port (capability mask bit 1)
	Netdev     string    // interface of this port; empty if none
}

// StoredLinkTypes is what mstconfig says of the link types in a card's own configuration.
// It is no part of the snapshot: only link types ask for it, by a command of their own.
type StoredLinkTypes struct {
	// Served is whether mstconfig serves the card: no if it is not installed or says so
	// itself, unknown if it did not answer. A tool that is silent today may answer
	// tomorrow, and what it says then wins over other places.
	Served fact.Bool
	// Types are by port, for the card's next start; none if its firmware has no such
	// setting. They are known if the card is served.
	Types fact.Of[map[int]ib.LinkType]
}

// LinkTypesInCard is the answer of mstconfig.
func LinkTypesInCard(types map[int]ib.LinkType) StoredLinkTypes {
	return StoredLinkTypes{Served: fact.Known(true), Types: fact.Known(types)}
}

// LinkTypesNotServed is a card that mstconfig does not serve.
func LinkTypesNotServed(why string) StoredLinkTypes {
	return StoredLinkTypes{Served: fact.Known(false), Types: fact.Unknown[map[int]ib.LinkType](why)}
}

// LinkTypesUnanswered is a card of which mstconfig gave no answer.
func LinkTypesUnanswered(why string) StoredLinkTypes {
	return StoredLinkTypes{Served: fact.Unknown[bool](why), Types: fact.Unknown[map[int]ib.LinkType](why)}
}

// Netdev is one network interface.
type Netdev struct {
	Name      string
	IB        bool // hardware type 32
	MTU       int
	Up        bool
	Carrier   bool
	Address   string // hardware address as the kernel prints it
	PortGUID  ib.GUID
	Connected bool // the interface can do connected mode (bit 0x80 of the first address byte)
	Mode      string
	PKey      string
	Parent    string        // of a P_Key child, the interface it was made from
	Master    string        // the bond or bridge that it is part of
	Kind      string        // "bond", "bridge", "vlan", …; Mode is then that of the bond
	Active    string        // of a bond, the port that carries now; empty if none does
	Lower     []string      // interfaces right below this one: of a VLAN, a bond, a bridge
	DevPort   int           // port of the card less one; -1 if unknown
	PCI       ib.PCIAddress // zero if it has no PCI device
	Addresses []netip.Prefix
	Dynamic   map[netip.Prefix]bool
	Routes    []Route // of IPoIB interfaces, those with a gateway

	Index        int
	NetworkdFile string // that systemd-networkd configures it by; empty if by none
	// NMManaged is whether NetworkManager manages it; false also where there is none.
	NMManaged bool
	NMKnown   bool
	NMProfile string // UUID of the profile that NetworkManager uses; empty if none
	// Virtual are the ports of the virtual functions of its card, by their number; of an IPoIB interface of mlx5.
	Virtual map[int]VirtualPort
}

// VirtualFunction is what messages call one, "virtual function 0".
func VirtualFunction(number int) string { return "virtual function " + strconv.Itoa(number) }

// VirtualPort is what a card gives to one of its virtual functions on InfiniBand.
type VirtualPort struct {
	Node, Port ib.GUID // zero until they are set
	LinkState  string  // "auto", "enable" or "disable"
}

// Route is one route with a gateway.
type Route struct {
	To  netip.Prefix // 0.0.0.0/0 and ::/0 are the default routes
	Via netip.Addr
}

// Routes holds the default routes.
type Routes struct {
	Default []DefaultRoute
}

// Devs are the interfaces of default routes, each once: several tables and both families
// may have one over the same interface.
func (r Routes) Devs() []string {
	var devs []string
	for _, d := range r.Default {
		if !slices.Contains(devs, d.Dev) {
			devs = append(devs, d.Dev)
		}
	}
	return devs
}

// DefaultRoute is one default route.
type DefaultRoute struct {
	Dev     string
	Gateway string
	Table   string // of IPv4, that of a VRF or of rules; empty for the main table
}

// SSHPath says over which interfaces the SSH session reaches the host.
type SSHPath struct {
	Client string // address of the operator as the host sees it; empty if unknown
	Server string // address of the host that the session came to; empty if unknown
	// Devs are the interfaces that have the server's address and the one that leads
	// back to the client, which may be another. It is unknown unless both ends are found.
	Devs fact.Of[[]string]
}

// Storage is one thing that the host reads or writes over the network.
type Storage struct {
	Kind   string // "nfs4", "cifs", "lustre", "iscsi", "nvme-tcp", "nvme-rdma", "srp"
	What   string // "192.0.2.30:/tank", or the name that the kernel gives
	Where  string // directory of a mount; empty otherwise
	Server string // address; empty for SRP
	// Dev is the interface to the server; empty if there is no way to it, or for SRP.
	Dev  fact.Of[string]
	RDMA string // of SRP: the device itself
	// Protocol is the transport of NFS: "tcp", "rdma"; empty if the kernel does not tell.
	Protocol string
}

// String gives "nfs4 192.0.2.30:/tank on /mnt/tank".
func (s Storage) String() string {
	text := s.Kind + " " + s.What
	if s.Where != "" {
		return text + " on " + s.Where
	}
	if s.Server != "" {
		text += " at " + s.Server
	}
	return text
}

// Way is the interface to the server, or the device of SRP; empty if there is none
// or none is known.
func (s Storage) Way() string {
	if s.RDMA != "" {
		return s.RDMA
	}
	return s.Dev.Or("")
}

// Server is a network service whose clients lose it while the host restarts.
type Server struct {
	Name    string // "NFS", "SMB", "iSCSI", "NVMe over TCP"
	Clients int    // established connections from other machines, at least
}

// Pool is a ZFS pool.
type Pool struct {
	Name  string
	State string // "ONLINE", "DEGRADED", "SUSPENDED", …
	Doing string // "scrub", "resilver" or both while they are in progress
}

// Unit is the state of a unit as systemd shows it.
type Unit struct {
	LoadState     string // "loaded", "not-found", "masked", …
	ActiveState   string // "active", "inactive", "failed", "activating", …
	UnitFileState string // "enabled", "disabled", "static", "transient", …; empty if there is no file
	Started       Start  // when it became active last; zero if that was not asked or is not known
}

// Start is when a unit became active, by both clocks of its host: the one that tells the time may have been
// set since then.
type Start struct {
	At    time.Time     // as the clock was then
	After time.Duration // of the boot
}

// Active reports whether systemd runs the unit, or starts or stops it.
func (u Unit) Active() bool {
	return !slices.Contains([]string{"", "inactive", "failed"}, u.ActiveState)
}

// File is a configuration file that was read.
type File struct {
	Mode    string // octal, "600"
	Content string
}

// TrueNAS is what the middleware says.
type TrueNAS struct {
	Error              string // why it did not answer one of the questions; empty if it answered all
	Version            string
	Interfaces         []byte // JSON of interface.query
	AdvancedConfig     []byte // JSON of system.advanced.config, secrets removed
	InitScripts        []byte // JSON of initshutdownscript.query
	Tunables           []byte // JSON of tunable.query
	PendingChanges     fact.Bool
	CheckinWaiting     fact.Of[int] // seconds; 0 if none
	UdevRulesDirectory []string
}

// Derived keeps what was made of one snapshot, for as long as the snapshot is there. The zero
// value is empty and ready.
type Derived struct{ of memo.Map[any, any] }
