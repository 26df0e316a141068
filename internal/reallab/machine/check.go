//go:build linux

package machine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// needed are the programs of the host that runs the lab, with Debian's package of each.
var needed = [][2]string{{"debootstrap", "debootstrap"}, {"mkfs.ext4", "e2fsprogs"}, {"debugfs", "e2fsprogs"},
	{"e2fsck", "e2fsprogs"}, {"ssh", "openssh-client"}, {"ssh-keygen", "openssh-client"}, {"cp", "coreutils"}, {"xz", "xz-utils"}, {"zstd", "zstd"}}

const (
	// neededSpace is what systems, originals and the disks of two machines take.
	neededSpace = 12 << 30
	// neededMemory is that of two machines, with what QEMU and the provider take.
	neededMemory = 3 << 30
	gibibyte     = 1 << 30
)

// LackingError says all that a host lacks, at once.
type LackingError []string

func (e LackingError) Error() string {
	return "this machine cannot run the lab of real kernels:\n- " + strings.Join(e, "\n- ")
}

// host is what Check asks of the host.
type host struct {
	arch      string
	root      bool
	installed bool // all that only root can install
	has       func(program string) bool
	space     func() (uint64, error) // bytes that are left for the cache
	memory    func() (uint64, error) // bytes that are available
	share     func() error           // makes memory as machines share it with their cards
}

// Check says whether this host can run the lab; a LackingError if not.
func Check() error {
	return host{arch: runtime.GOARCH, root: os.Geteuid() == 0, installed: installed(),
		has:    func(program string) bool { _, err := exec.LookPath(program); return err == nil },
		space:  func() (uint64, error) { return spaceAt(cache()) },
		memory: availableMemory, share: shareMemory}.check()
}

func (h host) check() error {
	var lacks LackingError
	if h.arch != "amd64" {
		lacks = append(lacks, fmt.Sprintf("its processor is %s; the kernels of the lab are for amd64", h.arch))
	}
	if !h.root && !h.installed {
		lacks = append(lacks, "you are not root: the first run installs Debian, which needs it")
	}
	for _, p := range needed {
		if !h.has(p[0]) {
			lacks = append(lacks, fmt.Sprintf("%s is missing (Debian package %s)", p[0], p[1]))
		}
	}
	if !h.installed {
		lacks = append(lacks, lacking(h.space, neededSpace, "of disk for "+cache())...)
	}
	lacks = append(lacks, lacking(h.memory, neededMemory, "of memory")...)
	if err := h.share(); err != nil {
		lacks = append(lacks, fmt.Sprintf("memory cannot be shared between processes: %v", err))
	}
	if len(lacks) > 0 {
		return lacks
	}
	return nil
}

// lacking says what is missing of something that is measured in bytes.
func lacking(free func() (uint64, error), needed uint64, what string) []string {
	n, err := free()
	switch {
	case err != nil:
		return []string{fmt.Sprintf("how much there is %s cannot be read: %v", what, err)}
	case n < needed:
		return []string{fmt.Sprintf("%.1f GiB %s are available; %d are needed", float64(n)/gibibyte, what, needed/gibibyte)}
	}
	return nil
}

// installed says whether everything is there that needs root.
func installed() bool {
	all := exists(emulator.dir())
	for _, s := range guests {
		all = all && exists(s.disk())
	}
	return all
}

// spaceAt is what is left where a path is, or will be.
func spaceAt(path string) (uint64, error) {
	for !exists(path) && path != "/" {
		path = filepath.Dir(path)
	}
	var fs unix.Statfs_t
	err := unix.Statfs(path, &fs)
	return fs.Bavail * uint64(fs.Bsize), err
}

func availableMemory() (uint64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	return parseMemory(f)
}

// parseMemory reads proc(5)'s meminfo.
func parseMemory(meminfo io.Reader) (uint64, error) {
	for lines := bufio.NewScanner(meminfo); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no MemAvailable: %w", io.ErrUnexpectedEOF)
}

// shareMemory makes an anonymous file of memory, as QEMU does.
func shareMemory() error {
	fd, err := unix.MemfdCreate("reallab", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err = unix.Ftruncate(fd, 768<<20); err != nil {
		return err
	}
	memory, err := unix.Mmap(fd, 0, 768<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	return unix.Munmap(memory)
}
