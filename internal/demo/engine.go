package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// engine runs Terraform or OpenTofu in a working directory and shows what it
// prints.
type engine struct {
	path string
	dir  string // working directory of the configuration
	rc   string // CLI configuration file
	out  io.Writer
}

// outcome is what one run of the engine printed and its exit status.
type outcome struct {
	status int
	text   string
}

func (e *engine) run(ctx context.Context, args ...string) (outcome, error) {
	fmt.Fprintf(e.out, "\n  $ %s %s\n", filepath.Base(e.path), typed(args...))
	cmd := exec.CommandContext(ctx, e.path, args...)
	cmd.Dir = e.dir
	cmd.Env = append(environment(), "TF_CLI_CONFIG_FILE="+e.rc, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	// A cancelled demo lets the engine finish what it does and save its state.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	var text strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(read)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			text.WriteString(lines.Text() + "\n")
			fmt.Fprintf(e.out, "    %s\n", lines.Text())
		}
	}()
	err := cmd.Run()
	_ = write.Close() // a pipe in memory
	<-done
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return outcome{status: exit.ExitCode(), text: text.String()}, nil
	}
	return outcome{text: text.String()}, err
}

// environment is the caller's without what would change how the engine behaves.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TF_") && !strings.HasPrefix(kv, "INFINIBAND_") {
			env = append(env, kv)
		}
	}
	return env
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, mode)
}
