package labsim

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// seedFiles writes what a fresh installation has on disk.
func (m *Machine) seedFiles() {
	for _, d := range []string{"/etc", "/root", "/home", "/var/log", "/var/lib", "/var/cache", "/usr/bin", "/usr/sbin",
		"/usr/local/bin", "/usr/local/sbin", "/usr/lib", "/mnt", "/opt", "/srv", "/boot", "/etc/modprobe.d",
		"/etc/modules-load.d",
		"/etc/udev/rules.d", "/etc/systemd/system", "/sys/class/net", "/sys/bus/pci/devices", "/sys/module",
		"/sys/kernel/security"} {
		m.FS.PutDir(d, 0o755, 0, 0)
	}
	m.FS.PutDir("/root", 0o700, 0, 0)
	for _, d := range []string{"bin", "sbin", "lib"} {
		m.FS.PutLink("usr/"+d, "/"+d)
	}
	m.FS.PutDir("/var/tmp", fs.ModeSticky|0o777, 0, 0)
	m.FS.PutLink("../run", "/var/run")
	m.FS.PutDevices()
	m.FS.Put("/etc/hostname", m.Name+"\n", 0o644)
	m.FS.Put("/etc/os-release", m.Config.Release, 0o644)
	for path, text := range m.Config.Files {
		m.FS.Put(path, text, 0o644)
	}
	m.FS.Put("/etc/machine-id", strings.ReplaceAll(newBootID(), "-", "")+"\n", 0o444)
	m.FS.Put("/etc/modules", "# /etc/modules: kernel modules to load at boot time.\n", 0o644)
	m.seedUsers()
	m.AddModuleFiles(m.OS.modulesOf(m.Kernel)...)
	m.FS.Put("/usr/lib/modules/"+m.Kernel+"/modules.builtin", "kernel/fs/fuse/fuse.ko\n", 0o644)
	if m.OS == TrueNAS {
		// SCALE mounts its system datasets read-only.
		for _, d := range []string{"/usr", "/opt", "/boot"} {
			m.FS.SetReadOnly(d, true)
		}
	}
	m.FS.SetReadOnly("/sys", false)
}

func (m *Machine) seedUsers() {
	var passwd, group strings.Builder
	for _, u := range m.Users() {
		fmt.Fprintf(&passwd, "%s:x:%d:%d::%s:%s\n", u.Name, u.UID, u.GID, u.Home, u.Shell)
		fmt.Fprintf(&group, "%s:x:%d:\n", u.Name, u.GID)
		if u.UID != 0 {
			m.FS.PutDir(u.Home, 0o750, u.UID, u.GID)
		}
	}
	m.FS.Put("/etc/passwd", passwd.String(), 0o644)
	m.FS.Put("/etc/group", group.String(), 0o644)
}

// seedVolatile makes what a boot makes: /proc, /run and /tmp.
func (m *Machine) seedVolatile() {
	m.FS.Drop("/run")
	m.FS.Drop("/tmp")
	m.FS.Drop("/sys/class/infiniband_mad")
	m.FS.Drop("/sys/module")
	m.FS.PutDir("/sys/module", 0o755, 0, 0)
	m.FS.PutDir("/run/lock", fs.ModeSticky|0o777, 0, 0)
	m.FS.PutDir("/run/systemd/system", 0o755, 0, 0)
	m.FS.PutDir("/tmp", fs.ModeSticky|0o777, 0, 0)
	m.FS.Drop("/proc/fs")
	m.FS.PutDir("/proc/fs", 0o555, 0, 0)
	cmdline := m.Cmdline()
	m.FS.PutDynamic("/proc/cmdline", 0o444, text(cmdline), nil)
	m.FS.PutDynamic("/proc/sys/kernel/random/boot_id", 0o444, line(m.BootID), nil)
	m.FS.PutDynamic("/proc/sys/kernel/hostname", 0o644, text(m.Name), nil)
	m.FS.PutDynamic("/proc/sys/kernel/osrelease", 0o444, text(m.Kernel), nil)
	m.FS.PutDynamic("/proc/cpuinfo", 0o444, line(func() string {
		flags := "fpu vme de"
		if m.Config.Virtual {
			flags += " hypervisor"
		}
		return "processor\t: 0\nflags\t\t: " + flags + " lm"
	}), nil)
	m.FS.PutDynamic("/proc/version", 0o444, text("Linux version "+m.Kernel), nil)
	m.FS.PutDynamic("/proc/uptime", 0o444, line(func() string {
		s := m.Lab.Clock.Now().Sub(m.BootTime()).Seconds()
		return fmt.Sprintf("%.2f %.2f", s, s)
	}), nil)
	m.FS.PutDynamic("/proc/modules", 0o444, func() (string, error) {
		var b strings.Builder
		for _, name := range m.Modules() {
			users := m.ModuleUsers(name)
			list := "-"
			if len(users) > 0 {
				list = strings.Join(users, ",") + ","
			}
			fmt.Fprintf(&b, "%s 131072 %d %s Live 0x0000000000000000\n", name, len(users), list)
		}
		return b.String(), nil
	}, nil)
	m.FS.PutDynamic("/proc/mounts", 0o444, func() (string, error) {
		return "/dev/sda2 / ext4 rw,relatime 0 0\ntmpfs /run tmpfs rw 0 0\n", nil
	}, nil)
	m.FS.PutDynamic("/proc/stat", 0o444,
		line(func() string { return fmt.Sprintf("cpu  0 0 0 0\nbtime %d", m.BootTime().Unix()) }), nil)
	m.FS.PutDynamic("/proc/net/tcp", 0o444, text(sockets), nil)
	m.FS.PutDynamic("/sys/kernel/security/lockdown", 0o644, text("[none] integrity confidentiality"), nil)
	m.FS.PutDynamicDir("/proc", &vfs.Dynamic{List: m.pidNames, Lookup: m.procNode})
}

