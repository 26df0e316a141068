package history

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

const (
	burned  = "20260101T000000Z-0000-01-00-0-0001"
	refused = "20260102T000000Z-0000-01-00-0-0002"
	guided  = "20260103T000000Z-0000-01-00-0-0003"
	other   = "20260104T000000Z-0000-01-00-0-0004"
	closed  = "6 verified 2026-01-01T00:01:10Z\n7 settled 2026-01-01T00:01:10Z\n"
)

// note puts a job into the journal of a host, as start.sh and job.sh write it.
func note(m *labsim.Machine, e journal.Entry, files map[string]string) {
	m.FS.PutDir(journal.Dir(e.ID), 0o700, 0, 0)
	e.PCI = ib.MustParsePCIAddress("0000:01:00.0")
	all := map[string]string{"request": e.Text(), "states": "1 requested 2026-01-01T00:00:00Z\n2 locked " +
		"2026-01-01T00:00:01Z\n4 burning 2026-01-01T00:00:02Z\n5 burned 2026-01-01T00:01:00Z\n", "exit": "0\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if text != "" {
			m.FS.Put(journal.Dir(e.ID)+"/"+name, text, 0o600)
		}
	}
}

func fill(m *labsim.Machine) {
	old := ib.Firmware{PSID: "MT_1090111023", FW: ib.MustParseFWVersion("2.36.5000")}
	fresh := ib.Firmware{PSID: "MT_1090111019", FW: ib.MustParseFWVersion("2.42.5000")}
	set := ib.GUIDSet{Node: 0xe41d2d0300e44ed0, MAC1: 0xe41d2de44ed0}
	again := set
	again.Node, again.MAC1 = 0xe41d2d0300e44ee0, 0xe41d2de44ee0
	note(m, journal.Entry{ID: burned, Kind: journal.Burn, Operator: "alice@desk pid 7", Before: old, After: fresh,
		GUIDsBefore: set, Backup: "/home/alice/backups/1"},
		map[string]string{"settled": "verified\n", "states": "1 requested 2026-01-01T00:00:00Z\n" +
			"4 burning 2026-01-01T00:00:02Z\n5 burned 2026-01-01T00:01:00Z\n" + closed})
	note(m, journal.Entry{ID: refused, Kind: journal.Burn, Operator: "bob\x1b[2J", Before: fresh, After: old, Restore: true},
		map[string]string{"exit": "70\n", "reason": "the card has PSID 'A'\n", "states": "1 requested 2026-01-02T00:00:00Z\n" +
			"5 failed 2026-01-02T00:00:01Z\n"})
	note(m, journal.Entry{ID: guided, Kind: journal.GUIDs, Operator: "carol", Before: fresh, GUIDsBefore: set,
		GUIDsAfter: again}, map[string]string{"exit": "", "states": "1 requested 2026-01-03T00:00:00Z\n" +
		"4 burning 2026-01-03T00:00:01Z\n"})
	note(m, journal.Entry{ID: other}, map[string]string{"request": "version=2\nkind=burn\nfrom_psid=X\n",
		"states": "1 requested 2026-01-04T00:00:00Z\n4 burning 2026-01-04T00:00:01Z\n"})
}

