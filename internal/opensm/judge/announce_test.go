package judge

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
)

func TestAnnounce(t *testing.T) {
	const (
		unit   = "opensm@0xe41d2d0300e44ed1.service"
		conf   = "/etc/opensm/terraform-0xe41d2d0300e44ed1.conf"
		parts  = "/etc/opensm/terraform-0xe41d2d0300e44ed1.partitions.conf"
		dropIn = "/etc/systemd/system/" + unit + ".d/terraform-infiniband.conf"
	)
	was := opensm.Request{PortGUID: testPort, Priority: 5}
	const list, modules = "/etc/default/opensm", "/etc/modules-load.d/terraform-infiniband.conf"
	sound := opensm.Stored{Managed: true, Runs: true, Enabled: true, Sound: true}
	stored := func(change func(*opensm.Stored)) opensm.Stored {
		s := sound
		change(&s)
		return s
	}
	with := func(change func(*opensm.Request)) opensm.Request {
		d := was
		change(&d)
		return d
	}
	for name, c := range map[string]struct {
		before Before
		wants  opensm.Request
		says   string
	}{
		"nothing": {Before{Stored: sound, Was: was}, was, ""},
		"new": {Before{Stored: opensm.Stored{Shared: []string{list, modules}}, Packages: []string{"opensm"}}, was,
			"installs opensm; writes " + list + ", " + modules + ", " + conf + ", " + dropIn + "; starts " + unit + "; enables " + unit +
				" at boot"},
		"taken over": {Before{Stored: opensm.Stored{Runs: true}}, was, "writes " + conf + ", " + dropIn + "; restarts " + unit +
			"; enables " + unit + " at boot"},
		"new, with keys": {Before{}, with(func(d *opensm.Request) { d.Keys.Version = 1 }), "writes " + conf + ", " + dropIn +
			"; starts " + unit + "; enables " + unit + " at boot"},
		"keys": {Before{Stored: sound, Was: was}, with(func(d *opensm.Request) { d.Keys.Version = 1 }), "writes " + conf + ", " + dropIn +
			"; keeps /var/log/opensm.0xe41d2d0300e44ed1.log with .before-keys at its end; restarts " + unit},
		"a list without a module": {Before{Stored: stored(func(s *opensm.Stored) {
			s.Shared, s.Modules = []string{list, modules}, modules
		}), Was: was}, was, "writes " + modules},
		"a list without a module of another card": {Before{Stored: stored(func(s *opensm.Stored) {
			s.Shared = []string{modules}
		}), Was: was}, was, ""},
		"priority": {Before{Stored: sound, Was: was}, with(func(d *opensm.Request) { d.Priority = 6 }),
			"writes " + conf + "; has " + unit + " read its files again"},
		"routing engine": {Before{Stored: sound, Was: was}, with(func(d *opensm.Request) { d.Tuning.RoutingEngine = "ftree" }),
			"writes " + conf + "; restarts " + unit},
		"stopped": {Before{Stored: stored(func(s *opensm.Stored) { s.Runs, s.Sound = false, false }), Was: was}, was,
			"starts " + unit},
		"not at boot": {Before{Stored: stored(func(s *opensm.Stored) { s.Enabled, s.Shared = false, []string{list} }), Was: was}, was,
			"writes /etc/default/opensm; enables " + unit + " at boot"},
		"not at boot, and another priority": {Before{Stored: stored(func(s *opensm.Stored) { s.Enabled, s.Shared = false, []string{list} }), Was: was},
			with(func(d *opensm.Request) { d.Priority = 6 }),
			"writes /etc/default/opensm, " + conf + "; restarts " + unit + "; enables " + unit + " at boot"},
		"edited": {Before{Stored: stored(func(s *opensm.Stored) { s.Edited, s.Sound = []string{conf}, false }), Was: was}, was,
			"writes " + conf + "; restarts " + unit},
		"partitions": {Before{Stored: sound, Was: was}, with(func(d *opensm.Request) {
			d.Partitions = []opensm.Partition{{Name: "Default", PKey: 0x7fff, IPoIB: true}}
		}), "writes " + conf + ", " + parts + "; restarts " + unit},
	} {
		if got := Announce(c.before, c.wants); got != c.says {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.says)
		}
	}
}
