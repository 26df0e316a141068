package ibsimtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// SM says how opensm runs.
type SM struct {
	Priority   int
	PortGUID   string   // -g; without it opensm takes the node's port
	Conf       string   // lines for opensm.conf, after force_log_flush, sm_priority and short timeouts
	Partitions string   // text of partitions.conf; "" is no file
	Args       []string // more options
	Dir        string   // working directory with cache, log and configuration; "" is a new one
}

// RunningSM is an opensm on the fabric.
type RunningSM struct {
	Dir string // has opensm.conf, opensm.log, the cache and the dump files
	f   *Fabric
	cmd *exec.Cmd
	out *transcript
}

// StartSM runs opensm on a node until the test ends. A standby of it takes over
// after four seconds: polling every second, two retries.
func (f *Fabric) StartSM(node string, sm SM) *RunningSM {
	f.t.Helper()
	Need(f.t, "opensm")
	r := &RunningSM{Dir: sm.Dir, f: f, out: &transcript{}}
	if r.Dir == "" {
		r.Dir = f.subdirectory("sm")
	}
	r.Write("opensm.conf", "force_log_flush TRUE\nsm_priority "+strconv.Itoa(sm.Priority)+
		"\nsminfo_polling_timeout 1000\npolling_retry_number 2\n"+sm.Conf)
	partitions := filepath.Join(r.Dir, "partitions.conf")
	if sm.Partitions != "" {
		r.Write("partitions.conf", sm.Partitions)
	}
	args := []string{realtool.Find("opensm"), "-F", filepath.Join(r.Dir, "opensm.conf"), "-f",
		filepath.Join(r.Dir, "opensm.log"), "-P", partitions}
	if sm.PortGUID != "" {
		args = append(args, "-g", sm.PortGUID)
	}
	r.cmd = f.command(context.WithoutCancel(f.t.Context()), node, r.Dir, append(args, sm.Args...)...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	stopAtEnd(f.t, r.cmd)
	return r
}

// Write puts a file into the working directory.
func (r *RunningSM) Write(name, text string) {
	r.f.t.Helper()
	if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o600); err != nil {
		r.f.t.Fatal(err)
	}
}

// Log is the text of opensm.log.
func (r *RunningSM) Log() string {
	data, err := os.ReadFile(filepath.Join(r.Dir, "opensm.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.f.t.Fatal(err)
	}
	return string(data)
}

// Output is what opensm printed.
func (r *RunningSM) Output() string { return r.out.String() }

// Wait waits until opensm has printed or logged text: "SUBNET UP", "Entering
// STANDBY state".
func (r *RunningSM) Wait(text string) *RunningSM {
	r.f.t.Helper()
	r.out.waitFor(r.f.t, "opensm: "+text, func() bool {
		return strings.Contains(r.Output(), text) || strings.Contains(r.Log(), text)
	})
	return r
}

// WaitLog waits until opensm has logged text, which it may print earlier.
func (r *RunningSM) WaitLog(text string) *RunningSM {
	r.f.t.Helper()
	r.WaitFor(text, func() bool { return strings.Contains(r.Log(), text) })
	return r
}

// WaitFor waits until done, which what describes.
func (r *RunningSM) WaitFor(what string, done func() bool) {
	r.f.t.Helper()
	r.out.waitFor(r.f.t, "opensm: "+what, done)
}

// Signal sends a signal, such as syscall.SIGHUP after a change of files.
func (r *RunningSM) Signal(s os.Signal) {
	r.f.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.f.t.Fatal(err)
	}
}

// Kill ends opensm without giving it a chance to say so.
func (r *RunningSM) Kill() { r.Signal(os.Kill); r.Status() }

// Status waits for the end of opensm and returns its exit status, -1 after a
// signal.
func (r *RunningSM) Status() int {
	r.f.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		r.f.t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// transcript is what a program prints.
type transcript struct{ realtool.Transcript }

func (t *transcript) count(text string) int { return strings.Count(t.String(), text) }

func (t *transcript) wait(tb testing.TB, who, text string) {
	tb.Helper()
	t.waitFor(tb, who+": "+text, func() bool { return t.count(text) > 0 })
}

func (t *transcript) waitFor(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v for %s; output:\n%s", patience, what, t)
		}
	}
}
