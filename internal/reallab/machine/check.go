//go:build linux

package machine

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

// needed are the programs of the host that runs the lab, with Debian's package of each.
var needed = [][2]string{{"debootstrap", "debootstrap"}, {"mkfs.ext4", "e2fsprogs"}, {"debugfs", "e2fsprogs"},
	{"e2fsck", "e2fsprogs"}, {"ssh", "openssh-client"}, {"scp", "openssh-client"}, {"ssh-keygen", "openssh-client"},
	{"cp", "coreutils"}, {"chroot", "coreutils"}, {"sh", "dash"}, {"xz", "xz-utils"}, {"zstd", "zstd"}}

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30

	systemSpace   = 3 * gibibyte   // the installed systems and their disks, in the cache
	originalSpace = 800 * mebibyte // disk and memory of a machine that is kept to be copied, in the cache
	diskSpace     = gibibyte       // the disk of a machine that runs, with what it writes, and its kernel

	restMemory = gibibyte       // the cards, the provider and the tests
	qemuMemory = 256 * mebibyte // QEMU, beyond the memory of its machine
)

// Need is what is to run at the same time.
type Need struct {
	Machines  int
	Suites    []string // of Debian that they boot; all if empty
	Megabytes int      // of memory of each; as of Config if 0
	Dir       string   // below which they have their directories; that of temporary files if empty
}

func (n Need) suites() []string {
	if len(n.Suites) == 0 {
		return allSuites
	}
	return n.Suites
}

// memory is what all of it takes.
func (n Need) memory() uint64 {
	return restMemory + uint64(n.Machines)*(uint64(cmp.Or(n.Megabytes, defaultMegabytes))*mebibyte+qemuMemory)
}

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
	originals int  // that are not kept yet
	has       func(program string) bool
	space     func(path string) (space, error)
	memory    func() (uint64, error) // bytes that are available
	share     func() error           // makes memory as machines share it with their cards
}

// space is that of a file system.
type space struct {
	free     uint64 // bytes
	device   uint64
	inMemory bool
}

// Check says whether this host can run the machines; a LackingError if not.
func Check(n Need) error {
	return host{arch: runtime.GOARCH, root: os.Geteuid() == 0, installed: n.installed(), originals: n.missingOriginals(),
		has:   func(program string) bool { _, err := exec.LookPath(program); return err == nil },
		space: spaceAt, memory: availableMemory, share: shareMemory}.check(n)
}

func (h host) check(n Need) error {
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
	lacks = append(lacks, h.lackingRoom(n)...)
	if err := h.share(); err != nil {
		lacks = append(lacks, fmt.Sprintf("memory cannot be shared between processes: %v", err))
	}
	if len(lacks) > 0 {
		return lacks
	}
	return nil
}

// place is what is needed of one file system.
type place struct {
	space
	paths []string
	bytes uint64
}

// lackingRoom says what is missing of disk and memory. Paths may share a file system, and
// that of temporary files is memory on some hosts.
func (h host) lackingRoom(n Need) (lacks []string) {
	memory := n.memory()
	var places []*place
	for _, p := range h.places(n) {
		s, err := h.space(p.paths[0])
		if err != nil {
			lacks = append(lacks, fmt.Sprintf("how much disk there is for %s cannot be read: %v", p.paths[0], err))
			continue
		}
		if p.space = s; s.inMemory {
			memory += p.bytes
		}
		places = merge(places, p)
	}
	for _, p := range places {
		lacks = append(lacks, lacking(p.free, p.bytes, "of disk for "+strings.Join(p.paths, " and "), n)...)
	}
	free, err := h.memory()
	if err != nil {
		return append(lacks, fmt.Sprintf("how much memory there is cannot be read: %v", err))
	}
	return append(lacks, lacking(free, memory, "of memory", n)...)
}

// places are the directories that are written to. How many originals a run makes is not
// known before; those that are needed at the same time are no more than the machines.
func (h host) places(n Need) (all []place) {
	inCache := uint64(min(h.originals, n.Machines)) * originalSpace
	if !h.installed {
		inCache += systemSpace
	}
	if inCache > 0 {
		all = append(all, place{paths: []string{cache()}, bytes: inCache})
	}
	return append(all, place{paths: []string{cmp.Or(n.Dir, os.TempDir())}, bytes: uint64(n.Machines) * diskSpace})
}

// merge adds what is needed to that of the same file system.
func merge(places []*place, p place) []*place {
	for _, same := range places {
		if same.device == p.device {
			same.paths, same.bytes = append(same.paths, p.paths...), same.bytes+p.bytes
			return places
		}
	}
	return append(places, &p)
}

// lacking says what is missing of something that is measured in bytes.
func lacking(free, needed uint64, what string, n Need) []string {
	if free >= needed {
		return nil
	}
	return []string{fmt.Sprintf("%.1f GiB %s are available; %d machines at once need %.1f", float64(free)/gibibyte, what,
		n.Machines, float64(needed)/gibibyte)}
}

// installed says whether everything is there that needs root.
func (n Need) installed() bool {
	return !slices.ContainsFunc(systems(n.suites()), func(s system) bool {
		return !exists(s.dir()) || s.boots && !exists(s.disk())
	})
}

// missingOriginals counts the kinds of machines of which no original is kept yet.
func (n Need) missingOriginals() (missing int) {
	for _, suite := range n.suites() {
		for _, stack := range netstack.All() {
			kept := false
			for accelerator := range accelerators {
				kept = kept || exists(original{accelerator: accelerator, suite: suite, stack: stack}.dir())
			}
			if !kept {
				missing++
			}
		}
	}
	return missing
}

// spaceAt is what is left where a path is, or will be.
func spaceAt(path string) (space, error) {
	for !exists(path) && path != "/" {
		path = filepath.Dir(path)
	}
	var (
		fs unix.Statfs_t
		at unix.Stat_t
	)
	if err := unix.Stat(path, &at); err != nil {
		return space{}, err
	}
	err := unix.Statfs(path, &fs)
	return space{free: fs.Bavail * uint64(fs.Bsize), device: at.Dev, inMemory: fs.Type == unix.TMPFS_MAGIC}, err
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
	const size = defaultMegabytes * mebibyte
	if err = unix.Ftruncate(fd, size); err != nil {
		return err
	}
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	return unix.Munmap(memory)
}
