package flock

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The directory is root's alone, and lies where nobody else can make it or a link.
func TestDir_is_not_everybodys(t *testing.T) {
	for _, path := range []string{File, Holder, Benchmark} {
		if filepath.Dir(path) != Dir || filepath.Dir(Dir) != "/run" {
			t.Errorf("%s does not lie in a directory of its own in /run", path)
		}
	}
}

func TestUnder_makes_the_directory_and_holds_the_lock(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "own", "lock")
	under := Under(lock, nil)
	if all := strings.Join(under, " "); strings.Contains(all, "${") || strings.Contains(all, "%") {
		t.Errorf("systemd would expand a part of %q", all)
	}
	inner := strings.Join(Under(lock, []string{"true"})[len(under):], " ")
	argv := Under(lock, []string{"sh", "-c", `flock -n -E 75 "$1" ` + inner + `; echo "$?"`, "sh", lock})
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil || string(out) != "75\n" {
		t.Errorf("got %q, %v", out, err)
	}
	st, err := os.Stat(filepath.Dir(lock))
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", st, err)
	}
}
