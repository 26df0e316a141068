package opensm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

const resourceName = "infiniband_opensm"

// Options tune the waiting; the zero value is what users get.
type Options struct {
	// ProofTimeout is how long the port may take to become Active; zero means
	// 75 seconds, which covers a takeover from another SM (60 seconds).
	ProofTimeout time.Duration
	// Poll is the pause between two looks; zero means half a second.
	Poll time.Duration
	// Lab has the ports of all managed hosts, by which messages name the ports of the
	// fabric.
	Lab Lab
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

// Result is what Apply and Remove did.
type Result struct {
	Changed  bool        // something on the host was changed
	Observed Observation // read back after the change
	Warnings []string    // what the operator should know, one sentence each
	// Findings are what the fabric shows after the change. None blocks: it is done.
	Findings []finding.Finding
	Left     []string // of Remove: what stays on the host, one sentence each
}

// Apply makes the port's SM what d says, now and at boot. It is safe to repeat.
// It checks d again; what blocks is *safety.RefusedError. An SM that was set up and
// does not serve the port is *NotServingError.
func Apply(ctx context.Context, h *hosts.Host, d Request, o Options) (Result, error) {
	o = o.withDefaults()
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Result{}, err
	}
	if err = refuse(s, d); err != nil {
		return Result{}, err
	}
	before := Observe(s, d.PortGUID)
	if before.Settled(d) {
		return inPlace(ctx, h, s, d, o, before)
	}
	plat, err := platform.Of(s)
	if err != nil {
		return Result{}, err
	}
	if err = plat.EnsureModules(ctx, h, append([]string{"ib_umad"}, platform.RDMAModules(s)...)...); err != nil {
		return Result{}, err
	}
	// New modules may have made the port visible; what only the port shows is checked
	// now.
	if s, err = h.Snapshot(ctx); err != nil {
		return Result{}, err
	}
	if err = refuse(s, d); err != nil {
		return Result{}, err
	}
	if now := Observe(s, d.PortGUID); now.Settled(d) { // no more than modules was missing
		return inPlace(ctx, h, s, d, o, now)
	}
	if err = askFabric(ctx, h, s, d, o, plat); err != nil {
		return Result{}, err
	}
	return noted(ctx, h, Observe(s, d.PortGUID), d.PortGUID, d.words(), func(ctx context.Context) (Result, error) {
		return change(ctx, h, s, d, o, plat)
	})
}

// inPlace has nothing to write. The apply that wrote it may have failed because the port was
// not served, or what a master is to do was not in force. One that is repeated proves both.
func inPlace(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, d Request, o Options,
	now Observation) (Result, error) {
	if now.Role() != "" && !now.Master() {
		return Result{Observed: now}, nil
	}
	r, err := readBack(ctx, h, s, d, o)
	r.Changed = false
	return r, err
}

// change writes the files, has the instance use them, and proves that it works.
func change(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, d Request, o Options,
	plat platform.Platform) (Result, error) {
	before := Observe(s, d.PortGUID)
	kept, err := write(ctx, h, s, d, plat)
	if err != nil {
		return Result{Changed: true, Warnings: kept}, err
	}
	if err = effect(ctx, h, s, before, d); err != nil {
		return Result{Changed: true, Warnings: kept}, err
	}
	r, err := readBack(ctx, h, s, d, o)
	r.Warnings = append(r.Warnings, kept...)
	return r, err
}

// readBack waits for the proof that the started instance works.
func readBack(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, d Request, o Options) (Result, error) {
	notes, err := prove(ctx, h, s, d, o)
	if err != nil {
		return Result{Changed: true}, err
	}
	r, err := result(ctx, h, d, o)
	r.Warnings = append(r.Warnings, notes...)
	if why := r.Observed.Silence(); err == nil && why != "" {
		err = fmt.Errorf("the subnet manager of port %s was started, and whether %s runs and starts at boot is not known: %s",
			d.PortGUID, r.Observed.Unit, why)
	}
	return r, err
}

