package journal

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func TestText_holds_one_line_a_value(t *testing.T) {
	odd := Entry{Kind: Burn, Operator: "a\nimage_sha256=0\r\x00"}
	if got, want := odd.Text(), (Entry{Kind: Burn}).Text(); strings.Count(got, "\n") != strings.Count(want, "\n") {
		t.Errorf("request %q", got)
	}
}

// TestRead_reads_what_Text_writes holds that the next run knows of a job what the run
// that started it knew.
func TestRead_reads_what_Text_writes(t *testing.T) {
	set := ib.GUIDSet{Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, Port2: 0xe41d2d0300e44ed2,
		SystemImage: 0xe41d2d0300e44ed3, MAC1: 0xe41d2de44ed0, MAC2: 0xe41d2de44ed1}
	other := set
	other.Node++
	old, vpi := ib.Firmware{PSID: card.PSIDEN, FW: ib.MustParseFWVersion("2.40.5032")}, ib.Firmware{PSID: card.PSIDVPI,
		FW: ib.MustParseFWVersion("2.42.5000")}
	common := Entry{
		ID: "j1", PCI: ib.MustParsePCIAddress("0000:01:00.0"), Operator: "alice", BootID: "boot",
		Card:   ib.Identity{Serial: "MT1"},
		Before: old, GUIDsBefore: set, Backup: "/backups/1", BackupSHA256: "c0ffee", OwnerMachine: "desk", OwnerProcess: "7@8",
	}
	for name, change := range map[string]func(*Entry){
		"burn":    func(e *Entry) { e.Kind, e.After, e.GUIDsAfter = Burn, vpi, set },
		"blank":   func(e *Entry) { e.Kind, e.After, e.GUIDsBefore, e.Blank = Burn, vpi, ib.GUIDSet{}, true },
		"restore": func(e *Entry) { e.Kind, e.After, e.GUIDsAfter, e.Restore = Burn, vpi, set, true },
		"GUIDs":   func(e *Entry) { e.Kind, e.After, e.GUIDsAfter = GUIDs, old, other },
	} {
		want := common
		change(&want)
		j := &inventory.Job{Request: map[string]string{}}
		for line := range strings.Lines(want.Text()) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			j.Request[key] = value
		}
		j.ID, j.Kind, j.PCI, j.Operator, j.BootID = j.Request["job"], j.Request["kind"], want.PCI, j.Request["operator"],
			j.Request["boot_id"]
		if got := Read(j); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\n%+v", name, got, want)
		}
	}
}

