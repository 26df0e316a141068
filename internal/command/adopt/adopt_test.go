package adopt_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/adopt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// outcome is what a run of the command said and wrote.
type outcome struct {
	status   int
	out, err string
	folder   string
}

func (o outcome) file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(o.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func serve() tfprotov6.ProviderServer {
	server, _ := acctest.InProcess()
	return server
}

// run runs the command with the lab's SSH configuration.
func run(t *testing.T, w *acctest.Lab, args ...string) outcome {
	t.Helper()
	return runWith(t, sshConfig(t, w, ""), args...)
}

func runWith(t *testing.T, config string, args ...string) outcome {
	t.Helper()
	o := outcome{folder: t.TempDir()}
	var out, errs bytes.Buffer
	args = append([]string{"-config-file", config, "-out", o.folder}, args...)
	o.status = adopt.Command(serve).Run(t.Context(), args, command.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	o.out, o.err = out.String(), errs.String()
	return o
}

func port(n int) string { return strconv.Itoa(n) }

// sshConfig writes an SSH configuration in which every host of the lab is an alias.
func sshConfig(t *testing.T, w *acctest.Lab, more string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(more)
	for _, name := range w.Names() {
		at := w.Servers[name].Addr
		fmt.Fprintf(&b, "Host %s\n  HostName %s\n  Port %d\n  User %s\n", name, at.IP, at.Port, w.User(name))
	}
	fmt.Fprintf(&b, "Host *\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n", w.KeyFile(),
		w.KnownHostsFile())
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// mustApply brings a lab to where its example brings it.
func mustApply(t *testing.T, w *acctest.Lab, cfg acctest.Config) {
	t.Helper()
	ws := w.Workspace()
	plan, err := ws.Plan(t.Context(), cfg)
	if err != nil || plan.Diags.HasError() {
		t.Fatalf("plan: %v\n%s", err, plan.Diags)
	}
	if said, err := ws.Apply(t.Context(), plan); err != nil || said.HasError() {
		t.Fatalf("apply: %v\n%s", err, said)
	}
}

// What a person reads of the lab of the main scenario.
func TestAdopt_writesWhatAPersonWould(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	mustApply(t, w, w.BothHosts())
	o := run(t, w, labs.Intel9, labs.Xeon2zfs)
	if o.status != command.OK {
		t.Fatalf("ended with %d\n%s", o.status, o.err)
	}
	for name, want := range map[string]string{
		"cards.tf": `# ConnectX-3 Pro, MCX314A-BCCT, serial number MT1234X00001
resource "infiniband_card" "xeon2zfs" {
  host        = "xeon2zfs"
  pci_address = "0000:04:00.0"
}
`,
		"fabric.tf": `# opensm@0xe41d2d0300e44ed1.service
resource "infiniband_opensm" "intel9" {
  host      = "intel9"
  port_guid = infiniband_guids.intel9.port_guids["1"]
  priority  = 14

  depends_on = [infiniband_link_type.intel9]
}
`,
		"cables.tf": `data "infiniband_fabric" "intel9" {
  host       = "intel9"
  port_guid  = "0xe41d2d0300e44ed1"
  max_errors = {}

  expected_links = [
    { a = "intel9/1", b = "0x0002c902004a1b00/1", min_width = "4X", min_speed = "FDR" },
    { a = "intel9/2", b = "0x0002c902004a1b00/2", min_width = "4X", min_speed = "FDR" },
    { a = "xeon2zfs/1", b = "0x0002c902004a1b00/3", min_width = "4X", min_speed = "FDR" },
    { a = "xeon2zfs/2", b = "0x0002c902004a1b00/4", min_width = "4X", min_speed = "FDR" },
  ]
}

check "fabric_intel9" {
  assert {
    condition     = length(data.infiniband_fabric.intel9.differences[*].message) == 0
    error_message = join("\n", data.infiniband_fabric.intel9.differences[*].message)
  }
}

output "fabric_intel9" {
  description = "What differs from these cables. A change of it is drift."
  value       = data.infiniband_fabric.intel9.differences[*].message
}
`,
		"network.tf": `# ibs4d1, TrueNAS middleware
resource "infiniband_ipoib_interface" "xeon2zfs" {
  host      = "xeon2zfs"
  port_guid = infiniband_guids.xeon2zfs.port_guids["2"]
  mode      = "connected"
  mtu       = 9216
  addresses = ["172.16.0.10/24"]

  depends_on = [infiniband_link_type.xeon2zfs]
}
`,
		"imports.tf": `import {
  to = infiniband_ipoib_interface.xeon2zfs
  id = "xeon2zfs/0xe41d2d0300e44ee2"
}
`,
		".gitignore": ".terraform/\n*.tfstate*\n*.tfvars\n*.tfvars.json\nrun.log\n",
		"README.md":  "```mermaid\nflowchart TD\n",
	} {
		if text := o.file(t, name); !strings.Contains(text, want) {
			t.Errorf("%s has no\n%s\nin\n%s", name, want, text)
		}
	}
	says(t, o.err, "intel9: Ubuntu 24.04", "1 card", "Planned 11 resources")
	says(t, o.out, "infiniband_guids.intel9 intel9/0000:01:00.0", "terraform init && terraform plan")
}
