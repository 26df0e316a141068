package opensm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

const logLines = 15

// NotServingError says that the SM is configured and the port is not served,
// and why as far as the port shows it. The configuration stays on the host.
type NotServingError struct {
	Host     string
	Port     ib.GUID
	Cause    string // one sentence
	Check    string // what to look at, one sentence
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
	return fmt.Sprintf("%s: the subnet manager of port %s is configured, but after %s the port is not served: %s %s "+
		"(state %s, physical state %s, SM LID %d, SM bound: %t, %s: %s)",
		e.Host, e.Port, e.Waited.Round(time.Second), e.Cause, e.Check, e.State, e.Physical, e.SMLID, e.IsSM, e.Unit, e.Active)
}

// served is the proof: an SM is bound to the port, a master has given it LIDs,
// and it carries traffic. opensm ends with 0 also where it fails, so neither its
// status nor systemd's word counts.
func served(p sysfs.Port) bool { return p.IsSM && p.SMLID != 0 && p.State == "ACTIVE" }

// prove waits until the port is served, and finds the cause if it is not.
func prove(ctx context.Context, h *inventory.Host, s *inventory.Snapshot, port ib.GUID, o Options) error {
	card, p, ok := s.CardByPortGUID(port)
	if !ok || card.RDMADevice == "" {
		return fmt.Errorf("%s: no RDMA device has the port %s", h.Name(), port)
	}
	begin := time.Now()
	last, err := watch(ctx, h, card.RDMADevice, p.Number, o)
	switch {
	case err != nil:
		return err
	case served(last):
		return nil
	}
	return diagnose(ctx, h, port, last, time.Since(begin))
}

// watch looks at the port until it is served, cannot become so, or the time is
// over, and returns what it saw last.
func watch(ctx context.Context, h host.Host, device string, number int, o Options) (sysfs.Port, error) {
	deadline := time.Now().Add(o.ProofTimeout)
	for {
		now, err := readPort(ctx, h, device, number)
		if err != nil {
			return now, err
		}
		// A port in the wrong mode does not change by waiting.
		if served(now) || now.LinkLayer == "Ethernet" || time.Now().After(deadline) {
			return now, nil
		}
		if !pause(ctx, o.Poll) {
			return now, context.Cause(ctx)
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func readPort(ctx context.Context, h host.Host, device string, number int) (sysfs.Port, error) {
	cmd := sysfs.ReadPort(device, number)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return sysfs.Port{}, err
	}
	p, err := sysfs.ParsePort(r.Stdout)
	if err != nil {
		return sysfs.Port{}, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(r.Stdout)}
	}
	return p, nil
}

// diagnose names the cause, from the wire upwards.
func diagnose(ctx context.Context, h host.Host, port ib.GUID, p sysfs.Port, waited time.Duration) error {
	e := &NotServingError{
		Host: h.Name(), Port: port, Waited: waited, Unit: opensm.Unit(port),
		State: p.State, Physical: p.Physical, SMLID: p.SMLID, IsSM: p.IsSM,
	}
	e.Active = answer(h.Run(ctx, systemctl.IsActive(e.Unit)))
	e.Log = answer(h.Run(ctx, systemctl.Journal(e.Unit, logLines)))
	switch {
	case p.LinkLayer == "Ethernet":
		e.Cause = "the port is in Ethernet mode."
		e.Check = "Set it to \"ib\" with infiniband_link_type."
	case e.Active != "active":
		e.Cause = "opensm does not run."
		e.Check = "Look at the log: without the module ib_umad the unit is skipped, and opensm ends with status 0 if another one holds the port."
	case p.Physical == "Polling":
		e.Cause = "the port has no link: nobody answers at the other end of the cable."
		e.Check = "Check the cable, that the other end is on, and that it is in InfiniBand mode and not in Ethernet mode."
	case p.Physical == "Disabled":
		e.Cause = "the port is switched off."
		e.Check = "Enable it (ibportstate), or reload the driver."
	case p.Physical != "LinkUp":
		e.Cause = "the link is not trained."
		e.Check = "Check cable and switch; this state should not last."
	case !p.IsSM:
		e.Cause = "opensm runs without being bound to the port."
		e.Check = "Look at the log for \"Error from osm_opensm_bind\"."
	default:
		e.Cause = "opensm is bound to the port and does not bring the fabric up."
		e.Check = "Look at the log: ERR 0D01 means that two ports of the fabric have one GUID, which stops every port."
	}
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
