package cardusers

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
)

const (
	config = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config"
	second = "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0/resource0"
)

// proc is a process of a made-up /proc: its words, and its open files with the flags
// that fdinfo has.
type proc struct {
	comm  string // default: the base name of the first word
	words []string
	files map[string]string
}

const (
	readWrite = "0100002"
	readOnly  = "0100000"
)

func open(file, flags string) map[string]string { return map[string]string{file: flags} }

func (p proc) write(t *testing.T, root string, pid int) {
	t.Helper()
	dir := filepath.Join(root, "proc", fmt.Sprint(pid))
	comm := p.comm
	if comm == "" {
		comm = filepath.Base(p.words[0])
	}
	put(t, filepath.Join(dir, "comm"), comm+"\n")
	cmdline := ""
	for _, w := range p.words {
		cmdline += w + "\x00"
	}
	put(t, filepath.Join(dir, "cmdline"), cmdline)
	put(t, filepath.Join(dir, "status"), "Name:\tx\nUid:\t0\t0\t0\t0\n")
	put(t, filepath.Join(dir, "stat"), fmt.Sprintf("%d (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1200 0 0\n", pid))
	for i, file := range slices.Sorted(maps.Keys(p.files)) {
		if err := os.MkdirAll(filepath.Join(dir, "fd"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(dir, "fd", fmt.Sprint(3+i))); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "fdinfo", fmt.Sprint(3+i)), "pos:\t0\nflags:\t"+p.files[file]+"\nmnt_id:\t21\n")
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// machine makes a /proc with process 1 and one other.
func machine(t *testing.T, p proc) (root string) {
	t.Helper()
	root = t.TempDir()
	proc{words: []string{"systemd"}}.write(t, root, 1)
	if err := os.Symlink("/", filepath.Join(root, "proc/1/cwd")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "proc/stat"), "cpu  1 2\nbtime 1795000000\n")
	p.write(t, root, 4711)
	return root
}

