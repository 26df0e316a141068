package port

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ibportstate"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

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

	Stored   bool     // there is a unit of ours that is to set the port at boot
	AtBoot   bool     // that unit is enabled, and can set it
	Broken   string   // why it cannot; empty if it can
	NoTool   string   // why ibportstate, which sets and reads ports, is not known to be there; empty if it is
	Packages []string // that the apply installs, for ibportstate
	Unstored string   // the list of modules that the apply writes; empty if it has all of them
	Setting  Request  // what it sets
	Sets     bool     // what it sets is understood
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
	host   string
	boot   string // which boot of the host it was seen in
	// Link is what the port itself says about speeds and widths; nil unless asked. Unread is
	// why a port without a link could not be asked.
	Link   *Link
	Unread string
}

// Link is what a port says about itself.
type Link struct {
	SpeedsSupported, SpeedsEnabled Speeds
	WidthsSupported, WidthsEnabled Widths
}

// Enabled is whether the port tries to bring up its link.
func (o Observation) Enabled() fact.Bool {
	if o.Physical == "" {
		return fact.Unknown[bool]("its phys_state cannot be read")
	}
	return fact.Known(o.Physical != "Disabled")
}

// unasked reports whether the port could not be asked for its speeds and widths, for want of
// the program.
func (o Observation) unasked(d Request) bool {
	return d.tuned() && o.Link == nil && o.NoTool != "" && o.Present && o.LinkLayer != "Ethernet"
}

// states are the logical and the physical state, for a sentence.
func (o Observation) states() string {
	return o.State + " " + cmp.Or(o.Physical, "(physical state not known)")
}

// Observe reads from a snapshot what is known about a port.
func Observe(s *inventory.Snapshot, pci ib.PCIAddress, number int) Observation {
	o := Observation{NoTool: withoutTool(s), host: s.Host, boot: s.BootID}
	card, ok := s.Card(pci)
	if ok {
		o.Card, o.Device, o.name = true, card.RDMADevice, nameOf(card)
	}
	o.readUnit(s, pci, number)
	if plat, err := platform.Of(s); err == nil && missing(s) {
		o.Packages = plat.PackagesFor(platform.FeatureDiagnostics, s.OS.Kernel)
	}
	o.Unstored = platform.UnstoredIn(s, umad)
	if o.Stored {
		o.NotAtBoot = platform.NotAtBoot(s, card, umad)
	}
	if !ok {
		return o
	}
	p, ok := card.Port(number)
	// Without a state there is no RDMA port, only what mlx4 says of its type.
	if !ok || p.State == "" {
		return o
	}
	o.Present = true
	o.LinkLayer, o.State, o.Physical, o.Rate = p.LinkLayer, p.State, p.Physical, p.Rate
	o.LID, o.SMLID, o.IsSM, o.PortGUID = p.LID, p.SMLID, p.IsSM, p.PortGUID
	for _, other := range card.Ports {
		// Through these a port that is down can be reached where ibportstate does not open it itself.
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
	_, enabled := s.Files[systemctl.BootLink(UnitName(pci, number))]
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
	case s.Denied[scriptPath]: // HO035 refuses
	case !there:
		return scriptPath + " is gone"
	// systemd runs it as root, which still needs one bit of execution.
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

// edits are our unit of a port and our program, if they hold something else than we would
// write of the same setting.
func edits(s *inventory.Snapshot, pci ib.PCIAddress, number int, setting Request) []platform.Edit {
	setting.Card, setting.Number = pci, number
	text := s.Files[UnitPath(pci, number)].Content
	extended := strings.Contains(text, " "+strings.Join(arguments(setting, true), " ")+"\n")
	ours := unit(setting, extended) // extended: a port that knows speeds beyond QDR
	all := platform.EditsOf(UnitPath(pci, number), text, ours)
	program := s.Files[scriptPath].Content
	// Our own texts of before are no edits of somebody.
	if program == formerScript || program == formerComparing {
		return all
	}
	return append(all, platform.EditsOf(scriptPath, program, script)...)
}

// knowsExtended reports whether the port knows speeds beyond QDR. Of one that could not be
// asked the driver decides: InfiniHost III and QLogic end at DDR and QDR.
func knowsExtended(o Observation) bool {
	if o.Unread != "" {
		return !strings.HasPrefix(o.Device, "mthca") && !strings.HasPrefix(o.Device, "qib")
	}
	return o.Link != nil && o.Link.SpeedsSupported>>extShift != 0
}

// Look observes a port; if speeds or widths matter, it asks the port itself.
func Look(ctx context.Context, h *hosts.Host, d Request) (Observation, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Observation{}, err
	}
	return Ask(ctx, h, d, Observe(s, d.Card, d.Number))
}

// Ask adds to o what only the port itself says, if d asks for speeds or widths.
func Ask(ctx context.Context, h *hosts.Host, d Request, o Observation) (_ Observation, err error) {
	if !d.tuned() || !o.Present || o.LinkLayer == "Ethernet" || o.NoTool != "" {
		return o, nil
	}
	o.Link, err = readLink(ctx, h, o, d.Number)
	if failed := (*host.ExitError)(nil); errors.As(err, &failed) && ibportstate.PortNotOpened(failed.Stderr) {
		o.Unread, err = strings.TrimSpace(failed.Stderr), nil
	}
	return o, err
}

// readLink asks the port itself, through another port of its device if it cannot be
// opened. It is the one look that the collection does not have: a management datagram for
// each port is worth it only where speeds or widths are configured.
func readLink(ctx context.Context, h *hosts.Host, o Observation, number int) (*Link, error) {
	cmd := ibportstate.Query(o.Device, number, number)
	r, err := h.Run(ctx, cmd)
	for _, other := range o.Linked {
		if err == nil {
			break
		}
		through := ibportstate.Query(o.Device, other, number)
		if answer, failed := h.Run(ctx, through); failed == nil {
			cmd, r, err = through, answer, nil
		}
	}
	if err != nil {
		return nil, err
	}
	p, err := ibportstate.Parse(string(r.Stdout))
	if err != nil {
		return nil, outputError(h, cmd, r.Stdout, err)
	}
	return &Link{
		SpeedsSupported: speedsOf(p.SpeedsSupported), SpeedsEnabled: speedsOf(p.SpeedsEnabled),
		WidthsSupported: widthsOf(p.WidthSupported), WidthsEnabled: widthsOf(p.WidthEnabled),
	}, nil
}

func outputError(h *hosts.Host, cmd shellcmd.Command, out []byte, err error) error {
	return &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(out)}
}

// words say what the port is now and at boot.
func (o Observation) words() string {
	var now Request
	if o.Link != nil {
		now.Speeds, now.Widths = o.Link.SpeedsEnabled, o.Link.WidthsEnabled
	}
	text := now.wordsOf(o.word())
	if !o.Present {
		text = "not there"
	}
	switch {
	case !o.Stored || !o.AtBoot:
		text += ", nothing at boot"
	case o.Setting.words() != text:
		text += ", at boot " + o.Setting.words()
	}
	said := []string{text}
	if o.Foreign != "" {
		said = append(said, o.Foreign)
	}
	for _, e := range o.Edits {
		said = append(said, e.String())
	}
	return strings.Join(said, "; ")
}

// word says whether the port is enabled.
func (o Observation) word() string {
	on, known := o.Enabled().Get()
	if !known {
		return "enabled or not (not read)"
	}
	return word(on)
}
