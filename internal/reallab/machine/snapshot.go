//go:build linux

package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

// original is a machine that has booted, without cards, and was kept as it then was: its
// disk and its memory. Machines that begin as its copies need no boot. It is made when it
// is first needed.
//
// A machine with a card cannot be kept, because a vfio-user function has no state that
// QEMU could carry over; so copies get their cards plugged in.
type original struct {
	accelerator string
	suite       string
	stack       netstack.Stack
	megabytes   int
}

// dir is where the original is kept. Its name holds all that it was made of.
func (o original) dir() string {
	m := o.machine("/")
	h := sha256.New()
	fmt.Fprintln(h, 1, guests[o.suite].dir(), emulator.dir(), o.stack, agentText, commandLine, m.arguments(o.accelerator))
	return filepath.Join(cache(), "reallab-booted-"+o.suite+"-"+hex.EncodeToString(h.Sum(nil))[:12])
}

// machine is the original as a machine in a directory.
func (o original) machine(dir string) *Machine {
	return off(Config{Name: "original", Dir: dir, Suite: o.suite, Stack: o.stack, Megabytes: o.megabytes})
}

// memoryFile has the memory of an original, and the state of its devices, as QEMU
// migrates them.
const memoryFile = "memory"

// ensure makes the original if it is not there. Two that need it make it once.
func (o original) ensure(ctx context.Context) error {
	unlock, err := lock(ctx, o.dir())
	defer unlock()
	if err != nil || exists(o.dir()) {
		return err
	}
	fresh := o.dir() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	begin := time.Now()
	fmt.Fprintf(os.Stderr, "reallab: booting a Debian %s with %s, once, to copy it later\n", o.suite, o.stack)
	m := o.machine(fresh)
	if err := m.keep(ctx); err != nil {
		return fmt.Errorf("reallab: boot the machine to copy: %w\n%s", err, m.Console(20))
	}
	for _, file := range []string{kernelFile, initrdFile} { // copies have them in memory
		if err := os.Remove(m.path(file)); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, o.dir()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "reallab: it is there after %s\n", time.Since(begin).Round(time.Second))
	return nil
}

// originalTimeout bounds a boot on a machine that has much else to do.
const originalTimeout = 6 * time.Minute

// keep boots a machine that has nothing yet, and keeps it as it then is.
func (m *Machine) keep(ctx context.Context) error {
	if err := m.identify(ctx); err != nil {
		return err
	}
	if err := m.install(ctx, agentFiles()); err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil {
		return err
	}
	defer m.Cut()
	if err := m.agent.await("ready", originalTimeout); err != nil {
		return errors.Join(err, m.Err())
	}
	const enough = 16 << 30 // bytes a second; QEMU's default is made for networks
	for _, c := range []struct {
		command   string
		arguments any
	}{
		{"stop", nil},
		{"migrate-set-parameters", map[string]any{"max-bandwidth": enough}},
		{"migrate", map[string]any{"uri": "file:" + m.path(memoryFile)}},
	} {
		if err := m.qmp.execute(c.command, c.arguments, nil); err != nil {
			return err
		}
	}
	return m.qmp.await("query-migrate", "completed", originalTimeout)
}

// restore lets a QEMU that was started for it run on from where the original was kept,
// gives the copy its identity and plugs its cards in.
func (m *Machine) restore(q *monitor, a *agent) error {
	memory := "file:" + filepath.Join(m.from.dir(), memoryFile)
	if err := q.execute("migrate-incoming", map[string]any{"uri": memory}, nil); err != nil {
		return err
	}
	const limit = 3 * time.Minute // seconds, unless the processors have much else to do
	if err := q.await("query-status", "paused", limit); err != nil {
		return err
	}
	if err := q.execute("cont", nil, nil); err != nil {
		return err
	}
	if err := a.run(takeOver(m.Config, m.files, time.Now()), limit); err != nil {
		return err
	}
	for i, sockets := range m.Cards {
		for _, f := range functions(i, sockets) {
			if err := q.execute("device_add", f, nil); err != nil {
				return err
			}
		}
	}
	if err := a.run(awaitFunctions(m.Cards), 2*limit); err != nil {
		return err
	}
	return a.close()
}

// prepare makes the original of a machine like this.
func (m *Machine) prepare(ctx context.Context) (err error) {
	if m.accelerator, err = accelerator(ctx); err != nil {
		return err
	}
	return m.origin().ensure(ctx)
}
