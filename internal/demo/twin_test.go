package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A recording is served as a lab of ours is, and what is printed is about its own hosts.
func TestTwin_is_served(t *testing.T) {
	t.Parallel()
	l, err := open(t.TempDir(), "crossflash")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	file := filepath.Join(t.TempDir(), "lab.tar.gz")
	var out bytes.Buffer
	status := record.Command("test").Run(t.Context(), []string{"-config-file", filepath.Join(l.Dir, control.SSHConfigFile),
		"-yes", "-o", file, labs.Intel9, labs.Xeon2zfs}, command.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	if status != command.OK {
		t.Fatalf("record: status %d\n%s", status, &out)
	}
	from := source{name: file, images: []string{l.Images["fw-ConnectX3Pro-vpi.bin"].Path}, oneSwitch: true}
	made, err := from.open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	text := howTo(made, file, "/root", "/rc")
	for _, want := range []string{`      intel9 = { address = "intel9" }`, " check -config-file " + made.Dir + "/ssh_config intel9\n",
		"labsim power --dir " + made.Dir + " xeon2zfs cut", "cable --dir " + made.Dir + " intel9 0000:01:00.0 1 out",
		"xeon2zfs 0000:04:00.0 exchange"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, s := range []source{{name: filepath.Join(t.TempDir(), "no.tar.gz")}, {name: file, images: []string{"/nowhere"}}} {
		if _, err = s.open(t.TempDir()); !os.IsNotExist(err) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
