package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The command of the guide, as it stands there, on hosts with those names.
func TestWatch_guide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../templates/guides/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(guide), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	arguments, ok := strings.CutPrefix(block, "terraform-provider-infiniband watch ")
	hosts := strings.Fields(arguments)
	if !ok || len(hosts) != 2 {
		t.Fatalf("the guide begins with %q", block)
	}
	lab, err := labs.Start(t.TempDir(), labsim.Options{Speed: 20}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	config := filepath.Join(t.TempDir(), "ssh_config")
	if err = os.WriteFile(config, []byte(lab.SSHConfig(nil)), 0o600); err != nil {
		t.Fatal(err)
	}
	out := newScreen()
	status := Command.Run(t.Context(), append([]string{"-config-file", config}, hosts...),
		command.Streams{In: strings.NewReader(""), Out: out, Err: out})
	if status != Nothing || strings.Count(out.String(), "no flash job is noted on this host") != len(hosts) {
		t.Errorf("status %d:\n%s", status, out)
	}
}
