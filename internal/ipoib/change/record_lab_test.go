package change_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	smchange "github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
)

const recordsPath = inventory.StateDir + "/changes"

// records are the changes that a host has noted, as they lie on its disk: the host may be
// out of reach.
func (l *testLab) records(name string) []changes.Change {
	noted, _ := changes.Parse(strings.Split(l.file(name, recordsPath), "\n"))
	return noted
}

// noted fails unless the last change that was to give d's addresses ended so.
func (l *testLab) noted(t *testing.T, outcome changes.Outcome, d ipoib.Request) {
	t.Helper()
	var last changes.Change
	for _, c := range l.records(d.Host) {
		address := func(p netip.Prefix) bool { return !strings.Contains(c.To, p.String()) }
		if c.What == changes.Network && !slices.ContainsFunc(d.Config.Addresses, address) {
			last = c
		}
	}
	if last.Outcome != outcome || !strings.Contains(last.Object, d.PortGUID.String()) || last.From == "" ||
		last.Operator != changes.Operator() {
		t.Errorf("noted is %+v, want %s; all:\n%s", last, outcome, l.file(d.Host, recordsPath))
	}
}

// What is made, changed and removed is noted, with what was there before.
func TestLab_records_of_networks_and_subnet_managers(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	sm := smDesired()
	if _, err := applySM(t.Context(), l.hosts["intel9"], sm, smchange.Options{}); err != nil {
		t.Fatal(err)
	}
	d := ubuntuDesired()
	apply(t, l, d)
	apply(t, l, d) // changes nothing
	run(t, l, "ip", "link", "set", "dev", "ibp1s0", "down")
	l.hosts["intel9"].Invalidate()
	apply(t, l, d)
	more := d
	more.Config.Addresses = prefixes("172.16.0.21/24")
	apply(t, l, more)
	if _, err := change.Remove(t.Context(), l.hosts["intel9"], more, change.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := stopSM(t.Context(), l.hosts["intel9"], ubuntuPort); err != nil {
		t.Fatal(err)
	}
	look, err := record.Read(t.Context(), l.hosts["intel9"])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range look.Changes(strings.TrimSpace) {
		if c.Time == "unknown" || c.By != changes.Operator() {
			t.Errorf("%+v", c)
		}
		got = append(got, strings.Join([]string{c.What, c.Object, c.From, c.To, c.End()}, " | "))
	}
	const smAs, link = "priority 14, standard options", "ipoib_interface | port 0xe41d2d0300e44e01 (ibp1s0) | "
	const first, second = "connected, MTU 65520, 172.16.0.20/24", "connected, MTU 65520, 172.16.0.21/24"
	want := []string{"opensm | port 0xe41d2d0300e44e01 | none | " + smAs + " | verified",
		link + "datagram, MTU 4092; nothing of Terraform at boot | " + first + " | verified",
		link + first + ", down | " + first + " | verified",
		link + first + " | " + second + " | verified", link + second + " | none | verified",
		"opensm | port 0xe41d2d0300e44e01 | " + smAs + " | none | verified"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A record that cannot be written is a warning, and the change is made.
func TestLab_records_that_cannot_be_written(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	l.Machine("intel9").FS.PutDir(recordsPath, 0o700, 0, 0) // where the file should be
	r, err := applySM(t.Context(), l.hosts["intel9"], smDesired(), smchange.Options{})
	if err != nil || !r.Changed {
		t.Fatalf("%+v, %v", r, err)
	}
	mustContain(t, strings.Join(r.Warnings, " "), "not noted on intel9")
	if r := apply(t, l, ubuntuDesired()); !strings.Contains(strings.Join(r.Warnings, " "), "not noted on intel9") {
		t.Errorf("warnings %q", r.Warnings)
	}
}