// askFabric refuses because of the fabric, just before the start. It installs
// infiniband-diags for the question, which opensm would need later anyway.
func askFabric(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, d Request, o Options,
	plat platform.Platform) error {
	if !s.Commands["sminfo"] {
		if err := plat.Install(ctx, h, plat.PackagesFor(platform.FeatureDiagnostics, s.OS.Kernel)...); err != nil {
			return err
		}
		var err error
		if s, err = h.Snapshot(ctx); err != nil {
			return err
		}
	}
	view, err := Survey(ctx, h, s, d.PortGUID)
	if err != nil {
		return err
	}
	found, err := CheckGroups(ctx, h, s, d, o.Lab)
	if err != nil {
		return err
	}
	return safety.Refusal("run subnet manager "+s.Host+"/"+d.PortGUID.String(),
		append(found, CheckFabric(d, view, o.Lab)...))
}

// write puts the files there and installs the package. The files come first: the
// package starts itself at once. It says which files it has kept, also if it fails: what is
// replaced shows no edit any more.
func write(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, d Request,
	plat platform.Platform) (kept []string, err error) {
	type file struct{ path, text string }
	files := []file{{opensm.DropInPath(d.PortGUID), dropInText(d.PortGUID)}}
	if len(d.Partitions) > 0 {
		files = append(files, file{opensm.PartitionsPath(d.PortGUID), opensm.PartitionsText(header(), d.Partitions)})
	}
	// The options come last: they name the partition file.
	files = append(files, file{opensm.ConfPath(d.PortGUID), d.conf().Text(header())})
	before := edits(s, d.PortGUID)
	keep := func(path string) error {
		said, failed := platform.KeepEdited(ctx, h, before, path)
		if said != "" {
			kept = append(kept, said)
		}
		return failed
	}
	if err = keep(opensm.TemplatePath); err != nil {
		return kept, err
	}
	if err = layoutOf(s).prepare(ctx, h, s, d.PortGUID); err != nil {
		return kept, err
	}
	for _, f := range files {
		if s.Files[f.path].Content == f.text {
			continue
		}
		if err = keep(f.path); err != nil {
			return kept, err
		}
		if err = platform.WriteFile(ctx, h, f.path, 0o644, f.text); err != nil {
			return kept, err
		}
	}
	return kept, plat.Install(ctx, h, plat.PackagesFor(platform.FeatureOpenSM, s.OS.Kernel)...)
}

// effect makes the instance use the files. Where opensm reads a file again on a signal,
// a signal is sent: it keeps the role and the registrations of the port.
func effect(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, before Observation, d Request) error {
	commands := layoutOf(s).startCommands(s, d.PortGUID, before.lacksOnlyBoot(d))
	if before.rereads(d) {
		commands = []shellcmd.Command{systemctl.Kill("HUP", before.Unit), coreutils.Touch(rereadPath(d.PortGUID))}
	}
	if err := run(ctx, h, commands...); err != nil {
		return fmt.Errorf("starting the subnet manager of port %s: %w", d.PortGUID, err)
	}
	return nil
}

// lacksOnlyBoot reports whether the instance runs as it should, and nothing starts it at boot.
func (o Observation) lacksOnlyBoot(d Request) bool {
	o.Enabled = fact.Known(true)
	return o.Settled(d)
}

// rereads reports whether the running instance takes the change on SIGHUP.
func (o Observation) rereads(d Request) bool {
	if !fact.Yes(o.Active) || !fact.Yes(o.Enabled) || !fact.Yes(o.IsSM) || o.Priority < 0 || o.PartitionError != "" {
		return false
	}
	if !o.Managed || o.Older != "" { // it runs with other files, and would read those again
		return false
	}
	for _, path := range o.Edited {
		// It is not known what the running opensm has taken from a file that was edited.
		if path != opensm.PartitionsPath(d.PortGUID) {
			return false
		}
	}
	was := Request{PortGUID: d.PortGUID, Priority: o.Priority, Tuning: o.Tuning, Partitions: o.Partitions}
	return !opensm.NeedsRestart(was.conf(), d.conf()) && opensm.SameGroups(o.Partitions, d.Partitions)
}

// refuse checks again just before the change.
func refuse(s *inventory.Snapshot, d Request) error {
	return safety.Refusal("run subnet manager "+s.Host+"/"+d.PortGUID.String(), Check(s, d, PlanFacts{}))
}

// result reads back; an SM that has become a standby is asked about its master.
func result(ctx context.Context, h *hosts.Host, d Request, o Options) (Result, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Result{Changed: true}, err
	}
	r := Result{Changed: true, Observed: Observe(s, d.PortGUID)}
	view, err := Survey(ctx, h, s, d.PortGUID)
	if err != nil {
		return r, err
	}
	r.Findings = append(CheckFabric(d, view, o.Lab), checkTaken(s, d, r.Observed)...)
	for i := range r.Findings {
		r.Findings[i].Severity = min(r.Findings[i].Severity, finding.Warn)
	}
	return r, nil
}

