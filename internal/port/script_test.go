package port

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
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
