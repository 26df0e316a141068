//go:build testbed && linux

package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// exitReboot is how systemd-nspawn ends when its system wants to restart and it
// does not manage the unit that it runs in.
const exitReboot = 133

// startTimeout bounds one boot, up to the greeting of sshd. A boot takes under
// two seconds of a processor; machines may have much else to do.
const startTimeout = 3 * time.Minute

// boots bounds how many machines start at a time: more take longer altogether.
var boots = make(chan struct{}, max(2, runtime.NumCPU()))

// Boot switches the machine on and waits until sshd greets.
func (h *Host) Boot(ctx context.Context) error {
	boots <- struct{}{}
	defer func() { <-boots }()
	h.mu.Lock()
	if h.process != nil {
		h.mu.Unlock()
		return fmt.Errorf("testbed: host %s is on already", h.Name)
	}
	h.down = make(chan struct{})
	err := h.start()
	if err != nil {
		close(h.down)
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	return h.WaitSSH(ctx)
}

// start begins one boot: the card takes what is in flash, then the system runs.
// The caller holds the lock.
func (h *Host) start() error {
	for _, d := range h.slots {
		d.PowerOn()
	}
	h.boots++
	args := []string{
		"--quiet", "--directory=" + h.path("root"), "--machine=" + h.Name,
		"--register=no", "--keep-unit", "--console=pipe", "--network-namespace-path=" + h.netns(),
		"--resolv-conf=off", "--timezone=off", "--link-journal=no",
		"--bind=" + h.path("pci") + ":/sys/bus/pci/devices", "--bind=" + h.path("class") + ":/sys/class",
		"--bind=" + h.path("sys/class/net") + ":/sys/class/net",
		"--tmpfs=/sys/module", // the machine's modules are nobody's here
	}
	groups, err := cgroups(h.Name)
	if err != nil {
		return fmt.Errorf("testbed: host %s: %w", h.Name, err)
	}
	args = append([]string{"-c", enterCgroups, "systemd-nspawn"},
		append(args, "--boot", "--", "systemd.log_level=notice")...)
	cmd := exec.Command("/bin/sh", args...) //nolint:gosec,noctx // paths of ours; it runs until the host goes off
	cmd.Env = append(os.Environ(), "TESTBED_CGROUPS="+strings.Join(groups, " "))
	cmd.Stdout, cmd.Stderr = h.log, h.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("testbed: host %s: %w", h.Name, err)
	}
	h.process = cmd
	go h.watch(cmd)
	return nil
}

// watch waits for the end of a boot, and begins the next one if the system asked
// for it.
func (h *Host) watch(cmd *exec.Cmd) {
	err := cmd.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.process = nil
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitReboot && !h.noBoot {
		if err := h.start(); err == nil {
			return
		}
	}
	for _, d := range h.slots {
		d.PowerOff()
	}
	close(h.down)
}

// WaitSSH waits until sshd greets.
func (h *Host) WaitSSH(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := h.readGreeting(ctx)
		switch {
		case err == nil && h.letsIn():
			return nil
		case err == nil:
			err = errors.New("/run/nologin is still there")
		}
		select {
		case <-h.Down():
			return fmt.Errorf("testbed: host %s went off while it started:\n%s", h.Name, lastLines(h.Console(), 30))
		case <-ctx.Done():
			return fmt.Errorf("testbed: sshd of %s does not let anybody in: %w\n%s\n%s", h.Name, err, lastLines(h.Console(), 30),
				h.pendingJobs(context.WithoutCancel(ctx)))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// pendingJobs are what a boot that does not end waits for.
func (h *Host) pendingJobs(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := h.Exec(ctx, "systemctl --no-pager list-jobs; ps -eo pid,stat,wchan:32,args; journalctl -b --no-pager | "+
		"tail -n 30")
	if err != nil {
		out += err.Error()
	}
	return out
}

func (h *Host) readGreeting(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", h.Addr+":22")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	var text [4]byte
	if _, err := conn.Read(text[:]); err != nil || !bytes.Equal(text[:], []byte("SSH-")) {
		return fmt.Errorf("no greeting but %q: %w", text, err)
	}
	return nil
}

// letsIn reports whether users may log in: sshd greets earlier in the boot than
// pam_nologin lets anybody but root pass.
func (h *Host) letsIn() bool {
	pid, err := h.leader()
	if err != nil {
		return false
	}
	_, err = os.Lstat(fmt.Sprintf("/proc/%d/root/run/nologin", pid))
	return errors.Is(err, os.ErrNotExist)
}

// Down is closed when the machine goes off; a reboot is not off.
func (h *Host) Down() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down
}

func (h *Host) on() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process != nil
}

// Boots counts how often the machine was started.
func (h *Host) Boots() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.boots
}

// Console is what the system printed since the host was made.
func (h *Host) Console() string {
	text, err := os.ReadFile(h.path("console"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Cut takes the power away: every process dies at once, and the card is deaf.
// It waits until the machine is off.
func (h *Host) Cut() error {
	h.mu.Lock()
	for _, d := range h.slots {
		d.PowerOff()
	}
	cmd := h.process
	h.noBoot = true
	h.mu.Unlock()
	if cmd != nil {
		// Without its first process the whole system is gone; the container's own
		// process then ends by itself.
		for _, pid := range children(cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	select {
	case <-h.Down():
	case <-time.After(10 * time.Second):
		return fmt.Errorf("testbed: host %s does not go off", h.Name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noBoot = false
	return nil
}
