package fabricfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

func TestReplace_writes_whole_files_that_all_may_read(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there")
	at := filepath.Join(dir, "fabric.svg")
	for _, content := range []string{"<svg/>\n", "", "other"} {
		if err := replace(at, content); err != nil {
			t.Fatal(err)
		}
		if found, err := look(at); err != nil || found != digest([]byte(content)) {
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
	if found, err := look(file); err != nil || found != digest([]byte("a\xffb")) {
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
	dir := t.TempDir()
	if err = errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", filepath.Join(dir, "link")),
		os.Symlink("x", filepath.Join(dir, "real", "y"))); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"x", "new/x"} {
		if !samePlace(filepath.Join(dir, "link", end), filepath.Join(dir, "real", end)) {
			t.Errorf("%s behind a link of a directory is another place", end)
		}
	}
	if samePlace(filepath.Join(dir, "real", "x"), filepath.Join(dir, "real", "y")) {
		t.Error("a link to a file is the file")
	}
}

// Whatever core does first: the object that stays keeps its file, and what is destroyed
// alone loses it.
func TestFiles_of_an_object_that_replaces_another(t *testing.T) {
	t.Parallel()
	ours := seen{Written: digest([]byte("one"))}
	of := func(at string) model {
		return model{FilePath: types.StringValue(at), SHA256: types.StringValue(ours.Written)}
	}
	put := func(m model, files *planned.Files) {
		t.Helper()
		if _, err := m.put(files, "one", func() error { return m.free(model{}) }); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		made, stays bool
	}{
		"create_before_destroy": {made: true, stays: true},
		"destroyed":             {},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			old := of(filepath.Join(dir, "f"))
			put(old, &planned.Files{})
			var files planned.Files
			var diags diag.Diagnostics
			if c.made {
				put(of(dir+"/./f"), &files)
			}
			old.drop(&files, ours, &diags)
			_, err := os.Stat(filepath.Join(dir, "f"))
			if c.stays != (err == nil) || len(diags) > 0 {
				t.Errorf("%v\n%v", err, diags)
			}
		})
	}
	// Destroyed first, the new object writes the file again.
	it := of(filepath.Join(t.TempDir(), "f"))
	var files planned.Files
	var diags diag.Diagnostics
	put(it, &planned.Files{})
	it.drop(&files, ours, &diags)
	put(it, &files)
	if found, err := look(it.FilePath.ValueString()); err != nil || found != ours.Written || len(diags) > 0 {
		t.Errorf("%q: %v\n%v", found, err, diags)
	}
}
