package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// device is what a udev event is about.
type device struct {
	action, subsystem string
	// kernel and devpath, which is below /sys, are what the kernel calls it: what a rule
	// substitutes. An interface is renamed when the rules have been read, and the programs
	// of RUN start after that.
	kernel, devpath string
	name            string // now
	sys             string // /sys/class/... path
	drivers         []string
	env             map[string]string
}

type clause struct{ key, arg, op, value string }

// parseRule splits one line into clauses: KEY{arg}op"value", separated by commas.
func parseRule(line string) ([]clause, bool) {
	var out []clause
	rest := strings.TrimSpace(line)
	for rest != "" {
		open := strings.IndexByte(rest, '"')
		if open < 0 {
			return nil, false
		}
		head := strings.TrimSpace(rest[:open])
		var value strings.Builder
		i := open + 1
		for ; i < len(rest) && rest[i] != '"'; i++ {
			if rest[i] == '\\' && i+1 < len(rest) && rest[i+1] == '"' {
				i++
			}
			value.WriteByte(rest[i])
		}
		if i == len(rest) {
			return nil, false
		}
		c, ok := splitHead(head)
		if !ok {
			return nil, false
		}
		c.value = value.String()
		out = append(out, c)
		rest = strings.TrimLeft(rest[i+1:], " \t,")
	}
	return out, true
}

func splitHead(head string) (clause, bool) {
	for _, op := range []string{"==", "!=", "+=", ":=", "="} {
		if k, ok := strings.CutSuffix(head, op); ok {
			k = strings.TrimSpace(k)
			c := clause{key: k, op: op}
			if at := strings.IndexByte(k, '{'); at > 0 && strings.HasSuffix(k, "}") {
				c.key, c.arg = k[:at], k[at+1:len(k)-1]
			}
			return c, true
		}
	}
	return clause{}, false
}

// ruleFiles lists the rules that an administrator or a generator wrote; those of
// packages below /usr are part of how the lab names devices.
func (s *Manager) ruleFiles() []string {
	return s.m.FS.Overlay("/run/udev/rules.d/*.rules", "/etc/udev/rules.d/*.rules")
}

// runRules runs the rules over one device event. RUN programs run after all rules
// have been read.
func (s *Manager) runRules(d *device) {
	var run []clause
	for _, file := range s.ruleFiles() {
		body := strings.ReplaceAll(s.m.FS.Text(file), "\\\n", "")
		for i, line := range strings.Split(body, "\n") {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			where := fmt.Sprintf("%s:%d", file, i+1)
			clauses, ok := parseRule(line)
			if !ok {
				s.Log("systemd-udevd.service", "systemd-udevd", where+" Invalid key/value pair, ignoring.")
				continue
			}
			run = append(run, s.applyRule(d, where, clauses)...)
		}
	}
	for _, c := range run {
		s.runRule(d, c)
	}
}

// applyRule matches one rule and does its assignments; it returns what to run.
func (s *Manager) applyRule(d *device, where string, clauses []clause) (run []clause) {
	for _, c := range clauses {
		if c.op != "==" && c.op != "!=" {
			continue
		}
		hit, known := s.ruleMatch(d, c)
		if !known {
			s.m.Violate("udev rule %s: not simulated: %s{%s}", where, c.key, c.arg)
			return nil
		}
		if hit != (c.op == "==") {
			return nil
		}
	}
	for _, c := range clauses {
		switch {
		case c.op == "==" || c.op == "!=":
		case c.key == "RUN":
			run = append(run, c)
		default:
			s.assign(d, where, c)
		}
	}
	return run
}

func (s *Manager) assign(d *device, where string, c clause) {
	switch c.key {
	case "ATTR":
		s.writeAttr(d, where, c)
	case "ENV":
		d.env[c.arg] = c.value
	case "NAME":
		s.m.RenameNetdev(d.name, c.value)
		d.name, d.sys = c.value, path.Join(path.Dir(d.sys), c.value)
	default:
		s.m.Violate("udev rule %s: not simulated: %s{%s}%s", where, c.key, c.arg, c.op)
	}
}

func (s *Manager) ruleMatch(d *device, c clause) (hit, known bool) {
	switch c.key {
	case "ACTION":
		return ruleGlob(c.value, d.action), true
	case "SUBSYSTEM":
		return ruleGlob(c.value, d.subsystem), true
	case "KERNEL", "NAME":
		return ruleGlob(c.value, d.kernel), true
	case "ENV":
		return ruleGlob(c.value, d.env[c.arg]), true
	case "DRIVERS":
		return slices.ContainsFunc(d.drivers, func(driver string) bool { return ruleGlob(c.value, driver) }), true
	case "ATTR":
		v, err := s.m.FS.ReadFile(d.sys + "/" + c.arg)
		return err == nil && ruleGlob(c.value, strings.TrimRight(string(v), "\n ")), true
	}
	return false, false
}

// ruleGlob matches a pattern with alternatives.
func ruleGlob(pattern, value string) bool {
	for _, p := range strings.Split(pattern, "|") {
		// path.Match treats a slash as special; attribute values rarely have one.
		if GlobMatch(strings.ReplaceAll(p, "/", "\x00"), strings.ReplaceAll(value, "/", "\x00")) {
			return true
		}
	}
	return false
}

