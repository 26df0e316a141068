package opensm

import (
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// MaxPriority is the highest priority of an SM (InfiniBand Architecture, SMInfo).
const MaxPriority = 15

// DefaultGroupMTU is the MTU in bytes of a group of which the partition file says none.
const DefaultGroupMTU = 2048

// Request is what the configuration asks for.
type Request struct {
	Host       string
	PortGUID   ib.GUID
	Priority   int // 0 to 15; the highest wins, of equals the lower port GUID
	Tuning     Tuning
	Partitions []Partition // sorted; none: no partition file of ours
	Keys       FabricKeys
	DropsKeys  bool // the fabric is to have no keys, though a file sets some
	// EqualPriority is the consent to the priority of a running master of ours on the same fabric.
	EqualPriority bool
}

// HandOver is the longest time that the fabric is without a subnet manager if its
// master dies and this one is the standby.
func (d Request) HandOver() time.Duration {
	return time.Duration(d.Tuning.HandOver()) * time.Millisecond
}

// Conf is our file of options without the values of keys: a state has none.
func (d Request) Conf() opensm.Conf {
	c := opensm.Conf{Priority: d.Priority, Tuning: d.Tuning, Keys: d.Keys.WithoutValues()}
	if len(d.Partitions) > 0 {
		c.PartitionFile = opensm.PartitionsPath(d.PortGUID)
	}
	return c
}

// File is what our file of options says. Its keys have to be known.
func (d Request) File() opensm.Conf {
	c := d.Conf()
	c.Keys = d.Keys
	return c
}

// Describe puts what is asked for into one line, for the history of a host, without keys of a fabric.
func (d Request) Describe() string {
	options := "standard options"
	if d.Tuning != (Tuning{}) {
		options = DescribeTuning(d.Tuning)
	}
	parts := []string{fmt.Sprintf("priority %d", d.Priority), options}
	if d.Keys.Version > 0 {
		parts = append(parts, fmt.Sprintf("keys of version %d", d.Keys.Version))
	}
	if len(d.Partitions) > 0 {
		text := strings.TrimSpace(PartitionText(d.Partitions))
		parts = append(parts, "partitions "+strings.Join(strings.Split(text, "\n"), " "))
	}
	return strings.Join(parts, ", ")
}

// DescribeTuning names options as the file has them: "log_max_size 20, routing_engine updn".
func DescribeTuning(t Tuning) string {
	lines := strings.Split(strings.TrimSpace(opensm.Conf{Tuning: t}.Text("")), "\n")[1:]
	if len(lines) == 0 {
		return "the standard ones"
	}
	return strings.Join(lines, ", ")
}
