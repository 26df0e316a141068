package hca

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// jobPrograms are what a flash job runs besides the tool.
var jobPrograms = []string{"systemd-run", "systemd-inhibit", "flock", "sha256sum"}

// cardFacts turns the snapshot of a card into what the verdict needs. Facts
// that only an inspection gives stay unknown.
func cardFacts(s *inventory.Snapshot, c *inventory.Card) safety.CardFacts {
	f := safety.CardFacts{
		Host: s.Host, PCI: c.PCI, VendorID: c.VendorID, DeviceID: c.DeviceID, Chip: c.Chip,
		Livefish: c.Livefish, Virtual: c.Virtual, Driver: c.Driver, Ports: len(c.Ports),
		FlashError: c.FlashError, FlashTaken: c.FlashFailure == inventory.FlashBusy || mstflint.FailureKind(c.FlashFailure).Contended(), RunningPSID: c.RunningPSID, PartNumber: c.PartNumber,
	}
	if there, looked := s.Commands["lspci"]; looked && !there {
		f.SerialError = c.VPDError
	}
	if c.FlashFailure == inventory.FlashBusy {
		f.InUse = userTexts(s.UsersOf(c.PCI))
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
	f.Release = isoDate(c.Flash.ReleaseDate)
	f.HasROM, f.Product, f.VSD, f.Security = len(c.Flash.ROM) > 0, c.Flash.ProductVersion, c.Flash.VSD, c.Flash.SecurityAttrs
	assumeRunning(&f, s, c)
	return f
}

// assumeRunning says what a card runs whose PSID no RDMA device shows: mlx4_ib is
// not loaded, the firmware is Ethernet-only, or there is no driver at all. mstflint
// asks the card itself for the running version, and prints it if it is another than
// that in flash (4.21): the image in flash has not run then. A query without it means
// that they are equal where a driver has started the card; the PSID is taken from the
// flash then. A burn of this boot that ended well has not run either, and one of the
// same version under another PSID shows in no other way.
func assumeRunning(f *safety.CardFacts, s *inventory.Snapshot, c *inventory.Card) {
	if f.RunningKnown || f.RunningPSID != "" || f.Livefish {
		return
	}
	assumed := f.Driver != "" && c.Flash.ImageType == "FS2"
	if v := c.Flash.RunningFW; !v.IsZero() && v != c.Flash.FW {
		f.RunningFW, f.RunningKnown, f.RunningAssumed = v, true, assumed
		if assumed {
			f.RunningPSID = c.Flash.PSID
		}
		return
	}
	burned, by := burnedSinceStart(s, c.PCI, safety.Flash{PSID: ib.PSID(f.PSID), FW: f.FW})
	f.StagedBy = by
	if assumed && !burned {
		f.RunningFW, f.RunningPSID, f.RunningKnown, f.RunningAssumed = c.Flash.FW, c.Flash.PSID, true, true
	}
}

// burnedSinceStart reports whether a job has burned the card since the host started, and
// which one wrote what is in flash.
func burnedSinceStart(s *inventory.Snapshot, pci ib.PCIAddress, flash safety.Flash) (burned bool, by string) {
	for _, j := range s.JobsOf(pci) {
		if j.Kind != journal.Burn || j.BootID != s.BootID {
			continue
		}
		burned = true
		if j.Exit == "0" && journal.Read(j).After == flash {
			by = j.ID
		}
	}
	return burned, by
}

// hostFacts turns the snapshot of a host into what the verdict on one of its
// cards needs.
func (o *Ops) hostFacts(c Card, s *inventory.Snapshot) safety.HostFacts {
	f := safety.HostFacts{
		Name: c.Host.Name(), Support: platform.SupportOf(s, c.PCI), Kernel: s.OS.Kernel,
		Observe: c.Host.Observe(), Lockdown: s.Lockdown, AccessModule: s.Modules["mstflint_access"],
		SSH: sshPath(s), Netdevs: netdevsOf(s, c.PCI), StateFree: s.StateFree, RebootAllowed: c.RebootAllowed,
		ToolPresent: s.MSTFlint.Present, ToolVersion: s.MSTFlint.Version, BackupDir: o.cfg.BackupDir, BackupProblem: o.backups.Unusable(),
	}
	f.Users = cardUsers(s)
	for _, r := range s.Routes.Default {
		f.DefaultRoutes = append(f.DefaultRoutes, netPath(s, r.Dev))
	}
	surroundings(&f, s)
	f.Missing = missingPrograms(s)
	for i := range s.Jobs {
		f.Jobs = append(f.Jobs, jobFacts(&s.Jobs[i]))
	}
	for i := range s.Cards {
		other := &s.Cards[i]
		if other.PCI.Slot() != c.PCI.Slot() && other.Chip.Driver == "mlx4_core" && !other.Virtual {
			f.Others = append(f.Others, safety.OtherCard{PCI: other.PCI, Types: portTypes(other)})
		}
	}
	f.SMPorts = smPorts(s, c.PCI)
	return f
}

func userTexts(users []inventory.CardUser) []string {
	texts := make([]string, len(users))
	for i, u := range users {
		texts[i] = u.String()
	}
	return texts
}

// cardUsers are the programs of others that used a card of the host.
func cardUsers(s *inventory.Snapshot) fact.Of[[]safety.CardUser] {
	users, known := s.Users.Get()
	if !known {
		return fact.Unknown[[]safety.CardUser](s.Users.Why())
	}
	out := make([]safety.CardUser, 0, len(users))
	for _, u := range users {
		out = append(out, safety.CardUser{PCI: u.Card, Any: u.Any, Text: u.String()})
	}
	return fact.Known(out)
}

// missingPrograms are those of a job that the host lacks.
func missingPrograms(s *inventory.Snapshot) fact.Of[[]string] {
	var missing []string
	for _, p := range jobPrograms {
		there, looked := s.Commands[p]
		if !looked {
			return fact.Unknown[[]string]("nobody has looked for " + p)
		}
		if !there {
			missing = append(missing, p)
		}
	}
	return fact.Known(missing)
}

// smPorts are the ports of all functions of a card to which a subnet manager is bound.
func smPorts(s *inventory.Snapshot, pci ib.PCIAddress) fact.Of[[]int] {
	var ports []int
	for i := range s.Cards {
		if s.Cards[i].PCI.Slot() != pci.Slot() {
			continue
		}
		for _, p := range s.Cards[i].Ports {
			if !p.IsSM.Known() {
				return fact.Unknown[[]int](p.IsSM.Why())
			}
			if fact.Yes(p.IsSM) {
				ports = append(ports, p.Number)
			}
		}
	}
	return fact.Known(ports)
}

func portTypes(c *inventory.Card) []string {
	types := make([]string, len(c.Ports))
	for i, p := range c.Ports {
		types[i] = p.TypeNow
	}
	return types
}

// surroundings adds what a change of a card or a restart would take from others.
func surroundings(f *safety.HostFacts, s *inventory.Snapshot) {
	for _, st := range s.Storage {
		f.Storage = append(f.Storage, safety.StoragePath{What: storageText(st), Via: storageVia(s, st)})
	}
	f.Servers = convert(s.Servers, func(srv inventory.Server) safety.Server {
		return safety.Server{Name: srv.Name, Clients: srv.Clients}
	})
	f.Scans = convert(s.Scans, func(p inventory.Pool) safety.PoolScan { return safety.PoolScan{Pool: p.Name, Doing: p.Doing} })
	f.Battery = convert(s.Battery(), func(u inventory.UPS) safety.Battery { return safety.Battery{Name: u.Name, Status: u.Status} })
	f.Kubernetes = kubernetes(s)
}

// convert makes other facts of those that are known.
func convert[A, B any](from fact.Of[[]A], each func(A) B) fact.Of[[]B] {
	all, known := from.Get()
	if !known {
		return fact.Unknown[[]B](from.Why())
	}
	to := make([]B, len(all))
	for i, a := range all {
		to[i] = each(a)
	}
	return fact.Known(to)
}

func kubernetes(s *inventory.Snapshot) fact.Of[[]string] {
	if s.UnitsWhy != "" {
		return fact.Unknown[[]string](s.UnitsWhy)
	}
	var running []string
	for _, name := range kubernetesUnits {
		if s.Unit(name).ActiveState == "active" {
			running = append(running, name)
		}
	}
	return fact.Known(running)
}

// kubernetesUnits are the services of a node, of Kubernetes itself and of the
// distributions that hold the kubelet in a program of their own.
var kubernetesUnits = []string{"kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service"}

func storageText(st inventory.Storage) string {
	text := st.Kind + " " + st.What
	if st.Where != "" {
		return text + " on " + st.Where
	}
	if st.Server != "" {
		text += " at " + st.Server
	}
	return text
}

// storageVia gives the way to the server. SRP names the InfiniBand device
// itself; its name stands for an interface then.
func storageVia(s *inventory.Snapshot, st inventory.Storage) fact.Of[safety.NetPath] {
	if st.RDMA == "" {
		dev, known := st.Dev.Get()
		if !known {
			return fact.Unknown[safety.NetPath](st.Dev.Why())
		}
		return fact.Known(netPath(s, dev))
	}
	path := safety.NetPath{Dev: st.RDMA}
	for i := range s.Cards {
		if s.Cards[i].RDMADevice == st.RDMA {
			path.Cards = append(path.Cards, s.Cards[i].PCI)
		}
	}
	return fact.Known(path)
}

func sshPath(s *inventory.Snapshot) fact.Of[[]safety.NetPath] {
	devs, known := s.SSH.Devs.Get()
	if !known {
		return fact.Unknown[[]safety.NetPath](s.SSH.Devs.Why())
	}
	var ways []safety.NetPath
	for _, dev := range devs {
		ways = append(ways, netPath(s, dev))
	}
	return fact.Known(ways)
}

// netdevsOf gives the interfaces of all functions of a card, without P_Key
// children.
func netdevsOf(s *inventory.Snapshot, pci ib.PCIAddress) []string {
	var names []string
	for _, n := range s.Netdevs {
		if n.PCI.IsValid() && n.PCI.Slot() == pci.Slot() && n.Parent == "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// netPath finds the cards behind an interface, through whatever lies between.
func netPath(s *inventory.Snapshot, dev string) safety.NetPath {
	return safety.NetPath{Dev: dev, Cards: s.CardsBelow(dev)}
}

func jobFacts(j *inventory.Job) safety.JobFacts {
	f := safety.JobFacts{
		ID: j.ID, Kind: j.Kind, PCI: j.PCI, Running: !fact.No(j.Running), Doubt: j.Running.Why(), Lost: j.Lost, Settled: j.Settled,
		Ended: j.Exit != "", Operator: j.Operator, Foreign: journal.Read(j).Foreign,
	}
	if len(j.States) > 0 {
		f.Since = j.States[0].Time
	}
	return f
}

// isoDate reads the date of mstflint's query, day.month.year; empty if it is none.
func isoDate(printed string) string {
	date, err := time.Parse("2.1.2006", printed)
	if err != nil {
		return ""
	}
	return date.Format(time.DateOnly)
}

// Identities are those of all cards of a host.
func Identities(s *inventory.Snapshot) []safety.CardIdentity {
	all := make([]safety.CardIdentity, 0, len(s.Cards))
	for i := range s.Cards {
		if c := &s.Cards[i]; !c.Virtual {
			all = append(all, safety.CardIdentity{Host: s.Host, PCI: c.PCI, GUIDs: identityOf(c)})
		}
	}
	return all
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
