package nodenames

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
)

var realNames = Names{0xe41d2d0300e44ed0: "left", 0xe41d2d0300e44f10: "storage ä (1)", 0x0002c902004a1b00: "leaf-a"}

// The real iblinkinfo and opensm call nodes as the file does. Both find it in its standard place, where the test may
// put one for them alone.
func TestNames_are_what_the_tools_read(t *testing.T) {
	t.Parallel()
	ibsimtest.Need(t, "opensm", "unshare")
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	const node = "H-e41d2d0300e44ed0"
	at := filepath.Join(t.TempDir(), "map")
	if err := os.WriteFile(at, []byte(realNames.text()), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(where, said string) {
		t.Helper()
		for _, name := range []string{"left", "storage ä (1)", "leaf-a"} {
			if !strings.Contains(said, name) {
				t.Errorf("%s says nothing of %q:\n%s", where, name, said)
			}
		}
	}
	check("iblinkinfo", f.Run(node, "iblinkinfo", "-l", "--node-name-map", at).Stdout)
	said := f.Run(node, "iblinkinfo", "-l", "--node-name-map", "/dev/null").Stdout
	if !strings.Contains(said, "pve1 mlx4_0") {
		t.Errorf("without a map: %s", said)
	}
	if os.Getuid() != 0 || os.Getenv("GITHUB_ACTIONS") != "" {
		t.Skip("needs root for a file in /etc that only these programs see")
	}
	put := func(path string) string {
		dir := filepath.Dir(path)
		return "mkdir -p " + dir + " && mount -t tmpfs none " + dir + " && cp " + at + " " + path
	}
	r := f.Shell(node, "unshare -m sh -c '"+put(diagsPath)+" && iblinkinfo -l'")
	if r.Status != 0 && strings.Contains(r.Stderr, "permitted") {
		t.Skip("this machine lets nobody mount: " + r.Stderr)
	}
	check("iblinkinfo by itself", r.Stdout)
	dumps := t.TempDir()
	r = f.Shell(node, "OSM_TMP_DIR="+dumps+" unshare -m sh -c '"+put(opensmPath)+
		" && timeout 20 opensm -o -D 0x43 -f stdout'; cat "+dumps+"/*")
	check("opensm by itself", r.Stdout)
}

// What is read of a file is what was written, without what somebody has added.
func TestNames_are_read_as_they_are_written(t *testing.T) {
	t.Parallel()
	text := realNames.text() + "# 0x1 \"a\"\n0x2 \"b # c\"\nnonsense\n0x3 d\n"
	if diff := cmp.Diff(realNames, parse(text)); diff != "" {
		t.Error(diff)
	}
}
