package infiniband

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

const (
	umadFile     = "/sys/class/infiniband_mad/abi_version"
	opensmConf   = "/etc/opensm/opensm.conf"
	partitions   = "/etc/opensm/partitions.conf"
	maxPriority  = 15
	opensmBanner = "-------------------------------------------------\nOpenSM 3.3.23\n"
)

var opensmUnits = map[string]string{
	"opensm.service": `[Unit]
Description=Starts OpenSM InfiniBand fabric Subnet Managers
ConditionPathExists=` + umadFile + `
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/libexec/opensm-ports
[Install]
WantedBy=network-online.target
`,
	"opensm@.service": `[Unit]
Description=Starts OpenSM InfiniBand fabric Subnet Manager on port %i
PartOf=opensm.service
ConditionPathExists=` + umadFile + `
[Service]
Type=simple
ExecStart=/usr/sbin/opensm --guid %I --log_file /var/log/opensm.%I.log
`,
}

// opensmPorts is what opensm.service runs: it starts an instance per port of
// PORTS in /etc/default/opensm, where ALL means the ports of this moment. The unit
// needs the file, and without PORTS in it asks systemctl to start nothing.
func opensmPorts(_ context.Context, p *labsim.Proc) int {
	s := stateOf(p.Machine)
	env := map[string]string{}
	data, err := p.Machine.FS.ReadFile("/etc/default/opensm")
	if err != nil {
		p.Errorf("Failed to load environment files: No such file or directory\n")
		return 1
	}
	systemd.AddEnv(env, strings.Split(string(data), "\n"))
	ports := strings.Fields(env["PORTS"])
	switch {
	case len(ports) == 0:
		p.Errorf("Too few arguments.\n")
		return 1
	case len(ports) == 1 && ports[0] == "NONE":
		return 0
	case len(ports) == 1 && ports[0] == "ALL":
		ports = nil
		for _, port := range s.hcas() {
			ports = append(ports, port.portGUIDs()...)
		}
	}
	for _, g := range ports {
		if err := systemd.Of(s.m).Start("opensm@" + g + ".service"); err != nil {
			p.Errorf("%v\n", err)
		}
	}
	return 0
}

// smOptions is what opensm reads from its file and command line.
type smOptions struct {
	guid       uint64
	priority   int
	partitions string
	prefix     uint64
	smKey      uint64
	mKey       uint64
	mProtect   int
}

// readConf reads an opensm.conf. Complaints are printed and it goes on; a
// missing file is no error.
func (s *state) readConf(file string, out io.Writer) smOptions {
	o := smOptions{smKey: 1, partitions: filepath.Join(filepath.Dir(sharedConf(s.m)), "partitions.conf")}
	data, err := s.m.FS.ReadFile(file)
	if err != nil {
		return o
	}
	for _, line := range strings.Split(string(data), "\n") {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			o.set(f[0], strings.Join(f[1:], " "), out)
		}
	}
	return o
}

func (o *smOptions) set(key, value string, out io.Writer) {
	switch key {
	case "guid":
		o.guid, _ = strconv.ParseUint(value, 0, 64)
	case "sm_priority":
		n, err := parsePriority(value)
		if err != nil {
			_, _ = fmt.Fprintf(out, " Invalid Cached Option Value:sm_priority = %s:Using Default:0\n", value)
		}
		o.priority = n
	case "sm_key", "m_key":
		key := map[string]*uint64{"sm_key": &o.smKey, "m_key": &o.mKey}[key]
		*key, _ = strconv.ParseUint(value, 0, 64)
	case "m_key_protection_level":
		o.mProtect, _ = strconv.Atoi(value)
	case "subnet_prefix":
		o.prefix, _ = strconv.ParseUint(value, 0, 64)
	case "partition_config_file":
		o.partitions = value
	default:
		if !smKeys[key] {
			_, _ = fmt.Fprintf(out, " Unrecognized token: %q\n", key)
		}
	}
	if strings.HasSuffix(key, "_key") { // opensm prints every option that it takes
		_, _ = fmt.Fprintf(out, " Loading Cached Option:%s = %s\n", key, value)
	}
}

func parsePriority(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxPriority {
		return 0, fmt.Errorf("priority %q is not 0 to %d", text, maxPriority)
	}
	return n, nil
}

// smKeys are options of opensm.conf that change nothing in the lab.
var smKeys = map[string]bool{
	"m_key_lease_period": true, "sa_key": true, "lmc": true,
	"sweep_interval": true, "sminfo_polling_timeout": true, "polling_retry_number": true, "routing_engine": true,
	"ignore_other_sm": true, "force_link_speed": true, "force_link_width": true, "max_op_vls": true, "daemon": true,
	"log_file": true, "force_log_flush": true, "exit_on_fatal": true, "log_flags": true, "log_max_size": true,
	"max_wire_smps": true, "transaction_timeout": true, "transaction_retries": true, "qos": true, "console": true,
	"no_partition_enforcement": true, "part_enforce": true, "allow_both_pkeys": true, "babbling_port_policy": true,
	"honor_guid2lid_file": true, "drop_event_subscriptions": true, "event_plugin_name": true, "dump_files_dir": true,
	"reassign_lids": true, "sm_inactive": true, "disable_multicast": true, "sm_assign_guid_func": true,
}

