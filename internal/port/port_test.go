package port

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func address(t *testing.T) ib.PCIAddress {
	t.Helper()
	a, err := ib.ParsePCIAddress("0000:01:00.0")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParseSpeeds(t *testing.T) {
	for _, c := range []struct {
		names          []string
		base, extended int
		err            string
	}{
		{[]string{"SDR", "DDR", "QDR"}, 7, extNone, ""},
		{[]string{"QDR", "SDR"}, 5, extNone, ""},
		{[]string{"SDR", "QDR", "FDR", "EDR"}, 5, 3, ""},
		{[]string{"QDR"}, 4, extNone, "speeds QDR lack SDR: every link begins to train at 2.5 Gb/s"},
		{[]string{"SDR", "10G"}, 0, 0, `unknown "10G"; known are SDR, DDR, QDR, FDR, EDR, HDR`},
	} {
		s, err := ParseSpeeds(c.names)
		if got := errText(err); got != c.err {
			t.Errorf("%v: error %q, want %q", c.names, got, c.err)
		}
		if err == nil && (s.base() != c.base || s.extendedBits() != c.extended) {
			t.Errorf("%v: %d and %d, want %d and %d", c.names, s.base(), s.extendedBits(), c.base, c.extended)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What the unit says is what the next look at the host finds.
func TestUnit_readsBackWhatItSets(t *testing.T) {
	speeds, _ := ParseSpeeds([]string{"SDR", "QDR", "FDR"})
	plain, _ := ParseSpeeds([]string{"SDR", "DDR"})
	widths, _ := ParseWidths([]string{"1X", "4X"})
	for _, c := range []struct {
		d        Request
		extended bool
		command  string
	}{
		{Request{Enabled: true}, false, "0000:01:00.0 1 enable - - -"},
		{Request{}, true, "0000:01:00.0 1 disable - - -"},
		{Request{Enabled: true, Speeds: plain}, false, "0000:01:00.0 1 enable 3 - -"},
		{Request{Enabled: true, Speeds: plain}, true, "0000:01:00.0 1 enable 3 30 -"},
		{Request{Enabled: true, Speeds: speeds, Widths: widths}, true, "0000:01:00.0 1 enable 5 1 3"},
	} {
		c.d.Card, c.d.Number = address(t), 1
		text := unit(c.d, c.extended)
		if !slices.Contains(strings.Split(text, "\n"), "ExecStart="+ScriptPath+" "+c.command) {
			t.Errorf("%+v: the unit is\n%s", c.d, text)
		}
		got := settingOf(text)
		if got.Enabled != c.d.Enabled || got.Speeds != c.d.Speeds || got.Widths != c.d.Widths {
			t.Errorf("%q reads back as %+v", c.command, got)
		}
	}
}

func TestSettingOf_editedUnit(t *testing.T) {
	for _, text := range []string{"", "[Service]\nExecStart=/bin/true\n", "ExecStart=" + ScriptPath + " a b\n"} {
		if got := settingOf(text); !reflect.DeepEqual(got, Request{}) {
			t.Errorf("%q reads back as %+v", text, got)
		}
	}
}

func TestDifferences(t *testing.T) {
	widths, _ := ParseWidths([]string{"4X"})
	d := Request{Card: address(t), Number: 1, Enabled: true, Widths: widths}
	right := Observation{Present: true, Physical: "LinkUp", Stored: true, AtBoot: true, Setting: d,
		Link: &Link{WidthsEnabled: widths}}
	for name, c := range map[string]struct {
		change func(*Observation)
		want   string
	}{
		"as asked":     {func(*Observation) {}, ""},
		"disabled":     {func(o *Observation) { o.Physical = "Disabled" }, "it is disabled"},
		"another":      {func(o *Observation) { o.Link = &Link{WidthsEnabled: 1} }, "it may negotiate 1X"},
		"not stored":   {func(o *Observation) { o.Stored = false }, "nothing sets it at boot"},
		"not at boot":  {func(o *Observation) { o.AtBoot = false }, "infiniband-port-0000:01:00.0-1.service is not enabled"},
		"other stored": {func(o *Observation) { o.Setting.Enabled = false }, "another setting is stored for the next boot"},
	} {
		o := right
		c.change(&o)
		if got := strings.Join(o.Differences(d), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
