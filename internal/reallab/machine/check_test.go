//go:build linux

package machine

import (
	"errors"
	"strings"
	"testing"
)

func able() host {
	return host{arch: "amd64", root: true, has: func(string) bool { return true },
		space:  func() (uint64, error) { return neededSpace, nil },
		memory: func() (uint64, error) { return neededMemory, nil }, share: func() error { return nil }}
}

func TestCheck(t *testing.T) {
	if err := able().check(); err != nil {
		t.Errorf("a host that has all: %v", err)
	}
	user := able()
	user.root, user.installed, user.space = false, true, func() (uint64, error) { return 0, nil }
	if err := user.check(); err != nil {
		t.Errorf("all is installed: %v", err)
	}
}

func TestCheck_says_all_at_once(t *testing.T) {
	h := host{arch: "arm64", has: func(program string) bool { return program != "ssh" && program != "xz" },
		space:  func() (uint64, error) { return neededSpace / 2, nil },
		memory: func() (uint64, error) { return 1 << 30, nil }, share: func() error { return errors.New("no memfd") }}
	err := h.check()
	var lacks LackingError
	if !errors.As(err, &lacks) {
		t.Fatalf("a host that has nothing: %v", err)
	}
	for _, want := range []string{"processor is arm64", "not root", "ssh is missing (Debian package openssh-client)", "xz is missing",
		"6.0 GiB of disk for ", "; 12 are needed", "1.0 GiB of memory are available; 3 are needed", "no memfd"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %q\n%v", want, err)
		}
	}
	if len(lacks) != 7 {
		t.Errorf("%d reasons, want 7:\n%v", len(lacks), err)
	}
	h.space = func() (uint64, error) { return 0, errors.New("broken disk") }
	h.memory = func() (uint64, error) { return 0, errors.New("no proc") }
	if err := h.check(); !strings.Contains(err.Error(), "broken disk") || !strings.Contains(err.Error(), "no proc") {
		t.Errorf("what cannot be read is not said:\n%v", err)
	}
}

func TestParseMemory(t *testing.T) {
	free, err := parseMemory(strings.NewReader("MemTotal:       24689712 kB\nMemAvailable:   23068672 kB\n"))
	if err != nil || free != 22<<30 {
		t.Errorf("%d, %v", free, err)
	}
	for _, text := range []string{"", "MemAvailable: lots"} {
		if free, err := parseMemory(strings.NewReader(text)); err == nil {
			t.Errorf("%q: %d", text, free)
		}
	}
}

func TestShareMemory(t *testing.T) {
	if err := shareMemory(); err != nil {
		t.Error(err)
	}
}

// TestSeriesError: an archive that has moved on is no fault of the host.
func TestSeriesError(t *testing.T) {
	err := error(SeriesError{"1:12.0.0+ds-1~bpo13+1"})
	var lacks LackingError
	if errors.As(err, &lacks) {
		t.Error("it counts as something that the host lacks")
	}
	for _, want := range []string{"QEMU 1:12.0.0", "made for " + series + ".", "image.go"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %q\n%v", want, err)
		}
	}
}
