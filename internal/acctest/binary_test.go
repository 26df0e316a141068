package acctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// programs is where the provider is built, if a test asked for it.
var programs string

// linked is the provider, linked once: a link takes seconds of both processors, and dozens of
// tests run it. Nobody writes to it.
var linked = sync.OnceValues(func() (string, error) {
	var err error
	if programs, err = os.MkdirTemp("", "acctest-"); err != nil {
		return "", err
	}
	at := filepath.Join(programs, "terraform-provider-infiniband")
	// Linked as a release is.
	link := exec.CommandContext(context.Background(), "go", "build", "-ldflags", "-s -w", "-o", at, "../..")
	if out, err := link.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the provider: %w\n%s", err, out)
	}
	return at, nil
})

// buildProvider gives the program that users get.
func buildProvider(t *testing.T) string {
	t.Helper()
	at, err := linked()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// nameProgram gives a program one more name. A copy could not be started while another test
// starts a process: that process has the file open for writing for a moment ("text file busy").
func nameProgram(program, name string) error { return os.Link(program, name) }

// operator runs the engine with the built provider in a directory of its own.
type operator struct {
	t      *testing.T
	engine string
	dir    string
	binary string
}

func newOperator(t *testing.T, w *Lab, cfg Config, built string) *operator {
	t.Helper()
	o := newFolder(t, built)
	o.write("main.tf", Required+HCL(w.Provider(), cfg))
	return o
}

// newFolder is an operator who has the provider and no configuration yet.
func newFolder(t *testing.T, built string) *operator {
	t.Helper()
	o := &operator{t: t, engine: Engine(t), dir: t.TempDir()}
	bin := filepath.Join(o.dir, "bin")
	// Of its own: an operator finds its provider's processes by this file.
	o.binary = filepath.Join(bin, "terraform-provider-infiniband")
	if err := errors.Join(os.Mkdir(bin, 0o700), nameProgram(built, o.binary)); err != nil {
		t.Fatal(err)
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	o.t.Cleanup(cancel)
	// In front of the arguments, which end with the file of a saved plan.
	words := 1
	if args[0] == "state" {
		words = 2
	}
	cmd := exec.CommandContext(ctx, o.engine, slices.Concat(args[:words], []string{"-no-color"}, args[words:])...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(o.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1",
		"TF_IN_AUTOMATION=1", "TF_INPUT=0")
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

// kill ends the engine and its provider, as a machine that fails does.
func (o *operator) kill(engine *exec.Cmd) error {
	pids := o.providers()
	if len(pids) == 0 {
		return errors.New("no process runs the built provider")
	}
	for _, pid := range append(pids, engine.Process.Pid) {
		// One that has ended since it was listed is as dead as is wanted.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill %d: %w", pid, err)
		}
	}
	return nil
}

// The engine and its provider are killed at each state of the journal, and while
// the card is being burned. What runs on the host goes on; the next plan says what
// happened, the next apply settles it, and nothing is done twice.
func TestBinary_killed_at_every_state(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds the provider's process in /proc")
	}
	t.Parallel()
	built := buildProvider(t)
	done := map[string]bool{}
	for _, m := range append(slices.Clone(moments), moment{"flash is being written", "", 0}) {
		if done[m.step] && !*allFaults {
			continue
		}
		done[m.step] = true
		t.Run(fmt.Sprint(m.step, " ", m.nth), func(t *testing.T) {
			t.Parallel()
			killedAt(t, built, m)
		})
	}
}

func killedAt(t *testing.T, built string, at moment) {
	t.Helper()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	o := newOperator(t, w, w.cardOnly(host), built)
	m := w.Machine(host)
	cmd, out := o.command("apply", "-auto-approve")
	var struck sync.Once
	strike := func() {
		struck.Do(func() {
			if err := o.kill(cmd); err != nil {
				t.Error(err)
			}
		})
	}
	if at.holds != "" {
		m.Faults.Trap(at.holds, at.nth, labsim.ProgramFault{Do: strike})
	} else {
		left := 154 // about half of the burn
		w.Card(host).Flash.SetHook(func(card.Op) error {
			if left--; left == 0 {
				strike()
			}
			return nil
		})
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the killed apply ended well:\n%s", out)
	}
	w.Card(host).Flash.SetHook(nil)
	m.Faults.Clear()

	text := o.says(2, "plan", "-detailed-exitcode")
	// Before, nothing was begun; what is being settled may be so by now.
	open := at.holds == "" || strings.HasPrefix(at.step, "job ") && at.step != "job is being settled"
	if open && !strings.Contains(text, "an earlier apply did not finish") && !strings.Contains(text, " now (job ") {
		t.Errorf("the plan does not say what happened:\n%s", text)
	}
	w.up(host)
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	once(t, w, host)
	node := NodeGUID(host)
	if flash, running := w.Flash(host), w.Card(host).Running(); running.GUIDs[0] != node || running.PSID != card.PSIDVPI ||
		flash.PSID != card.PSIDVPI {
		t.Errorf("in flash %s, running %s with node GUID %x, expected %x", flash.PSID, running.PSID, running.GUIDs[0], node)
	}
	backupHolds(t, w, host, card.PSIDEN)
}

// Only the engine is killed: its provider notices and ends, although nobody tells
// it, and the job goes on.
func TestBinary_orphan_ends(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds the provider's process in /proc")
	}
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	o := newOperator(t, w, w.cardOnly(host)[:3], buildProvider(t))
	w.Machine(host).Faults.Set(labsim.FaultSpec{FlashSlow: 50 * time.Millisecond})
	cmd, _ := o.command("apply", "-auto-approve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.waitForMstflint(host, "b")
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
