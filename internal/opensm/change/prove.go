package change

import (
	"context"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
)

// isServed reports the proof: an SM is bound to the port, a master has given it LIDs,
// and it is Active. opensm ends with 0 also when it fails, so neither its status nor
// systemd's word counts.
func isServed(p sysfs.Port) bool { return p.IsSM && p.SMLID != 0 && p.State == "ACTIVE" }

// prove waits until the port is served and the partitions are in force. If they are
// not, it finds the cause. It returns what it could not compare.
func prove(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (notes []string,
	err error) {
	if l.Device == "" {
		return nil, fmt.Errorf("%s: no RDMA device has the port %s", h.Name(), l.Port)
	}
	begin := time.Now()
	last, err := watch(ctx, h, l, o)
	if err != nil {
		return nil, err
	}
	var wrong []Mismatch
	if isServed(last) {
		at := device{l.Device, l.Number, last.LID}
		// A standby programs nothing: the master's partitions are in force.
		if last.SMLID != last.LID {
			return nil, nil
		}
		if d.Keys.Protection >= judge.Closed {
			return []string{"The fabric answers nobody without its M_Key, so priority and partitions were not compared."}, nil
		}
		unsure, err := provePriority(ctx, h, at, d, o)
		if err != nil || len(d.Partitions) == 0 {
			return unsure, err
		}
		wrong, notes, err = provePartitions(ctx, h, at, d, o)
		if notes = append(unsure, notes...); err != nil || len(wrong) == 0 {
			return notes, err
		}
	}
	return nil, diagnose(ctx, h, l, last, wrong, time.Since(begin))
}

// provePriority waits until the master has the priority that it is to have. One that was told
// to read its options again answers with the old one for a moment, or for ever if it did not.
func provePriority(ctx context.Context, h *hosts.Host, at device, d opensm.Request,
	o Options) (notes []string, err error) {
	begin := time.Now()
	deadline := proofEnd(ctx, o.ProofTimeout)
	for {
		status, out, err := ask(ctx, h, sminfo.Query(at.name, at.number))
		if err != nil {
			return nil, err
		}
		info, unread := sminfo.Parse(out)
		// A note and no error: the port is served, which is what the change is for.
		if compared := status == 0 && unread == nil; !compared {
			return []string{fmt.Sprintf("Whether the subnet manager of port %s has priority %d in the fabric was not compared: "+
				"sminfo ended with status %d, and its answer could not be read.", d.PortGUID, d.Priority, status)}, nil
		}
		switch {
		case info.GUID != d.PortGUID || info.Priority == d.Priority: // another one may have become the master
			return nil, nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%s: the subnet manager of port %s works, but after %s its priority in the fabric is %d, "+
				"not %d: opensm has not read its options again. Look into the log of %s, and restart it. Then apply again",
				h.Name(), d.PortGUID, time.Since(begin).Round(time.Second), info.Priority, d.Priority, tool.Unit(d.PortGUID))
		}
		if err := poll.Pause(ctx, o.Poll); err != nil {
			return nil, err
		}
	}
}

// watch looks at the port until it is served, cannot become so, or the time is over. It
// returns the last look.
func watch(ctx context.Context, h host.Host, l *found.Look, o Options) (sysfs.Port, error) {
	deadline := proofEnd(ctx, o.ProofTimeout)
	for {
		now, err := readPort(ctx, h, l.Device, l.Number)
		if err != nil {
			return now, err
		}
		// A port in the wrong mode does not change by waiting.
		if isServed(now) || now.LinkLayer == "Ethernet" || time.Now().After(deadline) {
			return now, nil
		}
		if err := poll.Pause(ctx, o.Poll); err != nil {
			return now, err
		}
	}
}
