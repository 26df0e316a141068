package hca

import (
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

func shortSleep() { time.Sleep(10 * time.Millisecond) }

func TestParseLook(t *testing.T) {
	out, err := parseLook("j1", "unit inactive\nboot abc\nexit 75\nreason another job\nstate 1 requested T1\nstate 2 locked T2\nheld operator=bob = x\n\nsome\n\noutput\n")
	if err != nil {
		t.Fatal(err)
	}
	if !out.ended || out.exit != 75 || !fact.No(out.unit) || out.bootID != "abc" || out.last() != "locked" || out.held["operator"] != "bob = x" || out.output != "some\n\noutput\n" {
		t.Errorf("outcome %+v", out)
	}
	if out.wrote() {
		t.Error("a job that never reached burning has written")
	}
	for _, bad := range []string{"", "absent\n", "garbage\n", "unit active\nexit many\n"} {
		if got, err := parseLook("j1", bad); err == nil {
			t.Errorf("%q gives %+v", bad, got)
		}
	}
}

func TestJob_request_holds_one_line_a_value(t *testing.T) {
	var j job
	j.set("operator", "a\nimage_sha256=0")
	if got := j.requestText(); strings.Count(got, "\n") != 1 {
		t.Errorf("request %q", got)
	}
}

func TestJobStamp_followsTheNewestJob(t *testing.T) {
	s := &inventory.Snapshot{Jobs: []inventory.Job{{ID: "20260101T000000Z-0000-01-00-0-aaaa"}, {ID: "20270101T120000Z-0000-04-00-0-bbbb"}, {ID: "odd"}}}
	for now, want := range map[string]string{
		"2016-05-05T00:00:00Z": "20270101T120001Z", "2027-01-01T12:00:00Z": "20270101T120001Z", "2028-02-02T02:02:02Z": "20280202T020202Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := jobStamp(at, s); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

func TestReadable_keepsTheEndOfAProgressDisplay(t *testing.T) {
	const output = "Current FW version\r\n\rBurning -   1%\rBurning -  49%-E- Burning FS2 image failed: Flash write failed\n\rRestoring signature - OK\n"
	const want = "Current FW version\nBurning -  49%-E- Burning FS2 image failed: Flash write failed\nRestoring signature - OK"
	if got := readable(output); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseLook_ofAJournalThatTheDiskCutOff(t *testing.T) {
	out, err := parseLook("x", "unit inactive\nboot b\nexit \nstate 4 burning 2026-01-01T00:00:00Z\n\n")
	if err != nil || out.ended || !out.wrote() {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestJobReport_namesAForeignJournal(t *testing.T) {
	j := &inventory.Job{ID: "J", Kind: KindBurn, Operator: "eve", Running: fact.Known(true), Request: map[string]string{"version": "2"}}
	if text := report(j).String(); !strings.Contains(text, "journal of version 2") || !strings.Contains(text, "left alone") || strings.Contains(text, "waits") {
		t.Errorf("got %q", text)
	}
}

func ptr[T any](v T) *T { return &v }

func TestGUIDSpec_baseWithoutRoomIsAFinding(t *testing.T) {
	for _, spec := range []GUIDSpec{{BaseGUID: ptr(^ib.GUID(0) - 2)}, {BaseMAC: ptr(ib.MAC(0xfffffffffffe))}} {
		req, err := spec.Resolve()
		found := safety.GUIDValues("intel9", ib.PCIAddress{}, req, safety.LabFacts{})
		if err != nil || len(found) == 0 || found[0].Code != "GU004" {
			t.Errorf("%+v: %v, %+v", spec, err, found)
		}
	}
}

func TestGUIDSpec_Resolve(t *testing.T) {
	mac := ib.MustParseMAC("e4:1d:2d:e4:4e:d0")
	guid := ib.MustParseGUID("0xe41d2d0300e44ed0")
	full := ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3, MAC1: mac, MAC2: mac + 1}
	for name, c := range map[string]struct {
		spec GUIDSpec
		want ib.GUIDSet
		bad  string
	}{
		"base MAC":            {spec: GUIDSpec{BaseMAC: &mac}, want: full},
		"base GUID":           {spec: GUIDSpec{BaseGUID: &guid}, want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3}},
		"both":                {spec: GUIDSpec{BaseGUID: ptr(guid + 16), BaseMAC: &mac}, want: ib.GUIDSet{Node: guid + 16, Port1: guid + 17, Port2: guid + 18, SystemImage: guid + 19, MAC1: mac, MAC2: mac + 1}},
		"one by one":          {spec: GUIDSpec{Node: &guid, Ports: []ib.GUID{guid + 5, guid + 6}, SystemImage: ptr(guid + 9)}, want: ib.GUIDSet{Node: guid, Port1: guid + 5, Port2: guid + 6, SystemImage: guid + 9}},
		"single port":         {spec: GUIDSpec{Node: &guid, Ports: []ib.GUID{guid + 1}}, want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid}},
		"base with exception": {spec: GUIDSpec{BaseGUID: &guid, SystemImage: &guid}, want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid}},
		"MACs":                {spec: GUIDSpec{MACs: []ib.MAC{mac}}, want: ib.GUIDSet{MAC1: mac, MAC2: mac + 1}},
		"nothing":             {bad: "no GUID"},
		"node alone":          {spec: GUIDSpec{Node: &guid}, bad: "port_guids"},
		"three ports":         {spec: GUIDSpec{Node: &guid, Ports: []ib.GUID{1, 2, 3}}, bad: "two"},
	} {
		got, err := c.spec.Resolve()
		switch {
		case c.bad != "":
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || got.Want != c.want:
			t.Errorf("%s: %+v, %v; want %+v", name, got.Want, err, c.want)
		}
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
		out, err := parseLook("j1", tt.text)
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
		if out.over() != (tt.want == "no") {
			t.Errorf("%s: over %t", name, out.over())
		}
	}
}