// sockets is the kernel's table of a host on which only sshd listens.
const sockets = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
	"   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17611 1 " +
	"0000000000000000 100 0 0 10 0"

// openFiles are the directories of a process' open files: links to them, and how
// each was opened. Those that are simulated are open for reading and writing.
func (m *Machine) openFiles(p *Proc) (fd, info *vfs.Node) {
	var links, flags []*vfs.Node
	for i, file := range p.OpenFiles() {
		name := strconv.Itoa(3 + i)
		links = append(links, vfs.NewLink(name, file))
		flags = append(flags, vfs.NewFile(name, 0o400, text("pos:\t0\nflags:\t0100002\nmnt_id:\t21"), nil))
	}
	return vfs.NewDir("fd", links...), vfs.NewDir("fdinfo", flags...)
}

// initNode is the process 1, of which nothing but its being there is simulated.
func initNode() *vfs.Node {
	return vfs.NewDir("1", vfs.NewFile("comm", 0o444, text("systemd"), nil),
		vfs.NewFile("cmdline", 0o444, text("/sbin/init\x00"), nil),
		vfs.NewLink("cwd", "/"), vfs.NewDir("fd"), vfs.NewDir("fdinfo"),
		vfs.NewFile("stat", 0o444, text("1 (systemd) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0"), nil),
		vfs.NewFile("status", 0o444, text("Name:\tsystemd\nPid:\t1\nPPid:\t0\nUid:\t0\t0\t0\t0"), nil))
}

func (m *Machine) pidNames() []string {
	names := []string{"1"}
	for _, p := range m.Processes() {
		names = append(names, strconv.Itoa(p.PID))
	}
	return names
}

func (m *Machine) procNode(name string) *vfs.Node {
	pid, err := strconv.Atoi(name)
	if err != nil {
		return nil
	}
	if pid == 1 {
		return initNode()
	}
	p := m.Process(pid)
	if p == nil {
		return nil
	}
	fd, info := m.openFiles(p)
	return vfs.NewDir(name,
		vfs.NewLink("cwd", p.Dir), fd, info,
		vfs.NewFile("cmdline", 0o444, func() (string, error) { return strings.Join(p.Args, "\x00") + "\x00", nil }, nil),
		vfs.NewFile("environ", 0o400, func() (string, error) { return environ(p), nil }, nil),
		vfs.NewFile("comm", 0o444, text(p.Name()), nil),
		vfs.NewFile("stat", 0o444, text(fmt.Sprintf("%d (%s) S %d %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0", pid,
			p.Name(), p.PPID, pid, pid,
			p.Started.Sub(m.BootTime()).Milliseconds()/10)), nil),
		vfs.NewFile("status", 0o444, text(fmt.Sprintf("Name:\t%s\nState:\tS "+
			"(sleeping)\nPid:\t%d\nPPid:\t%d\nUid:\t%d\t%d\t%d\t%d",
			p.Name(), pid, p.PPID, p.UID, p.UID, p.UID, p.UID)), nil),
	)
}

// environ is the environment that the process was started with, as the kernel
// shows it: each variable ends with NUL.
func environ(p *Proc) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		fmt.Fprintf(&b, "%s=%s\x00", name, p.Env[name])
	}
	return b.String()
}
