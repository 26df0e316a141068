package ipoib

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// DefaultPKey is the default partition with full membership; it is the parent
// interface of a port.
const DefaultPKey uint16 = 0xffff

// Ref says which interface of a host is meant. PKey is that of a P_Key child; zero and
// DefaultPKey mean the interface of the port itself.
type Ref struct {
	PortGUID ib.GUID
	PKey     uint16
	Bond     Bond
}

// Bond is an active-backup bond of the interfaces of two ports; zero is none. The other port carries
// while PortGUID of its Ref does not.
type Bond struct {
	Name   string // of the interface of the bond
	Backup ib.GUID
}

// ID names the files of the interface: "e41d2d0300e44ed1", and "-8001" behind it for a P_Key
// child.
func (r Ref) ID() string {
	if r.PKey == 0 {
		return r.PortGUID.Hex()
	}
	return fmt.Sprintf("%s-%04x", r.PortGUID.Hex(), r.PKey)
}

// Request is what the configuration asks for.
type Request struct {
	Host     string
	PortGUID ib.GUID
	PKey     uint16 // of a P_Key child; zero and DefaultPKey mean the interface of the port itself
	Bond     Bond
	Config   Config
	Consent  Consent
}

// Ref is the interface that is asked for.
func (d Request) Ref() Ref { return Ref{d.PortGUID, d.PKey, d.Bond} }

// Config is the part of an interface that is configured; an MTU of zero means what the mode
// allows everywhere: see DefaultMTU.
type Config = ipconf.Settings

// Route is a static route.
type Route = ipconf.Route

// ParseRoute reads a destination and its gateway.
func ParseRoute(to, via string) (Route, error) { return ipconf.ParseRoute(to, via) }

// Consent holds what the operator agrees to. Each value names the thing, so that it
// cannot serve another one.
type Consent struct {
	// ManagementPath names the interfaces that may be changed although the SSH session,
	// the default route or storage uses them, or may use them. HCL:
	// allow = { management_path = ["ibp1s0"] }
	ManagementPath []string
	// AdoptInterface names the TrueNAS interface whose existing configuration,
	// not made by this provider, may be replaced.
	// HCL: allow = { adopt_interface = "ibs4d1" }
	AdoptInterface string
	// AdoptFiles names the files of definitions, not made by this provider, that may be
	// taken over.
	// HCL: allow = { adopt_files = ["/etc/netplan/60-ib.yaml"] }
	AdoptFiles []string
	// AdoptWithout names the settings of these files that end, because this resource has no
	// arguments for them.
	// HCL: allow = { adopt_without = ["nameservers", "172.16.0.21/24"] }
	AdoptWithout []string
	// Shown are addresses and routes that the state has: the plan itself shows that they end.
	Shown []string
	// KeepInterface names the management interface of a TrueNAS host without any
	// configured interface; its present configuration is stored in the same
	// transaction, because the first stored interface makes the middleware
	// clear all others.
	// HCL: allow = { keep_interface = "eno1" }
	KeepInterface string
	// PrivateMTU is the MTU above 9216 that may be stored on TrueNAS past its
	// public API.
	// HCL: allow = { private_mtu = 65520 }
	PrivateMTU int
}

// MTUs in bytes.
const (
	SafeDatagramMTU = 2044 // what a datagram interface of every fabric carries
	TrueNASMaxMTU   = 9216 // the limit of the public API
)

// DefaultMTU is the MTU in bytes that a mode has if none is asked for: the
// largest that works on every fabric and, on TrueNAS, without private methods.
func DefaultMTU(kind platform.Kind, mode ib.IPoIBMode) int {
	switch {
	case mode != ib.ModeConnected:
		return SafeDatagramMTU
	case kind == platform.KindTrueNAS:
		return TrueNASMaxMTU
	}
	return ib.ConnectedMaxMTU
}
