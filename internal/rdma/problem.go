package rdma

import (
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Kinds of problems.
const (
	NoDevice     = "no_device"
	NoActivePort = "no_active_port"
	NoAddress    = "no_address"
	Module       = "module"
	Memlock      = "memlock"
	NoRping      = "no_rping"
	NoMount      = "no_mount"
	Mount        = "mount"
	NotServing   = "not_serving"
	NotListening = "not_listening"
	TrueNAS      = "truenas"
	NoGPU        = "no_gpu"
	PeerMemory   = "peer_memory"
	Placement    = "placement"
	Unknown      = "unknown"
)

// Problem is one thing that is not as it should be.
type Problem struct{ Kind, Where, Message string }

// Ready is no with the first problem that is known, and unknown if only facts are missing.
func Ready(problems []Problem) fact.Bool {
	for _, p := range problems {
		if p.Kind != Unknown {
			return fact.Known(false)
		}
	}
	if len(problems) > 0 {
		return fact.Unknown[bool](problems[0].Message)
	}
	return fact.Known(true)
}

// judge collects the problems of one host.
type judge struct {
	s    *inventory.Snapshot
	f    *Facts
	list []Problem
}

func (j *judge) add(kind, where, format string, args ...any) {
	p := Problem{kind, where, fmt.Sprintf(format, args...)}
	// Purposes share demands: GPUs and programs both need ib_uverbs.
	if !slices.Contains(j.list, p) {
		j.list = append(j.list, p)
	}
}
