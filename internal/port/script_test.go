package port

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// slot is a tree of files with one card, and programs beside it: lspci, which shows a serial
// number, and ibportstate, which notes how it is called.
func slot(t *testing.T, serial string) (root string) {
	t.Helper()
	root = t.TempDir()
	device := "/sys/bus/pci/devices/0000:01:00.0/infiniband/mlx4_0"
	for path, text := range map[string]string{
		device + "/ports/1/state":                         "4: ACTIVE\n",
		"/sys/class/infiniband/mlx4_0/ports/1/phys_state": "5: LinkUp\n",
		"/sys/class/infiniband/mlx4_0/node_guid":          "e41d:2d03:00e4:4ed0\n",
		"/bin/lspci": "#!/bin/sh\ncat <<'END'\n01:00.0 Network controller: Mellanox\n\t\t\t[PN] Part number: " +
			"MCX354A-FCBT  \n\t\t\t[SN] Serial number: " + serial + "  \t\n\t\t\t[RV] Reserved: checksum good\nEND\n",
		"/bin/ibportstate": "#!/bin/sh\n[ \"$1\" = -V ] || echo \"$*\" >>" + root + "/asked\n",
	} {
		at := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The script sets a port of the card that the unit names and of no other one.
func TestScript_compares_the_card(t *testing.T) {
	const own, other = "MT1234X00000", "MT1234X00900"
	const guid, otherGUID = "e41d2d0300e44ed0", "e41d2d0300e49000"
	for name, c := range map[string]struct {
		shows string // the serial number that the card in the slot shows; its GUID is guid
		names []string
		sets  bool
	}{
		"itself":                          {own, []string{own, guid}, true},
		"itself with new GUIDs":           {own, []string{own, otherGUID}, true},
		"itself without GUIDs":            {own, []string{own, "-"}, true},
		"its serial number is lost":       {"", []string{own, guid}, true},
		"N/A is no serial number":         {"N/A", []string{own, guid}, true},
		"none is no serial number":        {"None", []string{own, guid}, true},
		"zeros are no serial number":      {"000-00", []string{own, guid}, true},
		"no serial number was read":       {own, []string{"-", guid}, true},
		"another card":                    {other, []string{own, otherGUID}, false},
		"another card with the same GUID": {other, []string{own, guid}, false},
		"another one, not read":           {"", []string{own, otherGUID}, false},
		"another one without a number":    {"", []string{"-", otherGUID}, false},
		"nothing that tells it":           {"", []string{own, "-"}, false},
		"a unit that names none":          {own, []string{"-", "-"}, false},
		"a unit of an earlier version":    {own, nil, false},
	} {
		// The plan sees what the boot will do.
		card := inventory.Card{Serial: fact.Known(c.shows), NodeGUID: ib.MustParseGUID(guid)}
		if parseName(c.names).names(nameOf(&card)) != c.sets {
			t.Errorf("%s: the plan and the boot would not agree", name)
		}
		for _, shell := range [][]string{{"sh"}, {"bash", "--posix"}, {"busybox", "sh"}} {
			if _, err := exec.LookPath(shell[0]); err != nil {
				continue
			}
			root := slot(t, c.shows)
			text := strings.NewReplacer("/sys/", root+"/sys/", "PATH=", "PATH="+root+"/bin:").Replace(script)
			args := append(slices.Clone(shell[1:]), "-c", text, "script", "0000:01:00.0", "1", "disable", "-", "-", "-")
			out, err := exec.CommandContext(t.Context(), shell[0], append(args, c.names...)...).CombinedOutput()
			asked, _ := os.ReadFile(filepath.Join(root, "asked"))
			exit, _ := errors.AsType[*exec.ExitError](err)
			switch {
			case c.sets && (err != nil || string(asked) != "-C mlx4_0 -P 1 -D 0 1 disable\n"):
				t.Errorf("%s, %s: %v, asked %q\n%s", name, shell, err, asked, out)
			case !c.sets && (exit == nil || exit.ExitCode() != otherCard || len(asked) > 0 ||
				!strings.HasPrefix(string(out), "nothing is set: 0000:01:00.0 has the card with ") ||
				strings.Count(string(out), "\n") != 1):
				t.Errorf("%s, %s: %v, asked %q\n%s", name, shell, err, asked, out)
			}
		}
	}
}

// faulty is slot with an ibportstate whose "enable" fails a number of times, and whose "disable"
// ends as told. A port that it has disabled shows so. sleep says that it was there and is short.
func faulty(t *testing.T, enableFails int, disable string) (root string) {
	t.Helper()
	root = slot(t, "MT1234X00000")
	state := root + "/sys/class/infiniband/mlx4_0/ports/1/phys_state"
	fails := filepath.Join(root, "fails")
	for path, text := range map[string]string{
		fails: strings.Repeat("x", enableFails),
		filepath.Join(root, "bin/ibportstate"): `#!/bin/sh
[ "$1" != -V ] || exit 0
echo "$8" >>'` + root + `/asked'
case $8 in
disable) ` + disable + ` ;;
enable)
  left=$(cat '` + fails + `')
  [ -z "$left" ] || { printf %s "${left#x}" >'` + fails + `'; echo 'enable failed' >&2; exit 1; }
  echo '5: LinkUp' >'` + state + `' ;;
esac
`,
		filepath.Join(root, "bin/sleep"): "#!/bin/sh\n: >'" + root + "/slept'\nexec /bin/sleep 0.1\n",
	} {
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "SET_OFF", "echo '3: Disabled' >'"+state+"'")),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// From the moment of disable on the script does what it can to enable the port again, and says
// if it could not.
func TestScript_enables_what_it_has_disabled(t *testing.T) {
	for name, c := range map[string]struct {
		enableFails int
		disable     string
		ended       bool // signals reach the script between disable and enable
		status      int
		says        string
		off         bool
	}{
		"as it should":            {disable: "SET_OFF"},
		"enable fails once":       {enableFails: 1, disable: "SET_OFF"},
		"enable fails for long":   {enableFails: 4, disable: "SET_OFF"},
		"enable fails for ever":   {enableFails: 99, disable: "SET_OFF", status: leftDisabled, says: "enable failed\n", off: true},
		"ended in between":        {disable: "SET_OFF", ended: true},
		"ended and failing":       {enableFails: 2, disable: "SET_OFF", ended: true},
		"disable fails":           {disable: "echo 'disable failed' >&2; exit 1", status: 4, says: "disable failed\n"},
		"disable works and fails": {disable: "SET_OFF; echo 'no answer' >&2; exit 1"},
		"disable and enable fail": {enableFails: 99, disable: "SET_OFF; exit 1", status: leftDisabled, says: "enable failed\n", off: true},
	} {
		for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
			if _, err := exec.LookPath(shell[0]); err != nil {
				continue
			}
			root := faulty(t, c.enableFails, c.disable)
			text := strings.NewReplacer("/sys/", root+"/sys/", "PATH=", "PATH="+root+"/bin:", "sleep ", root+"/bin/sleep ").Replace(script)
			args := append(slices.Clone(shell[1:]), "-c", text, "script", "0000:01:00.0", "1", "enable", "1", "-", "-",
				"MT1234X00000", "-")
			cmd := exec.CommandContext(t.Context(), shell[0], args...)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.ended {
				for range 1000 {
					if _, err := os.Stat(filepath.Join(root, "slept")); err == nil {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				for _, signal := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
					_ = cmd.Process.Signal(signal)
				}
			}
			_ = cmd.Wait()
			state, _ := os.ReadFile(filepath.Join(root, "sys/class/infiniband/mlx4_0/ports/1/phys_state"))
			asked, _ := os.ReadFile(filepath.Join(root, "asked"))
			if cmd.ProcessState.ExitCode() != c.status || strings.HasPrefix(string(state), "3:") != c.off || out.String() != c.says {
				t.Errorf("%s, %s: %s, port %q, asked %q\n%s", name, shell, cmd.ProcessState, state, asked, out.String())
			}
		}
	}
}

// What the statuses of the script mean is said with the command that helps.
func TestExplain(t *testing.T) {
	t.Parallel()
	exit := &host.ExitError{Host: "h", Command: "set-port", Status: leftDisabled, Stderr: "enable failed\n"}
	const want = "the port is disabled now. It was disabled so that its link trains anew, and ibportstate could not enable it " +
		"again. The setting is stored for the next boot. Apply again, or enable the port on the host: " +
		"sudo ibportstate -C mlx4_0 -P 2 -D 0 2 enable: "
	got := explain(exit, Observation{Device: "mlx4_0"}, 2)
	if !strings.HasPrefix(got.Error(), want) || !errors.Is(got, exit) {
		t.Errorf("got %v", got)
	}
}
