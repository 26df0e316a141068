// Package port sets the administrative state of one InfiniBand port of a host,
// and the speeds and widths that it may negotiate, now and at every boot.
//
// It must not change a card's flash, its link type, ports of switches, or import
// Terraform.
package port

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// Request is what the configuration asks for.
type Request struct {
	Host    string
	Card    ib.PCIAddress
	Number  int // from 1
	Enabled bool
	Speeds  Speeds // zero: whatever the port allows now
	Widths  Widths // zero: whatever the port allows now
	// Consent names the interfaces that may go away.
	Consent []string

	card cardName // of which its unit is
}

// Name is "host/0000:01:00.0 port 1".
func (d Request) Name() string { return fmt.Sprintf("%s/%s port %d", d.Host, d.Card, d.Number) }

// tuned reports whether anything but the administrative state is asked for.
func (d Request) tuned() bool { return d.Speeds != 0 || d.Widths != 0 }

// Observation is what is on the host.
type Observation struct {
	Card      bool // the card is there
	Present   bool // the port is there, as an RDMA port
	LinkLayer string
	State     string // "Active", "Initializing", "Down", …
	Physical  string // "LinkUp", "Polling", "Disabled", …
	Rate      string // meaningful only while Physical is "LinkUp"
	LID       uint16
	SMLID     uint16
	IsSM      fact.Bool
	PortGUID  ib.GUID
	Device    string // RDMA device, "mlx4_0"
	Netdev    string

	Stored  bool    // there is a unit of ours that is to set the port at boot
	AtBoot  bool    // that unit is enabled, and can set it
	Broken  string  // why it cannot; empty if it can
	NoTool  string  // why ibportstate, which sets and reads ports, is not known to be there; empty if it is
	Setting Request // what it sets
	Sets    bool    // what it sets is understood
	// Edits are the files of ours in which somebody has written.
	Edits []platform.Edit
	// Foreign says why that unit would not set the port of this card; empty if it would.
	Foreign string
	// NotAtBoot says which modules of a port with a unit of ours are not loaded at boot; empty if
	// none is known to be missing.
	NotAtBoot string
	// Linked are the other ports of its device that have a link.
	Linked []int
	name   cardName // of the card
	// Link is what the port itself says about speeds and widths; nil unless asked. Unread is
	// why a port without a link could not be asked.
	Link   *Link
	Unread string
}

// Enabled is whether the port tries to bring up its link.
func (o Observation) Enabled() fact.Bool {
	if o.Physical == "" {
		return fact.Unknown[bool]("its phys_state cannot be read")
	}
	return fact.Known(o.Physical != "Disabled")
}

// Observe reads from a snapshot what is known about a port.
func Observe(s *inventory.Snapshot, pci ib.PCIAddress, number int) Observation {
	o := Observation{NoTool: withoutTool(s)}
	card, ok := s.Card(pci)
	if ok {
		o.Card, o.Device, o.name = true, card.RDMADevice, nameOf(card)
	}
	o.readUnit(s, pci, number)
	if o.Stored {
		o.NotAtBoot = platform.NotAtBoot(s, card, "ib_umad")
	}
	if !ok {
		return o
	}
	p, ok := card.Port(number)
	if !ok || p.State == "" {
		return o
	}
	o.Present = true
	o.LinkLayer, o.State, o.Physical, o.Rate = p.LinkLayer, p.State, p.Physical, p.Rate
	o.LID, o.SMLID, o.IsSM, o.PortGUID, o.Netdev = p.LID, p.SMLID, p.IsSM, p.PortGUID, p.Netdev
	for _, other := range card.Ports {
		if other.Number != number && other.Physical == "LinkUp" && other.LinkLayer == "InfiniBand" {
			o.Linked = append(o.Linked, other.Number)
		}
	}
	return o
}

