package opensm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

const logLines = 40

// NotServingError says that the SM is configured but the port is not served, or the
// partitions are not in force. It has the cause as far as host, port and fabric show
// it. The configuration stays.
type NotServingError struct {
	Host     string
	Port     ib.GUID
	Cause    Cause
	Waited   time.Duration
	State    string
	Physical string
	SMLID    uint16
	IsSM     bool
	Unit     string
	Active   string // what systemd says
	Log      string // last lines of the unit's log
}

func (e *NotServingError) Error() string {
	if e.Cause.Kind == CausePKey {
		return fmt.Sprintf("%s: the subnet manager of port %s serves it, but after %s its partitions are not in force "+
			"(cause: %s): %s %s",
			e.Host, e.Port, e.Waited.Round(time.Second), e.Cause.Kind, e.Cause.What, e.Cause.Check)
	}
	return fmt.Sprintf("%s: the subnet manager of port %s is configured, but after %s the port is not served: %s %s "+
		"(cause: %s, state %s, physical state %s, SM LID %d, SM bound: %t, %s: %s)",
		e.Host, e.Port, e.Waited.Round(time.Second), e.Cause.What, e.Cause.Check, e.Cause.Kind, e.State, e.Physical, e.SMLID,
		e.IsSM, e.Unit, e.Active)
}

// CheckProof gives what speaks against the proof of an instance that is set up as asked.
func CheckProof(s *inventory.Snapshot, d Request) []finding.Finding {
	return checkLink(s, d, Observe(s, d.PortGUID))
}

// isServed reports the proof: an SM is bound to the port, a master has given it LIDs,
// and it is Active. opensm ends with 0 also when it fails, so neither its status nor
// systemd's word counts.
func isServed(p sysfs.Port) bool { return p.IsSM && p.SMLID != 0 && p.State == "ACTIVE" }

// prove waits until the port is served and the partitions are in force. If they are
// not, it finds the cause. It returns what it could not compare.
func prove(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, d Request, o Options) (notes []string,
	err error) {
	card, p, ok := s.CardByPortGUID(d.PortGUID)
	if !ok || card.RDMADevice == "" {
		return nil, fmt.Errorf("%s: no RDMA device has the port %s", h.Name(), d.PortGUID)
	}
	begin := time.Now()
	last, err := watch(ctx, h, card.RDMADevice, p.Number, o)
	if err != nil {
		return nil, err
	}
	var wrong []Mismatch
	if isServed(last) {
		at := device{card.RDMADevice, p.Number, last.LID}
		// A standby programs nothing: the master's partitions are in force.
		if last.SMLID != last.LID {
			return nil, nil
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
	return nil, diagnose(ctx, h, d, last, wrong, time.Since(begin))
}

// provePriority waits until the master has the priority that it is to have. One that was told
// to read its options again answers with the old one for a moment, or for ever if it did not.
func provePriority(ctx context.Context, h *hosts.Host, at device, d Request, o Options) (notes []string, err error) {
	begin := time.Now()
	deadline := proofEnd(ctx, o.ProofTimeout)
	for {
		status, out, err := ask(ctx, h, sminfo.Query(at.name, at.number))
		if err != nil {
			return nil, err
		}
		info, unread := sminfo.Parse(out)
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
				h.Name(), d.PortGUID, time.Since(begin).Round(time.Second), info.Priority, d.Priority, opensm.Unit(d.PortGUID))
		}
		if err := poll.Pause(ctx, o.Poll); err != nil {
			return nil, err
		}
	}
}

// watch looks at the port until it is served, cannot become so, or the time is over. It
// returns the last look.
func watch(ctx context.Context, h host.Host, device string, number int, o Options) (sysfs.Port, error) {
	deadline := proofEnd(ctx, o.ProofTimeout)
	for {
		now, err := readPort(ctx, h, device, number)
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

// proofEnd is when a proof gives up: after its time, or earlier, so that a quarter of what the
// operator's timeout leaves is there to find the cause.
func proofEnd(ctx context.Context, limit time.Duration) time.Time {
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4)
	}
	return time.Now().Add(limit)
}

func readPort(ctx context.Context, h host.Host, device string, number int) (sysfs.Port, error) {
	cmd := sysfs.ReadPort(device, number)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return sysfs.Port{}, err
	}
	p, err := sysfs.ParsePort(r.Stdout)
	if err != nil {
		return sysfs.Port{}, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(),
			Output: string(r.Stdout)}
	}
	return p, nil
}

// diagnose collects the symptoms and names the cause.
func diagnose(ctx context.Context, h *hosts.Host, d Request, p sysfs.Port, wrong []Mismatch,
	waited time.Duration) error {
	e := &NotServingError{
		Host: h.Name(), Port: d.PortGUID, Waited: waited, Unit: opensm.Unit(d.PortGUID),
		State: p.State, Physical: p.Physical, SMLID: p.SMLID, IsSM: p.IsSM,
	}
	e.Active = answer(h.Run(ctx, systemctl.IsActive(e.Unit)))
	e.Log = answer(h.Run(ctx, systemctl.Journal(e.Unit, logLines)))
	symptoms := Symptoms{Port: d.PortGUID, Sysfs: p, Unit: e.Active, Log: opensm.ParseLog(e.Log), Wrong: wrong,
		HasUMAD: true}
	// The diagnosis ends where the host stops answering.
	if s, err := h.Snapshot(ctx); err == nil {
		symptoms.HasUMAD, symptoms.Kernel, symptoms.Version = s.Modules["ib_umad"], s.OS.Kernel, installedVersion(s)
		if view, err := Survey(ctx, h, s, d.PortGUID); err == nil {
			symptoms.View = view
		}
	}
	// opensm has its errors in its own log only, the journal what it prints.
	file := answer(h.Run(ctx, opensm.Tail(d.PortGUID, logLines)))
	symptoms.Log = opensm.ParseLog(e.Log + "\n" + file)
	e.Cause = findCause(symptoms)
	return e
}

// answer is what a command printed, also if it ended with another status than 0.
func answer(r host.Result, err error) string {
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		return strings.TrimSpace(exit.Stdout + exit.Stderr)
	case err != nil:
		return "unknown: " + err.Error()
	}
	return strings.TrimSpace(string(r.Stdout))
}
