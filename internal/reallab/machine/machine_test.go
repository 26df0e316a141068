//go:build linux

package machine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

func TestTakeOver(t *testing.T) {
	files := map[string]netstack.File{
		"/etc/hostname":            {Text: "one\n", Mode: 0o644},
		"/etc/ssh/ssh_host_key":    {Text: "-----BEGIN $KEY-----\n`id`\n", Mode: 0o600},
		homeOfUser + "/.ssh/other": {Text: "ssh-ed25519 AAAA\n", Mode: 0o600},
	}
	root := t.TempDir()
	script := takeOver(Config{Name: "one"}, files, time.Unix(1700000000, 5e6))
	if !strings.HasPrefix(script, "date -u -s @1700000000.005 ") || !strings.Contains(script, "hostname one\n") {
		t.Errorf("clock or name are not set:\n%s", script)
	}
	// What needs a machine of its own is only named.
	for _, dir := range []string{"/etc/ssh", "/run"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stubs := "date() { :; }; chown() { :; }; hostname() { :; }; systemctl() { :; }; kill() { :; }\n"
	for _, dir := range []string{"/etc/", "/home/", "/run/"} {
		script = strings.ReplaceAll(script, dir, root+dir)
	}
	if err := os.WriteFile(root+"/run/sshd.pid", []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-ec", stubs+script).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, script)
	}
	for path, f := range files {
		got, err := os.ReadFile(root + path)
		if err != nil || string(got) != f.Text {
			t.Errorf("%s: %q, %v", path, got, err)
			continue
		}
		if info, err := os.Stat(root + path); err != nil || uint32(info.Mode().Perm()) != f.Mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestOriginal_is_kept_by_what_it_is_made_of(t *testing.T) {
	base := original{tcg, Bookworm, netstack.Ifupdown, 768}
	dirs := map[string]original{base.dir(): base}
	for _, other := range []original{{kvm, Bookworm, netstack.Ifupdown, 768}, {tcg, Trixie, netstack.Ifupdown, 768},
		{tcg, Bookworm, netstack.Netplan, 768}, {tcg, Bookworm, netstack.Ifupdown, 512}} {
		if same, taken := dirs[other.dir()]; taken {
			t.Errorf("%v and %v are kept in one place", other, same)
		}
		dirs[other.dir()] = other
	}
	if again := (original{tcg, Bookworm, netstack.Ifupdown, 0}); again.dir() != base.dir() {
		t.Errorf("%s and %s for one size of memory", again.dir(), base.dir())
	}
}

var errSilent = errors.New("no answer")

func silent(context.Context) error { return errSilent }

// printing is a machine that is on, and has printed something.
func printing(t *testing.T, text string) *Machine {
	t.Helper()
	m := off(Config{Name: "it", Dir: t.TempDir()})
	m.ended = make(chan struct{})
	if err := os.WriteFile(m.ConsoleFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAwait_dead_ends(t *testing.T) {
	for _, end := range deadEnds {
		m := printing(t, "Loading\n"+end+": there\n")
		err := m.Await(t.Context(), silent)
		if err == nil || !errors.Is(err, errSilent) || !strings.Contains(err.Error(), "it does not come back") || !strings.Contains(err.Error(), end+": there") {
			t.Errorf("%s: %v", end, err)
		}
		m.printed = len("Loading\n" + end + ": there\n") // and was started again
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := m.Await(ctx, silent); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a machine that was started again after %q: %v", end, err)
		}
		cancel()
	}
}

func TestAwait_off(t *testing.T) {
	m := printing(t, "Power down\n")
	close(m.ended)
	m.err = errors.New("QEMU aborted")
	if err := m.Await(t.Context(), silent); !errors.Is(err, errOff) || !errors.Is(err, m.err) || !strings.Contains(err.Error(), "Power down") {
		t.Errorf("a machine that is off: %v", err)
	}
}

func TestAwait_answers_late(t *testing.T) {
	m, attempts := printing(t, "login:\n"), 0
	err := m.Await(t.Context(), func(context.Context) error {
		if attempts++; attempts < 3 {
			return errSilent
		}
		return nil
	})
	if err != nil || attempts != 3 {
		t.Errorf("%v after %d attempts", err, attempts)
	}
}
