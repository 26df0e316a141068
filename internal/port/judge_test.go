package port

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// What somebody has done to a port or written into our unit after the plan is not undone,
// unless it is what is asked for. What a driver sets by itself is no decision.
func TestCheckSeen(t *testing.T) {
	t.Parallel()
	pci := address(t)
	path := UnitPath(pci, 1)
	was := Request{Host: "intel9", Card: pci, Number: 1, Enabled: true, Speeds: 7}
	want := was
	want.Speeds = 3
	host := func(edit func(*inventory.Snapshot, *Link)) Observation {
		s := &inventory.Snapshot{Host: "intel9", BootID: "one", Commands: map[string]bool{"ibportstate": true}}
		s.Files = map[string]inventory.File{
			path: {Content: unit(was, false)}, systemctl.BootLink(UnitName(pci, 1)): {}, scriptPath: {Content: script}}
		s.Cards = []inventory.Card{{PCI: pci, Ports: []inventory.Port{{Number: 1, State: "Active", Physical: "LinkUp",
			LinkLayer: "InfiniBand"}}}}
		link := &Link{SpeedsSupported: 15, SpeedsEnabled: 7, WidthsSupported: 3, WidthsEnabled: 3}
		edit(s, link)
		o := Observe(s, pci, 1)
		o.Link = link
		return o
	}
	puts := func(path, text string) func(*inventory.Snapshot, *Link) {
		return func(s *inventory.Snapshot, _ *Link) { s.Files[path] = inventory.File{Content: text} }
	}
	off := func(s *inventory.Snapshot, _ *Link) { s.Cards[0].Ports[0].Physical = "Disabled" }
	none := func(*inventory.Snapshot, *Link) {}
	for name, tt := range map[string]struct {
		before, then func(*inventory.Snapshot, *Link)
		changed      string
		removal      bool // a destroy is refused too
	}{
		"nothing":                {none, none, "", false},
		"disabled":               {none, off, "it was enabled and is disabled", false},
		"unread":                 {none, func(s *inventory.Snapshot, _ *Link) { s.Cards[0].Ports[0].Physical = "" }, "", false},
		"disabled before":        {off, off, "", false},
		"link lost":              {none, func(s *inventory.Snapshot, _ *Link) { s.Cards[0].Ports[0].Physical = "Polling" }, "", false},
		"port gone":              {none, func(s *inventory.Snapshot, _ *Link) { s.Cards[0].Ports = nil }, "", false},
		"speeds":                 {none, func(_ *inventory.Snapshot, l *Link) { l.SpeedsEnabled = 1 }, "can negotiate SDR", false},
		"speeds asked for":       {none, func(_ *inventory.Snapshot, l *Link) { l.SpeedsEnabled = 3 }, "", false},
		"speeds of the driver":   {none, func(_ *inventory.Snapshot, l *Link) { l.SpeedsEnabled = 15 }, "", false},
		"widths nobody asks for": {none, func(_ *inventory.Snapshot, l *Link) { l.WidthsEnabled = 1 }, "", false},
		"line of the unit":       {none, puts(path, unit(was, false)+"Nice=5\n"), "new line in " + path + ": Nice (value not shown)", true},
		"line before":            {puts(path, unit(was, false)+"Nice=5\n"), puts(path, unit(was, false)+"Nice=5\n"), "", false},
		"another value": {puts(path, unit(was, false)+"Environment=FOO=a\n"), puts(path, unit(was, false)+"Environment=FOO=b\n"),
			"new line in " + path + ": Environment (value not shown).", true},
		"program of an earlier version": {none, puts(scriptPath, formerComparing), "", false},
		"line of the program":           {none, puts(scriptPath, script+"echo mine\n"), "echo mine", true},
		"setting":                       {none, puts(path, unit(Request{Card: pci, Number: 1, Enabled: true, Speeds: 1}, false)), "makes it enabled, speeds SDR", true},
		"setting asked for":             {puts(path, unit(want, false)), puts(path, unit(want, false)), "", false},
		"not enabled":                   {none, func(s *inventory.Snapshot, _ *Link) { delete(s.Files, systemctl.BootLink(UnitName(pci, 1))) }, "was enabled and is not", false},
		"program gone": {none, func(s *inventory.Snapshot, _ *Link) { s.Commands["ibportstate"] = false },
			"its unit cannot set it at boot: ibportstate is not installed", false},
		"unit gone":               {none, func(s *inventory.Snapshot, _ *Link) { s.Files = nil }, "", false},
		"disabled by a restart":   {none, func(s *inventory.Snapshot, l *Link) { off(s, l); s.BootID = "two" }, "", false},
		"unit with higher speeds": {puts(path, unit(was, true)), puts(path, unit(was, true)), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(host(tt.before).Seen()) // as it is kept beside a state
			var seen Seen
			if err != nil || json.Unmarshal(text, &seen) != nil {
				t.Fatal(err)
			}
			now := host(tt.then)
			found := CheckSeen(now, seen, want)
			if tt.changed == "" && len(found) > 0 || tt.changed != "" && (len(found) != 1 || found[0].Rule.Code != "HO019" ||
				!strings.Contains(found[0].Evidence, tt.changed)) {
				t.Errorf("got %v", found)
			}
			if found := CheckSeenRemoved(now, seen, want); len(found) > 0 != tt.removal {
				t.Errorf("a destroy: %v", found)
			}
		})
	}
}

