package change

import (
	"context"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

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

// Error tells the two failures apart: a port that is not served, and one that is, with other partitions than asked.
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

// diagnose collects the symptoms and names the cause.
func diagnose(ctx context.Context, h *hosts.Host, l *found.Look, p sysfs.Port, wrong []Mismatch,
	waited time.Duration) error {
	e := &NotServingError{
		Host: h.Name(), Port: l.Port, Waited: waited, Unit: l.Unit,
		State: p.State, Physical: p.Physical, SMLID: p.SMLID, IsSM: p.IsSM,
	}
	e.Active = outputOf(h.Run(ctx, systemctl.IsActive(e.Unit)))
	// Without keys: this text goes into an error, and from there into logs of pipelines.
	e.Log = tool.LogWithoutKeys(outputOf(h.Run(ctx, systemctl.Journal(e.Unit, logLines))))
	symptoms := Symptoms{Port: l.Port, Sysfs: p, Unit: e.Active, Log: tool.ParseLog(e.Log), Wrong: wrong,
		HasUMAD: true}
	// The diagnosis ends where the host stops answering.
	if now, err := renew(ctx, h, l); err == nil {
		symptoms.HasUMAD, symptoms.Kernel, symptoms.Version = now.UMAD, now.Kernel, now.Installed
		if view, err := Survey(ctx, h, now); err == nil {
			symptoms.View = view
		}
	}
	// opensm has its errors in its own log only, the journal what it prints.
	file := outputOf(h.Run(ctx, tool.Tail(l.Port, logLines)))
	symptoms.Log = tool.ParseLog(e.Log + "\n" + file)
	e.Cause = findCause(symptoms)
	return e
}
