package apt

import (
	"slices"
	"testing"
)

func TestParseQuery(t *testing.T) {
	got := ParseQuery([]byte("opensm\tii \t3.3.23-3\nmstflint\trc \t4.26.0+1-1\nrdma-core\tun \t\nhalf\tiU \t1\n"))
	if len(got) != 1 || got["opensm"] != "3.3.23-3" {
		t.Errorf("installed: %v", got)
	}
}

func TestInstall(t *testing.T) {
	cmd := Install("opensm", "mstflint")
	argv := cmd.Argv()
	for _, want := range []string{"DEBIAN_FRONTEND=noninteractive", "--no-install-recommends", "DPkg::Lock::Timeout=300",
		"Dpkg::Options::=--force-confold"} {
		if !slices.Contains(argv, want) {
			t.Errorf("%q is missing in %q", want, argv)
		}
	}
	if i := slices.Index(argv, "--"); i < 0 || !slices.Equal(argv[i+1:], []string{"opensm", "mstflint"}) {
		t.Errorf("packages are not behind --: %q", argv)
	}
	if !cmd.Root() || !cmd.Changing() || cmd.Timeout() == 0 {
		t.Error("an installation is a change by root with its own time limit")
	}
}