// opensm is one subnet manager on one port. It exits 0 when it cannot bind: only
// the fabric says whether it works.
func opensm(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false,
		"guid g=", "priority p=", "log_file f=", "config F=",
		"Pconfig P=", "create-config c=", "version", "daemon B")
	if bad != "" || len(o.Args) > 0 {
		return p.Unknown("option " + bad)
	}
	s := stateOf(p.Machine)
	if o.Has("version") {
		p.Printf("%s", opensmBanner)
		return 0
	}
	if file := o.Or("create-config", ""); file != "" {
		return createConf(p, file)
	}
	if o.Has("daemon") {
		return p.Unknown("--daemon")
	}
	p.Printf("%s", opensmBanner)
	file := o.Or("config", sharedConf(p.Machine))
	if s.m.FS.Exists(file) {
		p.Printf("Config file is `%s`:\n Reading Cached Option File: %s\n", file, file)
	}
	conf := s.readConf(file, p.Stdout)
	if o.Has("priority") {
		n, err := parsePriority(o.Or("priority", ""))
		if err != nil {
			p.Errorf("ERROR: priority must be between 0 and 15\n")
			return 255
		}
		conf.priority = n
	}
	if o.Has("guid") {
		g, err := strconv.ParseUint(o.Or("guid", ""), 0, 64)
		if err != nil {
			return p.Unknown("guid " + o.Or("guid", ""))
		}
		conf.guid = g
	}
	return s.runSM(ctx, p, o, file, conf)
}

// sharedConf is the file that opensm reads if it is given none: RHEL builds it with
// another directory.
func sharedConf(m *labsim.Machine) string {
	if m.OS.System().Packages == labsim.PackagesDnf {
		return "/etc/rdma/opensm.conf"
	}
	return opensmConf
}

// opensmLaunch is what opensm.service of RHEL runs: one opensm for each of GUIDS of
// /etc/sysconfig/opensm, or one on the first port.
func opensmLaunch(ctx context.Context, p *labsim.Proc) int {
	env := map[string]string{}
	if data, err := p.Machine.FS.ReadFile("/etc/sysconfig/opensm"); err == nil {
		systemd.AddEnv(env, strings.Split(string(data), "\n"))
	}
	base := []string{"/usr/sbin/opensm"}
	if priority := env["PRIORITY"]; priority != "" {
		base = append(base, "-p", priority)
	}
	guids := strings.Fields(env["GUIDS"])
	if len(guids) == 0 {
		return p.Run(ctx, base...)
	}
	var all sync.WaitGroup
	for _, g := range guids {
		all.Go(func() { p.Run(ctx, append(slices.Clone(base), "-g", g)...) })
	}
	all.Wait()
	return 0
}

func createConf(p *labsim.Proc, file string) int {
	body := "guid 0x0000000000000000\nsm_priority 0\npartition_config_file " + partitions + "\n"
	if err := p.WriteFile(file, []byte(body)); err != nil {
		return p.Fail(1, "%v", err)
	}
	return 0
}

func (s *state) runSM(ctx context.Context, p *labsim.Proc, o *labsim.Flags, file string, conf smOptions) int {
	logFile := s.smLog(p, o.Or("log_file", "/var/log/opensm.log"))
	say := func(line string) {
		p.Printf("%s\n", line)
		logFile("0x80 -> " + line)
	}
	port := s.smPort(p, conf.guid)
	logLines(logFile, smGreeting, conf.guid)
	if port == nil && p.UID == 0 && s.m.FS.Exists(umadFile) && conf.guid != 0 {
		say("Entering DISCOVERING state")
		logLines(logFile, smUnbound, conf.guid)
		p.Printf("\nError from osm_opensm_bind (0x2A)\nPerhaps another instance of OpenSM is already running\n")
		say("Exiting SM")
		return 0
	}
	if port == nil || p.UID != 0 || !s.claim(port, p.PID) {
		say("Error from osm_opensm_bind (0x2A)")
		say("Perhaps another instance of OpenSM is already running")
		say("Exiting SM")
		return 0
	}
	defer s.release(port)
	say("Entering DISCOVERING state")
	logLines(logFile, smBound, port.View().GUID)
	sm := &labsim.SM{Port: port, Priority: conf.priority, Prefix: conf.prefix, SMKey: conf.smKey, MKey: conf.mKey,
		MProtect: conf.mProtect, Known: s.readKnownKeys()}
	conf.partitions = o.Or("Pconfig", conf.partitions)
	var complaints []string // of a file that a standby does not read
	s.readPartitions(conf.partitions, func(line string) { complaints = append(complaints, line) }).give(sm)
	noGroup := sm.GroupMTU == 0
	tell := stateTeller(sm, say, logFile, complaints)
	sm.OnState = func(state int) {
		s.writeKnownKeys(sm)
		tell(state)
	}
	s.m.Lab.AddSM(sm)
	if noGroup {
		sm.Update(func(sm *labsim.SM) { sm.GroupMTU = 0 })
	}
	systemd.Of(s.m).OnReload(p.PID, func() {
		fresh := s.readConf(file, io.Discard)
		// The place of the file stays; only what it says is read again.
		read := s.readPartitions(conf.partitions, say)
		sm.Update(func(sm *labsim.SM) {
			if !o.Has("priority") {
				sm.Priority = fresh.priority
			}
			sm.SMKey, sm.MKey, sm.MProtect = fresh.smKey, fresh.mKey, fresh.mProtect
			read.keepGroups(sm.Groups()).give(sm)
		})
	})
	<-ctx.Done()
	systemd.Of(s.m).OnReload(p.PID, nil)
	sm.Stop()
	if st := labsim.SignalStatus(ctx); st != 128+15 && st != 128+2 {
		return st
	}
	say("Exiting SM")
	return 0
}

