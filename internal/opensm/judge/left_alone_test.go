package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// What becomes of an instance without a resource depends on what starts it: ALL ends with the
// first resource of the host, a list stays.
func TestDescribeLeftAlone(t *testing.T) {
	ports := func(text string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=" + text + "\n"}
		}
	}
	runs := func(s *inventory.Snapshot) { s.Units[tool.Unit(testPort)] = inventory.Unit{ActiveState: "active"} }
	const gone, listed = "does not start again", "stays in the list"
	for name, c := range map[string]struct {
		s    *inventory.Snapshot
		says []string
	}{
		"ALL, runs":         {testHost(ports("ALL"), runs), []string{".service runs.", "goes on until", "Write that one without an import block", gone}},
		"ALL, does not run": {testHost(ports("ALL")), []string{"starts with opensm.service", gone}},
		"ALL, not known":    {testHost(ports("ALL"), silentSystemd), []string{"starts with opensm.service", gone}},
		"listed": {testHost(ports(`"`+testPort.String()+`"`), runs, withUnit(tool.Service, "active", "enabled")),
			[]string{listed}},
		"listed and off": {testHost(ports(`"`+testPort.String()+`"`), withUnit(tool.Service, "inactive", "disabled")),
			[]string{"opensm.service is not enabled", "starts at the next boot", "Take the port out of the list"}},
		"not listed":          {testHost(ports("NONE")), nil},
		"no list":             {testHost(func(s *inventory.Snapshot) { s.Files = nil }, runs), nil},
		"list not understood": {testHost(ports("(broken"), runs), nil},
		"ours": {testHost(ports(`"`+testPort.String()+`"`), runs, func(s *inventory.Snapshot) {
			s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
		}), nil},
	} {
		said := DescribeLeftAlone(found.Of(c.s, testPort))
		if (said == "") != (c.says == nil) || !containsEach(said, c.says) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

func containsEach(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// The ports that ALL gave a subnet manager are named, but for those that have a resource.
func TestCheck_names_what_loses_ALL(t *testing.T) {
	const byAll, ours = ib.GUID(0xe41d2d0300e44ed2), ib.GUID(0xe41d2d0300e44f41)
	s := byService(map[string]string{tool.DropInPath(ours): found.DropInText(ours, false)})
	for _, g := range []ib.GUID{byAll, ours} {
		s.Units[tool.Unit(g)] = inventory.Unit{ActiveState: "active"}
	}
	s.Cards[0].Ports[0].IsSM = fact.Known(true)
	for _, f := range Check(found.Of(s, testPort), opensm.Request{Host: "intel9", PortGUID: testPort}, PlanFacts{}) {
		if f.Rule.Code == "SM007" && (!strings.Contains(f.Evidence, "opensm also runs on "+byAll.String()+": without a resource") ||
			strings.Contains(f.Evidence, ours.String())) {
			t.Error(f.Evidence)
		}
	}
}
