package opensm

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

const otherPort = ib.GUID(0xe41d2d0300e44ed2)

// withOurs has our drop-in on the host, so that there is something to remove.
func withOurs(s *inventory.Snapshot) {
	s.Files[opensm.DropInPath(testPort)] = inventory.File{Content: dropInText(testPort)}
}

func withList(ports string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Files[opensm.DefaultPath] = inventory.File{Content: "PORTS=" + ports + "\n"}
	}
}

func withUnit(name, active, atBoot string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Units[name] = inventory.Unit{LoadState: "loaded", ActiveState: active, UnitFileState: atBoot}
	}
}

// The shared service goes with the last instance that needs it, and not before.
func TestStaying(t *testing.T) {
	alone, both := `"`+testPort.String()+`"`, `"`+testPort.String()+" "+otherPort.String()+`"`
	other := opensm.Unit(otherPort)
	stops := other + " runs and would stop with it"
	for name, c := range map[string]struct {
		change []func(*inventory.Snapshot)
		says   []string // one part of each sentence
	}{
		"the last": {[]func(*inventory.Snapshot){withOurs, withList(alone), withUnit(opensm.Unit(testPort), "active", "static")}, nil},
		"runs":     {[]func(*inventory.Snapshot){withOurs, withList(alone), withUnit(other, "active", "static")}, []string{stops}},
		"in its pause": {[]func(*inventory.Snapshot){withOurs, withList(alone), withUnit(other, "activating", "static")},
			[]string{stops}},
		"has failed":      {[]func(*inventory.Snapshot){withOurs, withList(alone), withUnit(other, "failed", "static")}, nil},
		"named otherwise": {[]func(*inventory.Snapshot){withOurs, withList(alone), withUnit("opensm@mlx4_1.service", "active", "")}, []string{"opensm@mlx4_1.service runs"}},
		"listed":          {[]func(*inventory.Snapshot){withOurs, withList(both)}, []string{"lists " + otherPort.String()}},
		"ALL": {[]func(*inventory.Snapshot){withOurs, withList("ALL"), withUnit(other, "active", "static")},
			[]string{"PORTS=ALL in /etc/default/opensm stays", stops}},
		"silent":   {[]func(*inventory.Snapshot){withOurs, withList(alone), silentSystemd}, []string{"which other subnet managers run: systemctl show"}},
		"not ours": {[]func(*inventory.Snapshot){withList(both), withUnit(other, "active", "static")}, nil},
	} {
		said := Staying(testHost(c.change...), testPort)
		if len(said) != len(c.says) || !containsEach(strings.Join(said, "\n"), c.says) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// A unit without a file is neither stopped nor disabled by systemctl, unless it still runs.
func TestAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		unit inventory.Unit
		want bool
	}{
		"not loaded": {inventory.Unit{}, true}, "has a file": {inventory.Unit{LoadState: "loaded", ActiveState: "inactive"}, false},
		"file gone":           {inventory.Unit{LoadState: "not-found", ActiveState: "inactive"}, true},
		"file gone, and runs": {inventory.Unit{LoadState: "not-found", ActiveState: "active"}, false},
		"masked":              {inventory.Unit{LoadState: "masked", ActiveState: "inactive"}, false},
	} {
		s := testHost(func(s *inventory.Snapshot) {
			if c.unit != (inventory.Unit{}) {
				s.Units[opensm.Unit(testPort)] = c.unit
			}
		})
		if got := absent(s, opensm.Unit(testPort)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if absent(testHost(silentSystemd), opensm.Unit(testPort)) {
		t.Error("a silent systemd has no units")
	}
}

// What could not be read is not edited, and so nothing is stopped by it.
func TestPortList_denied(t *testing.T) {
	s := testHost(func(s *inventory.Snapshot) {
		s.Files, s.Denied = nil, map[string]bool{opensm.DefaultPath: true}
	})
	if _, _, err := portList(s); err == nil || !strings.Contains(err.Error(), "could not be read, and is not edited") {
		t.Error(err)
	}
}

// The template of ours goes with the last instance that starts with it, now or later.
func TestStaying_template(t *testing.T) {
	other := opensm.Unit(otherPort)
	rhel := func(s *inventory.Snapshot) {
		s.OS = inventory.OS{ID: "rhel", VersionID: "9.4", Kernel: "5.14.0-427.el9.x86_64"}
		s.Files = map[string]inventory.File{opensm.TemplatePath: {Content: opensm.Template(header())},
			opensm.DropInPath(testPort): {Content: dropInText(testPort)}}
		s.Units[opensm.Unit(testPort)] = inventory.Unit{ActiveState: "active", UnitFileState: "enabled"}
	}
	for name, c := range map[string]struct {
		change func(*inventory.Snapshot)
		needed bool
	}{
		"the last":                {func(*inventory.Snapshot) {}, false},
		"runs":                    {withUnit(other, "active", "disabled"), true},
		"in its pause":            {withUnit(other, "activating", "disabled"), true},
		"starts at boot":          {withUnit(other, "inactive", "enabled"), true},
		"starts until the reboot": {withUnit(other, "failed", "enabled-runtime"), true},
		"loaded only":             {withUnit(other, "inactive", "disabled"), false},
		"link to nothing":         {withUnit(other, "inactive", ""), false},
		"ours, stopped": {func(s *inventory.Snapshot) {
			s.Files[opensm.DropInPath(otherPort)] = inventory.File{Content: dropInText(otherPort)}
		}, true},
		"not known whose": {func(s *inventory.Snapshot) {
			s.Denied = map[string]bool{opensm.DropInPath(otherPort): true}
		}, true},
		"drop-in of somebody else": {func(s *inventory.Snapshot) {
			s.Files[opensm.DropInPath(otherPort)] = inventory.File{Content: "[Service]\n"}
		}, false},
	} {
		said, want := Staying(testHost(rhel, c.change), testPort), []string(nil)
		if c.needed {
			want = []string{opensm.TemplatePath + " stays, because " + other + " needs it."}
		}
		if !slices.Equal(said, want) {
			t.Errorf("%s: %q", name, said)
		}
	}
	said := Staying(testHost(rhel, silentSystemd), testPort)
	if len(said) != 1 || !strings.Contains(said[0], "not known which other subnet managers need it: systemctl show") {
		t.Errorf("silent: %q", said)
	}
}

// The shared service is planned like the instance: those that start because it does are named, and
// those that do not run are not started by the apply.
func TestOthersStart(t *testing.T) {
	d := Request{Host: "intel9", PortGUID: testPort, Priority: 14}
	both, other := withList(`"`+testPort.String()+" "+otherPort.String()+`"`), opensm.Unit(otherPort)
	off, on := withUnit(opensm.Service, "inactive", "disabled"), withUnit(opensm.Service, "active", "enabled")
	const boot = "starts at the next boot, too"
	for name, c := range map[string]struct {
		change []func(*inventory.Snapshot)
		says   string // of the finding; empty: none
		starts bool   // the shared service
	}{
		"switched off":      {[]func(*inventory.Snapshot){both, off}, boot, false},
		"runs, not at boot": {[]func(*inventory.Snapshot){both, off, withUnit(other, "active", "static")}, boot, true},
		"skipped at boot":   {[]func(*inventory.Snapshot){both, withUnit(opensm.Service, "inactive", "enabled")}, "", false},
		"stopped alone":     {[]func(*inventory.Snapshot){both, on}, "", false},
		"all run":           {[]func(*inventory.Snapshot){both, on, withUnit(other, "activating", "static")}, "", true},
		"nobody else":       {[]func(*inventory.Snapshot){off}, "", true},
		"masked":            {[]func(*inventory.Snapshot){both, off, func(s *inventory.Snapshot) { s.Units[other] = inventory.Unit{LoadState: "masked"} }}, "", false},
		"ours": {[]func(*inventory.Snapshot){both, off, func(s *inventory.Snapshot) {
			s.Files[opensm.DropInPath(otherPort)] = inventory.File{Content: dropInText(otherPort)}
		}}, "", false},
		"package comes first": {[]func(*inventory.Snapshot){both, func(s *inventory.Snapshot) { s.Packages = nil }}, "starts when the package is installed, and at boot", false},
		"silent":              {[]func(*inventory.Snapshot){both, silentSystemd}, boot, false},
	} {
		s := testHost(c.change...)
		var said string
		for _, f := range Check(s, d, PlanFacts{}) {
			if f.Rule.Code == "SM035" {
				said += f.Evidence
			}
		}
		if (said == "") != (c.says == "") || !strings.Contains(said, c.says) || said != "" && !strings.Contains(said, other) {
			t.Errorf("%s: %q", name, said)
		}
		commands := layoutOf(s).startCommands(s, testPort, false)
		if got := slices.ContainsFunc(commands, func(c shellcmd.Command) bool {
			return strings.Contains(c.String(), "systemctl start -- opensm.service")
		}); got != c.starts {
			t.Errorf("%s: the service is started: %t", name, got)
		}
	}
}
