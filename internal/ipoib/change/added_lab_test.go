package change_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
)

// byHand are lines that somebody adds to our file, and the name of what they set.
var byHand = map[ipoib.Stack][2]string{
	ipoib.StackNetplan:   {"      nameservers:\n        addresses: [1.1.1.1]\n", "nameservers.addresses"},
	ipoib.StackNetplanNM: {"      nameservers:\n        addresses: [1.1.1.1]\n", "nameservers.addresses"},
	ipoib.StackNM:        {"dns=1.1.1.1;\n", "ipv6.dns"},
	ipoib.StackNetworkd:  {"[Network]\nDNS=1.1.1.1\n", "Network.DNS"},
	ipoib.StackIfupdown:  {"    dns-nameservers 1.1.1.1\n", "dns-nameservers"},
}

func (l *testLab) append(path, more string) {
	l.Machine("intel9").FS.Put(path, l.file("intel9", path)+more, 0o600)
}

// What somebody adds to our file is named by each plan, and kept beside the file by the apply
// that writes it anew, each time, and by a removal. What was there is noted on the host.
func TestLab_Added_settings_are_named_and_kept(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l, d, hand := stackLab(t, c), ubuntuDesired(), byHand[c.stack]
		dir, base := c.file[:strings.LastIndex(c.file, "/")+1], c.file[strings.LastIndex(c.file, "/")+1:]
		kept := dir + "." + base + ".before-infiniband-e41d2d0300e44e01"
		apply(t, l, d)
		for _, end := range []string{"", ".2"} {
			l.append(c.file, hand[0])
			text := l.file("intel9", c.file)
			snap := l.snapshot(t, "intel9")
			all := judge.Check(found.At(snap, d.Ref()), d, judge.PlanFacts{})
			i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Rule == finding.FileEdited })
			if i < 0 || !found.At(snap, d.Ref()).ToDo(d) {
				t.Fatalf("the plan says %v", all)
			}
			mustContain(t, all[i].Evidence, c.file+" has line ", ": "+hand[1], "kept as ."+base+".before")
			r := apply(t, l, d)
			mustContain(t, strings.Join(r.Warnings, " "), hand[1], "is kept as "+kept+end+".")
			if now := l.file("intel9", c.file); l.file("intel9", kept+end) != text || strings.Contains(now, "1.1.1.1") {
				t.Errorf("kept is %q, in its place %q", l.file("intel9", kept+end), now)
			}
			if again := apply(t, l, d); again.Changed {
				t.Errorf("the second apply changed something: %+v", again)
			}
		}
		l.append(c.file, hand[0])
		l.snapshot(t, "intel9")
		r, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		if err != nil || !strings.Contains(l.file("intel9", kept+".3"), "1.1.1.1") || l.file("intel9", c.file) != "" {
			t.Errorf("after the removal: %v, %+v", err, r)
		}
		mustContain(t, strings.Join(append(r.Warnings, r.Left...), " "), "is kept as "+kept+".3.",
			"The file "+c.file+" with what somebody had added to it stays as "+kept)
		nothingOfOurs(t, l)
		for _, next := range l.records("intel9") {
			if next.To != "none" && !strings.Contains(next.From, "nothing of Terraform") {
				mustContain(t, next.From, c.file+" has line ", hand[1])
			}
		}
	})
}

// The note of a change says what of our files was not there, or could not be read.
func TestLab_records_of_files_that_are_broken(t *testing.T) {
	t.Parallel()
	const file, rule = "/etc/netplan/60-infiniband-e41d2d0300e44e01.yaml",
		"/etc/udev/rules.d/70-infiniband-e41d2d0300e44e01.rules"
	for name, tt := range map[string]struct {
		edit string
		want string
	}{
		"no YAML": {"echo '# Managed by Terraform (ibfabric/infiniband).' > " + file + "; echo 'network: [' >> " + file,
			"; at boot " + file + ", which is not readable"},
		"no file": {"rm " + file, "; at boot connected, no MTU; " + file + " is not there"},
		"no rule": {"rm " + rule,
			"; at boot no mode, MTU 65520, 172.16.0.20/24; " + rule + " is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, d := startLab(t), ubuntuDesired()
			apply(t, l, d)
			runText(t, l, tt.edit)
			l.snapshot(t, "intel9")
			apply(t, l, d)
			all := l.records("intel9")
			from := all[len(all)-1].From
			if from != "connected, MTU 65520, 172.16.0.20/24"+tt.want {
				t.Errorf("from %q", from)
			}
		})
	}
}