var shells = [][]string{{"/bin/sh"}, {"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"mksh"}}

// findUsers runs find_users in every shell of this machine and gives what all of them say.
func findUsers(t *testing.T, root, lock string) (users, why string) {
	t.Helper()
	for i, shell := range shells {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		list, reason := seenIn(t, shell, root, lock)
		if i > 0 && (list != users || reason != why) {
			t.Errorf("%v says %q, %q; another shell %q, %q", shell, list, reason, users, why)
		}
		users, why = list, reason
	}
	return users, why
}

func seenIn(t *testing.T, shell []string, root, lock string) (users, why string) {
	t.Helper()
	text := Functions + "\nfind_users \"$1\" \"$2\"\nprintf '%s' \"$USERS\"\n[ -z \"$USERS_WHY\" ] || printf '!%s' \"$USERS_WHY\"\n"
	args := append(slices.Clone(shell[1:]), "-c", text, "sh", root, lock)
	out, err := exec.CommandContext(t.Context(), shell[0], args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", shell, err, out)
	}
	users, why, _ = strings.Cut(string(out), "!")
	return users, why
}

func TestFind_users(t *testing.T) {
	const lock = "/run/x/flash.lock"
	burn := []string{"mstflint", "-d", "01:00.0", "-i", "fw.bin", "b"}
	for name, tt := range map[string]struct {
		proc proc
		want string // card, a tab, the command; empty: no user
	}{
		"burn with the card open": {proc{words: burn, files: open(config, readWrite)},
			"0000:01:00.0\tmstflint -d 01:00.0 -i fw.bin b"},
		"burn that has not opened it": {proc{words: burn}, "0000:01:00.0\tmstflint -d 01:00.0 -i fw.bin b"},
		"another card": {proc{words: []string{"mstflint", "--device=0000:02:00.0", "q"},
			files: open(second, readWrite)}, "0000:02:00.0\tmstflint --device=0000:02:00.0 q"},
		"by sysfs path": {proc{words: []string{"mstflint", "-d", "/sys/bus/pci/devices/0000:02:00.0/config",
			"q"}}, "0000:02:00.0\tmstflint -d /sys/bus/pci/devices/0000:02:00.0/config q"},
		"by name of the driver": {proc{words: []string{"/usr/bin/mstflint", "-d", "mlx4_0", "q"}},
			"any\t/usr/bin/mstflint -d mlx4_0 q"},
		"by name, and open": {proc{words: []string{"mstflint", "-d", "mlx4_0", "q"},
			files: open(config, readWrite)}, "0000:01:00.0\tmstflint -d mlx4_0 q"},
		"vendor's tools": {proc{words: []string{"flint", "-d", "/dev/mst/mt4103_pci_cr0", "b"},
			files: open("/dev/mst/mt4103_pci_cr0", readWrite)}, "any\tflint -d /dev/mst/mt4103_pci_cr0 b"},
		"lock file of the tool": {proc{words: []string{"mlxconfig", "q"},
			files: open("/tmp/mstflint_lockfiles/x", readWrite)}, "any\tmlxconfig q"},
		"configuration of all cards": {proc{words: []string{"mstconfig", "q"}}, "any\tmstconfig q"},
		"reset, a script": {proc{comm: "python3",
			words: []string{"/usr/bin/python3", "/usr/lib64/mstflint/python_tools/mstfwreset/mstfwreset.py", "-d", "01:00.0",
				"reset"}}, "0000:01:00.0\t/usr/bin/python3 /usr/lib64/mstflint/python_tools/mstfwreset/mstfwreset.py -d 01:00.0 reset"},
		"unknown program, card open": {proc{words: []string{"setpci", "-s", "01:00.0", "58.l=1"},
			files: open(config, readWrite)}, "0000:01:00.0\tsetpci -s 01:00.0 58.l=1"},
		"flash by the driver": {proc{words: []string{"devlink", "dev", "flash", "pci/0000:01:00.0", "file", "x"}},
			"0000:01:00.0\tdevlink dev flash pci/0000:01:00.0 file x"},
		"reload by the driver": {proc{words: []string{"/sbin/devlink", "-j", "dev", "reload", "pci/0000:01:00.0", "action",
			"fw_activate"}}, "0000:01:00.0\t/sbin/devlink -j dev reload pci/0000:01:00.0 action fw_activate"},
		"flash of no PCI device": {proc{words: []string{"devlink", "dev", "flash", "netdevsim/netdevsim1", "file", "x"}},
			"any\tdevlink dev flash netdevsim/netdevsim1 file x"},
		"devlink that shows":    {proc{words: []string{"devlink", "dev", "info", "pci/0000:01:00.0"}}, ""},
		"devlink that monitors": {proc{words: []string{"devlink", "monitor"}}, ""},
		"group that is not known": {proc{words: []string{"qemu"}, files: open("/dev/vfio/12", readWrite)},
			"any\tqemu (has the card by VFIO, as for a guest)"},
		"device that is not known": {proc{words: []string{"qemu"}, files: open("/dev/vfio/devices/vfio3", readWrite)},
			"any\tqemu (has the card by VFIO, as for a guest)"},
		"container of groups": {proc{words: []string{"qemu"}, files: open("/dev/vfio/vfio", readWrite)}, ""},
		"image file only": {proc{words: []string{"mstflint", "-i", "/root/fw.bin", "q"},
			files: open("/root/fw.bin", readOnly)}, ""},
		"reader of configuration space": {proc{words: []string{"lspci", "-vv"}, files: open(config, readOnly)}, ""},
		"thread of the driver":          {proc{comm: "mlx5_health0000"}, ""},
		"script that is none of these": {proc{comm: "bash",
			words: []string{"bash", "/root/mst-notes/backup.sh", "-d", "01:00.0"}}, ""},
		"word in another program's line": {proc{words: []string{"man", "mstflint"}}, ""},
		"configuration of another kind": {proc{words: []string{"git", "gc"},
			files: open("/root/repo/.git/config", readWrite)}, ""},
		"one of ours, under the lock": {proc{words: burn, files: map[string]string{config: readWrite, lock: readOnly}},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users, why := findUsers(t, machine(t, tt.proc), lock)
			want := ""
			if card, command, ok := strings.Cut(tt.want, "\t"); ok {
				want = "4711 1795000012 " + card + " root\t" + command + "\n"
			}
			if users != want || why != "" {
				t.Errorf("got %q, %q\nwant %q", users, why, want)
			}
		})
	}
}

// ethtool names the interface of a card. One that leads to no PCI device may be of each card.
func TestFind_users_by_interface(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		words []string
		link  string // of the interface to its device
		want  string // the card; empty: no user
	}{
		"flash":                      {[]string{"ethtool", "-f", "enp1s0np0", "fw.mfa2"}, "../../../0000:01:00.0", "0000:01:00.0"},
		"flash, long":                {[]string{"/sbin/ethtool", "--flash", "enp1s0np0", "fw.mfa2", "0"}, "../../../0000:01:00.1", "0000:01:00.1"},
		"flash of no such interface": {[]string{"ethtool", "-f", "enp1s0np0", "fw.mfa2"}, "", "any"},
		"flash of a subfunction":     {[]string{"ethtool", "-f", "enp1s0np0", "fw.mfa2"}, "../../../mlx5_core.sf.4", "any"},
		"flash without an interface": {[]string{"ethtool", "-f"}, "", ""},
		"driver":                     {[]string{"ethtool", "-i", "enp1s0np0"}, "../../../0000:01:00.0", ""},
		"settings":                   {[]string{"ethtool", "enp1s0np0"}, "../../../0000:01:00.0", ""},
	} {
		root := machine(t, proc{words: tt.words})
		if tt.link != "" {
			netdev := filepath.Join(root, "sys/class/net/enp1s0np0")
			put(t, filepath.Join(netdev, "address"), "e4:1d:2d:44:4e:d0\n")
			if err := os.Symlink(tt.link, filepath.Join(netdev, "device")); err != nil {
				t.Fatal(err)
			}
		}
		users, why := findUsers(t, root, "/run/x/flash.lock")
		want := ""
		if tt.want != "" {
			want = "4711 1795000012 " + tt.want + " root\t" + strings.Join(tt.words, " ") + "\n"
		}
		if users != want || why != "" {
			t.Errorf("%s: got %q, %q\nwant %q", name, users, why, want)
		}
	}
}

