package fabricfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestReplace_writes_whole_files_that_all_may_read(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there")
	at := filepath.Join(dir, "fabric.svg")
	for _, content := range []string{"<svg/>\n", "", "other"} {
		if err := replace(at, content); err != nil {
			t.Fatal(err)
		}
		if found, err := look(at); err != nil || found != content {
			t.Errorf("%q: %v", found, err)
		}
		info, err := os.Stat(at)
		if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o644 {
			t.Errorf("%v: %v", info.Mode(), err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file are %v: %v", left, err)
	}
}

// A rename that fails leaves what was there, and nothing beside it.
func TestReplace_that_fails_leaves_nothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, "fabric.svg")
	if err := os.MkdirAll(filepath.Join(at, "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := replace(at, "new"); err == nil {
		t.Error("a directory was replaced")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || !left[0].IsDir() {
		t.Errorf("in the directory are %v: %v", left, err)
	}
}

func TestLook_refuses_what_was_not_written_here(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link, big := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "big")
	for _, err := range []error{os.WriteFile(file, []byte("a\xffb"), 0o600), os.Symlink(file, link),
		os.WriteFile(big, nil, 0o600), os.Truncate(big, largest+1)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if found, err := look(file); err != nil || found != "a\uFFFDb" {
		t.Errorf("%q: %v", found, err)
	}
	for at, says := range map[string]string{dir: "is a directory", link: "is a symbolic link", big: "has 16 MiB"} {
		if _, err := look(at); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestSamePlace(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"./fabric.svg", "a/../fabric.svg", filepath.Join(here, "fabric.svg")} {
		if !samePlace("fabric.svg", other) {
			t.Errorf("%s is another place", other)
		}
	}
	if samePlace("fabric.svg", "a/fabric.svg") {
		t.Error("two places are one")
	}
}
