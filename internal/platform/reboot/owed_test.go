package reboot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A note has what is owed: the commands of the drain that goes on, and those of earlier ones that nobody has run. Its time
// is that of the first drain.
func TestOwed_is_what_has_not_run(t *testing.T) {
	note := filepath.Join(t.TempDir(), "state", "resume-owed")
	run := func(script string, commands ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "sh", note}, commands...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(note)
		if os.IsNotExist(err) {
			return "gone"
		}
		since, owed, _ := strings.Cut(string(text), "\n")
		if since != "before" {
			owed = "new: " + owed
			err = os.WriteFile(note, []byte("before"+strings.TrimPrefix(string(text), since)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return owed
	}
	const two = "for i in 1 2\ndo mount /srv/$i; done"
	for _, step := range []struct {
		script   string
		commands []string
		want     string
	}{
		{oweScript, []string{"mount -a", two}, "new: mount -a\n" + two + "\n"},
		{strikeScript, []string{"mount -a"}, two + "\n"},
		{oweScript, []string{"resume *"}, "resume *\n" + two + "\n"},
		{oweScript, []string{two, "resume *"}, "new: " + two + "\nresume *\n"},
		{strikeScript, []string{"resume *"}, two + "\n"},
		{strikeScript, []string{two}, "gone"},
		{strikeScript, []string{two}, "gone"},
	} {
		if got := run(step.script, step.commands...); got != step.want {
			t.Errorf("%q: %q, expected %q", step.commands, got, step.want)
		}
	}
}
