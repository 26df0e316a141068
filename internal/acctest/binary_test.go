package acctest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// operator runs the engine with the built provider in a directory of its own.
type operator struct {
	t      *testing.T
	engine string
	dir    string
	binary string
}

func newOperator(t *testing.T, w *World, cfg Config) *operator {
	t.Helper()
	o := &operator{t: t, engine: Engine(t), dir: t.TempDir()}
	bin := filepath.Join(o.dir, "bin")
	o.binary = filepath.Join(bin, "terraform-provider-infiniband")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", o.binary, "../..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the provider: %v\n%s", err, out)
	}
	o.write("main.tf", Required+HCL(w.Provider(), cfg))
	// An override needs neither a registry nor init.
	o.write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"registry.terraform.io/ibfabric/infiniband\" = %[1]q\n"+
		"    \"registry.opentofu.org/ibfabric/infiniband\" = %[1]q\n  }\n  direct {}\n}\n", bin))
	return o
}

func (o *operator) write(name, text string) {
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	o.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, o.engine, append(args, "-no-color", "-input=false")...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(o.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// says runs the engine, which must end with a status, and gives what it printed
// with its line breaks undone.
func (o *operator) says(status int, args ...string) string {
	o.t.Helper()
	cmd, out := o.command(args...)
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != status {
		o.t.Fatalf("%v ended with %d, expected %d:\n%s", args, got, status, out)
	}
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(out.String())), " ")
}

// providers gives the processes that run the built provider.
func (o *operator) providers() []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == o.binary {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			if err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// The engine and its provider are killed while the card is being burned. The burn
// goes on on the host; the next plan says what happened, the next apply settles
// it, and the card was burned once.
func TestBinary_killed_in_the_middle_of_a_burn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds the provider's process in /proc")
	}
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: bought()})
	cfg := w.cardOnly(host)
	o := newOperator(t, w, cfg)
	w.Machine(host).Faults.Set(labsim.FaultSpec{FlashSlow: 50 * time.Millisecond})

	cmd, out := o.command("apply", "-auto-approve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.running(host, "b")
	pids := o.providers()
	if len(pids) == 0 {
		t.Fatal("no process runs the built provider")
	}
	for _, pid := range append(pids, cmd.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %d: %v", pid, err)
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the killed apply ended well:\n%s", out)
	}

	text := o.says(2, "plan", "-detailed-exitcode")
	if !strings.Contains(text, "an earlier apply did not finish") {
		t.Errorf("the plan does not say what happened:\n%s", text)
	}
	w.Machine(host).Faults.Clear()
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	once(t, w, host)
	node := NodeGUID(host)
	if running := w.Card(host).Running(); running.GUIDs[0] != node {
		t.Errorf("the card runs node GUID %x, expected %x", running.GUIDs[0], node)
	}
}

// Only the engine is killed: its provider notices and ends, although nobody tells
// it, and the job goes on.
func TestBinary_orphan_ends(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds the provider's process in /proc")
	}
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: bought()})
	o := newOperator(t, w, w.cardOnly(host)[:3])
	w.Machine(host).Faults.Set(labsim.FaultSpec{FlashSlow: 50 * time.Millisecond})
	cmd, _ := o.command("apply", "-auto-approve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.running(host, "b")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	began := time.Now()
	for len(o.providers()) > 0 {
		if time.Since(began) > 15*time.Second {
			t.Fatalf("the provider is still there %s after its engine was killed", time.Since(began))
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.Machine(host).Faults.Clear()
	o.says(0, "apply", "-auto-approve")
	if images, _ := burns(w, host); images != 1 {
		t.Errorf("burned %d times", images)
	}
}
