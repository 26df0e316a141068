package knownhosts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLists_read_once(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known_hosts")
	line := "a ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4Gvmmdd8VKBYKCCiNeF40tl2AbZ6UQwWwAQ5Q0pXvs\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	var s Lists
	a, err := s.get([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.get([]string{file})
	if err != nil || &a[0] != &b[0] {
		t.Errorf("the list was read twice: %v", err)
	}
	if err = os.WriteFile(file, []byte(line+"b "+line[2:]), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := s.get([]string{file})
	if err != nil || len(c.algorithms("b:22")) == 0 {
		t.Errorf("a line that was added is not seen: %v", err)
	}
	var none *Lists
	d, err := none.get([]string{file})
	if err != nil || &d[0] == &c[0] {
		t.Errorf("without sharing: %v", err)
	}
	if _, err = s.get([]string{file + ".missing"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a list that is missing: %v", err)
	}
}
