// Package ibsimtest runs whole InfiniBand subnets for tests: ibsim answers the
// management datagrams, and the real opensm and infiniband-diags run on it
// unchanged. It needs no privilege, no device, no TCP port; tests that use it
// are skipped where the programs are not installed (Debian and Ubuntu:
// ibsim-utils, libumad2sim0, opensm, infiniband-diags).
//
//	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
//	f.StartSM("H-e41d2d0300e44ed0", ibsimtest.SM{Priority: 5}).Wait("SUBNET UP")
//	r := f.Run("H-e41d2d0300e44ed0", "ibnetdiscover")
//
// What ibsim cannot do (versions 0.10 and 0.12): a client sees one port of its
// node as the device ibsim0, with the link layer "IB"; ibstatus and answers of
// saquery with more than one record do not work; MTU 2048 and "Could be 12X"
// are fixed; a running master is not reliably pre-empted by a higher priority,
// so start the higher one first; ten clients at once.
//
// It must not be imported by anything but tests.
package ibsimtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// patience bounds every program of the rig: a client that does not find its
// ibsim waits for ever without a word. The longest that is run asks 256 ports, which takes
// more than a minute on a machine with much other work.
const patience = 5 * time.Minute

// Need skips the test unless the rig and the named programs are installed.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range append([]string{"ibsim", "ibsim-run"}, programs...) {
		realtool.Path(t, name)
	}
}

// Fabric is a running ibsim.
type Fabric struct {
	t       testing.TB
	dir     string
	socket  string
	console io.WriteCloser
	out     *transcript
	serial  atomic.Int64
}

var fabrics atomic.Int64

// Start runs ibsim on the text of a net file until the test ends. It skips the
// test where ibsim or infiniband-diags are missing.
func Start(t testing.TB, net string) *Fabric {
	t.Helper()
	Need(t, "ibnetdiscover")
	f := &Fabric{t: t, dir: t.TempDir(), out: &transcript{}}
	// An abstract socket name: parallel tests and processes must not meet.
	f.socket = "ibsimtest-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(fabrics.Add(1), 10)
	file := filepath.Join(f.dir, "fabric.net")
	if err := os.WriteFile(file, []byte(net), 0o600); err != nil {
		t.Fatal(err)
	}
	// The limits are those of 648 adapters on 36-port switches and then some.
	alive := context.WithoutCancel(t.Context())
	cmd := exec.CommandContext(alive, realtool.Find("ibsim"), //nolint:gosec // the rig's own program
		"-s", "-N", "4096", "-S", "1024", "-P", "65536", file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.dir, f.out, f.out
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+f.socket)
	console, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.console = console
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, cmd)
	f.out.wait(t, "ibsim", "ready")
	return f
}

// stopAtEnd ends a program of the rig before the test's directory goes away.
func stopAtEnd(t testing.TB, cmd *exec.Cmd) {
	t.Cleanup(func() {
		if cmd.ProcessState != nil {
			return
		}
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // killed: its status says nothing
	})
}

// Console gives ibsim a command: Unlink "H-…"[1], ReLink "H-…"[1], Guid, Error …
func (f *Fabric) Console(command string) {
	f.t.Helper()
	before := f.out.count("sim> ")
	if _, err := io.WriteString(f.console, command+"\n"); err != nil {
		f.t.Fatal(err)
	}
	f.out.waitFor(f.t, "ibsim: "+command, func() bool { return f.out.count("sim> ") > before })
}

// Result is how a program ended.
type Result struct {
	Stdout, Stderr string
	Status         int
}

// Run runs a program as if on the node with the given id ("H-e41d2d0300e44ed0")
// or description.
func (f *Fabric) Run(node, program string, args ...string) Result {
	f.t.Helper()
	Need(f.t, program)
	// By name, because the tools begin their messages with it as it was given.
	return f.exec(node, "", append([]string{program}, args...)...)
}

// Shell runs the text of a POSIX shell script as if on the node.
func (f *Fabric) Shell(node, script string) Result {
	f.t.Helper()
	return f.exec(node, script, "/bin/sh", "-s")
}

func (f *Fabric) exec(node, stdin string, argv ...string) Result {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	cmd := f.command(ctx, node, f.subdirectory("run"), argv...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		f.t.Fatalf("%q on %s: %v\n%s%s\nibsim said:\n%s", argv, node, err, stdout.String(), stderr.String(), f.out)
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Status: cmd.ProcessState.ExitCode()}
}

// command runs a program under ibsim's umad library. It makes ./sys-PID in its
// working directory.
func (f *Fabric) command(ctx context.Context, node, dir string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, realtool.Find("ibsim-run"), argv...) //nolint:gosec // runs what the test names
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+f.socket, "SIM_HOST="+node, "LC_ALL=C",
		"PATH="+os.Getenv("PATH")+":"+"/usr/sbin:/usr/local/sbin:/sbin", "OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir)
	return cmd
}

func (f *Fabric) subdirectory(name string) string {
	dir := filepath.Join(f.dir, name+"-"+strconv.FormatInt(f.serial.Add(1), 10))
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	return dir
}

var (
	madDebug  = regexp.MustCompile(`(?m)^ibwarn: \[\d+\] sim_\w+: .*\n`)
	processID = regexp.MustCompile(`(?m)^(ibwarn|ibpanic|ibdebug): \[\d+\]`)
	generated = regexp.MustCompile(`(?m)^(# Topology file: generated on ).*$`)
)

// Normal takes out of an output what differs between two runs on one fabric:
// process ids, the date of a report, and what the umad library of ibsim says.
func Normal(output string) string {
	output = madDebug.ReplaceAllString(output, "")
	output = processID.ReplaceAllString(output, "$1: [PID]")
	return generated.ReplaceAllString(output, "${1}DATE")
}
