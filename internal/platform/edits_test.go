package platform

import (
	"slices"
	"strings"
	"testing"
)

// What somebody has written into a unit or a program is named without what may be a password,
// and another value is still another line.
func TestEditOf_shows_no_value(t *testing.T) {
	t.Parallel()
	const unit, program = Owner + "\n[Service]\nType=oneshot\n", "#!/bin/sh\n" + Owner + "\n"
	for line, want := range map[string]string{
		"Environment=FOO=hunter2":          "Environment (value not shown)",
		`Environment="A=hunter2" "B=2"`:    "Environment (value not shown)",
		`  "B=hunter2"`:                    `  "B (value not shown)`,
		"# Environment=FOO=hunter2":        "# Environment (value not shown)",
		"Nice = hunter2":                   "Nice (value not shown)",
		"export TOKEN=hunter2":             "export TOKEN (value not shown)",
		`curl -H "X-Auth-Token: hunter2"`:  `curl -H "X-Auth-Token (value not shown)`,
		"login --password hunter2 --quiet": "login --password (value not shown)",
		"# ask Kim":                        "# ask Kim",
		"echo mine":                        "echo mine",
	} {
		for _, ours := range []string{unit, program} {
			all := EditsOf("/a", ours+line+"\n", ours)
			if len(all) != 1 || !slices.Equal(all[0].Added, []string{want}) || strings.Contains(all[0].String(), "hunter2") {
				t.Fatalf("%q: %+v", line, all)
			}
			other := EditsOf("/a", ours+strings.Replace(line, "hunter2", "hunter3", 1)+"\n", ours)
			seen := AddedLines(all)
			changed := NewLines(AddedLines(other), seen)
			if secret := strings.Contains(line, "hunter2"); strings.Contains(seen[0], "hunter2") ||
				secret != slices.Equal(changed, []string{"new line in /a: " + want}) || !secret && len(changed) > 0 {
				t.Errorf("%q became another one: %q, %q", line, seen, changed)
			}
		}
	}
	const options = Owner + "\noptions mlx4_core port_type_array=1,1\n"
	all := EditsOf("/a", options+"options mlx4_core debug_level=1\nmine=0x8001 : ALL ;\n", options)
	want := []string{"options mlx4_core debug_level=1", "mine=0x8001 : ALL ;"}
	if len(all) != 1 || !slices.Equal(all[0].Added, want) {
		t.Errorf("options: %+v", all)
	}
}
