package cards

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBackupProblem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string]string{
		"":                             "", // has a finding of its own
		dir:                            "",
		filepath.Join(dir, "a/b/c"):    "",
		file:                           file + " is not a directory",
		filepath.Join(file, "backups"): "not a directory",
		link:                           link + " is a link to something that does not exist",
		filepath.Join(link, "backups"): link + " is a link to something that does not exist",
		"/proc/backups":                "no directory can be made in /proc", // for root neither
	} {
		if got := backupProblem(root); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%q: %q, expected %q", root, got, want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("looking left %v (%v)", left, err)
	}
}
