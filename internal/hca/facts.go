package hca

import (
	"errors"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// jobPrograms are what a flash job runs besides the tool.
var jobPrograms = []string{"systemd-run", "systemd-inhibit", "flock", "sha256sum"}

// cardFacts turns the snapshot of a card into what the verdict needs. Facts
// that only an inspection gives stay unknown.
func cardFacts(hostName string, c *inventory.Card) safety.CardFacts {
	f := safety.CardFacts{
		Host: hostName, PCI: c.PCI, VendorID: c.VendorID, DeviceID: c.DeviceID, Chip: c.Chip,
		Livefish: c.Livefish, Virtual: c.Virtual, Driver: c.Driver, Ports: len(c.Ports),
		FlashError: c.FlashError, RunningPSID: c.RunningPSID,
	}
	if v, err := ib.ParseFWVersion(c.RunningFW); err == nil && c.RunningPSID != "" {
		f.RunningFW, f.RunningKnown = v, true
	}
	if c.Flash == nil {
		return f
	}
	f.FlashKnown = true
	f.Format, f.PSID, f.FW = c.Flash.ImageType, c.Flash.PSID, c.Flash.FW
	f.GUIDs, f.BlankGUIDs = c.Flash.GUIDs, c.Flash.BlankGUIDs
	f.HasROM, f.Product, f.VSD, f.Security = len(c.Flash.ROM) > 0, c.Flash.ProductVersion, c.Flash.VSD, c.Flash.SecurityAttrs
	if !f.RunningKnown && !c.Flash.RunningFW.IsZero() {
		// No RDMA device shows the board id, but the tool says that another
		// version runs than the flash holds.
		f.RunningKnown, f.RunningFW, f.RunningPSID = true, c.Flash.RunningFW, c.Flash.PSID
	}
	return f
}

// hostFacts turns the snapshot of a host into what the verdict on one of its
// cards needs.
func (o *Ops) hostFacts(c Card, s *inventory.Snapshot) safety.HostFacts {
	f := safety.HostFacts{
		Name: c.Host.Name(), Platform: c.PlatformName, Observe: c.Host.Observe(), Lockdown: s.Lockdown,
		SSH: netPath(s, s.SSH.Dev), StateFree: s.StateFree, RebootAllowed: c.RebootAllowed,
		ToolPresent: s.MSTFlint.Present, ToolVersion: s.MSTFlint.Version, BackupDir: o.cfg.BackupDir,
	}
	for _, r := range s.Routes.Default {
		f.DefaultRoutes = append(f.DefaultRoutes, netPath(s, r.Dev))
	}
	for _, p := range jobPrograms {
		// Programs that the collection does not look for are not in the map.
		if there, looked := s.Commands[p]; looked && !there {
			f.Missing = append(f.Missing, p)
		}
	}
	for i := range s.Jobs {
		f.Jobs = append(f.Jobs, jobFacts(&s.Jobs[i]))
	}
	for i := range s.Cards {
		other := &s.Cards[i]
		if other.PCI.Slot() == c.PCI.Slot() {
			f.SMPorts = append(f.SMPorts, smPorts(other)...)
			continue
		}
		if other.Chip.Driver == "mlx4_core" && !other.Virtual {
			f.Others = append(f.Others, safety.OtherCard{PCI: other.PCI, Types: portTypes(other)})
		}
	}
	return f
}

func smPorts(c *inventory.Card) []int {
	var ports []int
	for _, p := range c.Ports {
		if p.IsSM {
			ports = append(ports, p.Number)
		}
	}
	return ports
}

func portTypes(c *inventory.Card) []string {
	types := make([]string, len(c.Ports))
	for i, p := range c.Ports {
		types[i] = p.TypeNow
	}
	return types
}

// netPath finds the card behind an interface; a VLAN, a P_Key child or another
// interface on top of one leads to its parent.
func netPath(s *inventory.Snapshot, dev string) safety.NetPath {
	path := safety.NetPath{Dev: dev}
	for range 8 { // bounds a loop of parents
		n, ok := s.Netdev(dev)
		if !ok {
			return path
		}
		if n.PCI.IsValid() {
			path.PCI = n.PCI
			return path
		}
		if n.Parent == "" {
			return path
		}
		dev = n.Parent
	}
	return path
}

func jobFacts(j *inventory.Job) safety.JobFacts {
	f := safety.JobFacts{
		ID: j.ID, Kind: j.Kind, PCI: j.PCI, Running: j.Running, Settled: j.Settled,
		Ended: j.Exit != "", Operator: j.Operator,
	}
	if len(j.States) > 0 {
		f.Since = j.States[0].Time
	}
	return f
}

// ImageFacts turns what fwimage.Parse returned into what the verdict needs.
// name is what messages call the file; declared is the hash in the
// configuration, or empty.
func ImageFacts(name, sha256, declared string, size int64, img *fwimage.Image, err error) safety.ImageFacts {
	f := safety.ImageFacts{Name: name, SHA256: sha256, Declared: declared, Size: size}
	if err != nil || img == nil {
		problem(&f, err)
		return f
	}
	f.Format, f.Failsafe = string(img.Format), img.Failsafe
	f.PSID, f.FW, f.HWIDs = string(img.PSID), img.FWVersion, img.HWIDs
	f.HasROM, f.Product, f.VSD = len(img.ROMs) > 0, img.ProductVersion, img.VSD
	f.Identity, f.GUIDs, f.Checksum, f.End = string(img.Identity), img.GUIDs, img.Checksum, img.End
	return f
}

func problem(f *safety.ImageFacts, err error) {
	var (
		not         *fwimage.NotAnImageError
		truncated   *fwimage.TruncatedError
		crc         *fwimage.CRCError
		malformed   *fwimage.MalformedError
		unsupported *fwimage.UnsupportedFormatError
		dump        *fwimage.RawDumpError
	)
	f.Problem = safety.ImageUnreadable
	switch {
	case err == nil:
		f.Detail = "it was not read"
		return
	case errors.As(err, &not):
		f.Problem, f.Kind, f.Advice = safety.ImageContainer, string(not.Kind), sentence(not.Advice)
		f.Detail = "nothing of an image in it"
		return
	case errors.As(err, &dump):
		f.Problem = safety.ImageRawDump
	case errors.As(err, &truncated):
		f.Problem = safety.ImageTruncated
	case errors.As(err, &crc):
		f.Problem = safety.ImageCRC
	case errors.As(err, &malformed):
		f.Problem = safety.ImageMalformed
	case errors.As(err, &unsupported):
		f.Problem = safety.ImageUnsupported
	}
	f.Detail = err.Error()
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

// LabFacts collects the identity of every card of the given hosts, and adds
// what is planned for cards. A planned identity replaces the present one of the
// same card.
func LabFacts(snapshots map[string]*inventory.Snapshot, planned []safety.CardIdentity) safety.LabFacts {
	var lab safety.LabFacts
	replaced := map[string]bool{}
	for _, p := range planned {
		p.Planned = true
		lab.Cards = append(lab.Cards, p)
		replaced[p.Host+"/"+p.PCI.Slot()] = true
	}
	for name, s := range snapshots {
		for i := range s.Cards {
			c := &s.Cards[i]
			if c.Virtual || replaced[name+"/"+c.PCI.Slot()] {
				continue
			}
			lab.Cards = append(lab.Cards, safety.CardIdentity{Host: name, PCI: c.PCI, GUIDs: identityOf(c)})
		}
	}
	return lab
}

// identityOf takes the flash first: it is what the card will have after its
// next start. A card whose flash cannot be read still has what the driver shows.
func identityOf(c *inventory.Card) ib.GUIDSet {
	if c.Flash != nil {
		return c.Flash.GUIDs
	}
	set := ib.GUIDSet{Node: c.NodeGUID, SystemImage: c.SystemGUID}
	for _, p := range c.Ports {
		switch p.Number {
		case 1:
			set.Port1 = p.PortGUID
		case 2:
			set.Port2 = p.PortGUID
		}
	}
	return set
}
