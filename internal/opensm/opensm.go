// Package opensm runs a subnet manager on one port of a host and proves by the
// port and by the fabric that it works.
//
// It must not trust the exit status of opensm, touch instances of others, or
// import Terraform.
package opensm

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// MaxPriority is the highest priority of an SM (InfiniBand Architecture, SMInfo).
const MaxPriority = 15

// Request is what the configuration asks for.
type Request struct {
	Host       string
	PortGUID   ib.GUID
	Priority   int // 0 to 15; the highest wins, of equals the lower port GUID
	Tuning     opensm.Tuning
	Partitions []opensm.Partition // sorted; none: no partition file of ours
}

// HandOver is the longest time that the fabric is without a subnet manager if its
// master dies and this one is the standby.
func (d Request) HandOver() time.Duration {
	return time.Duration(d.Tuning.HandOver()) * time.Millisecond
}

// conf is our file of options.
func (d Request) conf() opensm.Conf {
	c := opensm.Conf{Priority: d.Priority, Tuning: d.Tuning}
	if len(d.Partitions) > 0 {
		c.PartitionFile = opensm.PartitionsPath(d.PortGUID)
	}
	return c
}

// Observation is what is on the host.
type Observation struct {
	Installed string    // version of the package; empty if it is not installed
	Unit      string    // "opensm@0xe41d2d0300e44ed1.service"
	Active    fact.Bool // the unit runs
	Enabled   fact.Bool // it starts at boot
	Masked    []string  // of its units, those that systemd refuses to start
	Listed    bool      // the port is in PORTS of /etc/default/opensm, or its own unit is enabled
	Managed   bool      // our drop-in is there
	From      []string  // files of others that the instance was started with
	ConfPath  string    // our file of options, there or not
	HasConf   bool      // it is there and ours
	Priority  int       // of our file of options, or of those in From; -1 if neither is known
	Tuning    opensm.Tuning
	// Partitions are those of our partition file; PartitionError says why it is
	// not in force.
	Partitions     []opensm.Partition
	PartitionError string
	// Edited are the files of ours that hold something else than we write.
	Edited []string
	// Edits say what differs in them, and in our template unit.
	Edits []platform.Edit
	// Older says that the instance was started before one of its files was changed last; empty if that is
	// not known to be so.
	Older string
	// Unmanaged are files at our paths that this provider did not write.
	Unmanaged []string
	// Unread are files at our paths that are there and could not be read.
	Unread []string
	// NotAtBoot says which modules of an instance of ours are not loaded at boot; empty if none
	// is known to be missing.
	NotAtBoot string
	// Keys are the fabric's secrets that this instance sets by its file of options.
	Keys []opensm.Key

	PortPresent bool
	Sleeping    bool   // the port is known from the card's flash only: its module is not loaded
	LinkLayer   string // "InfiniBand" or "Ethernet"
	State       string // "Active", "Initializing", …
	Physical    string // "LinkUp", "Polling", …
	LID, SMLID  uint16
	IsSM        fact.Bool // an SM is bound to the port

	// Others are the ports that other instances on this host manage.
	Others []ib.GUID
}

// Roles of a subnet manager as the port shows them.
const (
	RoleMaster  = "master"
	RoleStandby = "standby"
)

// placeholderLID is what ibportstate writes as LID and SM LID of a port that has
// none; it stays until a subnet manager sets the real ones.
const placeholderLID = 0x1234

// Role is RoleMaster or RoleStandby; empty while the port is not served.
func (o Observation) Role() string {
	switch {
	case o.Master():
		return RoleMaster
	case !fact.Yes(o.IsSM) || o.SMLID == 0 || o.State != "Active":
		return ""
	}
	return RoleStandby
}

// Served reports whether some subnet manager serves the port.
func (o Observation) Served() bool {
	return o.SMLID != 0 && (o.SMLID != placeholderLID || o.State == "Active")
}
