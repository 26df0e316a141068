package mstfwreset

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

var pci = ib.MustParsePCIAddress("0000:01:00.0")

// The level is named: the tool's own choice may be a restart of the host.
func TestReset_names_its_level(t *testing.T) {
	want := []string{"mstfwreset", "-d", "0000:01:00.0", "-l", "3", "r"}
	if diff := cmp.Diff(want, Reset(pci)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Offers(pci); got.String() != "mstreg -d 0000:01:00.0 --reg_name MFRL --get" || got.Changing() {
		t.Errorf("got %s", got)
	}
}

func TestParseOffers(t *testing.T) {
	captured, err := os.ReadFile("testdata/4.21-mstreg-mfrl.out")
	if err != nil {
		t.Fatal(err)
	}
	text := string(captured)
	for name, c := range map[string]struct {
		output        string
		whole, rescan bool
		fails         bool
	}{
		"captured":       {text, true, false, false},
		"no level 3":     {strings.Replace(text, "0x00000049", "0x00000041", 1), false, false, false},
		"not whole chip": {strings.Replace(text, "0x00000001", "0x00000002", 1), false, false, false},
		"needs a new scan": {strings.Replace(text, "rescan_required             | 0x00000000", "rescan_required | 1", 1),
			true, true, false},
		"no number": {strings.Replace(text, "0x00000049", "yes", 1), false, false, true},
		"cut":       {text[:strings.Index(text, "reset_type")], false, false, true},
		"empty":     {"", false, false, true},
	} {
		whole, rescan, err := ParseOffers(c.output)
		if whole != c.whole || rescan != c.rescan || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v, %v", name, whole, rescan, err)
		}
	}
}

// The script runs on a made-up host.
func TestLook(t *testing.T) {
	root := t.TempDir()
	for path, content := range map[string]string{
		"proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme hypervisor lm\n", "proc/12/comm": "opensm\n",
		"proc/13/comm": "bash\n",
		"sys/bus/pci/devices/0000:01:00.0/sriov_numvfs": "4\n", "sys/bus/pci/devices/0000:01:00.1/vendor": "0x15b3\n",
		"sys/bus/pci/devices/0000:02:00.0/vendor": "0x15b3\n", "bin/mstreg": "", "bin/lspci": "", "bin/mstfwreset": "",
	} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(root, "sys/bus/pci/devices/0000:01:00.0/driver")
	if err := os.Symlink("../../drivers/mlx5_core", link); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"grep", "readlink"} {
		file, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err = os.Symlink(file, filepath.Join(root, "bin", program)); err != nil {
			t.Fatal(err)
		}
	}
	script := answer.Functions + lookScript
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, "sh", root, pci.String())
	cmd.Env = []string{"PATH=" + filepath.Join(root, "bin")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseLook(string(out))
	want := Host{Lacks: []string{"setpci"}, Virtual: true, Managers: []int{12},
		Functions: []Function{{"0000:01:00.0", "mlx5_core", 4}, {"0000:01:00.1", "", 0}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func FuzzParseOffers(f *testing.F) {
	f.Add("reset_trigger | 0x00000049\nreset_type | 0x1\n")
	f.Fuzz(func(t *testing.T, output string) {
		if whole, _, err := ParseOffers(output); err == nil && whole && !strings.Contains(output, "reset_trigger") {
			t.Errorf("a reset out of nothing: %q", output)
		}
	})
}

func FuzzParseLook(f *testing.F) {
	f.Add("@begin 1\n@lacks setpci\n@function 0000:01:00.0 0 mlx5_core\n@end\n")
	f.Fuzz(func(t *testing.T, output string) {
		if h, err := ParseLook(output); err == nil && len(h.Functions) > 0 && !strings.Contains(output, "@function ") {
			t.Errorf("a function out of nothing: %q", output)
		}
	})
}

// The real tool takes the arguments: what it refuses is the card, or the machine.
func TestReset_is_understood(t *testing.T) {
	argv := Reset(ib.MustParsePCIAddress("fffe:ff:1f.7"))
	out, status := realtool.Run(t, argv[0], argv[1:]...)
	if status == 0 || strings.Contains(out, "usage:") || !strings.Contains(out, "-E- ") {
		t.Errorf("status %d:\n%s", status, out)
	}
}