func header() string { return platform.OwnedHeader(resourceName) }

func dropInText(port ib.GUID) string { return opensm.DropIn(header(), port) }

// Remove stops the port's SM and takes away what Apply left, nothing else.
func Remove(ctx context.Context, h *hosts.Host, port ib.GUID, _ Options) (Result, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Result{}, err
	}
	before := Observe(s, port)
	if err = before.unread(h.Name()); err != nil || !before.Managed {
		return Result{Observed: before,
			Left: []string{fmt.Sprintf("%s was not set up by Terraform and is left as it is.", before.Unit)}}, err
	}
	return noted(ctx, h, before, port, "none", func(ctx context.Context) (Result, error) {
		return remove(ctx, h, s, before, port)
	})
}

// remove stops an instance of ours.
func remove(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, before Observation,
	port ib.GUID) (Result, error) {
	stays := layoutOf(s).staying(s, port)
	after, err := layoutOf(s).forget(ctx, h, s, port)
	if err != nil {
		return Result{Changed: true}, err
	}
	failed := func(err error) error { return fmt.Errorf("stopping the subnet manager of port %s: %w", port, err) }
	if !absent(s, before.Unit) {
		if err = run(ctx, h, systemctl.Stop(before.Unit)); err != nil {
			return Result{Changed: true}, failed(err)
		}
	}
	kept, err := removeOurs(ctx, h, s, port, before)
	if err != nil {
		return Result{Changed: true, Left: kept}, err
	}
	if err = run(ctx, h, append([]shellcmd.Command{systemctl.DaemonReload()}, after...)...); err != nil {
		return Result{Changed: true, Left: kept}, failed(err)
	}
	if s, err = h.Snapshot(ctx); err != nil {
		return Result{Changed: true, Left: kept}, err
	}
	r := Result{Changed: true, Observed: Observe(s, port)}
	err = stillRuns(h.Name(), r.Observed)
	r.Left = slices.Concat(kept, before.stillMasked(), stays, []string{packageStays(r.Observed),
		"Ports keep their LIDs and state until they lose their link. Without another subnet manager no new port can join " +
			"the fabric."})
	return r, err
}

func packageStays(o Observation) string {
	if o.Installed == "" {
		return "The module ib_umad stays loaded, now and at boot."
	}
	return "The package opensm stays installed, and the module ib_umad stays loaded, now and at boot."
}

// removeOurs takes away our files, and our template unit if no other instance needs it. It
// says which files it has kept.
func removeOurs(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, port ib.GUID,
	before Observation) (kept []string, err error) {
	paths := []string{opensm.DropInPath(port), opensm.ConfPath(port), opensm.PartitionsPath(port)}
	if l := layoutOf(s); l.own && len(l.staying(s, port)) == 0 {
		paths = append(paths, opensm.TemplatePath)
	}
	for _, file := range paths {
		if !platform.IsOurs(s.Files[file].Content) {
			continue
		}
		var said string
		if said, err = platform.KeepEdited(ctx, h, before.Edits, file); err != nil {
			return kept, err
		}
		if said != "" {
			kept = append(kept, said)
		}
		if err = run(ctx, h, coreutils.RemoveFile(file)); err != nil {
			return kept, fmt.Errorf("removing %s: %w", file, err)
		}
	}
	// Drop-ins of others stay.
	return kept, run(ctx, h, coreutils.RemoveFile(rereadPath(port)),
		coreutils.RemoveEmptyDirectory(path.Dir(opensm.DropInPath(port))))
}

// unread is the error of files at our paths of which it is not known whether they are ours.
func (o Observation) unread(host string) error {
	if len(o.Unread) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s could not be read, so that it is not known what is ours", host,
		strings.Join(o.Unread, " and "))
}

// stillRuns is the error of an instance that was stopped and may still run.
func stillRuns(host string, o Observation) error {
	switch runs, known := o.Active.Get(); {
	case !known:
		return fmt.Errorf("%s: %s was stopped, and whether it still runs is not known: %s", host, o.Unit, o.Active.Why())
	case runs:
		return errors.New(host + ": " + o.Unit + " was stopped and still runs")
	}
	return nil
}
