package adoption

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// What the plan warns that it would fail stays a comment, also if all is taken over, with what
// becomes of it meanwhile.
func TestTakeOver_leaves_what_would_fail(t *testing.T) {
	t.Parallel()
	w := &Walk{schema: &tfprotov6.GetProviderSchemaResponse{ResourceSchemas: map[string]*tfprotov6.Schema{
		smType: {Block: &tfprotov6.SchemaBlock{}}}}}
	sm := func(host, warning string) *Object {
		o := manager(host, nil)
		o.left = "It goes on."
		o.warnings = []Problem{{Summary: warning, Detail: "Port 1 is Down.\n\nMore."}}
		w.judge(o, form{}, 1, changes{any: true}, nil)
		return o
	}
	f := &Lab{objects: []*Object{sm("a", "Subnet manager a/1: SM010 Taken over"),
		sm("b", "Subnet manager b/1: SM031 The port of this subnet manager has no link")}}
	f.TakeOver()
	if taken := f.TakenOver(); len(taken) != 1 || taken[0].Host != "a" {
		t.Errorf("taken over are %v", taken)
	}
	text := string(f.Files()["fabric.tf"])
	for _, part := range []string{"# Taken over: infiniband_opensm a", "# Not adopted: infiniband_opensm b",
		"# Its port has no link, so an apply would fail", "# Port 1 is Down.", "# It goes on.", "# When the port has a link, this adopts it",
		"# resource \"infiniband_opensm\" \"b\" {"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	if strings.Count(text, "It goes on.") != 1 || strings.Contains(string(f.Files()["imports.tf"]), "infiniband_opensm.b") {
		t.Errorf("%s\n%s", text, f.Files()["imports.tf"])
	}
}
