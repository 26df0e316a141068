package rdma

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// NFSPort is the port for NFS over RDMA (RFC 5666; IANA: nfsrdma).
const NFSPort = 20049

// NFS are the mounts of a host.
func NFS(s *inventory.Snapshot) []inventory.Storage {
	var all []inventory.Storage
	for _, m := range s.Storage {
		if strings.HasPrefix(m.Kind, "nfs") {
			all = append(all, m)
		}
	}
	return all
}

// OverRDMA reports whether a mount of NFS goes over RDMA; of IPv6 its transport is rdma6.
func OverRDMA(m inventory.Storage) bool { return strings.HasPrefix(m.Protocol, "rdma") }

// mounts demands that what is mounted over an InfiniBand interface goes over RDMA. What comes over
// another network is left alone.
func (j *judge) mounts() {
	before, over := len(j.list), false
	for _, m := range j.s.Storage {
		// An item of this kind stands for all mounts where they could not be read.
		if m.Kind == "mounts" {
			j.add(Unknown, j.s.Host, "The mounts of %s are not known: %s.", j.s.Host, m.Dev.Why())
		}
	}
	for _, m := range NFS(j.s) {
		switch dev, known := m.Dev.Get(); {
		// What goes over RDMA needs no look at its interface.
		case OverRDMA(m):
			over = true
		case !known:
			j.add(Unknown, m.Where, "It is not known whether %s goes over InfiniBand: %s.", m, m.Dev.Why())
		case j.ipoib(dev):
			j.add(Mount, m.Where, "%s goes over %s on %s. Mount it with the options proto=rdma,port=%d; its server must listen "+
				"there.", m, transport(m), dev, NFSPort)
		}
	}
	// Only if nothing was said yet: a mount over TCP was named already, and is the better news.
	if !over && len(j.list) == before {
		j.add(NoMount, j.s.Host, "%s has mounted no NFS over InfiniBand. Mount it with the options proto=rdma,port=%d. What "+
			"automount has not mounted now is not seen.", j.s.Host, NFSPort)
	}
}

func transport(m inventory.Storage) string {
	if m.Protocol == "" {
		return "an unnamed transport"
	}
	return m.Protocol
}

func (j *judge) ipoib(netdev string) bool {
	return slices.ContainsFunc(j.s.Netdevs, func(n inventory.Netdev) bool { return n.Name == netdev && n.IB })
}

// appliance adds why TrueNAS does not offer a protocol over RDMA, and reports whether it does offer it.
// Its middleware owns the configuration of its servers.
func (j *judge) appliance(protocol, instead string) (offered bool) {
	if j.f.Protocols == nil {
		return false
	}
	list, known := j.f.Protocols.Get()
	switch {
	case !known:
		j.add(Unknown, j.s.Host, "It is not known for which protocols TrueNAS offers RDMA on %s: %s.", j.s.Host,
			j.f.Protocols.Why())
	case !slices.Contains(list, protocol):
		j.add(TrueNAS, j.s.Host, "TrueNAS offers RDMA for storage only on its own hardware, and rdma.capable_protocols of "+
			"%s "+
			"does not name %s. %s", j.s.Host, protocol, instead)
	}
	return slices.Contains(list, protocol)
}

func (j *judge) nfsServer() {
	host := j.s.Host
	port, known := j.f.Port.Get()
	switch {
	case !known:
		j.add(Unknown, host, "It is not known whether the NFS server of %s listens for RDMA: %s.", host, j.f.Port.Why())
	// Whatever port it is: a client names it.
	case port > 0:
	case j.f.Protocols != nil:
		if j.appliance("NFS", "Export over IPoIB by TCP, or from another system.") {
			j.add(NotListening, host, "The NFS server of %s does not listen for RDMA. Run midclt call nfs.update "+
				"'{\"rdma\": true}' there, and start the service.", host)
		}
	case fact.No(j.f.NFS):
		j.add(NotServing, host, "The NFS server of %s does not run. Start nfs-server, and export something.", host)
	default:
		j.add(NotListening, host, "The NFS server of %s does not listen for RDMA: /proc/fs/nfsd/portlist has no line \"rdma "+
			"%d\". Write rdma=y and rdma-port=%d below [nfsd] into /etc/nfs.conf, and restart nfs-server.", host, NFSPort,
			NFSPort)
	}
}

func (j *judge) iser() {
	j.listener(ISCSI, "ISER", "target", "iSCSI portal with iSER",
		"Write enable_iser true for a portal in targetcli, or 1 into its file iser in configfs.")
}

func (j *judge) srp() {
	j.listener(SRP, "SRP", "target", "SRP port that is enabled",
		"Make a target below /srpt in targetcli, which loads ib_srpt.")
}

func (j *judge) nvmeof() {
	j.listener(NVMeOF, "NVMET", "nvmet", "NVMe-oF port with the transport rdma",
		"Write rdma into addr_trtype of a port of nvmet, and link a subsystem to it.")
}

// offers reports whether there is a listener of a kind that offers RDMA; unknown says why that is not
// known of one.
func (j *judge) offers(kind string) (unknown string, found bool) {
	for _, l := range j.f.Listeners {
		if l.Kind != kind {
			continue
		}
		rdma, known := l.RDMA.Get()
		enabled, told := l.Enabled.Get()
		switch {
		case known && !rdma || told && !enabled:
		case known && told:
			return "", true
		default:
			unknown = cmp.Or(l.RDMA.Why(), l.Enabled.Why())
		}
	}
	return unknown, false
}

// listener demands one of a kind that offers RDMA. protocol is TrueNAS's name of it, part that of configfs.
func (j *judge) listener(kind, protocol, part, what, advice string) {
	host := j.s.Host
	unknown, found := j.offers(kind)
	// A listener that was seen to serve counts even if others could not be read.
	unknown = cmp.Or(unknown, j.f.Unlisted[part])
	switch {
	case found:
	case unknown != "":
		j.add(Unknown, host, "It is not known whether %s has an %s: %s.", host, what, unknown)
	case j.f.Protocols != nil && !j.appliance(protocol, "Serve it over IPoIB by TCP, or from another system."):
	default:
		j.add(NotListening, host, "%s has no %s. %s", host, what, advice)
	}
}
