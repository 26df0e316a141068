package apt

import (
	"maps"
	"slices"
	"testing"
)

// What is wanted of a package, such as a hold, says nothing of what is there.
func TestParseQuery(t *testing.T) {
	// dpkg-query 1.21.22 prints the three letters so.
	got := ParseQuery([]byte("opensm\tii \t3.3.23-3\nmstflint\thi \t4.21.0+1-1\nqperf\tri \t0.4.11-3\niperf3\tpi \t3.12-1\n" +
		"gone\trc \t4.26.0+1-1\nrdma-core\tun \t\nheld\thn \t\nhalf\tiU \t1\nheld-half\thF \t1\nbroken\tiiR\t1\n"))
	want := map[string]string{"opensm": "3.3.23-3", "mstflint": "4.21.0+1-1", "qperf": "0.4.11-3", "iperf3": "3.12-1"}
	if !maps.Equal(got, want) {
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