// A virtual function is its card, which may be in another slot.
func TestFind_users_of_a_virtual_function(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ link, want string }{
		"of a card":       {"../0000:01:00.0", "0000:01:00.0"},
		"not understood":  {"../card", "any"},
		"no virtual one":  {"", "0000:01:01.2"},
		"leads nowhere":   {"../0000:07:00.0", "0000:07:00.0"},
		"of a second one": {"../0000:01:00.1", "0000:01:00.1"},
	} {
		root := machine(t, proc{words: []string{"setpci", "-s", "01:01.2", "58.l=1"},
			files: open("/sys/devices/pci0000:00/0000:00:01.0/0000:01:01.2/config", readWrite)})
		devices := filepath.Join(root, "sys/bus/pci/devices")
		put(t, filepath.Join(devices, "0000:01:00.0/vendor"), "0x15b3\n")
		put(t, filepath.Join(devices, "0000:01:01.2/vendor"), "0x15b3\n")
		if tt.link != "" {
			if err := os.Symlink(tt.link, filepath.Join(devices, "0000:01:01.2/physfn")); err != nil {
				t.Fatal(err)
			}
		}
		users, why := findUsers(t, root, "/run/x/flash.lock")
		if want := "4711 1795000012 " + tt.want + " root\tsetpci -s 01:01.2 58.l=1\n"; users != want || why != "" {
			t.Errorf("%s: got %q, %q\nwant %q", name, users, why, want)
		}
	}
}

