package port

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Options tune the waiting; the zero value is what users get.
type Options struct {
	// Settle is how long a link may take to train; zero means 15 seconds.
	Settle time.Duration
	// Poll is the pause between two looks; zero means half a second.
	Poll time.Duration
}

func (o Options) withDefaults() Options {
	return Options{cmp.Or(o.Settle, 15*time.Second), cmp.Or(o.Poll, 500*time.Millisecond)}
}

// notSet is the error on a port that did not become what was asked for, or of which nothing shows it.
func notSet(d Request, o Observation, wrong []string) error {
	why := " The driver or the firmware of the card may not allow setting a port from the host. " +
		"ibportstate reports no error in that case."
	if !o.Enabled().Known() {
		why = ""
	}
	return fmt.Errorf("%s: the setting was made and stored for the next boot, but %s.%s", d.Name(),
		strings.Join(wrong, ", and "), why)
}

// Result is what Apply and Remove did.
type Result = managed.Result[Observation]

// note is what the host notes of a change of a port.
func note(before Observation, pci ib.PCIAddress, number int, to string) changes.Change {
	return changes.Change{What: changes.Port, Object: fmt.Sprintf("%s port %d", pci, number), From: before.words(), To: to}
}

// Apply makes the port what d says, now and at boot. It is safe to repeat. It
// checks d again; what blocks is *safety.RefusedError.
func Apply(ctx context.Context, h *hosts.Host, d Request, opt Options) (Result, error) {
	opt = opt.withDefaults()
	if err := prepare(ctx, h, d); err != nil {
		return Result{}, err
	}
	before, err := Look(ctx, h, d)
	if err != nil {
		return Result{}, err
	}
	// Speeds could not be checked before ibportstate was there.
	if err = refuse(ctx, h, d, before); err != nil {
		return Result{}, err
	}
	if len(before.Differences(d)) == 0 {
		return Result{Look: before}, nil
	}
	d.card = before.name
	return managed.Noted(ctx, h, note(before, d.Card, d.Number, d.words()), func(ctx context.Context) (Result, error) {
		return change(ctx, h, d, before, opt)
	})
}

// change stores the setting, makes it, and waits until the port shows it.
func change(ctx context.Context, h *hosts.Host, d Request, before Observation, opt Options) (Result, error) {
	kept, err := store(ctx, h, d, before)
	if err != nil {
		return Result{Warnings: kept}, err
	}
	r := Result{Changed: true, Warnings: kept}
	// Before the port itself: a change that cuts the session is made at the next boot at the latest.
	if err = platform.EnableUnit(ctx, h, UnitName(d.Card, d.Number)); err != nil {
		return r, err
	}
	// Not run for a port that is right: to set speeds is to train the link anew.
	if len(before.live(d)) > 0 {
		if _, err = h.Run(ctx, set(d, knowsExtended(before))); err != nil {
			return r, explain(err, before, d.Number)
		}
	}
	if r.Look, err = wait(ctx, h, d, opt); err == nil {
		r.Warnings = slices.Concat(kept, remarks(d, r.Look))
	}
	return r, err
}

// prepare checks d and provides what a look at the port needs.
func prepare(ctx context.Context, h *hosts.Host, d Request) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	o, err := Look(ctx, h, d)
	if err != nil {
		return err
	}
	if err = refuse(ctx, h, d, o); err != nil || len(o.Differences(d)) == 0 && (o.Link != nil || !d.tuned()) {
		return err
	}
	plat, err := platform.Of(s)
	if err != nil {
		return err
	}
	if missing(s) {
		if err = plat.Install(ctx, h, plat.PackagesFor(platform.FeatureDiagnostics, s.OS.Kernel)...); err != nil {
			return err
		}
	}
	return plat.EnsureModules(ctx, h, append([]string{umad}, platform.RDMAModules(s)...)...)
}

func refuse(ctx context.Context, h *hosts.Host, d Request, o Observation) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	return safety.Refusal(fmt.Sprintf("set port %s/%s/%d", s.Host, d.Card, d.Number), Check(s, d, o, PlanFacts{}))
}