func TestNewID_follows_the_newest_job(t *testing.T) {
	s := &inventory.Snapshot{Jobs: []inventory.Job{{ID: "20260101T000000Z-0000-01-00-0-aaaa"},
		{ID: "20270101T120000Z-0000-04-00-0-bbbb"}, {ID: "odd"}}}
	for now, want := range map[string]string{
		"2016-05-05T00:00:00Z": "20270101T120001Z", "2027-01-01T12:00:00Z": "20270101T120001Z",
		"2028-02-02T02:02:02Z": "20280202T020202Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(NewID(at, s, ib.PCIAddress{}), "-"); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

func TestReport_namesAJournalOfAnotherVersion(t *testing.T) {
	j := &inventory.Job{ID: "J", Kind: Burn, Operator: "eve", Running: fact.Known(true),
		Request: map[string]string{"version": "2"}}
	if text := ReportOf(j).String(); !strings.Contains(text, "its journal is of version 2") ||
		!strings.Contains(text, "does not touch it") || strings.Contains(text, "waits") {
		t.Errorf("got %q", text)
	}
}

// A power cut may leave nothing of the request but its file.
func TestReport_of_an_empty_request(t *testing.T) {
	j := &inventory.Job{ID: "J", PCI: ib.MustParsePCIAddress("0000:01:00.0"), Running: fact.Known(false)}
	want := `Job J (a write of card 0000:01:00.0), started by unknown at an unknown time, cannot be read: its file "request" ` +
		"is empty or damaged."
	if text := ReportOf(j).String(); !strings.HasPrefix(text, want) {
		t.Errorf("got %q", text)
	}
}

// jobsOf gives jobs as they are seen from their card.
func jobsOf(records ...*inventory.Job) (jobs Jobs) {
	for _, j := range records {
		jobs = append(jobs, Job{Job: j, Entry: Read(j), Own: true})
	}
	return jobs
}

func TestJobs_Backup_is_that_of_the_burn_the_flash_comes_from(t *testing.T) {
	job := func(id, exit, psid, backup, purpose string) *inventory.Job {
		return &inventory.Job{ID: id, Kind: Burn, Exit: exit, Request: map[string]string{
			"to_psid": psid, "to_fw": ib.MustParseFWVersion("2.42.5000").String(), "backup_path": backup, "purpose": purpose,
		}}
	}
	guids := &inventory.Job{ID: "g", Kind: GUIDs, Exit: "0", Request: map[string]string{}}
	for name, c := range map[string]struct {
		jobs []*inventory.Job
		want string
	}{
		"none":   {nil, ""},
		"burned": {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), guids}, "a"},
		"other firmware failed": {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""),
			job("2", "1", card.PSIDOther, "b", "")}, "a"},
		"failed, then succeeded": {[]*inventory.Job{job("1", "1", card.PSIDVPI, "a", ""),
			job("2", "0", card.PSIDVPI, "b", "")}, "b"},
		"again, and failed": {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""),
			job("2", "1", card.PSIDVPI, "b", "")}, "a"},
		"interrupted at the end": {[]*inventory.Job{job("1", "", card.PSIDVPI, "a", "")}, "a"},
		"restored": {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""),
			job("2", "0", card.PSIDVPI, "b", purposeRestore)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := jobsOf(c.jobs...).Backup(ib.Firmware{PSID: card.PSIDVPI, FW: ib.MustParseFWVersion("2.42.5000")}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestReport_full_disk holds the same of a plan.
func TestReport_full_disk(t *testing.T) {
	t.Parallel()
	j := Report{ID: "j1", Kind: Burn, Last: "settled", Interrupted: true}
	if text := j.String(); strings.Contains(text, "interrupted in state settled") ||
		!strings.Contains(text, "a full disk") {
		t.Error(text)
	}
	j.Full, j.Last = inventory.StateDir+" on intel9 (0 KiB free)", "burning"
	if text := j.String(); !strings.Contains(text, "is full: "+j.Full) || strings.Contains(text, "power cut") {
		t.Error(text)
	}
}

// A plan beside a burn says that somebody burns, and not that a burn was left.
func TestReport_title(t *testing.T) {
	const since = "2026-11-22T10:00:00Z"
	for want, r := range map[string]Report{
		"A job burns card h/0000:01:00.0 now (job J, since " + since + ")": {
			ID: "J", Kind: Burn, Running: true, Since: since},
		"A job burns card h/0000:01:00.0 now (job J, since an unknown time)": {
			ID: "J", Kind: Burn, Running: true, Lost: true, Doubt: "its directory is gone"},
		"A job writes the GUIDs of card h/0000:01:00.0 now (job J, since " + since + ")": {
			ID: "J", Kind: GUIDs, Running: true, Since: since},
		"A job may be burning card h/0000:01:00.0 now (job J, since " + since + ")": {
			ID: "J", Kind: Burn, Running: true, Since: since, Doubt: "systemd did not answer"},
		"Card h/0000:01:00.0: an earlier apply did not finish (job E)": {ID: "E", Kind: Burn, Ended: true, Since: since},
		"Card h/0000:01:00.0: an earlier apply did not finish (job I)": {ID: "I", Kind: Burn, Interrupted: true},
		"Card h/0000:01:00.0: an earlier apply did not finish (job V)": {ID: "V", Running: true, Unreadable: "version 9"},
	} {
		if got := r.Title("h/0000:01:00.0"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A card keeps its jobs when it moves to another slot, and does not get those of another
// card of this host.
func TestJobsOf_a_card_that_has_moved(t *testing.T) {
	const who = "serial number %s, part number MCX354A-FCBT, chip ConnectX-3 Pro"
	job := func(id, pci, serial string) inventory.Job {
		return inventory.Job{ID: id, Kind: Burn, PCI: ib.MustParsePCIAddress(pci),
			Request: map[string]string{"card_identity": fmt.Sprintf(who, serial)}}
	}
	s := &inventory.Snapshot{
		Cards: []inventory.Card{{PCI: ib.MustParsePCIAddress("0000:02:00.0"), Serial: fact.Known("MT1")}},
		Jobs: []inventory.Job{job("old", "0000:01:00.0", "MT1"), job("other", "0000:01:00.0", "MT2"),
			{ID: "nameless", Kind: Burn, PCI: ib.MustParsePCIAddress("0000:01:00.0")}, job("new", "0000:02:00.0", "MT1")},
	}
	var got []string
	for _, j := range JobsOf(s, s.Cards[0].PCI, s.Identity(&s.Cards[0])) {
		got = append(got, j.ID)
	}
	if strings.Join(got, " ") != "old new" {
		t.Errorf("jobs: %v", got)
	}
}

// A host keeps the copies of the last jobs of a card and that of its first one. What another card or
// a job that is not settled needs stays, and no line of the journal names a file elsewhere.
func TestJobs_OldCopies(t *testing.T) {
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	job := func(n int, serial string, settled bool) inventory.Job {
		return inventory.Job{ID: fmt.Sprint(n), Kind: Burn, PCI: pci, Settled: settled, Request: map[string]string{
			"card_identity": "serial number " + serial + ", part number MCX354A-FCBT, chip ConnectX-3 Pro",
			"backup_sha256": fmt.Sprintf("%064x", n)}}
	}
	s := &inventory.Snapshot{Cards: []inventory.Card{{PCI: pci, Serial: fact.Known("MT1")}}}
	for n := range 12 {
		s.Jobs = append(s.Jobs, job(n, "MT1", n != 4))
	}
	s.Jobs = append(s.Jobs, job(2, "MT2", true), job(5, "MT1", true)) // 2 is another card's too, 5 is there once more
	odd := job(0, "MT1", true)
	odd.Request["backup_sha256"] = "../../../etc/x"
	s.Jobs = append([]inventory.Job{odd}, s.Jobs...)
	var got []string
	for _, sum := range JobsOf(s, pci, s.Identity(&s.Cards[0])).OldCopies(s) {
		got = append(got, strings.TrimLeft(sum, "0"))
	}
	if strings.Join(got, " ") != "1 3 6 7" {
		t.Errorf("old: %v", got)
	}
	s.Jobs = s.Jobs[:7]
	if old := JobsOf(s, pci, s.Identity(&s.Cards[0])).OldCopies(s); len(old) > 0 {
		t.Errorf("of few: %v", old)
	}
}
