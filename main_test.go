package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestQuietLogs_unlessTheUserAsks(t *testing.T) {
	const name = "TF_LOG_SDK"
	for asked, want := range map[string]string{"": "OFF", "DEBUG": ""} {
		for _, kv := range os.Environ() {
			if key, _, _ := strings.Cut(kv, "="); strings.HasPrefix(key, "TF_LOG") {
				t.Setenv(key, "")
			}
		}
		t.Setenv("TF_LOG", asked)
		t.Setenv(name, "")
		quietLogs()
		if got := os.Getenv(name); got != want {
			t.Errorf("TF_LOG=%q: %s is %q, want %q", asked, name, got, want)
		}
	}
}

// Core that is killed leaves its plugins behind; they must not live for ever.
func TestProvider_endsWhenItsParentIsGone(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the provider")
	}
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "provider")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), binary, "-version").Output(); err != nil ||
		!strings.HasPrefix(string(out), "terraform-provider-infiniband ") {
		t.Errorf("-version: %q, %v", out, err)
	}
	// The shell stands for core: it starts the provider and dies.
	shell := exec.CommandContext(t.Context(), "sh", "-c", `"$0" >"$1" 2>&1 & echo $!; sleep 1`, binary,
		filepath.Join(dir, "handshake"))
	shell.Env = append(os.Environ(),
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		"PLUGIN_PROTOCOL_VERSIONS=6")
	out, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for alive(pid) {
		select {
		case <-ctx.Done():
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the provider still runs")
		case <-time.After(100 * time.Millisecond):
		}
	}
	if hello, err := os.ReadFile(filepath.Join(dir, "handshake")); err != nil ||
		!strings.Contains(string(hello), "|grpc|") {
		t.Errorf("the provider never served: %q, %v", hello, err)
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestCollectGarbage(t *testing.T) {
	before := debug.SetGCPercent(usualGC)
	defer debug.SetGCPercent(before)
	for _, c := range []struct {
		set         string
		hosts, want int
	}{{"", 0, 400}, {"", 100, 400}, {"", 250, 160}, {"", 1000, 100}, {"50", 2, 77}, {"off", 2, 77}} {
		t.Setenv("GOGC", c.set)
		debug.SetGCPercent(77)
		collectGarbage(c.hosts)
		if got := debug.SetGCPercent(77); got != c.want {
			t.Errorf("GOGC=%q, %d hosts: %d percent, expected %d", c.set, c.hosts, got, c.want)
		}
	}
}
