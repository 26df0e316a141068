package acctest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

// UseEngine finds the engine to run, for the whole process: TF_ACC_TERRAFORM_PATH,
// else what is on PATH.
func UseEngine() {
	file := os.Getenv("TF_ACC_TERRAFORM_PATH")
	for _, name := range []string{"terraform", "tofu"} {
		if found, err := exec.LookPath(name); file == "" && err == nil {
			file = found
		}
	}
	if file != "" {
		_ = os.Setenv("TF_ACC_TERRAFORM_PATH", file)
	}
}

// Engine is the path of the engine that UseEngine found; without one the test is
// skipped.
func Engine(t testing.TB) string {
	t.Helper()
	file := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if file == "" {
		t.Skip("needs terraform or tofu on PATH or in TF_ACC_TERRAFORM_PATH; make test builds one")
	}
	return file
}

// run runs the engine with a server of its own, as an engine has one for each command. The error holds all that the
// engine printed.
func (s *Steps) run(args ...string) (stdout []byte, err error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	defer cancel()
	reattach, ended, err := serve(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.engine, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "TF_REATTACH_PROVIDERS="+reattach, "TF_CLI_CONFIG_FILE="+os.DevNull,
		"CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0")
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(args, " "), err, &out, &bad)
	}
	cancel()
	<-ended
	return out.Bytes(), err
}

// serve serves the provider in this process until the context ends, and gives what tells an engine where.
func serve(ctx context.Context) (reattach string, ended <-chan struct{}, err error) {
	server, err := InProcess()
	if err != nil {
		return "", nil, err
	}
	where, closed, failed := make(chan *plugin.ReattachConfig), make(chan struct{}), make(chan error, 1)
	const address = "ibfabric/infiniband"
	go func() {
		failed <- tf6server.Serve(address, func() tfprotov6.ProviderServer { return server },
			tf6server.WithDebug(ctx, where, closed), tf6server.WithoutLogStderrOverride(),
			tf6server.WithGoPluginLogger(hclog.New(&hclog.LoggerOptions{Output: io.Discard})))
	}()
	select {
	case at := <-where:
		entry := map[string]any{"Protocol": at.Protocol, "ProtocolVersion": at.ProtocolVersion, "Pid": at.Pid,
			"Test": at.Test, "Addr": map[string]string{"Network": at.Addr.Network(), "String": at.Addr.String()}}
		// Each engine has a registry of its own.
		text, wrong := json.Marshal(map[string]any{"registry.terraform.io/" + address: entry,
			"registry.opentofu.org/" + address: entry})
		return string(text), closed, wrong
	case err = <-failed:
		return "", nil, fmt.Errorf("serving the provider: %w", err)
	}
}
