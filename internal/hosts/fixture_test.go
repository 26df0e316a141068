package hosts

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// tree writes files below root; a value that begins with "->" is the target of
// a symbolic link.
func tree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "->"); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// program is a shell script that answers to exact arguments and fails on all
// others; an answer "status 3" sets the status.
func program(answers map[string]string) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\ncase \"$*\" in\n")
	for args, answer := range answers {
		status := "0"
		if rest, ok := strings.CutPrefix(answer, "status "); ok {
			status, answer, _ = strings.Cut(rest, "\n")
		}
		b.WriteString("'" + args + "')\ncat <<'EOT'\n" + strings.TrimSuffix(answer, "\n") + "\nEOT\nexit " + status + " ;;\n")
	}
	b.WriteString("esac\necho \"unexpected arguments: $*\"\nexit 99\n")
	return b.String()
}

// runCollect runs the real script on a fixture and returns its answer. The
// fixture's programs are in its /bin.
func runCollect(t *testing.T, root string) string {
	t.Helper()
	frame := shellcmd.NewFrame()
	text, err := shellcmd.Compose(collect.Command(collect.Places{
		Root: root, StateDir: inventory.StateDir, LockFile: filepath.Join(root, "lock"), Packages: packages,
	}), frame, shellcmd.Elevation{})
	if err != nil {
		t.Fatal(err)
	}
	// Only what is named here comes from this machine.
	own := filepath.Join(root, "bin")
	for _, name := range []string{"cat", "id", "stat", "flock", "timeout", "tail", "printf", "readlink", "grep", "sh",
		"find", "tr", "sha256sum"} {
		if path, err := exec.LookPath(name); err == nil {
			_ = os.Symlink(path, filepath.Join(own, name)) // may be there from an earlier run
		}
	}
	text = strings.ReplaceAll(text, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PATH="+own)
	var out, stderr bytes.Buffer
	scanner := &shellcmd.Scanner{Frame: frame, Sink: &out}
	run := exec.CommandContext(t.Context(), "/bin/sh", "-s")
	run.Stdin, run.Stdout, run.Stderr = strings.NewReader(text), scanner, &stderr
	run.Env = []string{"SSH_CONNECTION=192.0.2.1 50022 192.0.2.20 22"}
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	// Paths below the fixture are those of the real host to the reader.
	return strings.ReplaceAll(out.String(), root, "")
}

// fakeHost answers the collection with a text and counts what it is asked.
type fakeHost struct {
	host.Host
	runs    atomic.Int32
	mu      sync.Mutex
	answer  string
	err     error
	wait    chan struct{} // if set, Run waits for it
	started chan struct{} // if set, told when a collection begins
}

func (f *fakeHost) Name() string  { return "intel9" }
func (f *fakeHost) Drop()         {}
func (f *fakeHost) Observe() bool { return false }

func (f *fakeHost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if cmd.Changing() {
		return host.Result{}, f.failure()
	}
	f.runs.Add(1)
	if f.started != nil {
		f.started <- struct{}{}
	}
	if f.wait != nil {
		select {
		case <-f.wait:
		case <-ctx.Done():
			return host.Result{}, ctx.Err()
		}
	}
	if err := f.failure(); err != nil {
		return host.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return host.Result{Stdout: []byte(f.answer)}, nil
}

func (f *fakeHost) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *fakeHost) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeHost) Upload(context.Context, io.ReaderAt, int64, host.RemoteFile) error {
	return f.failure()
}

func (f *fakeHost) Fresh(context.Context) (host.FreshHost, error) { return &fakeFresh{f}, nil }

type fakeFresh struct{ *fakeHost }

func (f *fakeFresh) Close() error { return nil }

var errRefused = errors.New("refused")

// ownFacts runs the script on this machine.
func ownFacts(t *testing.T) string {
	t.Helper()
	realtool.Path(t, "ip")
	frame := shellcmd.NewFrame()
	text, err := shellcmd.Compose(collect.Command(collect.Places{
		StateDir: inventory.StateDir, LockFile: filepath.Join(t.TempDir(), "lock"), Packages: packages,
	}), frame, shellcmd.Elevation{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	run := exec.CommandContext(t.Context(), "/bin/sh", "-s")
	run.Stdin, run.Stdout = strings.NewReader(text), &shellcmd.Scanner{Frame: frame, Sink: &out}
	if err := run.Run(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
