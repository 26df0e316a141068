package acctest

import (
	"path/filepath"
	"testing"
)

// Backups in the workspace of a CI job are gone with it: a plan that needs some says so, once.
func TestRunner_backups_in_the_workspace(t *testing.T) {
	w := Start(t, Options{})
	ws, cfg := w.Workspace(), w.BothHosts()
	const summary = "The backups of this apply will be gone: backup_dir is in the workspace of a CI job"
	for _, c := range []struct {
		ci, github, gitlab string
		warns              int
	}{
		{"true", filepath.Dir(w.Backups), "", 1},
		{"true", "", filepath.Dir(filepath.Dir(w.Backups)), 1},
		{"true", w.Backups + "-other", "", 0},
		{"true", "", "", 0},
		{"", filepath.Dir(w.Backups), "", 0},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("GITHUB_WORKSPACE", c.github)
		t.Setenv("CI_PROJECT_DIR", c.gitlab)
		said := cleanPlan(t, ws, cfg).Diags.Warnings().Find(summary)
		if len(said) != c.warns {
			t.Errorf("%+v: %d warnings\n%s", c, len(said), said)
		}
		if c.warns > 0 && len(said) > 0 {
			oneWarning(t, said, summary, "Name a backup_dir that outlives the job", "backup_dir: "+w.Backups)
		}
	}
	t.Setenv("CI", "")
	mustApply(t, ws, cfg)
	t.Setenv("CI", "true")
	t.Setenv("GITHUB_WORKSPACE", filepath.Dir(w.Backups))
	if said := emptyPlan(t, ws, cfg).Diags.Find(summary); len(said) > 0 {
		t.Errorf("a plan that writes nothing:\n%s", said)
	}
}
