package savedfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// link runs the script of Link in a shell, with programs of ours before those of the system.
func link(t *testing.T, shell []string, programs, file, name string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell[0], append(shell[1:], "-c", linkScript, "link", file, name)...)
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return 0
}

// A file gets a second name and keeps the first, also where the file system has no hard links,
// and a name that has another text is left alone.
func TestLink(t *testing.T) {
	t.Parallel()
	for _, shell := range [][]string{{"sh"}, {"dash"}, {"bash"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		for name, c := range map[string]struct {
			ln, there, want string
			symbolic        bool
			status          int
		}{
			"linked":          {want: "edited\n"},
			"no hard links":   {ln: "#!/bin/sh\nexit 1\n", want: "edited\n"},
			"symbolic link":   {symbolic: true, want: "edited\n"},
			"there already":   {there: "edited\n", want: "edited\n"},
			"of another text": {there: "other\n", want: "other\n", status: There},
		} {
			t.Run(shell[0]+", "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				file, kept, programs := filepath.Join(dir, "file"), filepath.Join(dir, ".kept"), filepath.Join(dir, "bin")
				write := func(at, text string, mode os.FileMode) {
					if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), mode)); err != nil {
						t.Fatal(err)
					}
				}
				write(file, "edited\n", 0o600)
				if c.symbolic {
					if err := errors.Join(os.Rename(file, file+".target"), os.Symlink("file.target", file)); err != nil {
						t.Fatal(err)
					}
				}
				if c.ln != "" {
					write(filepath.Join(programs, "ln"), c.ln, 0o755)
				}
				if c.there != "" {
					write(kept, c.there, 0o600)
				}
				if got := link(t, shell, programs, file, kept); got != c.status {
					t.Errorf("status %d, want %d", got, c.status)
				}
				first, err := os.ReadFile(file)
				second, err2 := os.ReadFile(kept)
				if err = errors.Join(err, err2); err != nil || string(first) != "edited\n" || string(second) != c.want {
					t.Errorf("the file is %q, kept is %q, %v", first, second, err)
				}
				if info, err := os.Lstat(kept); err != nil || info.Mode() != 0o600 {
					t.Errorf("kept: %v, %v", info, err)
				}
				// What replaces the file leaves the kept text alone.
				if write(file+".new", "ours\n", 0o600); os.Rename(file+".new", file) != nil {
					t.Error("not replaced")
				}
				if text, err := os.ReadFile(kept); err != nil || string(text) != c.want {
					t.Errorf("kept after the replacement: %q, %v", text, err)
				}
			})
		}
	}
}
