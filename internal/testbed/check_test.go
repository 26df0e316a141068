//go:build testbed && linux

package testbed

import (
	"errors"
	"strings"
	"testing"
)

// All that a machine lacks is said at once, and a machine that has all lacks nothing.
func TestLacks_says_all_at_once(t *testing.T) {
	t.Parallel()
	said := machine{fuse: errors.New("no such device"), has: func(string) bool { return false }}.lacks().Error()
	for _, want := range []string{"root", "no such device", "overlayfs", "the program debootstrap", "the program ip",
		"the program systemd-nspawn", "iproute2", "systemd-container"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing of %s in: %s", want, said)
		}
	}
	whole := machine{root: true, overlay: true, installed: true, has: func(program string) bool { return program != "debootstrap" }}
	if lacks := whole.lacks(); lacks != nil {
		t.Errorf("a machine that has all: %v", lacks)
	}
	whole.has = func(program string) bool { return program != "ip" }
	if lacks := whole.lacks(); len(lacks) != 2 || lacks[0] != "the program ip" || !strings.HasSuffix(lacks[1], " iproute2") {
		t.Errorf("a machine without ip: %v", lacks)
	}
}
