package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
)

const otherPort = ib.GUID(0xe41d2d0300e44ed2)

// withOurs has our drop-in on the host, so that there is something to remove.
func withOurs(s *inventory.Snapshot) {
	s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
}

func withList(ports string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=" + ports + "\n"}
	}
}

func withUnit(name, active, atBoot string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Units[name] = inventory.Unit{LoadState: "loaded", ActiveState: active, UnitFileState: atBoot}
	}
}

// The shared service goes with the last instance that needs it, and not before.
func TestFindStaying(t *testing.T) {
	alone, both := `"`+testPort.String()+`"`, `"`+testPort.String()+" "+otherPort.String()+`"`
	other := tool.Unit(otherPort)
	stops := other + " runs and would stop with it"
	for name, c := range map[string]struct {
		change []func(*inventory.Snapshot)
		says   []string // one part of each sentence
	}{
		"the last": {[]func(*inventory.Snapshot){withOurs, withList(alone), withUnit(tool.Unit(testPort), "active", "static")}, nil},
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
		said := FindStaying(found.Of(testHost(c.change...), testPort))
		if len(said) != len(c.says) || !containsEach(strings.Join(said, "\n"), c.says) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// The template of ours goes with the last instance that starts with it, now or later.
func TestFindStaying_template(t *testing.T) {
	other := tool.Unit(otherPort)
	rhel := func(s *inventory.Snapshot) {
		s.OS = inventory.OS{ID: "rhel", VersionID: "9.4", Kernel: "5.14.0-427.el9.x86_64"}
		s.Files = map[string]inventory.File{tool.TemplatePath: {Content: tool.Template(found.Header())},
			tool.DropInPath(testPort): {Content: found.DropInText(testPort, false)}}
		s.Units[tool.Unit(testPort)] = inventory.Unit{ActiveState: "active", UnitFileState: "enabled"}
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
			s.Files[tool.DropInPath(otherPort)] = inventory.File{Content: found.DropInText(otherPort, false)}
		}, true},
		"not known whose": {func(s *inventory.Snapshot) {
			s.Denied = map[string]bool{tool.DropInPath(otherPort): true}
		}, true},
		"drop-in of somebody else": {func(s *inventory.Snapshot) {
			s.Files[tool.DropInPath(otherPort)] = inventory.File{Content: "[Service]\n"}
		}, false},
	} {
		said, want := FindStaying(found.Of(testHost(rhel, c.change), testPort)), []string(nil)
		if c.needed {
			want = []string{tool.TemplatePath + " stays, because " + other + " needs it."}
		}
		if !slices.Equal(said, want) {
			t.Errorf("%s: %q", name, said)
		}
	}
	said := FindStaying(found.Of(testHost(rhel, silentSystemd), testPort))
	if len(said) != 1 || !strings.Contains(said[0], "not known which other subnet managers need it: systemctl show") {
		t.Errorf("silent: %q", said)
	}
}

