// Package ipoib configures one IP-over-InfiniBand interface in a host's own
// network stack: mode, MTU and addresses, now and after every boot, each change
// confirmed over a new connection or undone by the host itself.
//
// It must not touch an interface that is not InfiniBand except where its owner
// consented, a card, or a subnet manager, nor import Terraform.
package ipoib

import (
	"net/netip"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// DefaultPKey is the default partition with full membership; it is the parent
// interface of a port.
const DefaultPKey uint16 = 0xffff

// Request is what the configuration asks for.
type Request struct {
	Host     string
	PortGUID ib.GUID
	PKey     uint16 // of a P_Key child; zero and DefaultPKey mean the interface of the port itself
	Config   Config
	Consent  Consent
}

// Config is the part of an interface that is configured.
type Config struct {
	Mode      ib.IPoIBMode
	MTU       int // bytes; zero means what the mode allows everywhere: see DefaultMTU
	Addresses []netip.Prefix
	Routes    []Route
}

// Route is a static route.
type Route = ipconf.Route

// ParseRoute reads a destination and its gateway.
func ParseRoute(to, via string) (Route, error) { return ipconf.ParseRoute(to, via) }

// Consent holds what the operator agrees to. Each value names the thing, so that it
// cannot serve another one.
type Consent struct {
	// ManagementPath names the interfaces that may be changed although the SSH session,
	// the default route or storage uses them, or may use them. HCL: allow_management_path
	// = ["ibp1s0"]
	ManagementPath []string
	// AdoptInterface names the TrueNAS interface whose existing configuration,
	// not made by this provider, may be replaced.
	// HCL: adopt_interface = "ibs4d1"
	AdoptInterface string
	// AdoptFiles names the files of definitions, not made by this provider, that may be
	// taken over.
	// HCL: adopt_files = ["/etc/netplan/60-ib.yaml"]
	AdoptFiles []string
	// AdoptWithout names the settings of these files that end, because this resource has no
	// arguments for them.
	// HCL: adopt_without = ["nameservers", "172.16.0.21/24"]
	AdoptWithout []string
	// Shown are addresses and routes that the state has: the plan itself shows that they end.
	Shown []string
	// KeepInterface names the management interface of a TrueNAS host without any
	// configured interface; its present configuration is stored in the same
	// transaction, because the first stored interface makes the middleware
	// clear all others.
	// HCL: truenas = { keep_interface = "eno1" }
	KeepInterface string
	// PrivateMTU is the MTU above 9216 that may be stored on TrueNAS past its
	// public API.
	// HCL: truenas = { private_mtu = 65520 }
	PrivateMTU int
}

// Observation is what is on the host.
type Observation struct {
	Stack   Stack  // what configures the network of the host
	Silence string // why Stack is not known; empty if it is, or if the host has none
	Present bool   // the interface exists
	Name    string // "ibp1s0"; empty if it does not exist, but for a P_Key child
	Parent  string // of a P_Key child, the interface of the port
	// OtherGUID is the GUID in the hardware address of a P_Key child, if it is not that of
	// the port; else zero. ib_ipoib gives such a child no carrier.
	OtherGUID ib.GUID
	Driver    string // of the card: "mlx4_core"
	Sleeping  bool   // the port is known from the card's flash only: its module is not loaded
	Capable   bool   // connected mode is possible
	Live      Config
	Up        bool // administratively up
	Carrier   bool // up, a subnet manager and a joined broadcast group
	LinkLayer string
	PortState string
	Physical  string
	SMLID     uint16

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
	// Undone says what became of an earlier change of which something is left: "waiting",
	// "undoing", "confirmed", "by the host", "at boot"; empty if there was none.
	Undone string
}

// StoredConfig is the configuration that survives a reboot.
type StoredConfig struct {
	Found     bool // anything of ours, complete or not
	Interface string
	Config    Config
	Fault     string   // why the interface would not work after a boot; empty if nothing is known to be wrong
	Sources   []string // paths of files, or "interface ibs4d1", "udev tunable …"
}
