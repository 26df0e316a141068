package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Apply makes the port's SM what d says, now and at boot; l is the last look at its port. It is safe to
// repeat. It checks d again; what blocks is *safety.RefusedError. An SM that was set up and does not serve
// the port is *NotServingError.
func Apply(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	o = o.withDefaults()
	l, err := ready(ctx, h, l, d)
	if err != nil {
		return Result{}, err
	}
	if judge.IsSettled(l, d) {
		return proveInPlace(ctx, h, l, d, o)
	}
	if d.Keys.Version > 0 && !d.Keys.Known {
		return Result{}, errors.New("the values of keys are not known")
	}
	// Last before the change: what the plan has seen of the fabric may be hours old.
	if l, err = askFabric(ctx, h, l, d, o); err != nil {
		return Result{}, err
	}
	return withHistory(ctx, h, l, d.Describe(), func(ctx context.Context) (Result, error) {
		return write(ctx, h, l, d, o)
	})
}

// ready is the look on which the change rests, checked once more. It has the modules loaded that a subnet
// manager needs. New ones may make the port visible, and what only the port shows is checked then.
func ready(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request) (*found.Look, error) {
	// At most two rounds: the second one sees what the modules have made visible.
	for loaded := false; ; loaded = true {
		now, err := renew(ctx, h, l)
		if err != nil || loaded && now == l {
			return now, err
		}
		l = now
		if err = refuse(l, judge.Check(l, d, judge.PlanFacts{})); err != nil {
			return nil, err
		}
		if loaded || judge.IsSettled(l, d) {
			return l, nil
		}
		if err = loadModules(ctx, h, l); err != nil {
			return nil, err
		}
	}
}

// refuse makes an error of what blocks.
func refuse(l *found.Look, all []finding.Finding) error {
	return safety.Refusal("run subnet manager "+l.Host+"/"+l.Port.String(), all)
}

// loadModules stores the modules for the boot as well. Without ib_umad systemd skips the unit without a word
// (ConditionPathExists), and says that the start went well.
func loadModules(ctx context.Context, h *hosts.Host, l *found.Look) error {
	plat, err := platform.Of(l.Snapshot)
	if err != nil {
		return err
	}
	return plat.EnsureModules(ctx, h, append([]string{"ib_umad"}, platform.RDMAModules(l.Snapshot)...)...)
}

// proveInPlace has nothing to write. The apply that wrote it may have failed because the port was
// not served, or what a master is to do was not in force. One that is repeated proves both.
func proveInPlace(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	// A standby proves nothing of its files: the master's are in force.
	if l.Role() == found.RoleStandby {
		return Result{Look: l}, nil
	}
	r, err := readBack(ctx, h, l, d, o)
	r.Changed = false
	return r, err
}

// write makes the change, and takes a change of keys back if it does not work.
func write(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	if judge.ChangesKeys(l, d) {
		return writeKeys(ctx, h, l, d, o)
	}
	return writeAll(ctx, h, l, d, o)
}

// writeAll puts the files there, has the instance use them, and proves that it works.
func writeAll(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (Result, error) {
	kept, err := writeFiles(ctx, h, l, d)
	if err == nil {
		err = start(ctx, h, l, d)
	}
	// Before the usual proof: with keys that do not fit the port looks served by the former master.
	if err == nil && judge.ChangesKeys(l, d) {
		err = proveKeys(ctx, h, l, o)
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
	// SIGHUP starts a sweep as well: memberships that changed are programmed at once.
	commands := append(forgetKeys(l, d), startCommands(l, judge.LacksOnlyBoot(l, d))...)
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
	r.Findings = append(judge.CheckFabric(d, view, o.Lab), judge.CheckPrefixTaken(r.Look, d.Tuning.SubnetPrefix)...)
	// The change is made. What would have refused it is told now, and blocks nothing.
	for i := range r.Findings {
		r.Findings[i].Severity = min(r.Findings[i].Severity, finding.Warn)
	}
	if why := r.Look.Silence(); why != "" {
		err = fmt.Errorf("the subnet manager of port %s was started, and whether %s runs and starts at boot is not known: %s",
			l.Port, r.Look.Unit, why)
	}
	return r, err
}