// A process that has a card by VFIO uses it, whatever its guest does: all devices of the group, and
// nothing that leads to no flash of a card.
func TestFind_users_of_a_guest(t *testing.T) {
	t.Parallel()
	const pci = "0000:01:00.0"
	type host struct {
		file    string // that the process has open
		vendor  string // of the device; empty: not known
		virtual bool
	}
	for name, tt := range map[string]struct {
		host host
		used bool
	}{
		"card of a group":        {host{file: "/dev/vfio/12", vendor: "0x15b3"}, true},
		"its vendor is unknown":  {host{file: "/dev/vfio/12"}, true},
		"without an IOMMU":       {host{file: "/dev/vfio/noiommu-12", vendor: "0x15b3"}, true},
		"device of its own":      {host{file: "/dev/vfio/devices/vfio3", vendor: "0x15b3"}, true},
		"another group":          {host{file: "/dev/vfio/13", vendor: "0x15b3"}, false},
		"graphics card":          {host{file: "/dev/vfio/12", vendor: "0x10de"}, false},
		"virtual function":       {host{file: "/dev/vfio/12", vendor: "0x15b3", virtual: true}, false},
		"own, graphics":          {host{file: "/dev/vfio/devices/vfio3", vendor: "0x10de"}, false},
		"bound, and nobody's":    {host{file: "/root/x", vendor: "0x15b3"}, false},
		"mediated, of its own":   {host{file: "/dev/vfio/devices/vfio4"}, false},
		"mediated, of its group": {host{file: "/dev/vfio/14"}, false},
	} {
		root := machine(t, proc{words: []string{"qemu-system-x86_64", "-name", "guest"}, files: open(tt.host.file, readWrite)})
		sys := filepath.Join(root, "sys")
		put(t, filepath.Join(sys, "kernel/iommu_groups/12/devices", pci), "")
		put(t, filepath.Join(sys, "kernel/iommu_groups/13/devices/0000:07:00.0"), "")
		put(t, filepath.Join(sys, "bus/pci/devices/0000:07:00.0/vendor"), "0x8086\n")
		put(t, filepath.Join(sys, "kernel/iommu_groups/14/devices/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"), "")
		for device, of := range map[string]string{"vfio3": pci, "vfio4": "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"} {
			put(t, filepath.Join(sys, "class/vfio-dev", device, "dev"), "511:3\n")
			if err := os.Symlink("../../../"+of, filepath.Join(sys, "class/vfio-dev", device, "device")); err != nil {
				t.Fatal(err)
			}
		}
		device := filepath.Join(sys, "bus/pci/devices", pci)
		if tt.host.vendor != "" {
			put(t, filepath.Join(device, "vendor"), tt.host.vendor+"\n")
		}
		if tt.host.virtual {
			if err := os.Symlink("../0000:01:00.1", filepath.Join(device, "physfn")); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		if tt.used {
			want = "4711 1795000012 " + pci + " root\tqemu-system-x86_64 (has the card by VFIO, as for a guest)\n"
		}
		if users, why := findUsers(t, root, "/run/x/flash.lock"); users != want || why != "" {
			t.Errorf("%s: got %q, %q\nwant %q", name, users, why, want)
		}
	}
}

// TestFind_users_without_proc holds that what cannot be seen is not "nobody".
func TestFind_users_without_proc(t *testing.T) {
	t.Parallel()
	root := machine(t, proc{words: []string{"mstflint", "-d", "01:00.0", "b"}})
	if err := os.Remove(filepath.Join(root, "proc/1/comm")); err != nil {
		t.Fatal(err)
	}
	if users, why := findUsers(t, root, "/x"); users != "" || why != "the processes in /proc cannot be read" {
		t.Errorf("%q, %q", users, why)
	}
}

// TestFind_users_does_not_take_an_ended_process holds that a process whose files are
// gone between two looks is no user.
func TestFind_users_does_not_take_an_ended_process(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"comm", "cmdline", "status"} {
		root := machine(t, proc{words: []string{"mstflint", "-d", "01:00.0", "b"}})
		if err := os.Remove(filepath.Join(root, "proc/4711", gone)); err != nil {
			t.Fatal(err)
		}
		if users, why := findUsers(t, root, "/x"); users != "" || why != "" {
			t.Errorf("without %s: %q, %q", gone, users, why)
		}
	}
}