// readUnit reads what is to set the port at boot.
func (o *Observation) readUnit(s *inventory.Snapshot, pci ib.PCIAddress, number int) {
	f := s.Files[UnitPath(pci, number)]
	if o.Stored = platform.IsOurs(f.Content); !o.Stored {
		return
	}
	o.Setting, o.Sets = settingOf(f.Content)
	if o.Sets && o.Card {
		o.Foreign = foreign(s, o.Setting.card, o.name)
	}
	// systemctl lists units in memory. An enabled unit that has not run since boot is
	// not in memory; the link in wants shows that it is enabled.
	_, enabled := s.Files[wantsPath(pci, number)]
	if o.Broken = broken(s); !o.Sets {
		o.Broken = UnitName(pci, number) + " does not run what sets the port"
	}
	if o.Broken == "" && o.NoTool != "" {
		o.Broken = "its unit cannot set it at boot: " + o.NoTool
	}
	o.AtBoot = enabled && o.Broken == ""
	o.Edits = edits(s, pci, number, o.Setting)
}

// foreign says why a unit that is of one card would not set another one, or would set any.
func foreign(s *inventory.Snapshot, of, now cardName) string {
	switch {
	case of == cardName{}:
		return "its unit names no card"
	case s.Files[scriptPath].Content == formerScript:
		return scriptPath + " does not compare the card"
	case !of.names(now):
		return "its unit is for a card with " + of.String()
	}
	return ""
}

// broken says why no unit of ours can set a port; empty if nothing shows that.
func broken(s *inventory.Snapshot) string {
	f, there := s.Files[scriptPath]
	mode, err := strconv.ParseUint(f.Mode, 8, 32)
	switch {
	case s.Denied[scriptPath]: // PO009 refuses
	case !there:
		return scriptPath + " is gone"
	case err == nil && mode&0o100 == 0:
		return scriptPath + " cannot be executed"
	}
	return ""
}

// missing reports whether ibportstate, which our script runs, is known to be missing.
func missing(s *inventory.Snapshot) bool { return len(s.Lacks("ibportstate").Or(nil)) > 0 }

// withoutTool says why ibportstate is not known to be there; empty if it is.
func withoutTool(s *inventory.Snapshot) string {
	if missing(s) {
		return "ibportstate is not installed"
	}
	return s.Lacks("ibportstate").Why()
}

// Differences says in what the host differs from d, one line each; empty if
// nothing has to be done.
func (o Observation) Differences(d Request) []string {
	diff := o.live(d)
	switch {
	case !o.Stored:
		diff = append(diff, "nothing sets it at boot")
	case !o.AtBoot:
		diff = append(diff, cmp.Or(o.Broken, UnitName(d.Card, d.Number)+" is not enabled"))
	case o.Setting.Enabled != d.Enabled || o.Setting.Speeds != d.Speeds || o.Setting.Widths != d.Widths:
		diff = append(diff, "another setting is stored for the next boot")
	}
	if o.Foreign != "" {
		diff = append(diff, o.Foreign)
	}
	for _, e := range o.Edits {
		diff = append(diff, e.Path+" was changed by hand")
	}
	if o.NotAtBoot != "" {
		diff = append(diff, o.NotAtBoot)
	}
	return diff
}

// live gives the differences of the port itself.
func (o Observation) live(d Request) []string {
	var diff []string
	switch on, known := o.Enabled().Get(); {
	case !o.Present:
	case !known:
		diff = append(diff, "whether it is enabled is not known: "+o.Enabled().Why())
	case on != d.Enabled:
		diff = append(diff, "it is "+word(on))
	}
	if o.unasked(d) {
		diff = append(diff, "its speeds and widths cannot be read: "+o.NoTool)
	}
	if o.Link == nil {
		return diff
	}
	if d.Speeds != 0 && o.Link.SpeedsEnabled != d.Speeds {
		diff = append(diff, "it may negotiate "+o.Link.SpeedsEnabled.String())
	}
	if d.Widths != 0 && o.Link.WidthsEnabled != d.Widths {
		diff = append(diff, "it may negotiate "+o.Link.WidthsEnabled.String())
	}
	return diff
}

// unasked reports whether the port could not be asked for its speeds and widths, for want of
// the program.
func (o Observation) unasked(d Request) bool {
	return d.tuned() && o.Link == nil && o.NoTool != "" && o.Present && o.LinkLayer != "Ethernet"
}

func word(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}
