package opensm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

const (
	port1 = ib.GUID(0xe41d2d0300e44ed1)
	port2 = ib.GUID(0xe41d2d0300e44ed2)
)

func TestParseDefault(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Ports
		err  bool
	}{
		// The unit asks systemctl to start nothing then, and only this spelling is all ports.
		{"", Ports{}, false},
		{"# PORTS=ALL\n", Ports{}, false},
		{"PORTS=all\n", Ports{}, true},
		{"PORTS=ALL\n", Ports{All: true}, false},
		{"PORTS=\"ALL\"\n", Ports{All: true}, false},
		{"PORTS=NONE", Ports{}, false},
		{"PORTS=\"0xe41d2d0300e44ed1 0xe41d2d0300e44ed2\"\n", Ports{GUIDs: []ib.GUID{port1, port2}}, false},
		{"PORTS=0xe41d2d0300e44ed1\nPORTS='0xe41d2d0300e44ed2'\n", Ports{GUIDs: []ib.GUID{port2}}, false},
		{"PORTS=mlx4_0\n", Ports{}, true},
		// systemd drops spaces, and what no name is sets nothing: no shell reads the file.
		{" PORTS = ALL \n", Ports{All: true}, false},
		{"export PORTS=ALL\n[ -e x ] || PORTS=ALL\nPORTS_OLD=ALL\n", Ports{}, false},
		// A comment behind a value is a part of it, and quotes may end on another line.
		{"PORTS=\"ALL\" # mine\n", Ports{}, true},
		{"PORTS=ALL # mine\n", Ports{}, true},
		{"PORTS=\"0xe41d2d0300e44ed1\n0xe41d2d0300e44ed2\"\n", Ports{}, true},
		{"PORTS=0xe41d2d0300e44ed1\\\n 0xe41d2d0300e44ed2\n", Ports{}, true},
	} {
		got, err := ParseDefault(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.err {
			t.Errorf("%q: %v\n%s", tt.text, err, diff)
		}
	}
}

func TestEditDefault(t *testing.T) {
	for _, tt := range []struct {
		text  string
		ports []ib.GUID
		want  string
	}{
		{"# a\nPORTS=ALL\nB=1", []ib.GUID{port1}, "# a\nPORTS=\"0xe41d2d0300e44ed1\"\nB=1"},
		{"PORTS=ALL\nPORTS=NONE\n", nil, defaultNote + "PORTS=NONE\n"},
		{defaultNote + "PORTS=\"0xe41d2d0300e44ed1\"\n", nil, defaultNote + "PORTS=NONE\n"},
		{"PORTS = ALL\n", []ib.GUID{port1}, "PORTS=\"0xe41d2d0300e44ed1\"\n"},
		{"B=1", []ib.GUID{port1}, "B=1\n# Ports with a subnet manager; Terraform (ibfabric/infiniband) adds and removes its own.\nPORTS=\"0xe41d2d0300e44ed1\"\n"},
	} {
		got := EditDefault(tt.text, tt.ports)
		if got != tt.want {
			t.Errorf("%q: %q", tt.text, got)
		}
		if again := EditDefault(got, tt.ports); again != got {
			t.Errorf("%q: editing twice gives %q", tt.text, again)
		}
		back, err := ParseDefault(got)
		if diff := cmp.Diff(Ports{GUIDs: tt.ports}, back); diff != "" || err != nil {
			t.Errorf("%q reads back as %s %v", got, diff, err)
		}
	}
}

// A list is replaced only if it is what was read: another process may have added its port meanwhile.
func TestReplaceDefault(t *testing.T) {
	const other = "another process wrote this\n"
	for name, tt := range map[string]struct {
		was, is string // empty: no file
		status  int
	}{
		"as it was":  {"PORTS=NONE\n", "PORTS=NONE\n", 0},
		"changed":    {"PORTS=NONE\n", other, Stale},
		"made":       {"", other, Stale},
		"removed":    {"PORTS=NONE\n", "", Stale},
		"none there": {"", "", 0},
	} {
		dir := t.TempDir()
		list, fresh := filepath.Join(dir, "opensm"), filepath.Join(dir, ".opensm.new")
		for path, text := range map[string]string{list: tt.is, fresh: "PORTS=ALL\n"} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		argv := ReplaceDefault(fresh, tt.was, tt.was != "").Argv()
		argv = argv[len(argv)-7:] // without the lock, which is root's
		argv[4] = list
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		_ = cmd.Run()
		want := tt.is
		if tt.status == 0 {
			want = "PORTS=ALL\n"
		}
		text, _ := os.ReadFile(list)
		if status := cmd.ProcessState.ExitCode(); status != tt.status || string(text) != want {
			t.Errorf("%s: status %d, list %q", name, status, text)
		}
		if _, err := os.Stat(fresh); err == nil {
			t.Errorf("%s: the new list was left behind", name)
		}
	}
}

func TestDropIn(t *testing.T) {
	text := DropIn("# head\n", port1, false)
	if !strings.Contains(text, "\nExecStart=\nExecStart=/usr/sbin/opensm --config /etc/opensm/terraform-0xe41d2d0300e44ed1.conf --guid %I --log_file /var/log/opensm.%I.log\n") {
		t.Errorf("%s", text)
	}
	if g, ok := PortOfUnit(Unit(port1)); !ok || g != port1 {
		t.Errorf("PortOfUnit(%s) = %s, %t", Unit(port1), g, ok)
	}
	if unit, ok := UnitOfDropIn(DropInPath(port1)); !ok || unit != Unit(port1) {
		t.Errorf("UnitOfDropIn = %s, %t", unit, ok)
	}
	if _, ok := UnitOfDropIn("/etc/systemd/system/opensm.service.d/terraform-infiniband.conf"); ok {
		t.Error("opensm.service is an instance")
	}
	if _, ok := PortOfUnit("opensm.service"); ok {
		t.Error("opensm.service has a port")
	}
}

// systemd reads our template unit and the options of an instance as they are
// meant: it warns of keys and sections that it does not know.
func TestUnits_realSystemd(t *testing.T) {
	realtool.Path(t, "systemd-analyze")
	port := ib.MustParseGUID("0xe41d2d0300e44ed1")
	verify := func(dropIn string) string {
		dir := t.TempDir()
		for name, text := range map[string]string{filepath.Base(TemplatePath): Template("# ours\n"),
			Unit(port) + ".d/" + filepath.Base(DropInPath(port)): dropIn} {
			at := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o750), os.WriteFile(at, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("systemd-analyze", "verify", filepath.Join(dir, Unit(port)))
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
		out, _ := cmd.CombinedOutput() // its status does not count warnings
		var ours []string
		for line := range strings.Lines(string(out)) {
			// Not installed here is the program that the unit starts, and perhaps its manual.
			if strings.Contains(line, dir) && !strings.Contains(line, "/usr/sbin/opensm is not executable") {
				ours = append(ours, line)
			}
		}
		return strings.Join(ours, "")
	}
	if out := verify(DropIn("# ours\n", port, true)); out != "" {
		t.Error(out)
	}
	if out := verify("[Service]\nRestrat=always\n"); !strings.Contains(out, "Restrat") {
		t.Errorf("a mistake is not seen: %q", out)
	}
}
