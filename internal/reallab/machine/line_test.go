//go:build linux

package machine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listenAt serves one connection at a socket of a new directory.
func listenAt(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err == nil {
			defer func() { _ = c.Close() }()
			serve(c)
		}
	}()
	return path
}

// emulatorOf answers each QMP command with the next lines.
func emulatorOf(t *testing.T, answers ...string) string {
	return listenAt(t, func(c net.Conn) {
		fmt.Fprintln(c, `{"QMP":{}}`)
		commands := bufio.NewScanner(c)
		for _, a := range append([]string{`{"return":{}}`}, answers...) {
			if !commands.Scan() || !json.Valid(commands.Bytes()) {
				t.Errorf("no command, but %q", commands.Text())
				return
			}
			fmt.Fprintln(c, a)
		}
	})
}

func TestMonitor(t *testing.T) {
	q, err := dialMonitor(emulatorOf(t,
		`{"event":"STOP","data":{}}`+"\n"+`{"return":{"status":"inmigrate"}}`,
		`{"return":{"status":"paused"}}`,
		`{"error":{"class":"GenericError","desc":"no such bus"}}`,
		`{"event":"SHUTDOWN","data":{"guest":true,"reason":"guest-reset"}}`+"\n"+`{"return":{}}`), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.await("query-status", "paused", time.Second); err != nil {
		t.Error(err)
	}
	if err := q.execute("device_add", map[string]any{"bus": "rp9"}, nil); err == nil || !strings.Contains(err.Error(), "device_add: no such bus") {
		t.Errorf("a refused command: %v", err)
	}
	if err := q.execute("cont", nil, nil); err != nil {
		t.Error(err)
	}
	if reason := q.wait(); reason != "guest-reset" {
		t.Errorf("the machine ended with %q", reason)
	}
	if err := q.execute("cont", nil, nil); err == nil {
		t.Error("a command to a QEMU that has ended went well")
	}
}

func TestMonitor_status_that_does_not_come(t *testing.T) {
	for status, answer := range map[string]string{
		"failed": `{"return":{"status":"failed","error-desc":"no space"}}`,
		"setup":  `{"return":{"status":"setup"}}`,
	} {
		q, err := dialMonitor(emulatorOf(t, answer), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		err = q.await("query-migrate", "completed", 0)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", status)) {
			t.Errorf("%s: %v", status, err)
		}
	}
}

func TestMonitor_nobody_there(t *testing.T) {
	if _, err := dialMonitor(filepath.Join(t.TempDir(), "none"), 50*time.Millisecond); err == nil {
		t.Error("connected to nothing")
	}
}

// shellAt is the shell of a machine on its serial line.
func shellAt(t *testing.T) *agent {
	t.Helper()
	a, err := dialAgent(listenAt(t, func(c net.Conn) {
		sh := exec.Command("sh")
		sh.Stdin, sh.Stdout, sh.Stderr = c, c, c
		fmt.Fprintln(c, "running\nready")
		_ = sh.Run()
	}), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgent(t *testing.T) {
	a, out := shellAt(t), filepath.Join(t.TempDir(), "out")
	if err := a.await("ready", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"one", "two"} {
		if err := a.run("echo "+word+" >>"+out+"\n", 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.run("grep -c . "+out+"\n", 5*time.Second); err != nil {
		t.Error(err)
	}
	if err := a.close(); err != nil {
		t.Error(err)
	}
}

func TestAgent_says_what_failed(t *testing.T) {
	a := shellAt(t)
	err := a.run("echo before it; cat /nonexistent; echo after it\n", 5*time.Second)
	if err == nil || !strings.Contains(err.Error(), "before it") || !strings.Contains(err.Error(), "/nonexistent") ||
		strings.Contains(err.Error(), "after it") || !strings.Contains(err.Error(), "failed: 1") {
		t.Errorf("a script that fails: %v", err)
	}
	silent := shellAt(t)
	if err := silent.run("sleep 5\n", 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), `no "done"`) {
		t.Errorf("a script that hangs: %v", err)
	}
}
