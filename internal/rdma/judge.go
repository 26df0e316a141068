package rdma

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Judge says what is in the way of some purposes, and of every use of RDMA.
func Judge(s *inventory.Snapshot, f *Facts, purposes []string) []Problem {
	j := &judge{s: s, f: f}
	j.ports()
	// In the order of Purposes: the user's set has none, and the first problem is what Ready tells.
	for _, p := range Purposes {
		if slices.Contains(purposes, p) {
			map[string]func(){Programs: j.programs, NFSClient: j.mounts, NFSServer: j.nfsServer, ISCSI: j.iser, SRP: j.srp,
				NVMeOF: j.nvmeof, GPUs: j.gpus}[p]()
		}
	}
	return j.list
}

// ports is what every use needs: a device, a port that carries packets, and an address by which
// the other end finds it.
func (j *judge) ports() {
	host := j.s.Host
	var idle []string
	devices, active, addressed := 0, 0, j.addressed()
	for i := range j.s.Cards {
		c := &j.s.Cards[i]
		if c.RDMADevice == "" {
			continue
		}
		devices++
		for _, p := range c.Ports {
			// Armed is not enough: data goes only after the subnet manager has made the port Active.
			if p.State == "Active" {
				active++
				continue
			}
			idle = append(idle, fmt.Sprintf("port %d of card %s is %s", p.Number, c.PCI, p.State))
		}
	}
	switch {
	case devices == 0:
		j.add(NoDevice, host, "%s has no RDMA device. Its card needs a driver and that driver's InfiniBand module: mlx4_ib, "+
			"mlx5_ib, ib_qib or ib_mthca.", host)
	case active == 0:
		j.add(NoActivePort, host, "No port of %s is Active: %s. Connect the cable and run a subnet manager "+
			"(infiniband_opensm).", host, strings.Join(idle, ", "))
	case !addressed:
		j.add(NoAddress, host, "No interface of an InfiniBand port of %s is up and has an address. RDMA connections are "+
			"made by "+
			"IP addresses. Configure infiniband_ipoib_interface.", host)
	}
}

// addressed reports whether an interface of a card with an RDMA device works and has an address.
// A carrier of IPoIB needs a subnet manager and the broadcast group, not only a cable. Link-local
// addresses come without any configuration, so they are no proof of one.
func (j *judge) addressed() bool {
	for _, n := range j.s.Netdevs {
		if !n.Carrier || !n.IB && !j.roce(n.Name) {
			continue
		}
		for _, a := range n.Addresses {
			if !a.Addr().IsLinkLocalUnicast() {
				return true
			}
		}
	}
	return false
}

// roce reports whether an interface is of an Ethernet port of a card with an RDMA device.
func (j *judge) roce(netdev string) bool {
	for _, c := range j.s.Cards {
		if c.RDMADevice != "" && slices.ContainsFunc(c.Ports, func(p inventory.Port) bool { return p.Netdev == netdev }) {
			return true
		}
	}
	return false
}

func (j *judge) programs() {
	host := j.s.Host
	j.module("ib_uverbs", "Programs reach the card through it")
	j.module("rdma_ucm", "Programs connect through it")
	j.memlock()
	// Not that programs need it: without it nobody can tell a broken fabric from a broken program.
	if !j.f.Rping {
		j.add(NoRping, host, "%s has no rping, with which RDMA between two hosts is tried. It comes with rdmacm-utils "+
			"(Debian, Ubuntu), librdmacm-utils (RHEL, Fedora) or rdma-core (Arch).", host)
	}
}

// module demands one that nothing loads by itself.
func (j *judge) module(name, why string) {
	host := j.s.Host
	switch there := j.f.Modules[name]; {
	case fact.No(there):
		j.add(Module, host, "%s has not loaded the module %s. %s. Run modprobe %s, and write %s into a file of "+
			"/etc/modules-load.d.", host, name, why, name, name)
	case !there.Known():
		j.add(Unknown, host, "It is not known whether %s has the module %s: %s.", host, name, there.Why())
	}
}

// Where the login is root, only a file of pam_limits tells what others may lock.
func (j *judge) memlock() {
	host := j.s.Host
	limit, known := j.f.Memlock.Get()
	switch {
	case !known:
		j.add(Unknown, host, "It is not known how much memory programs on %s may lock: %s.", host, j.f.Memlock.Why())
	case limit == Unlimited, j.f.Root && j.f.Raised:
	default:
		who := "The login user of " + host
		if j.f.Root {
			who = "A user of " + host + " other than root"
		}
		j.add(Memlock, host, "%s may lock %s KiB of memory. Programs lock what they send and receive over RDMA. Write "+
			"\"* soft memlock unlimited\" and \"* hard memlock unlimited\" into a file of /etc/security/limits.d, and log in "+
			"anew. A service needs LimitMEMLOCK=infinity in its unit.", who, limit)
	}
}

func (j *judge) gpus() {
	host := j.s.Host
	if len(j.f.GPUs) == 0 {
		j.add(NoGPU, host, "%s has no GPU of NVIDIA on its PCI bus.", host)
		return
	}
	j.memlock()
	j.module("ib_uverbs", "Programs reach the card through it")
	switch there := j.f.Modules["nvidia_peermem"]; {
	case fact.No(there):
		j.add(PeerMemory, host, "%s has not loaded the module nvidia_peermem, by which a card reads the memory of a GPU. "+
			"Run "+
			"modprobe nvidia-peermem, and write nvidia-peermem into a file of /etc/modules-load.d. It comes with NVIDIA's "+
			"driver.", host)
	case !there.Known():
		j.add(Unknown, host, "It is not known whether %s has the module nvidia_peermem: %s.", host, there.Why())
	}
	for _, g := range j.f.GPUs {
		j.placement(g)
	}
}

// placement demands one card near a GPU: under one host bridge, no packet goes from processor to
// processor.
func (j *judge) placement(g GPU) {
	best, unknown := "", ""
	var cards []string
	for i := range j.s.Cards {
		c := &j.s.Cards[i]
		// A virtual function has the place of its physical one, which is judged.
		if c.RDMADevice == "" || c.Virtual {
			continue
		}
		cards = append(cards, c.PCI.String())
		common := j.f.Common(g.PCI, c.PCI)
		switch common.Or("") {
		case SameRoot, SameBridge:
			return
		case "":
			unknown = common.Why()
		default:
			best = common.Or("")
		}
	}
	switch where := j.s.Host + " " + g.PCI.String(); {
	case unknown != "":
		j.add(Unknown, where, "It is not known which card of %s is near the GPU %s: %s.", j.s.Host, g.PCI, unknown)
	case best != "":
		j.add(Placement, where, "The GPU %s of %s shares no host bridge with the card %s. What goes between them crosses "+
			"the "+
			"processor, or the link between two. Put both into slots of one root complex.", g.PCI, j.s.Host,
			strings.Join(cards, " or "))
	}
}