// What somebody has running or starting beside an instance of ours is named, though nothing is to be done:
// with equal priorities it may rule the fabric.
func TestCheckBeside(t *testing.T) {
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 14}
	other := tool.Unit(otherPort)
	ours := func(s *inventory.Snapshot) {
		s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
		s.Files[tool.ConfPath(testPort)] = inventory.File{Content: d.Conf().Text(found.Header())}
		s.Units[tool.Unit(testPort)] = inventory.Unit{ActiveState: "active"}
		s.Units[tool.Service] = inventory.Unit{ActiveState: "active", UnitFileState: "enabled"}
		s.Cards[0].Ports[0].IsSM = fact.Known(true)
	}
	alone, both := withList(`"`+testPort.String()+`"`), withList(`"`+testPort.String()+" "+otherPort.String()+`"`)
	dropIn := func(text string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) { s.Files[tool.DropInPath(otherPort)] = inventory.File{Content: text} }
	}
	for name, c := range map[string]struct {
		change []func(*inventory.Snapshot)
		says   string // empty: nothing
	}{
		"alone":        {[]func(*inventory.Snapshot){ours, alone}, ""},
		"ALL by hand":  {[]func(*inventory.Snapshot){ours, withList("ALL")}, "says PORTS=ALL. At the next boot opensm.service starts"},
		"runs":         {[]func(*inventory.Snapshot){ours, alone, withUnit(other, "active", "")}, "On intel9 " + other + " runs."},
		"listed":       {[]func(*inventory.Snapshot){ours, both}, "On intel9 " + other + " starts at the next boot."},
		"listed, runs": {[]func(*inventory.Snapshot){ours, both, withUnit(other, "active", "")}, other + " runs."},
		"has failed":   {[]func(*inventory.Snapshot){ours, alone, withUnit(other, "failed", "")}, ""},
		"masked": {[]func(*inventory.Snapshot){ours, both, func(s *inventory.Snapshot) {
			s.Units[other] = inventory.Unit{LoadState: "masked"}
		}}, ""},
		"has a resource":    {[]func(*inventory.Snapshot){ours, both, withUnit(other, "active", ""), dropIn(found.DropInText(otherPort, false))}, ""},
		"not known whose":   {[]func(*inventory.Snapshot){ours, both, func(s *inventory.Snapshot) { s.Denied = map[string]bool{tool.DropInPath(otherPort): true} }}, ""},
		"ours is to be set": {[]func(*inventory.Snapshot){both, withUnit(tool.Service, "active", "enabled")}, ""},
	} {
		var said []string
		for _, f := range Check(found.Of(testHost(c.change...), testPort), d, PlanFacts{}) {
			if f.Rule == finding.OpensmBeside {
				said = append(said, f.Evidence)
			}
		}
		if text := strings.Join(said, "\n"); (text == "") != (c.says == "") || !strings.Contains(text, c.says) || len(said) > 1 {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// The master that nobody follows is removed with a consent only, where hosts depend on its fabric.
func TestCheckLast(t *testing.T) {
	yes, alone := fact.Known(true), found.View{Listed: fact.Known(true), Managers: []saquery.Manager{{GUID: testPort, State: 3}}}
	master := found.Of(testHost(withOurs, func(s *inventory.Snapshot) {
		p := &s.Cards[0].Ports[0]
		p.IsSM, p.State, p.LID, p.SMLID = yes, "Active", 4, 4
	}), testPort)
	uses := []string{"the SSH session to b (ib0)"}
	for name, c := range map[string]struct {
		look    *found.Look
		view    found.View
		uses    []string
		consent string
		want    finding.Severity
		says    string // empty: no finding
	}{
		"alone": {master, alone, uses, "", finding.NeedsConsent, "No other subnet manager is on the fabric of port " +
			testPort.String() + " of intel9. Over the fabric go the SSH session to b (ib0)."},
		"not known": {master, found.View{Listed: fact.Unknown[bool]("no saquery")}, uses, "", finding.NeedsConsent,
			"Whether another subnet manager is on the fabric is not known"},
		"allowed":                {master, alone, uses, testPort.String(), finding.Note, "the SSH session to b"},
		"another one is allowed": {master, alone, uses, otherPort.String(), finding.NeedsConsent, "the SSH session to b"},
		"beside another": {master, found.View{Listed: yes, Managers: []saquery.Manager{{GUID: testPort}, {GUID: otherPort}}}, uses, "",
			0, ""},
		"without use": {master, alone, nil, "", 0, ""},
		"a standby":   {found.Of(testHost(withOurs), testPort), alone, uses, "", 0, ""},
	} {
		all := CheckLast(c.look, c.view, c.uses, c.consent)
		if len(all) != min(1, len(c.says)) {
			t.Errorf("%s: %+v", name, all)
		} else if len(all) == 1 && (all[0].Severity != c.want || !strings.Contains(all[0].Evidence, c.says) ||
			all[0].Consent != `last_manager = "`+testPort.String()+`"`) {
			t.Errorf("%s: %+v", name, all[0])
		}
	}
}
