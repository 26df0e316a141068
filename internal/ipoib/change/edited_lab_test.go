package change_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// meansNothing are lines of our files whose words an edit may take away: they say nothing to the
// network stack.
func meansNothing(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// editsOf are the texts of a file with one line taken out, written twice with another value, or
// changed, by what was done.
func editsOf(text string) map[string]string {
	lines := strings.SplitAfter(text, "\n")
	edits := map[string]string{}
	for i, line := range lines {
		if meansNothing(line) {
			continue
		}
		with := func(other ...string) string {
			return strings.Join(slices.Concat(lines[:i], other, lines[i+1:]), "")
		}
		edits[fmt.Sprintf("line %d taken out: %s", i+1, strings.TrimSpace(line))] = with()
		for _, next := range []struct{ old, now string }{{"inet static", "inet manual"}, {"=manual", "=disabled"},
			{"=no", "=yes"}, {"=yes", "=no"}, {": false", ": true"}, {": true", ": false"}, {"inet6 static", "inet6 manual"},
			{"accept_ra 0", "accept_ra 1"}, {"pre-up", "post-up"}, {"autoconf 0", "autoconf 1"}, {"connected", "datagram"},
			{": []", ": [ipv6]"}, {"65520", "9000"}, {"172.16.0.20", "172.16.0.29"}, {"=none", "=random"},
			{"=ipoib", "=vlan"}, {"=0x8001", "=0x8002"}, {"=32769", "=32770"}, {"=managed\n", "=managed\n[ipv4]\nmay-fail=false\n"},
			{"type=infiniband\n", "type=infiniband\npermissions=user:kim\n"}} {
			if strings.Contains(line, next.old) {
				edits[fmt.Sprintf("line %d: %q as %q", i+1, next.old, next.now)] =
					with(strings.Replace(line, next.old, next.now, 1))
			}
		}
		for _, held := range []string{"mtu 65520", "MTUBytes=65520"} {
			if strings.Contains(line, held) {
				edits["twice: "+held] = with(line, strings.Replace(line, "65520", "9000", 1))
				edits["twice, ours last: "+held] = with(strings.Replace(line, "65520", "9000", 1), line)
			}
		}
	}
	return edits
}

// editedRequest has an interface with settings of every kind.
func editedRequest(pkey uint16) ipoib.Request {
	d := ubuntuDesired()
	d.Config.Addresses = prefixes("172.16.0.20/24", "172.16.1.20/24", "fd00::20/64")
	d.Config.Routes = routes("10.20.0.0/16", "172.16.0.1", "fd01::/64", "fd00::1")
	if pkey != 0 {
		d.PKey = pkey
	}
	return d
}

// The first lines of our files promise that what is changed there is shown by the next plan:
// whatever line is taken out or changed, an apply would write the file anew.
func TestLab_Stacks_every_line_counts(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		for _, pkey := range []uint16{0, 0x8001} {
			t.Run(fmt.Sprintf("%04x", pkey), func(t *testing.T) { everyLineCounts(t, c, editedRequest(pkey)) })
		}
	})
}

func everyLineCounts(t *testing.T, c stackCase, d ipoib.Request) {
	t.Helper()
	l := stackLab(t, c)
	apply(t, l, d)
	m, tried := l.Machine("intel9"), 0
	for _, at := range l.ownFiles(t) {
		text, mode := l.file("intel9", at), fs.FileMode(0o644)
		if f := l.snapshot(t, "intel9").Files[at]; f.Mode == "600" {
			mode = 0o600
		}
		for what, edited := range editsOf(text) {
			tried++
			m.FS.Put(at, edited, mode)
			l.hosts["intel9"].Invalidate()
			if len(observe(t, l, d).Differences(d.Config)) == 0 {
				t.Errorf("%s: nothing shows %s", at, what)
			}
		}
		m.FS.Put(at, text, mode)
	}
	l.hosts["intel9"].Invalidate()
	if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 || tried < 10 {
		t.Errorf("after %d edits, without any of them: %v", tried, diff)
	}
}

// ownFiles are the files that the first host has of this provider for interfaces.
func (l *testLab) ownFiles(t *testing.T) (all []string) {
	t.Helper()
	for at, f := range l.snapshot(t, "intel9").Files {
		if platform.IsOurs(f.Content) && at != platform.ModulesLoadPath {
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return all
}

// What a stack writes into our file by itself, and other spellings of the same, are no changes.
func TestLab_Stacks_what_says_the_same(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		c    stackCase
		edit *strings.Replacer
	}{
		"NetworkManager": {stackCases[3], strings.NewReplacer("type=", "timestamp=1700000000\ntype=",
			"[ipv6]\n", "[ipv6]\naddr-gen-mode=default\n", "[ipv4]\n", "[proxy]\n\n[ipv4]\n")},
		"netplan":  {stackCases[0], strings.NewReplacer("dhcp4: false", "dhcp4: no", "\"", "'")},
		"ifupdown": {stackCases[4], strings.NewReplacer("    ", "\t")},
		"networkd": {stackCases[2], strings.NewReplacer("=no", " = no")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := stackLab(t, tt.c)
			d := editedRequest(0)
			d.Config.Mode, d.Config.MTU = ib.ModeDatagram, 2044
			apply(t, l, d)
			text := l.file("intel9", tt.c.file)
			if strings.HasPrefix(tt.c.file, "/etc/NetworkManager") {
				text = text[strings.Index(text, "[connection]"):] // NetworkManager drops comments
			}
			l.Machine("intel9").FS.Put(tt.c.file, tt.edit.Replace(text), 0o600)
			l.hosts["intel9"].Invalidate()
			if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
				t.Errorf("%v of\n%s", diff, tt.edit.Replace(text))
			}
		})
	}
}