// What somebody has written is named by every plan, by the plan of a destroy and in the history.
func TestEdits(t *testing.T) {
	t.Parallel()
	pci := address(t)
	d := Request{Card: pci, Number: 1, Enabled: true}
	for text, says := range map[string]string{
		unit(d, false):              "",
		unit(d, true):               "",
		unit(d, false) + "Nice=5\n": "also has: Nice (value not shown)",
		unit(Request{Card: pci, Number: 1, Enabled: true, Speeds: 1}, true) + "Nice=5\n": "also has: Nice (value not shown)",
		strings.Replace(unit(d, false), "RemainAfterExit=yes\n", "", 1):                  "lacks: RemainAfterExit=yes",
	} {
		s := &inventory.Snapshot{Host: "intel9", Files: map[string]inventory.File{UnitPath(pci, 1): {Content: text},
			systemctl.BootLink(UnitName(pci, 1)): {}}}
		o := Observe(s, pci, 1)
		all := platform.CheckEdits(o.host, o.Edits)
		if says == "" && len(all) > 0 || says != "" && (len(all) != 1 || !strings.Contains(all[0].Evidence, says) ||
			strings.Contains(all[0].Evidence, "ExecStart") || !strings.Contains(o.words(), says) ||
			len(o.Differences(d)) == 0) {
			t.Errorf("%q: %v, %s", says, all, o.words())
		}
		if gone := CheckRemove(o); len(gone) > 0 != strings.Contains(says, "also has") {
			t.Errorf("a destroy, %q: %v", says, gone)
		}
	}
}

// A change leaves a link alone that is up, or a port that is disabled, unless it sets the port: then it is not known
// what comes of it.
func TestSeen_Keeps(t *testing.T) {
	t.Parallel()
	slow, fast := Speeds(3), Speeds(7)
	for _, tt := range []struct {
		name            string
		before          Seen
		d               Request
		state, physical string
		want            bool
	}{
		{"a link that is up", Seen{}, Request{Enabled: true}, "Active", "LinkUp", true},
		{"no subnet manager yet", Seen{}, Request{Enabled: true}, "Initializing", "LinkUp", false},
		{"no link", Seen{}, Request{Enabled: true}, "Down", "Polling", false},
		{"never read", Seen{}, Request{Enabled: true}, "", "", false},
		{"is enabled", Seen{}, Request{Enabled: true}, "Down", "Disabled", false},
		{"is disabled", Seen{}, Request{}, "Active", "LinkUp", false},
		{"stays disabled", Seen{}, Request{}, "Down", "Disabled", true},
		{"the same speeds", Seen{Speeds: int(slow)}, Request{Enabled: true, Speeds: slow}, "Active", "LinkUp", true},
		{"other speeds", Seen{Speeds: int(slow)}, Request{Enabled: true, Speeds: fast}, "Active", "LinkUp", false},
		{"speeds that were not read", Seen{}, Request{Enabled: true, Speeds: slow}, "Active", "LinkUp", false},
		{"speeds as they are", Seen{Speeds: int(slow)}, Request{Enabled: true}, "Active", "LinkUp", true},
		{"other widths", Seen{Widths: 1}, Request{Enabled: true, Widths: 3}, "Active", "LinkUp", false},
	} {
		if got := tt.before.Keeps(tt.d, tt.state, tt.physical); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
