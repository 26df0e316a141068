package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// demo is one run of the main job.
type demo struct {
	engine  *engine
	lab     *lab
	consent string // the -var argument that names the PSID change
}

// step is one thing that a user does, with what must hold afterwards.
type step struct {
	title string
	why   string
	do    func(*demo, context.Context) error
}

var steps = []step{
	{"The lab as it was bought", "Both cards run Ethernet-only firmware. No port can be InfiniBand.", (*demo).asBought},
	{"init", "The provider comes from a local folder, so no registry is asked.", (*demo).initialise},
	{"A plan without consent", "The image has another PSID than the cards. The plan refuses to burn it without consent, " +
		"and prints the line to add.", (*demo).refuse},
	{"The plan with consent", "The consent that the refusal printed is given with -var, because the example has a variable for it.", (*demo).plan},
	{"apply", "One card after the other: backup, burn, GUIDs. Then each host restarts once. After that link types, opensm " +
		"and IPoIB.",
		(*demo).apply},
	{"What the hosts themselves say", "Each host is asked with its own tools, past Terraform: firmware, links, subnet manager, addresses.",
		(*demo).evidence},
	{"A second plan", "The hosts match the configuration, so the plan is empty.", (*demo).checkSettled},
	{"Drift behind Terraform's back",
		"Somebody sets a port to Ethernet, changes an MTU and stops the subnet manager. The plan shows all three.",
		(*demo).drift},
	{"The next apply mends it", "One apply undoes all three changes. The plan after it is empty again.", (*demo).mend},
	{"The subnet manager alone stops, and fabric.svg is drawn anew",
		"One apply starts it again, and then draws fabric.svg with it. The plan after it is empty.",
		(*demo).managerStopped},
	{"destroy", "The configuration of opensm and IPoIB is removed. Packages and cards stay as they are, and the plan " +
		"says so.", (*demo).destroy},
}

func (d *demo) play(ctx context.Context) error {
	began := time.Now()
	for i, s := range steps {
		d.say("\n━━ %d/%d  %s\n   %s", i+1, len(steps), s.title, s.why)
		if err := s.do(d, ctx); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, s.title, err)
		}
	}
	d.say("\n━━ All %d steps held, in %s.", len(steps), time.Since(began).Round(time.Second))
	return nil
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.engine.out, format+"\n", args...) }

// expect runs the engine and checks its status and that every text is there.
func (d *demo) expect(ctx context.Context, status int, texts []string, args ...string) error {
	got, err := d.engine.run(ctx, args...)
	if err != nil {
		return err
	}
	if got.status != status {
		return fmt.Errorf("%s ended with status %d, expected %d", args[0], got.status, status)
	}
	for _, text := range texts {
		if !strings.Contains(flat(got.text), text) {
			return fmt.Errorf("%s did not print %q", args[0], text)
		}
	}
	return nil
}

// flat undoes the engine's line breaks and borders, so that a sentence can be
// looked for.
func flat(text string) string {
	text = strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

func (d *demo) asBought(ctx context.Context) error {
	return errors.Join(
		d.lab.show(ctx, "intel9", contains(psidEN), "mstflint", "-d", d.lab.pci["intel9"], "q"),
		d.lab.show(ctx, "xeon2zfs", contains(psidEN), "mstflint", "-d", d.lab.pci["xeon2zfs"], "q"),
	)
}

func (d *demo) initialise(ctx context.Context) error {
	return d.expect(ctx, 0, []string{"successfully initialized"}, "init", "-no-color")
}

func (d *demo) refuse(ctx context.Context) error {
	return d.expect(ctx, 1, []string{"Refusing to burn", "psid_change", psidEN, psidVPI}, "plan", "-no-color")
}

func (d *demo) plan(ctx context.Context) error {
	return d.expect(ctx, 0, []string{"to add, 0 to change, 0 to destroy"}, "plan", "-no-color", d.consent)
}

func (d *demo) apply(ctx context.Context) error {
	return d.expect(ctx, 0, []string{"Apply complete!"}, "apply", "-no-color", "-auto-approve", d.consent)
}

func (d *demo) checkSettled(ctx context.Context) error {
	return d.expect(ctx, 0, []string{"No changes."}, "plan", "-no-color", "-detailed-exitcode", d.consent)
}

func (d *demo) evidence(ctx context.Context) error {
	picture, err := os.ReadFile(filepath.Join(d.engine.dir, "fabric.svg"))
	if err != nil {
		return err
	}
	if err = contains("2 hosts, 2 cards, 1 switch, 4 links", "SM intel9")(string(picture)); err != nil {
		return fmt.Errorf("fabric.svg: %w", err)
	}
	d.say("fabric.svg: a picture of 2 hosts, 2 cards, 1 switch and 4 links")
	return d.lab.evidence(ctx)
}

func (d *demo) drift(ctx context.Context) error {
	if err := d.lab.drift(ctx); err != nil {
		return err
	}
	return d.expect(ctx, 2, []string{
		`infiniband_link_type.card["intel9"]`, `infiniband_ipoib_interface.fabric["xeon2zfs/2"]`, `infiniband_opensm.fabric`,
	}, "plan", "-no-color", "-detailed-exitcode", d.consent)
}

func (d *demo) mend(ctx context.Context) error {
	if err := d.apply(ctx); err != nil {
		return err
	}
	return errors.Join(d.checkSettled(ctx), d.evidence(ctx))
}

// managerStopped is drift of one resource that others only depend on.
func (d *demo) managerStopped(ctx context.Context) error {
	if err := d.lab.stopManager(ctx); err != nil {
		return err
	}
	if err := d.apply(ctx); err != nil {
		return err
	}
	return d.checkSettled(ctx)
}

// destroy checks that the firmware and the GUIDs are still on the cards, and
// the backups still on this machine.
func (d *demo) destroy(ctx context.Context) error {
	err := d.expect(ctx, 0, []string{"Destroy complete!", "Left as it is"}, "destroy", "-no-color", "-auto-approve",
		d.consent)
	if err != nil {
		return err
	}
	for _, host := range []string{"intel9", "xeon2zfs"} {
		if err = d.lab.show(ctx, host, contains(psidVPI), "mstflint", "-d", d.lab.pci[host], "q"); err != nil {
			return err
		}
	}
	backups, err := filepath.Glob(filepath.Join(d.engine.dir, "firmware-backups", "*", "*", "*", "firmware.bin"))
	if err != nil || len(backups) < 2 {
		return fmt.Errorf("expected the firmware of both cards in firmware-backups, found %d files: %w", len(backups), err)
	}
	d.say("\n  The firmware as it was before each change:")
	for _, b := range backups {
		info, err := os.Stat(b)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(d.engine.dir, b)
		if err != nil {
			return err
		}
		d.say("    %s  %d bytes", rel, info.Size())
	}
	return nil
}
