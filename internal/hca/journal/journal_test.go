package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func TestParseLook(t *testing.T) {
	out, err := ParseLook("j1", "unit inactive\nboot abc\nexit 75\nreason another job\nstate 1 requested T1\nstate 2 locked T2\nheld operator=bob = x\n\nsome\n\noutput\n")
	if err != nil {
		t.Fatal(err)
	}
	if !out.Ended || out.Exit != 75 || !fact.No(out.unit) || out.bootID != "abc" || out.Last() != "locked" || out.Held["operator"] != "bob = x" || out.Output != "some\n\noutput\n" {
		t.Errorf("journal.Outcome %+v", out)
	}
	if out.Wrote() {
		t.Error("a job that never reached burning has written")
	}
	for _, bad := range []string{"", "absent\n", "garbage\n", "unit active\nexit many\n"} {
		if got, err := ParseLook("j1", bad); err == nil {
			t.Errorf("%q gives %+v", bad, got)
		}
	}
}

func TestRequest_holds_one_line_a_value(t *testing.T) {
	var j Request
	j.set("operator", "a\nimage_sha256=0")
	if got := j.Text(); strings.Count(got, "\n") != 1 {
		t.Errorf("request %q", got)
	}
}

func TestStamp_followsTheNewestJob(t *testing.T) {
	s := &inventory.Snapshot{Jobs: []inventory.Job{{ID: "20260101T000000Z-0000-01-00-0-aaaa"}, {ID: "20270101T120000Z-0000-04-00-0-bbbb"}, {ID: "odd"}}}
	for now, want := range map[string]string{
		"2016-05-05T00:00:00Z": "20270101T120001Z", "2027-01-01T12:00:00Z": "20270101T120001Z", "2028-02-02T02:02:02Z": "20280202T020202Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := stamp(at, s); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

func TestDisplay_keepsTheEndOfAProgressDisplay(t *testing.T) {
	const output = "Current FW version\r\n\rBurning -   1%\rBurning -  49%-E- Burning FS2 image failed: Flash write failed\n\rRestoring signature - OK\n"
	const want = "Current FW version\nBurning -  49%-E- Burning FS2 image failed: Flash write failed\nRestoring signature - OK"
	if got := (Outcome{Output: output}).Display(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseLook_ofAJournalThatTheDiskCutOff(t *testing.T) {
	out, err := ParseLook("x", "unit inactive\nboot b\nexit \nstate 4 burning 2026-01-01T00:00:00Z\n\n")
	if err != nil || out.Ended || !out.Wrote() {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestReport_namesAForeignJournal(t *testing.T) {
	j := &inventory.Job{ID: "J", Kind: Burn, Operator: "eve", Running: fact.Known(true), Request: map[string]string{"version": "2"}}
	if text := ReportOf(j).String(); !strings.Contains(text, "journal of version 2") || !strings.Contains(text, "left alone") || strings.Contains(text, "waits") {
		t.Errorf("got %q", text)
	}
}

// TestOutcome_running holds that a job counts as ended only if nothing is left of it:
// systemd that does not answer, or a stray process, has a reader wait.
func TestOutcome_running(t *testing.T) {
	const gone = "unit inactive\nboot b\nlock free\n"
	for name, tt := range map[string]struct {
		text string
		want string // "yes", "no", or what is said of why it is not known
	}{
		"runs":                       {"unit active\nboot b\nstate 4 burning T\n", "yes"},
		"ended":                      {"unit active\nboot b\nexit 0\n", "no"},
		"nothing is left":            {gone + "state 4 burning T\n", "no"},
		"systemd does not answer":    {"unit unknown Failed to connect to bus\nboot b\nlock free\nstate 4 burning T\n", "Failed to connect to bus"},
		"a process is left":          {"unit inactive\nboot b\nprocess 4711\nlock free\nstate 4 burning T\n", "yes"},
		"processes are hidden":       {"unit inactive\nboot b\nhidden no /proc\nlock free\n", "no /proc"},
		"it has the lock":            {"unit failed\nboot b\nlock taken\nholder job=j1\n", "yes"},
		"another job has the lock":   {"unit failed\nboot b\nlock taken\nholder job=j2\n", "no"},
		"somebody has the lock":      {"unit failed\nboot b\nlock taken\n", "left no name"},
		"the lock cannot be asked":   {"unit failed\nboot b\nlock unknown\n", "cannot be asked"},
		"removed while it runs":      {"unit active\nboot b\nabsent\n", "yes"},
		"removed, and a process":     {"unit inactive\nboot b\nprocess 1\nlock taken\nholder job=j1\nabsent\n", "yes"},
		"removed, systemd is silent": {"unit unknown x\nboot b\nlock free\nabsent\n", "systemd does not say"},
		"never there":                {gone + "absent\n", "no"},
	} {
		out, err := ParseLook("j1", tt.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := out.running().Why()
		switch {
		case fact.Yes(out.running()):
			got = "yes"
		case fact.No(out.running()):
			got = "no"
		}
		if tt.want == "yes" && got != tt.want || tt.want == "no" && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if out.Over() != (tt.want == "no") {
			t.Errorf("%s: over %t", name, out.Over())
		}
	}
}

func TestBackupOf_is_that_of_the_burn_the_flash_comes_from(t *testing.T) {
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
		"none":                   {nil, ""},
		"burned":                 {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), guids}, "a"},
		"other firmware failed":  {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), job("2", "1", card.PSIDOther, "b", "")}, "a"},
		"failed, then succeeded": {[]*inventory.Job{job("1", "1", card.PSIDVPI, "a", ""), job("2", "0", card.PSIDVPI, "b", "")}, "b"},
		"again, and failed":      {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), job("2", "1", card.PSIDVPI, "b", "")}, "a"},
		"interrupted at the end": {[]*inventory.Job{job("1", "", card.PSIDVPI, "a", "")}, "a"},
		"restored":               {[]*inventory.Job{job("1", "0", card.PSIDVPI, "a", ""), job("2", "0", card.PSIDVPI, "b", purposeRestore)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := BackupOf(c.jobs, ib.Firmware{PSID: card.PSIDVPI, FW: ib.MustParseFWVersion("2.42.5000")}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestEnding_full_disk holds that a full disk is named where it can be seen, and is
// among the causes where it cannot.
func TestEnding_full_disk(t *testing.T) {
	t.Parallel()
	const full, head = "free 0 /var\n", "unit inactive\nlock free\nfree Available Mounted on\n"
	for _, x := range []struct {
		name, look string
		says       []string
		not        string
	}{
		{"full", head + full + "state 4 burning T\n", []string{"interrupted while it wrote", "is full: /var (0 KiB free)", "Make room"}, "power cut"},
		{"full behind the end", head + "cut\n" + full + "state 4 burning T\nstate 5 burned T\n", []string{"had ended", "is full: /var (0 KiB free)"}, "interrupted"},
		{"room", head + "free 90000 /var\nstate 4 burning T\n", []string{"interrupted while it wrote", "a power cut", "a full disk"}, "is full"},
	} {
		out, err := ParseLook("j1", x.look)
		if err != nil {
			t.Fatal(err)
		}
		text := out.Ending()
		for _, want := range x.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: lacks %q: %s", x.name, want, text)
			}
		}
		if strings.Contains(text, x.not) {
			t.Errorf("%s: holds %q: %s", x.name, x.not, text)
		}
	}
}

// TestReport_full_disk holds the same of a plan.
func TestReport_full_disk(t *testing.T) {
	t.Parallel()
	j := Report{ID: "j1", Kind: Burn, PCI: ib.MustParsePCIAddress("0000:01:00.0"), Last: "settled", Interrupted: true}
	if text := j.String(); strings.Contains(text, "interrupted in state settled") || !strings.Contains(text, "a full disk") {
		t.Error(text)
	}
	j.Full, j.Last = inventory.StateDir+" on intel9 (0 KiB free)", "burning"
	if text := j.String(); !strings.Contains(text, "is full: "+j.Full) || strings.Contains(text, "power cut") {
		t.Error(text)
	}
}
