//go:build linux

package reallab

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKeepLogs: the whole logs of a lab are kept, and neither its keys nor its disks.
func TestKeepLogs(t *testing.T) {
	dir, logs := t.TempDir(), filepath.Join(t.TempDir(), "logs")
	t.Setenv("REALLAB_LOGS", logs)
	want := map[string]string{"cards.log": "one: reset\n", "one/console.log": strings.Repeat("line\n", 1000),
		"gate/console.log": ""}
	files := maps.Clone(want)
	files["id_ed25519"], files["one/disk.raw"], files["one/ssh_host_ed25519_key"] = "private", "disk", "private"
	for path, text := range files {
		if err := copyTo(filepath.Join(dir, path), text); err != nil {
			t.Fatal(err)
		}
	}
	at, err := KeepLogs(dir, "TestKernels_partition/debian12_netplan+NM")
	if err != nil || filepath.Dir(at) != logs ||
		!strings.HasPrefix(filepath.Base(at), "TestKernels_partition_debian12_netplan_NM-") {
		t.Fatalf("kept in %s: %v", at, err)
	}
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	got := map[string]string{}
	for path := range files {
		if text, err := os.ReadFile(filepath.Join(at, path)); err == nil {
			got[path] = string(text)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("kept are %v", slices.Sorted(maps.Keys(got)))
	}
	if again, err := KeepLogs(dir, "TestKernels_partition/debian12_netplan+NM"); err != nil || again == at {
		t.Errorf("a second lab of the test is kept in %s: %v", again, err)
	}
}

func copyTo(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
