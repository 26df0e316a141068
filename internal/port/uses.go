package port

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

type use struct{ dev, what string }

// uses names what goes over the port.
func uses(s *inventory.Snapshot, d Request) []use {
	var all []use
	devs, known := s.SSH.Devs.Get()
	for _, dev := range devs {
		all = append(all, over(s, d, dev, fmt.Sprintf("The SSH session to %s comes in over %s", s.Host, dev))...)
	}
	if !known {
		all = append(all, mayGoOver(s, d, "The SSH session to "+s.Host+" may come in over ", s.SSH.Devs.Why())...)
	}
	for _, dev := range s.Routes.Devs() {
		all = append(all, over(s, d, dev, fmt.Sprintf("The default route of %s goes over %s", s.Host, dev))...)
	}
	if hidden := s.HiddenRoutes(); len(hidden) > 0 {
		all = append(all, mayGoOver(s, d, "The default route of "+s.Host+" may go over ", strings.Join(hidden, "; "))...)
	}
	return append(all, storageOver(s, d)...)
}

// storageOver names the storage that is reached over the port, or may be over its
// interfaces.
func storageOver(s *inventory.Snapshot, d Request) []use {
	var all []use
	for _, st := range s.Storage {
		what := fmt.Sprintf("%s %s of %s", st.Kind, st.What, s.Host)
		dev, known := st.Dev.Get()
		switch {
		case st.RDMA != "":
			all = append(all, asUse(onDevice(s, d, st.RDMA), st.RDMA, what+" is reached over "+st.RDMA)...)
		case !known:
			all = append(all, mayGoOver(s, d, what+" may be reached over ", st.Dev.Why())...)
		default:
			all = append(all, over(s, d, dev, what+" is reached over "+dev)...)
		}
	}
	return all
}

// over is what uses an interface, if that is of the port or one below it is.
func over(s *inventory.Snapshot, d Request, dev, what string) []use {
	var ofPort []fact.Bool
	for _, name := range s.Below(dev) {
		n, _ := s.Netdev(name)
		ofPort = append(ofPort, isOfPort(s, n, d))
	}
	return asUse(fact.Any(ofPort...), dev, what)
}

// asUse is what uses a device that is of the port, or may be.
func asUse(ofPort fact.Bool, dev, what string) []use {
	switch {
	case fact.No(ofPort):
		return nil
	case !ofPort.Known():
		what += ", which may be of this port: " + ofPort.Why()
	}
	return []use{{dev, what}}
}

// mayGoOver is what may use each interface of the port, for it is not known which it uses.
// Nothing goes over a port without any.
func mayGoOver(s *inventory.Snapshot, d Request, what, why string) []use {
	var all []use
	for i := range s.Netdevs {
		if n := &s.Netdevs[i]; n.Parent == "" && !fact.No(isOfPort(s, n, d)) {
			all = append(all, use{n.Name, what + n.Name + ": " + why})
		}
	}
	return all
}

// onDevice reports whether an RDMA device is the card of the port, or one of its virtual
// functions. Which of its ports SRP uses is not read.
func onDevice(s *inventory.Snapshot, d Request, device string) fact.Bool {
	var ofCard []fact.Bool
	for i := range s.Cards {
		if s.Cards[i].RDMADevice == device {
			ofCard = append(ofCard, isOf(s, s.Cards[i].PCI, d.Card))
		}
	}
	return fact.Any(ofCard...)
}

// isOfPort reports whether an interface is one of the port. One of which the kernel does
// not show the port may be. A virtual function counts its own ports, so that each is.
func isOfPort(s *inventory.Snapshot, n *inventory.Netdev, d Request) fact.Bool {
	// mlx4 has both ports on one function, and dev_port tells them apart.
	if n.PCI == d.Card && n.DevPort != d.Number-1 && n.DevPort >= 0 {
		return fact.Known(false)
	}
	return isOf(s, n.PCI, d.Card)
}

// isOf reports whether a PCI function is the card's, or a virtual one of it.
func isOf(s *inventory.Snapshot, pci, card ib.PCIAddress) fact.Bool {
	physical, known := s.Physical(pci).Get()
	if !known {
		return fact.Unknown[bool](s.Physical(pci).Why())
	}
	return fact.Known(physical.IsValid() && physical == card)
}