// store writes what sets the port again at every boot. It comes before the change: if the
// run ends in between, the next boot is right.
func store(ctx context.Context, h *hosts.Host, d Request, before Observation) (kept []string, err error) {
	for _, f := range []struct {
		path, text string
		mode       uint32
	}{{scriptPath, script, 0o755}, {UnitPath(d.Card, d.Number), unit(d, knowsExtended(before)), 0o644}} {
		said, err := platform.KeepEdited(ctx, h, before.Edits, f.path)
		if err != nil {
			return kept, err
		}
		kept = append(kept, said...)
		if err := platform.WriteFile(ctx, h, f.path, f.mode, f.text); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// setTimeout is more than the script waits: for the card and the link, and twenty seconds for
// each of at most nine calls of ibportstate.
const setTimeout = 5 * time.Minute

// set runs the same program as the service, from the same text.
func set(d Request, extended bool) shellcmd.Command {
	return shellcmd.Script("set-port", script, arguments(d, extended)...).AsRoot().Changes().WithTimeout(setTimeout)
}

// wait waits until the port is as asked, and its link is up if it had one.
func wait(ctx context.Context, h *hosts.Host, d Request, opt Options) (Observation, error) {
	deadline := time.Now().Add(opt.Settle)
	for {
		h.Invalidate()
		o, err := Look(ctx, h, d)
		if err != nil {
			return o, err
		}
		wrong := o.live(d)
		// A link that does not come up is no failure of the setting, see remarks; it is waited for until the deadline.
		settled := len(wrong) == 0 && (!d.Enabled || o.Physical == "LinkUp")
		if settled || time.Now().After(deadline) {
			if len(wrong) > 0 {
				return o, notSet(d, o, wrong)
			}
			return o, nil
		}
		if err := poll.Pause(ctx, opt.Poll); err != nil {
			return o, err
		}
	}
}

// explain adds what a failure of the script means. o is the port before.
func explain(err error, o Observation, number int) error {
	const cannot = "ibportstate of rdma-core 56.0 to 60.0 opens no port that is down, and no other port of its device " +
		"has a link. The setting is stored for the next boot. "
	exit := (*host.ExitError)(nil)
	switch failed := errors.As(err, &exit); {
	case failed && exit.Status == staysDisabled:
		return fmt.Errorf("the port stays disabled: "+cannot+"Restart the host: the driver starts the port enabled. The "+
			"driver ib_qib starts it disabled, and there it takes another release of rdma-core: %w", err)
	case failed && exit.Status == leftDisabled:
		return fmt.Errorf("the port is disabled now. It was disabled so that its link trains anew, and ibportstate could "+
			"not enable it again. The setting is stored for the next boot. Apply again, or enable the port on the host: "+
			"sudo ibportstate -C %s -P %d -D 0 %[2]d enable: %w", o.Device, number, err)
	case failed && exit.Status == otherCard:
		return fmt.Errorf("the slot has another card than the one that was read, or it cannot be told. Nothing was set. "+
			"Plan again: %w", err)
	case failed && exit.Status == noLink:
		return fmt.Errorf("the port has no link and was not set: "+cannot+"It is made then if the port gets a link within "+
			"30 seconds. Apply again once the port has a link: %w", err)
	}
	return fmt.Errorf("setting the port: %w", err)
}

// initialLID is what ibportstate writes as LID and SM LID of a port of a host
// that has none yet (infiniband-diags 44, seen on ibsim); a subnet manager
// replaces it.
const initialLID = 0x1234

func remarks(d Request, o Observation) []string {
	var all []string
	switch {
	case !d.Enabled:
	case o.Physical != "LinkUp":
		all = append(all, fmt.Sprintf("The port is enabled and has no link (%s): check the cable, and that the other end is "+
			"on and allows a common speed and width.", o.Physical))
	case o.State != "Active" && (o.SMLID == 0 || o.SMLID == initialLID):
		all = append(all, fmt.Sprintf("The link is up and the port is %s: no subnet manager has set it up yet.", o.State))
	}
	return all
}

// Remove takes away what Apply left for the next boot. The port stays as it is.
func Remove(ctx context.Context, h *hosts.Host, pci ib.PCIAddress, number int) (Result, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Result{}, err
	}
	o := Observe(s, pci, number)
	if !o.Stored {
		return Result{Look: o}, nil
	}
	return managed.Noted(ctx, h, note(o, pci, number, o.word()+", nothing at boot"),
		func(ctx context.Context) (Result, error) { return forget(ctx, h, s, o, pci, number) })
}

// forget removes what sets the port at boot.
func forget(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, o Observation, pci ib.PCIAddress,
	number int) (Result, error) {
	if _, err := h.Run(ctx, systemctl.Disable(UnitName(pci, number))); err != nil {
		return Result{Look: o}, fmt.Errorf("disabling %s: %w", UnitName(pci, number), err)
	}
	paths := []string{UnitPath(pci, number)}
	// All ports share the program.
	if !othersStored(s, UnitPath(pci, number)) {
		paths = append(paths, scriptPath)
	}
	var kept []string
	var commands []shellcmd.Command
	for _, path := range paths {
		said, err := platform.KeepEdited(ctx, h, o.Edits, path)
		if err != nil {
			return Result{Look: o, Left: kept}, err
		}
		kept, commands = append(kept, said...), append(commands, coreutils.RemoveFile(path))
	}
	for _, cmd := range append(commands, systemctl.DaemonReload()) {
		if _, err := h.Run(ctx, cmd); err != nil {
			return Result{Look: o, Left: kept}, fmt.Errorf("removing %s: %w", UnitName(pci, number), err)
		}
	}
	stays := "as it is"
	if o.Enabled().Known() {
		stays = o.word()
	}
	left := fmt.Sprintf("The port stays %s until the driver is loaded again or the host restarts. Then firmware and "+
		"driver decide.", stays)
	return Result{Look: o, Left: append(kept, left)}, nil
}

func othersStored(s *inventory.Snapshot, except string) bool {
	for path := range s.Files {
		// By the files of the snapshot: a unit of another state counts as well.
		if path != except && strings.HasPrefix(path, "/etc/systemd/system/infiniband-port-") {
			return true
		}
	}
	return false
}
