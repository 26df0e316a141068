//go:build testbed && linux

// Package ibsim is the InfiniBand half of a kernel for hosts of the testbed: the
// ports of an adapter, and the files through which programs send management
// datagrams ("umad"), with the simulator ibsim as the fabric behind them. opensm
// and infiniband-diags run on such a host as they are.
//
// It replaces what libumad2sim does inside of each program by what the kernel does
// outside of all of them: many programs share a port, requests time out, answers
// go to the agent that asked, and long ones travel in segments (RMPP).
//
// It must not know hosts or the provider, nor answer a datagram itself: what a
// node says is ibsim's.
package ibsim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// patience bounds what ibsim takes to start and to answer.
const patience = 20 * time.Second

// Fabric is a running ibsim.
type Fabric struct {
	socket  string
	command *exec.Cmd
	console io.WriteCloser
	out     *realtool.Transcript
	turn    sync.Mutex // one command of the console at a time
}

var fabrics atomic.Int64

// Start runs ibsim on the text of a net file, which is written into dir.
func Start(dir, net string) (*Fabric, error) {
	// Abstract names of sockets are those of a network namespace, which tests in
	// one process share.
	f := &Fabric{socket: fmt.Sprintf("testbed-%d-%d", os.Getpid(), fabrics.Add(1)), out: &realtool.Transcript{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, f.socket+".net")
	if err := os.WriteFile(file, []byte(net), 0o600); err != nil {
		return nil, err
	}
	// The limits are those of 648 adapters on 36-port switches and then some.
	f.command = exec.Command("ibsim", //nolint:gosec,noctx // runs until Stop
		"-s", "-N", "4096", "-S", "1024", "-P", "65536", file)
	f.command.Stdout, f.command.Stderr = f.out, f.out
	f.command.Env = append(os.Environ(), "IBSIM_SOCKNAME="+f.socket)
	f.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if f.console, err = f.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := startForGood(f.command); err != nil {
		return nil, fmt.Errorf("ibsim: %w", err)
	}
	if err := f.wait(func(out string) bool { return strings.Contains(out, "sim> ") }); err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	return f, nil
}

// startForGood starts a program whose signal for the death of the parent must
// not come when merely a thread ends: it is started by one that never does.
func startForGood(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		select {}
	}()
	return <-started
}

// Stop ends the fabric. Ports that are attached to it are dead from then on.
func (f *Fabric) Stop() error {
	_ = f.console.Close()
	err := f.command.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	_ = f.command.Wait() // killed: its status says nothing
	return err
}

// Console gives ibsim a command: Unlink "node"[1], ReLink "node"[1], Guid, Error …
// What it complains about is an error.
func (f *Fabric) Console(command string) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	before := len(f.out.String())
	if _, err := io.WriteString(f.console, command+"\n"); err != nil {
		return fmt.Errorf("ibsim: %s: %w", command, err)
	}
	var said string
	err := f.wait(func(out string) bool {
		said = out[before:]
		return strings.Contains(said, "sim> ")
	})
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "# ") {
			return fmt.Errorf("ibsim: %s: %s", command, strings.TrimSpace(line))
		}
	}
	return err
}

// Output is all that ibsim printed.
func (f *Fabric) Output() string { return f.out.String() }

func (f *Fabric) wait(holds func(out string) bool) error {
	for end := time.Now().Add(patience); !holds(f.out.String()); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("ibsim does not answer in %v; it said:\n%s", patience, f.out)
		}
	}
	return nil
}

// socketOf is the abstract name of one of the sockets of ibsim or of a client. The
// zero behind it is part of the name.
func (f *Fabric) socketOf(kind string, number int) string {
	if number >= 0 {
		kind += strconv.Itoa(number)
	}
	return "@" + f.socket + ":" + kind + "\x00"
}
