//go:build linux

package realflint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/fusetree"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
)

// run is one run of the tool.
type run struct {
	tmp, tool      string
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	cards          map[string]*access // on the bus, by address
}

// inOwnMounts runs the tool in mounts that nobody else sees, and that end with it. They are a thread's own: this one
// ends with its goroutine, which never unlocks it.
func (r *run) inOwnMounts(ctx context.Context) (status int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = r.mount(); err == nil {
			status, err = r.exec(ctx)
			_ = unix.Unmount(bus, unix.MNT_DETACH)
		}
	}()
	<-done
	return status, err
}

// Where a tool looks for cards: on the bus, and in what the vendor's own driver makes.
const (
	bus         = "/sys/bus/pci/devices"
	vendorsOwn  = "/dev/mst"
	temporaries = "/tmp" // the tool's locks are there, by the address of the card
)

func (r *run) mount() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a namespace of mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if err := unix.Mount(r.tmp, temporaries, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", temporaries, err)
	}
	if _, err := os.Stat(vendorsOwn); err == nil {
		if err = unix.Mount("none", vendorsOwn, "tmpfs", unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("hide %s: %w", vendorsOwn, err)
		}
	}
	return fusetree.Mount(bus, fusetree.Entry{Dir: func() map[string]fusetree.Entry {
		all := map[string]fusetree.Entry{}
		for bdf, a := range r.cards {
			all[bdf] = fusetree.Entry{Dir: a.files}
		}
		return all
	}})
}

// files are those of the function that a tool reads. Without a file for its memory it takes the configuration space.
func (a *access) files() map[string]fusetree.Entry {
	return map[string]fusetree.Entry{
		"vendor": fusetree.Line("0x%04x", registers.PCIVendor), "device": fusetree.Line("0x%04x", registers.DeviceID(a.card)),
		"subsystem_vendor": fusetree.Line("0x%04x", registers.PCIVendor),
		"subsystem_device": fusetree.Line("0x%04x", registers.PCISubsystem),
		"class":            fusetree.Line("0x%06x", registers.Class(a.card)), "config": {Regs: a},
	}
}

// afterSignal is how long the tool may clean up after a signal that it catches.
const afterSignal = 10 * time.Second

// exec starts the tool from this thread, in its mounts. A signal to the simulated process reaches it, and a power cut kills it.
func (r *run) exec(ctx context.Context) (int, error) {
	cmd := exec.CommandContext(ctx, r.tool, r.args[1:]...)
	cmd.Args[0], cmd.Dir = r.args[0], temporaries
	cmd.Env = []string{"PATH=" + labsim.DefaultPath, "LC_ALL=C"}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = r.stdout, r.stderr, afterSignal
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error {
		if s := (*labsim.SignalError)(nil); errors.As(context.Cause(ctx), &s) {
			return cmd.Process.Signal(s.Signal)
		}
		return cmd.Process.Kill()
	}
	// Wait must not wait for input that never comes.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err = cmd.Start(); err != nil {
		return 0, errors.Join(err, stdin.Close())
	}
	go func() { // ends with the session that has the input
		_, _ = io.Copy(stdin, r.stdin)
		_ = stdin.Close()
	}()
	err = cmd.Wait()
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		return 128 + int(state.Signal()), nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || ctx.Err() != nil {
		err = nil
	}
	return cmd.ProcessState.ExitCode(), err
}