// smPort finds the port to bind: by GUID, or the first one whose link is up.
func (s *state) smPort(p *labsim.Proc, guid uint64) *labsim.Port {
	if !s.m.FS.Exists(umadFile) {
		return nil
	}
	if guid != 0 {
		return s.m.PortByGUID(guid)
	}
	for _, c := range s.m.Cards() {
		for _, port := range c.Ports {
			v := port.View()
			if c.Bound() && v.LinkType == labsim.LinkIB && v.PhysState == labsim.PhysLinkUp {
				p.Printf("Using default GUID 0x%x\n", v.GUID)
				return port
			}
		}
	}
	return nil
}

// claim makes sure that a port has one opensm on this host.
func (s *state) claim(port *labsim.Port, pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if holder := s.smPorts[port]; holder != 0 && s.m.Process(holder) != nil {
		return false
	}
	s.smPorts[port] = pid
	return true
}

func (s *state) release(port *labsim.Port) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.smPorts, port)
}

func (s *state) smLog(p *labsim.Proc, file string) func(string) {
	h, err := s.m.FS.Open(vfs.Root, file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666&^p.Umask)
	return func(line string) { // into the file that was opened, under whatever name it has now
		if err == nil {
			_, _ = fmt.Fprintf(h, "%s 000000 [0000AAAA] %s\n", s.m.Lab.Clock.Now().UTC().Format("Jan 02 15:04:05"), line)
		}
	}
}

// InstallOpensm installs the package opensm as each distribution builds it.
func InstallOpensm(m *labsim.Machine) {
	m.Install("/usr/sbin/opensm", opensm)
	if m.OS.System().Packages == labsim.PackagesDnf {
		m.Install("/usr/libexec/opensm-launch", opensmLaunch)
	}
	m.FS.PutDir("/var/cache/opensm", 0o755, 0, 0)
	if m.OS.System().Packages == labsim.PackagesDnf {
		// The package of RHEL starts nothing and has no unit for one port.
		m.FS.Put("/etc/sysconfig/opensm", "# GUIDS=\n# PRIORITY=15\n", 0o644)
		m.FS.Put("/etc/rdma/opensm.conf", "# DEVICE ATTRIBUTES OPTIONS\nguid 0x0000000000000000\n", 0o644)
		m.FS.Put("/etc/rdma/partitions.conf",
			"# For reference: IPv4 IANA reserved multicast addresses\nDefault=0x7fff, rate=3, mtu=4, scope=2, "+
				"defmember=full:\n\tALL, ALL_SWITCHES=full;\nDefault=0x7fff, ipoib, rate=3, mtu=4, scope=2:\n"+
				"\tmgid=ff12:401b::ffff:ffff\t# IPv4 Broadcast address\n\tmgid=ff12:401b::1\t# IPv4 All Hosts group\n;\n", 0o644)
		m.FS.Put(systemd.UnitDir+"opensm.service", redHatOpensm, 0o644)
		return
	}
	m.Install("/usr/libexec/opensm-ports", opensmPorts)
	if !m.FS.Exists("/etc/default/opensm") {
		m.FS.Put("/etc/default/opensm", "# Ports to start an SM on: NONE, ALL or a list of port GUIDs.\nPORTS=\"ALL\"\n",
			0o644)
	}
	m.FS.PutDir("/etc/opensm", 0o755, 0, 0)
	systemd.Of(stateOf(m).m).InstallUnits(opensmUnits)
}

const redHatOpensm = "[Unit]\nDescription=Starts the OpenSM InfiniBand fabric Subnet Manager\nAfter=network.target\n" +
	"[Service]\nType=forking\nExecStart=/usr/libexec/opensm-launch\n[Install]\nWantedBy=network-online.target\n"
