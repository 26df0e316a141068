//go:build linux

package machine

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const elsewhere = "/elsewhere"

// able is a host with all that two machines need, whose cache and temporary files are on
// one file system.
func able(n Need) host {
	return host{arch: "amd64", root: true, originals: 1, has: func(string) bool { return true },
		space: func(string) (space, error) {
			return space{free: systemSpace + originalSpace + uint64(n.Machines)*diskSpace}, nil
		},
		memory: func() (uint64, error) { return n.memory(), nil }, share: func() error { return nil }}
}

func TestCheck(t *testing.T) {
	two := Need{Machines: 2}
	if err := able(two).check(two); err != nil {
		t.Errorf("a host that has all: %v", err)
	}
	user := able(two)
	user.root, user.installed, user.originals = false, true, 0
	user.space = func(path string) (space, error) {
		if path != elsewhere {
			return space{}, nil
		}
		return space{free: 2 * diskSpace, device: 1}, nil
	}
	if err := user.check(Need{Machines: 2, Dir: elsewhere}); err != nil {
		t.Errorf("all is installed: %v", err)
	}
}

// TestCheck_counts_machines: what is enough for two is not for nine, of disk and of memory.
func TestCheck_counts_machines(t *testing.T) {
	h, nine := able(Need{Machines: 2}), Need{Machines: 9, Dir: elsewhere}
	h.originals = 10
	want := LackingError{
		"5.8 GiB of disk for " + cache() + " and " + elsewhere + " are available; 9 machines at once need 19.0",
		"3.0 GiB of memory are available; 9 machines at once need 10.0"}
	if err := h.check(nine); err == nil || err.Error() != want.Error() {
		t.Errorf("%v\nwant: %v", err, want)
	}
	h.originals, h.installed = 0, true
	if err := h.check(nine); err == nil ||
		!strings.Contains(err.Error(), "of disk for "+elsewhere+" are available; 9 machines at once need 9.0") {
		t.Errorf("all is installed and kept: %v", err)
	}
	small := Need{Machines: 9, Megabytes: 128, Dir: elsewhere}
	if got := small.memory(); got != restMemory+9*(128*mebibyte+qemuMemory) {
		t.Errorf("small machines take %d bytes of memory", got)
	}
}

// TestCheck_file_systems: cache and temporary files may be apart, and the latter in memory.
func TestCheck_file_systems(t *testing.T) {
	two := Need{Machines: 2, Dir: elsewhere}
	h := able(two)
	h.space = func(path string) (space, error) {
		if path == elsewhere {
			return space{free: diskSpace, device: 1, inMemory: true}, nil
		}
		return space{free: systemSpace}, nil
	}
	err := h.check(two)
	if err == nil {
		t.Fatal("neither file system has the room")
	}
	for _, want := range []string{"3.0 GiB of disk for " + cache() + " are available; 2 machines at once need 3.8",
		"1.0 GiB of disk for " + elsewhere + " are available; 2 machines at once need 2.0",
		"3.0 GiB of memory are available; 2 machines at once need 5.0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %q\n%v", want, err)
		}
	}
}

func TestCheck_says_all_at_once(t *testing.T) {
	h := host{arch: "arm64", originals: 10, has: func(program string) bool { return program != "ssh" && program != "xz" },
		space:  func(string) (space, error) { return space{free: gibibyte}, nil },
		memory: func() (uint64, error) { return 1 << 30, nil }, share: func() error { return errors.New("no memfd") }}
	err := h.check(Need{Machines: 2})
	var lacks LackingError
	if !errors.As(err, &lacks) {
		t.Fatalf("a host that has nothing: %v", err)
	}
	for _, want := range []string{"processor is arm64", "not root", "ssh is missing (Debian package openssh-client)", "xz is missing",
		"1.0 GiB of disk for ", "1.0 GiB of memory are available; 2 machines at once need 3.0", "no memfd"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %q\n%v", want, err)
		}
	}
	if len(lacks) != 7 {
		t.Errorf("%d reasons, want 7:\n%v", len(lacks), err)
	}
	h.space = func(string) (space, error) { return space{}, errors.New("broken disk") }
	h.memory = func() (uint64, error) { return 0, errors.New("no proc") }
	if err := h.check(Need{Machines: 2}); !strings.Contains(err.Error(), "broken disk") ||
		!strings.Contains(err.Error(), "no proc") {
		t.Errorf("what cannot be read is not said:\n%v", err)
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

func TestSpaceAt(t *testing.T) {
	dir := t.TempDir()
	there, err := spaceAt(dir)
	if err != nil || there.free == 0 {
		t.Errorf("%+v, %v", there, err)
	}
	if later, err := spaceAt(dir + "/not/yet"); err != nil || later.device != there.device {
		t.Errorf("a path that is not there yet: %+v, %v", later, err)
	}
}

// TestNeeded: each program that the lab starts on its host is asked for.
func TestNeeded(t *testing.T) {
	started := regexp.MustCompile(`\b(?:run|exec\.Command|exec\.CommandContext)\((?:ctx, |b\.Context\(\), )?"([^"]+)"`)
	has := map[string]bool{}
	for _, p := range needed {
		has[p[0]] = true
	}
	files, err := filepath.Glob("*.go")
	above, err2 := filepath.Glob("../*.go")
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, above...) {
		if filepath.Dir(file) == "." && strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range started.FindAllStringSubmatch(string(text), -1) {
			if found++; !has[m[1]] {
				t.Errorf("%s starts %s, which Check does not ask for", file, m[1])
			}
		}
	}
	if found < 8 {
		t.Errorf("%d programs found", found)
	}
	// The scripts have programs of the host that every system has, in coreutils.
	own := regexp.MustCompile(`(?m)^\s*(apt-get|depmod|dpkg\S*|systemctl|useradd|update-initramfs)\b`)
	for suite, s := range guests {
		if m := own.FindString(emulator.script + s.script); m != "" {
			t.Errorf("the script of %s runs %s of this host", suite, m)
		}
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
