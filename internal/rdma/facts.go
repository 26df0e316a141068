// Package rdma says whether a host is ready for what goes over RDMA: programs, storage and GPUs.
//
// It must not change a host, or import Terraform.
package rdma

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// What RDMA can be for.
const (
	Programs  = "programs"
	NFSClient = "nfs_client"
	NFSServer = "nfs_server"
	ISCSI     = "iscsi"
	SRP       = "srp"
	NVMeOF    = "nvmeof"
	GPUs      = "gpu"
)

// Purposes are all of them.
var Purposes = []string{Programs, NFSClient, NFSServer, ISCSI, SRP, NVMeOF, GPUs}

// Unlimited is a limit that is none, as ulimit and limits.conf write it.
const Unlimited = "unlimited"

// Facts are what a host has for RDMA beside what a snapshot says of it.
type Facts struct {
	// The limit of a login is root's own here, which says nothing of the users whose programs use RDMA.
	Root    bool            // the login user is root, who may lock any memory
	Memlock fact.Of[string] // of a login, in KiB or Unlimited
	// Raised says that a file of pam_limits lifts the limit of somebody else than root.
	Raised  bool
	Modules map[string]fact.Bool // in the kernel, loaded or built in
	Rping   bool
	// NFS is whether the kernel's NFS server runs, and Port where it listens for RDMA; 0: it does not.
	NFS       fact.Bool
	Port      fact.Of[int]
	Listeners []Listener
	// Unlisted says of "target" (iSCSI, SRP) and "nvmet" why their listeners are not known; empty if they are.
	// The configfs of LIO is for root alone, and this look is taken as the login user: no listener found
	// is not the same as none there.
	Unlisted map[string]string
	GPUs     []GPU
	Places   map[ib.PCIAddress]Place // of GPUs and of cards with an RDMA device
	VRFs     map[string]string       // by interface
	// Protocols are those for which TrueNAS offers RDMA; nil elsewhere.
	Protocols *fact.Of[[]string]
}

// Listener is one portal of a storage server in the kernel.
type Listener struct {
	Kind    string // "iscsi", "srp", "nvmeof"
	Name    string // IQN, GUID of the port, or subsystems with commas
	Address string // "172.16.0.10:3260"; empty for SRP
	RDMA    fact.Bool
	Enabled fact.Bool
}

// GPU is one of NVIDIA.
type GPU struct {
	PCI    ib.PCIAddress
	Driver string // empty: none
}

// Place is where a PCI device hangs.
type Place struct {
	Bridge string       // host bridge, "pci0000:00"; empty if it is not known
	Root   string       // root port, "0000:00:01.0"; empty if the device is part of its host bridge
	NUMA   fact.Of[int] // node
}
