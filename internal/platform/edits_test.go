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
			e, differs := EditOf("/a", ours+line+"\n", ours)
			if !differs || !slices.Equal(e.Added, []string{want}) || strings.Contains(e.String(), "hunter2") {
				t.Errorf("%q: %q, %t", line, e.Added, differs)
			}
			other, _ := EditOf("/a", ours+strings.Replace(line, "hunter2", "hunter3", 1)+"\n", ours)
			seen := AddedLines([]Edit{e})
			changed := NewLines(AddedLines([]Edit{other}), seen)
			if secret := strings.Contains(line, "hunter2"); strings.Contains(seen[0], "hunter2") ||
				secret != slices.Equal(changed, []string{"new line in /a: " + want}) || !secret && len(changed) > 0 {
				t.Errorf("%q became another one: %q, %q", line, seen, changed)
			}
		}
	}
	const options = Owner + "\noptions mlx4_core port_type_array=1,1\n"
	e, _ := EditOf("/a", options+"options mlx4_core debug_level=1\nmine=0x8001 : ALL ;\n", options)
	if want := []string{"options mlx4_core debug_level=1", "mine=0x8001 : ALL ;"}; !slices.Equal(e.Added, want) {
		t.Errorf("options: %q", e.Added)
	}
}