// A file that a process closes while it is looked at says nothing: udev's worker reads the
// space of a card for a moment. The flags of this one are a pipe, which tells when the
// script has come to them.
func TestFind_users_does_not_take_a_file_that_was_closed(t *testing.T) {
	root := machine(t, proc{comm: "(udev-worker)", words: []string{"(udev-worker)"}, files: open(config, readOnly)})
	dir := filepath.Join(root, "proc/4711")
	flags := filepath.Join(dir, "fdinfo/3")
	if err := errors.Join(os.Remove(flags), syscall.Mkfifo(flags, 0o600)); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() {
		pipe, err := os.OpenFile(flags, os.O_WRONLY, 0) // waits for the reader
		closed <- errors.Join(err, os.Remove(filepath.Join(dir, "fd/3")), pipe.Close())
	}()
	if users, why := seenIn(t, shells[0], root, "/lock"); users != "" || why != "" {
		t.Errorf("%q, %q", users, why)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// begins puts a find before that of the machine: right after it has listed the open
// files of all processes, one more process begins.
func begins(t *testing.T, root string, p proc) {
	t.Helper()
	program, err := exec.LookPath("find")
	if err != nil {
		t.Fatal(err)
	}
	later := t.TempDir()
	p.write(t, later, 4712)
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s \"$@\"\ncp -a %s/proc/4712 %s/proc/\n", program, later, root)
	if err := os.WriteFile(filepath.Join(bin, "find"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// TestFind_users_knows_a_reader_of_ours_that_begins_meanwhile holds that what opens a card
// under the lock is one of ours also if it begins between two looks at the processes, and
// that a program of others that begins there is seen.
func TestFind_users_knows_a_reader_of_ours_that_begins_meanwhile(t *testing.T) {
	const lock = "/run/x/flash.lock"
	words := []string{"mstflint", "-d", "0000:01:00.0", "checksum"}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"ours":   {map[string]string{lock: readOnly, lock + ".reader": readOnly, config: readWrite}, ""},
		"theirs": {open(config, readWrite), "4712 1795000012 0000:01:00.0 root\tmstflint -d 0000:01:00.0 checksum\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, shell := range shells {
				if _, err := exec.LookPath(shell[0]); err != nil {
					continue
				}
				root := machine(t, proc{words: []string{"cat"}})
				begins(t, root, proc{words: words, files: tt.files})
				if users, why := seenIn(t, shell, root, lock); users != tt.want || why != "" {
					t.Errorf("%v: got %q, %q\nwant %q", shell, users, why, tt.want)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	users, err := Parse("4711 1795000012 0000:01:00.0 AD\\jo doe\tmstflint -d 01:00.0 b\n12 0 any root\tmstconfig q\n")
	if err != nil || len(users) != 2 {
		t.Fatalf("%v, %v", users, err)
	}
	if got, want := users[0].String(),
		"mstflint -d 01:00.0 b, pid 4711, user AD\\jo doe, since 2026-11-18T11:06:52Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := users[1].String(), "mstconfig q, pid 12, user root"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	one, other := ib.MustParsePCIAddress("0000:01:00.1"), ib.MustParsePCIAddress("0000:02:00.0")
	if !users[0].Uses(one) || users[0].Uses(other) || !users[1].Uses(other) {
		t.Error("the wrong cards are said to be in use")
	}
	for _, bad := range []string{"x", "1 2 any root mstflint", "x 0 any root\ty", "1 x any root\ty", "1 2 x root\ty"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestScripts_pass_shellcheck(t *testing.T) {
	realtool.Path(t, "shellcheck")
	file := filepath.Join(t.TempDir(), "guard.sh")
	put(t, file, Functions+guard)
	for _, f := range []string{"users.sh", file} {
		if out, err := exec.CommandContext(t.Context(), "shellcheck", "-s", "sh", "-e", "SC2317",
			f).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// An update of the firmware is seen in its register, whoever makes it, and by one command
// that runs as its caller says.
func TestFind_update(t *testing.T) {
	t.Parallel()
	const script = `find_users() { USERS=; }
find_users
PATH=$1/bin:$PATH
find_update "$1" 0000:01:00.0 under
users_of 0000:01:00.0`
	for name, tt := range map[string]struct{ device, state, want string }{
		"idle":                    {"0x1013", "0x00650000", ""},
		"a BMC":                   {"0x1017", "0x30650003", "0 0 0000:01:00.0 the BMC\tupdate of the firmware of the card, state DOWNLOAD\n"},
		"a tool that was killed":  {"0x101b", "0x50000001", "0 0 0000:01:00.0 a tool\tupdate of the firmware of the card, state LOCKED\n"},
		"the last of the states":  {"0x1021", "0x40650009", "0 0 0000:01:00.0 the driver\tupdate of the firmware of the card, state DOWNSTREAM\n"},
		"a ConnectX-3":            {"0x1007", "0x30650003", ""},
		"recovery mode":           {"0x020d", "0x30650003", ""},
		"no such register":        {"0x1013", "", ""},
		"a refusal, then a state": {"0x1013", "0x00650900", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, filepath.Join(dir, "sys/bus/pci/devices/0000:01:00.0/device"), tt.device+"\n")
			tool := "#!/bin/sh\n[ \"$*\" = '-d 0000:01:00.0 --reg_id 0x9062 --reg_len 0x20 --get' ] || exit 9\n"
			if tt.state == "" {
				tool += "echo '-E- FW burnt on device does not support generic access register' >&2\nexit 1\n"
			} else {
				tool += "echo '0x00000008 | 0x00000103'\necho '0x0000000c | " + tt.state + "'\necho '0x00000010 | 0x00000007'\n"
			}
			put(t, filepath.Join(dir, "bin/mstreg"), tool)
			put(t, filepath.Join(dir, "bin/under"), "#!/bin/sh\nexec \"$@\"\n")
			for _, f := range []string{"mstreg", "under"} {
				if err := os.Chmod(filepath.Join(dir, "bin", f), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, shell := range shells {
				if _, err := exec.LookPath(shell[0]); err != nil {
					continue
				}
				args := append(slices.Clone(shell[1:]), "-c", Functions+script, "sh", dir)
				out, err := exec.CommandContext(t.Context(), shell[0], args...).CombinedOutput()
				if err != nil || string(out) != tt.want {
					t.Errorf("%v: %v, %q; want %q", shell, err, out, tt.want)
				}
			}
		})
	}
}

// TestGuard_of_a_reader_that_waits holds that a reader waits for another one of ours, not
// for ever, and looks again who is at the card before it opens it.
func TestGuard_of_a_reader_that_waits(t *testing.T) {
	t.Parallel()
	// A file of each name stands for a program that came, and for a turn of another reader.
	const world = `cd "$1" || exit 1
shift
find_users() { USERS='' USERS_WHY=''; [ ! -e came ] || USERS=4711; }
users_of() { printf '%s' "$USERS"; }
find_update() { :; }
flock() {
	echo turn >>turns
	[ ! -e burn ] || mv burn came
	if [ -e first ]; then rm first; return 74; fi
	[ ! -e always ] || return 74
	echo opened
	return 3
}
`
	for name, tt := range map[string]struct {
		files  []string
		status int
		out    string
		turns  int
	}{
		"nobody":                        {nil, 3, "opened\n", 1},
		"another reader":                {[]string{"first"}, 3, "opened\n", 2},
		"another reader, then a burn":   {[]string{"first", "burn"}, Busy, "4711\n", 1},
		"a reader that does not end":    {[]string{"always"}, flock.Taken, "", 25},
		"a burn that began in the read": {[]string{"burn"}, Busy, "opened\n4711\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, shell := range shells {
				if _, err := exec.LookPath(shell[0]); err != nil {
					continue
				}
				dir := t.TempDir()
				for _, f := range tt.files {
					put(t, filepath.Join(dir, f), "")
				}
				args := append(slices.Clone(shell[1:]), "-c", world+guard, "sh", dir, dir+"/lock", "0000:01:00.0", "shared",
					"mstflint")
				run := exec.CommandContext(t.Context(), shell[0], args...)
				out, _ := run.CombinedOutput()
				turns, _ := os.ReadFile(filepath.Join(dir, "turns"))
				if n := strings.Count(string(turns), "turn"); run.ProcessState.ExitCode() != tt.status || string(out) != tt.out ||
					n != tt.turns {
					t.Errorf("%v: status %d, %q after %d turns", shell, run.ProcessState.ExitCode(), out, n)
				}
			}
		})
	}
}

func TestShared_keeps_the_command(t *testing.T) {
	got := WithSharedLock(shellcmd.New("mstflint", "-d", "0000:01:00.0", "q").WithStdin("y\n").WithTimeout(time.Minute),
		ib.MustParsePCIAddress("0000:01:00.0"))
	if !strings.HasSuffix(got.String(), "0000:01:00.0 shared mstflint -d 0000:01:00.0 q") || !got.Root() ||
		got.Changing() || got.Stdin() != "y\n" || got.Timeout() != 2*time.Minute {
		t.Errorf("%s, stdin %q, timeout %s", got, got.Stdin(), got.Timeout())
	}
	if !Exclusive(shellcmd.New("mstconfig").Changes(), ib.MustParsePCIAddress("0000:01:00.0")).Changing() {
		t.Error("a command that writes is not said to change the host")
	}
}
