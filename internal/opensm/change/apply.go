package change

import (
	"context"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Options tune the waiting; the zero value is what users get.
type Options struct {
	// ProofTimeout is how long the port may take to become Active; zero means
	// 75 seconds, which covers a takeover from another SM (60 seconds).
	ProofTimeout time.Duration
	// Poll is the pause between two looks; zero means half a second.
	Poll time.Duration
	// Lab has the ports of all managed hosts, by which messages name the ports of the
	// fabric.
	Lab found.Lab
}

func (o Options) withDefaults() Options {
	if o.ProofTimeout <= 0 {
		o.ProofTimeout = 75 * time.Second
	}
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	return o
}

// Result is what Apply and Remove did. Its look is nil if the host could not be read after the change.
type Result = managed.Result[*found.Look]

// Apply makes the port's SM what d says, now and at boot; l is the last look at its port. It is safe to
// repeat. It checks d again; what blocks is *safety.RefusedError. An SM that was set up and does not serve
// the port is *NotServingError.
func Apply(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	o = o.withDefaults()
	l, err := renew(ctx, h, l)
	if err != nil {
		return Result{}, err
	}
	if err = refuse(d, judge.Check(l, d, judge.PlanFacts{})); err != nil {
		return Result{}, err
	}
	if !judge.IsSettled(l, d) {
		if l, err = loadModules(ctx, h, l, d); err != nil {
			return Result{}, err
		}
	}
	if judge.IsSettled(l, d) { // at most modules were missing
		return proveInPlace(ctx, h, l, d, o)
	}
	if l, err = askFabric(ctx, h, l, d, o); err != nil {
		return Result{}, err
	}
	return withHistory(ctx, h, l, d.Describe(), func(ctx context.Context) (Result, error) {
		return write(ctx, h, l, d, o)
	})
}

// renew is the look at the host as it is known now: the same one as long as the host was not read again.
func renew(ctx context.Context, h *hosts.Host, l *found.Look) (*found.Look, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if s == l.Snapshot {
		return l, nil
	}
	return found.Of(s, l.Port), nil
}

// refuse makes an error of what blocks.
func refuse(d opensm.Request, all []finding.Finding) error {
	return safety.Refusal("run subnet manager "+d.Name(), all)
}

// loadModules has the modules loaded that a subnet manager needs. New ones may have made the port visible:
// what only the port shows is checked then.
func loadModules(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request) (*found.Look, error) {
	plat, err := platform.Of(l.Snapshot)
	if err != nil {
		return nil, err
	}
	names := append([]string{"ib_umad"}, platform.RDMAModules(l.Snapshot)...)
	if err = plat.EnsureModules(ctx, h, names...); err != nil {
		return nil, err
	}
	now, err := renew(ctx, h, l)
	if err != nil || now == l {
		return now, err
	}
	return now, refuse(d, judge.Check(now, d, judge.PlanFacts{}))
}

// proveInPlace has nothing to write. The apply that wrote it may have failed because the port was
// not served, or what a master is to do was not in force. One that is repeated proves both.
func proveInPlace(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	if l.Role() == found.RoleStandby {
		return Result{Look: l}, nil
	}
	r, err := readBack(ctx, h, l, d, o)
	r.Changed = false
	return r, err
}

// write puts the files there, has the instance use them, and proves that it works.
func write(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	kept, err := writeFiles(ctx, h, l, d)
	if err == nil {
		err = start(ctx, h, l, d)
	}
	if err != nil {
		return Result{Changed: true, Warnings: kept}, err
	}
	r, err := readBack(ctx, h, l, d, o)
	r.Warnings = append(r.Warnings, kept...)
	return r, err
}

// start makes the instance use the files. Where opensm reads a file again on a signal,
// a signal is sent: it keeps the role and the registrations of the port.
func start(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request) error {
	commands := startCommands(l, judge.LacksOnlyBoot(l, d))
	if judge.Rereads(l, d) {
		commands = []shellcmd.Command{systemctl.Kill("HUP", l.Unit), coreutils.Touch(found.RereadPath(l.Port))}
	}
	if err := run(ctx, h, commands...); err != nil {
		return fmt.Errorf("starting the subnet manager of port %s: %w", l.Port, err)
	}
	return nil
}

// readBack waits for the proof that the started instance works, and reads what is there then. An SM that has
// become a standby is asked about its master.
func readBack(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	r := Result{Changed: true}
	notes, err := prove(ctx, h, l, d, o)
	if err != nil {
		return r, err
	}
	r.Warnings = notes
	if r.Look, err = renew(ctx, h, l); err != nil {
		return r, err
	}
	view, err := Survey(ctx, h, r.Look)
	if err != nil {
		return r, err
	}
	r.Findings = append(judge.CheckFabric(d, view, o.Lab), judge.CheckPrefixTaken(r.Look, d)...)
	for i := range r.Findings {
		r.Findings[i].Severity = min(r.Findings[i].Severity, finding.Warn)
	}
	if why := r.Look.Silence(); why != "" {
		err = fmt.Errorf("the subnet manager of port %s was started, and whether %s runs and starts at boot is not known: %s",
			l.Port, r.Look.Unit, why)
	}
	return r, err
}

func run(ctx context.Context, h *hosts.Host, commands ...shellcmd.Command) error {
	for _, cmd := range commands {
		if _, err := h.Run(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}