// writeAttr writes the value without a newline, as udev does. Attributes that
// compare with a trailing newline (the IPoIB mode, mlx4_portN) refuse it.
func (s *Manager) writeAttr(d *device, where string, c clause) {
	file := d.sys + "/" + c.arg
	h, err := s.m.FS.Open(vfs.Root, file, os.O_WRONLY, 0)
	if err == nil {
		_, err = h.Write([]byte(c.value))
	}
	if err == nil {
		return
	}
	if now, rerr := s.m.FS.ReadFile(file); rerr == nil && strings.TrimRight(string(now), "\n") == c.value {
		return // it already has the value
	}
	var errno syscall.Errno
	text := err.Error()
	if errors.As(err, &errno) {
		text = map[syscall.Errno]string{syscall.EINVAL: "Invalid argument",
			syscall.ENOENT: "No such file or directory"}[errno]
	}
	s.Log("systemd-udevd.service", "systemd-udevd",
		fmt.Sprintf("%s: %s Failed to write \"%s\" to sysfs attribute \"%s\", ignoring: %s",
			d.kernel, where, c.value, file, text))
}

func (s *Manager) runRule(d *device, c clause) {
	line := strings.NewReplacer("$$", "\x00", "$devpath", d.devpath, "%p", d.devpath, "$kernel", d.kernel, "%k", d.kernel,
		"$name", d.kernel, "%%", "%").Replace(c.value)
	argv := splitExec(strings.ReplaceAll(line, "\x00", "$"))
	if len(argv) == 0 {
		return
	}
	if c.arg == "builtin" {
		// kmod is the one builtin that rules here use.
		if len(argv) == 3 && argv[0] == "kmod" && argv[1] == "load" {
			_ = s.m.LoadModule(argv[2])
			return
		}
		s.m.Violate("udev builtin %q is not simulated", c.value)
		return
	}
	if !strings.HasPrefix(argv[0], "/") {
		argv[0] = "/usr/lib/udev/" + argv[0]
	}
	out := s.Journal("systemd-udevd.service", "(udev-worker)")
	status := s.m.Exec(context.Background(), &labsim.Proc{
		Machine: s.m, PPID: 1, Args: argv, User: "root", Stdout: out, Stderr: out,
		Env: map[string]string{"PATH": UnitPath, "ACTION": d.action, "SUBSYSTEM": d.subsystem, "DEVPATH": s.devpath(d.sys),
			"INTERFACE": d.name},
	})
	if status != 0 {
		s.Log("systemd-udevd.service", "(udev-worker)",
			fmt.Sprintf("%s: Process '%s' failed with exit code %d.", d.name, strings.Join(argv, " "), status))
	}
}

// NetEvent is the event of a network interface.
func (s *Manager) NetEvent(name, action string) {
	d, ok := s.m.Netdev(name)
	if !ok {
		return
	}
	dev := &device{action: action, subsystem: "net", name: name, kernel: s.kernelName(d), sys: "/sys/class/net/" + name,
		env: map[string]string{"INTERFACE": name, "ID_NET_NAME": name, "ID_NET_DRIVER": d.Driver}}
	switch {
	case d.Port != nil:
		dev.drivers = []string{"mlx4_core", "pcieport"}
	case d.Driver != "":
		dev.drivers = []string{d.Driver}
	}
	dev.devpath = path.Join(path.Dir(s.devpath(dev.sys)), dev.kernel)
	s.runRules(dev)
}

// kernelName is the name that a new interface has before udev renames it.
func (s *Manager) kernelName(d labsim.Netdev) string {
	if d.Type != labsim.TypeInfiniBand || d.Parent != "" {
		return d.Name
	}
	n := 0
	for _, other := range s.m.Netdevs() {
		if other.Name == d.Name {
			break
		}
		if other.Type == labsim.TypeInfiniBand && other.Parent == "" {
			n++
		}
	}
	return "ib" + strconv.Itoa(n)
}

func (s *Manager) devpath(sys string) string {
	at, err := s.m.FS.RealPath(vfs.Root, sys)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(at, "/sys")
}

// RDMAEvents are the events of all RDMA devices.
func (s *Manager) RDMAEvents(action string) {
	for _, c := range s.m.Cards() {
		if c.RDMA == "" {
			continue
		}
		sys := "/sys/class/infiniband/" + c.RDMA
		s.runRules(&device{action: action, subsystem: "infiniband", kernel: c.RDMA, sys: sys, devpath: s.devpath(sys),
			drivers: []string{"mlx4_core", "pcieport"}, env: map[string]string{}})
	}
}

// udevadm knows control --reload and settle.
func udevadm(ctx context.Context, p *labsim.Proc) int {
	if len(p.Args) < 2 {
		return p.Unknown("no command")
	}
	o, bad := labsim.ParseArgs(p.Args[2:], false, "reload R", "timeout t=")
	if bad != "" {
		return p.Unknown("option " + bad)
	}
	switch {
	case p.Args[1] == "settle":
		return settle(ctx, p, o)
	case p.UID != 0:
		p.Errorf("Failed to send request: Permission denied\n")
		return 1
	case p.Args[1] == "control" && o.Has("reload") && len(o.Args) == 0:
		return 0 // rules are read at each event; udevd itself looks every few seconds
	}
	return p.Unknown("udevadm " + p.Args[1])
}

// settle waits until udev has nothing to do, with --timeout=SECONDS for so long.
func settle(ctx context.Context, p *labsim.Proc, o *labsim.Flags) int {
	seconds, err := strconv.Atoi(o.Or("timeout", "120"))
	if err != nil || o.Has("reload") || len(o.Args) > 0 {
		return p.Unknown("form of udevadm settle")
	}
	clock := p.Machine.Lab.Clock
	for end := clock.Now().Add(time.Duration(seconds) * time.Second); p.Machine.UdevIsBusy(); {
		if clock.Now().After(end) || clock.Sleep(ctx, 100*time.Millisecond) != nil {
			return 1
		}
	}
	return 0
}
