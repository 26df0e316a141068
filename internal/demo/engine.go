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
	"runtime"
	"strings"
)

// The version under which the built provider is offered to the engine.
const providerVersion = "0.1.0"

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
	fmt.Fprintf(e.out, "\n  $ %s %s\n", filepath.Base(e.path), strings.Join(args, " "))
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

// mirror lays the built provider out as a filesystem mirror in dir and writes
// the CLI configuration that makes either engine use it. Terraform and
// OpenTofu look the same source address up under different host names.
func mirror(dir, provider string) (rc string, err error) {
	for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		at := filepath.Join(dir, "mirror", registry, "ibfabric", "infiniband", providerVersion,
			runtime.GOOS+"_"+runtime.GOARCH)
		if err = os.MkdirAll(at, 0o755); err != nil {
			return "", err
		}
		if err = copyFile(provider, filepath.Join(at, "terraform-provider-infiniband_v"+providerVersion), 0o755); err != nil {
			return "", err
		}
	}
	rc = filepath.Join(dir, "terraformrc")
	text := fmt.Sprintf(`disable_checkpoint = true
provider_installation {
  filesystem_mirror {
    path    = %q
    include = ["registry.terraform.io/ibfabric/*", "registry.opentofu.org/ibfabric/*"]
  }
  direct {
    exclude = ["registry.terraform.io/ibfabric/*", "registry.opentofu.org/ibfabric/*"]
  }
}
`, filepath.Join(dir, "mirror"))
	return rc, os.WriteFile(rc, []byte(text), 0o600)
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, mode)
}