func TestHistory_says_who_changed_what(t *testing.T) {
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	fill(lab.Machine(labs.Intel9))
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(lab.SSHConfig(nil)+"Host dead\n  HostName 127.0.0.1\n  Port 1\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	history := func(args ...string) (status int, out, errs string) {
		var stdout, stderr bytes.Buffer
		status = Command.Run(t.Context(), append([]string{"-config-file", config}, args...),
			command.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		return status, stdout.String(), stderr.String()
	}
	status, out, errs := history(labs.Intel9, labs.Xeon2zfs)
	if status != command.OK || errs != labs.Xeon2zfs+": nothing is noted on this host\n" {
		t.Errorf("status %d, %s", status, errs)
	}
	const want = `TIME HOST OBJECT WHAT FROM TO BY RESULT
2026-01-01T00:00:00Z intel9 0000:01:00.0 burn MT_1090111023 2.36.5000 MT_1090111019 2.42.5000 alice@desk pid 7 verified
2026-01-02T00:00:00Z intel9 0000:01:00.0 restore MT_1090111019 2.42.5000 MT_1090111023 2.36.5000 bob\x1b[2J refused: the card has PSID 'A'
2026-01-03T00:00:00Z intel9 0000:01:00.0 guids 0xe41d2d0300e44ed0, MAC e4:1d:2d:e4:4e:d0 ` +
		`0xe41d2d0300e44ee0, MAC e4:1d:2d:e4:4e:e0 carol interrupted: stopped in state burning, by ` + journal.EndCauses +
		`; the next apply reads what the flash holds
2026-01-04T00:00:00Z intel9 0000:01:00.0 burn unknown unknown unknown unclear: its journal is of version 2, and ` +
		`this release reads version 1`
	if got := lines(out); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	status, out, _ = history("-json", "dead", labs.Intel9)
	var got struct{ Hosts []past }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if status != command.Unreachable || len(got.Hosts) != 2 ||
		!strings.Contains(got.Hosts[0].Error, "; run: terraform-provider-infiniband check -config-file ") ||
		!strings.HasSuffix(got.Hosts[0].Error, "/config dead") || len(got.Hosts[1].Changes) != 4 {
		t.Fatalf("status %d, %+v", status, got)
	}
	if c := got.Hosts[1].Changes[0]; c.Backup != "/home/alice/backups/1" || c.Job != burned {
		t.Errorf("%+v", c)
	}
	if c := got.Hosts[1].Changes[1]; c.Text != "the card has PSID 'A'" {
		t.Errorf("%+v", c)
	}
	lab.Machine(labs.Xeon2zfs).FS.PutDir(inventory.StateDir+"/changes", 0o700, 0, 0)
	status, out, errs = history(labs.Xeon2zfs)
	if status != command.Unreachable || !strings.Contains(errs, "changes may be missing") ||
		!strings.Contains(errs, inventory.StateDir+"/changes: Is a directory") || strings.Contains(errs, "nothing is noted") {
		t.Errorf("notes that cannot be read: status %d, %s%s", status, errs, out)
	}
	if err := lab.Machine(labs.Xeon2zfs).FS.RemoveAll(vfs.Root, inventory.StateDir+"/changes"); err != nil {
		t.Fatal(err)
	}
	lab.Machine(labs.Xeon2zfs).FS.Put(inventory.StateDir+"/changes", "begun\ttime=2026-01-01T00:00:00Z\tid=a\twhat=op", 0o600)
	status, out, errs = history(labs.Xeon2zfs)
	if status != command.OK || errs != labs.Xeon2zfs+": changes may be missing: 1 of the notes cannot be "+
		"understood; a full disk has cut them, or a later release has written them\n" {
		t.Errorf("a note that is cut: status %d, %s%s", status, errs, out)
	}
	if status, _, errs = history(); status != command.Usage {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, v := range lab.Violations() {
		t.Errorf("the lab was asked for what no real host would answer: %s", v)
	}
}

// lines are those of a table, with single blanks.
func lines(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(out, "\n")
}

// The table in the guide is what is printed.
func TestHistory_as_the_guide_shows_it(t *testing.T) {
	guide, err := os.ReadFile("../../../templates/guides/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	const alice, port = "alice@desk pid 7", "port 0xe41d2d0300e44ed1"
	var out bytes.Buffer
	printTable([]past{{Host: "intel9", Changes: []record.Change{
		{Time: "2026-01-02T03:04:05Z", Object: "0000:01:00.0", What: "burn", From: "MT_1090111023 2.36.5000",
			To: "MT_1090111019 2.42.5000", By: alice, Result: "verified", Job: "J"},
		{Time: "2026-01-02T03:09:12Z", Object: "0000:01:00.0", What: "link_type", From: "port 1 eth (not stored)",
			To: "port 1 ib, stored in modprobe.d", By: alice, Result: "verified"},
		{Time: "2026-01-02T03:09:20Z", Object: port, What: "opensm", From: "none", To: "priority 14, standard options",
			By: alice, Result: "begun", Text: changes.NotNoted},
		{Time: "2026-01-02T03:20:31Z", Object: "iperf3, 4 streams", What: "benchmark", From: "intel9, ibp1s0",
			To: "xeon2zfs, 172.16.0.10", By: alice, Result: "verified",
			Text: "40.125 Gb/s, min_gbps = 35; connected MTU 9216, 56 Gb/sec (4X FDR)"},
	}}}, command.Streams{Out: &out, Err: &out})
	if !strings.Contains(string(guide), "```text\n"+out.String()+"```\n") {
		t.Errorf("the guide lacks\n%s", &out)
	}
}
