package twin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
)

// builder makes one host.
type builder struct {
	*facts

	name    string
	missing *[]string
	images  [][]byte
	flashes map[string][]byte // by PCI address
	reached bool              // a boot has given the interface of SSH the recorded addresses
}

// lacks notes what the twin does not have, and why.
func (b *builder) lacks(format string, args ...any) { b.tell("not in the recording: "+format, args...) }

// tell says a line about the host, once.
func (b *builder) tell(format string, args ...any) {
	text := b.name + ": " + printable(fmt.Sprintf(format, args...))
	if !slices.Contains(*b.missing, text) {
		*b.missing = append(*b.missing, text)
	}
}

// printable is a text without what a terminal would obey: whoever made the recording is a stranger.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '·'
	}, text)
}

// host describes the machine. Its error says why the lab has none like it.
func (b *builder) host() (labs.Host, error) {
	release := b.files["/etc/os-release"]
	os, known := systemOf(release, b.has("midclt"))
	if !known {
		return labs.Host{}, fmt.Errorf("%s: the lab does not simulate its system: %q", b.name, line(release, "PRETTY_NAME="))
	}
	h := labs.Host{Uncabled: true, Config: labsim.Config{
		Name: b.name, OS: os, Release: release, Kernel: b.values["/proc/sys/kernel/osrelease"], Users: b.users(os),
		Stack: b.stack(os), MstflintVersion: b.mstflint(), Cards: b.cards(),
	}}
	h.Netdevs, h.Gateway = b.netdevs()
	_, rest, _ := strings.Cut(b.values["/proc/cmdline"], " ro")
	h.Cmdline = strings.TrimSpace(rest)
	return h, nil
}

// systemOf finds the system by the words of os-release.
func systemOf(release string, nas bool) (labsim.OS, bool) {
	id, version := line(release, "ID="), line(release, "VERSION_ID=")
	major, _, _ := strings.Cut(version, ".")
	switch {
	case nas:
		return labsim.TrueNAS, true
	case id == "ubuntu":
		return labsim.Ubuntu, true
	case id == "debian" && major == "12":
		return labsim.Debian12, true
	case id == "debian" && major == "13":
		return labsim.Debian13, true
	case id == "fedora":
		return labsim.Fedora43, true
	case id == "arch":
		return labsim.Arch, true
	case slices.Contains([]string{"rhel", "rocky", "almalinux", "centos"}, id) && major == "9":
		return labsim.RHEL9, true
	case slices.Contains([]string{"rhel", "rocky", "almalinux", "centos"}, id) && major == "10":
		return labsim.RHEL10, true
	}
	return "", false
}

func line(text, prefix string) string {
	for l := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(l), prefix); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// users: the recording does not say who has logged in.
func (b *builder) users(os labsim.OS) []labsim.User {
	if os == labsim.TrueNAS {
		return []labsim.User{{Name: "truenas_admin", UID: 950, GID: 950, Groups: []int{544}, Home: "/home/truenas_admin",
			Shell: "/bin/bash", Sudo: labsim.SudoNoPasswd}}
	}
	return []labsim.User{{Name: "ops", UID: 1000, GID: 1000, Home: "/home/ops", Shell: "/bin/bash", Sudo: labsim.SudoNoPasswd}}
}

// unit is what systemd has said of a unit.
func (b *builder) unit(name, property string) string {
	for part := range strings.SplitSeq(b.runs["systemctl"].text, "\n\n") {
		if line(part, "Id=") == name {
			return line(part, property+"=")
		}
	}
	return ""
}

// stack finds what configures the network by the programs and services that are there.
func (b *builder) stack(os labsim.OS) labsim.Stack {
	manager := b.unit("NetworkManager.service", "ActiveState") == "active"
	switch {
	case os == labsim.TrueNAS:
		return labsim.StackMiddleware
	case b.has("netplan") && manager:
		return labsim.StackNetplanNM
	case b.has("netplan"):
		return labsim.StackNetplan
	case manager:
		return labsim.StackNetworkManager
	case b.unit("systemd-networkd.service", "ActiveState") == "active":
		return labsim.StackNetworkd
	case b.has("ifup"):
		return labsim.StackIfupdown
	}
	return ""
}

// mstflint is the version of the tool: "mstflint, mstflint 4.26.0, Git SHA Hash: N/A".
func (b *builder) mstflint() string {
	if !b.has("mstflint") {
		return "none"
	}
	words := strings.Fields(b.runs["mstflint-v"].text)
	if len(words) < 3 {
		return ""
	}
	return strings.TrimSuffix(words[2], ",")
}

// sshDevice is the interface by which whoever recorded has come: "192.0.2.100 dev eno1 src …".
func (b *builder) sshDevice() string {
	way := strings.Fields(b.runs["ip-ssh"].text)
	if i := slices.Index(way, "dev"); i >= 0 && i+1 < len(way) {
		return way[i+1]
	}
	return ""
}

// netdevs are the Ethernet interfaces that are no card's, and the gateway of the default route.
func (b *builder) netdevs() (list []labsim.Netdev, gateway netip.Addr) {
	ours := map[string]bool{}
	for _, l := range b.words["net"] {
		bdf, name, _ := strings.Cut(l, " ")
		ours[name] = b.values["/sys/bus/pci/devices/"+bdf+"/vendor"] != ""
	}
	for _, l := range b.links() {
		mac, err := hex.DecodeString(strings.ReplaceAll(l.Address, ":", ""))
		if l.Type != "ether" || ours[l.Name] || err != nil || len(mac) != 6 {
			continue
		}
		ssh := l.Name == b.sshDevice()
		if l.Info.Kind != "" && !ssh {
			b.lacks("the interface %s (%s), which the lab does not simulate", l.Name, l.Info.Kind)
			continue
		}
		d := labsim.Netdev{Name: l.Name, Type: labsim.TypeEthernet, Address: mac, Up: l.up(), MTU: l.MTU, Driver: "igb",
			SSH: ssh}
		for _, a := range l.Addresses {
			if ip, err := netip.ParseAddr(a.Local); err == nil && a.Scope == "global" {
				d.Addrs = append(d.Addrs, netip.PrefixFrom(ip, a.Prefix))
			}
		}
		list = append(list, d)
	}
	if i := strings.Index(b.runs["ip-route"].text, `"dst":"default","gateway":"`); i >= 0 {
		rest := b.runs["ip-route"].text[i+len(`"dst":"default","gateway":"`):]
		address, _, _ := strings.Cut(rest, `"`)
		gateway, _ = netip.ParseAddr(address)
	}
	return list, gateway
}

// owned are the places of which the recording has every file.
var owned = []string{"/etc/netplan/*.yaml", "/etc/network/interfaces", "/etc/network/interfaces.d/*", "/etc/systemd/network/*.network",
	"/etc/systemd/network/*.netdev"}

// setUp makes of a machine of its system the recorded one. It runs before the first boot.
func (b *builder) setUp(m *labsim.Machine) {
	b.install(m)
	for _, pattern := range owned {
		for _, file := range m.FS.Glob(pattern) {
			if _, there := b.files[file]; !there {
				m.FS.Drop(file)
			}
		}
	}
	modes := b.modes()
	for name, text := range b.files {
		if strings.HasPrefix(name, "/run/") || strings.HasPrefix(name, "/usr/lib/") || strings.HasPrefix(name, "/lib/") {
			continue // the boot and the packages write these
		}
		mode, known := modes[name]
		if !known {
			mode = 0o644
			if strings.HasPrefix(name, "/var/lib/") || strings.HasPrefix(name, "/etc/NetworkManager/system-connections/") {
				mode = 0o600
			}
		}
		m.FS.Put(name, text, mode)
	}
	b.enable(m)
	if m.OS == labsim.TrueNAS {
		b.middleware(m)
	}
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		if !strings.Contains(name, "/images/") {
			continue
		}
		i := slices.IndexFunc(b.images, func(data []byte) bool {
			sum := sha256.Sum256(data)
			return hex.EncodeToString(sum[:])+".bin" == path.Base(name)
		})
		if i < 0 {
			b.lacks("the bytes of %s", name)
			continue
		}
		m.FS.Put(name, string(b.images[i]), modes[name])
	}
}

// modes are those of the files that the script has asked stat for.
func (b *builder) modes() map[string]fs.FileMode {
	out := map[string]fs.FileMode{}
	for l := range strings.Lines(b.runs["stat"].text) {
		f := strings.SplitN(strings.TrimSpace(l), " ", 4)
		if n, err := strconv.ParseUint(f[0], 8, 12); err == nil && len(f) == 4 {
			out[f[3]] = fs.FileMode(n)
		}
	}
	return out
}

// enable links the units that are enabled into the target that starts them.
func (b *builder) enable(m *labsim.Machine) {
	for part := range strings.SplitSeq(b.runs["systemctl"].text, "\n\n") {
		name, state := line(part, "Id="), line(part, "UnitFileState=")
		switch {
		case name == "" || !strings.Contains(name, "opensm") && !strings.HasPrefix(name, "infiniband-"):
		case state == "masked":
			m.FS.PutLink("/dev/null", "/etc/systemd/system/"+name)
		case state == "disabled":
			for _, link := range m.FS.Glob("/etc/systemd/system/*.wants/" + name) {
				m.FS.Drop(link)
			}
		case state == "enabled" && len(m.FS.Glob("/etc/systemd/system/*.wants/"+name)) == 0:
			file := name
			if at := strings.Index(name, "@"); at > 0 {
				file = name[:at+1] + ".service"
			}
			for _, dir := range []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
				if m.FS.Exists(dir + file) {
					m.FS.PutLink(dir+file, "/etc/systemd/system/multi-user.target.wants/"+name)
					break
				}
			}
		}
	}
}

// install has the packages and the programs of the host, and no others of those that the recording names.
func (b *builder) install(m *labsim.Machine) {
	have := b.packages()
	for _, name := range slices.Sorted(maps.Keys(have)) {
		version := have[name]
		if err := packages.Preinstall(m, name); err == nil {
			packages.SetVersion(m, name, version)
		}
	}
	for _, program := range b.words["absent"] {
		for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
			if m.FS.Exists(path.Join(dir, program)) {
				m.Uninstall(path.Join(dir, program))
			}
		}
	}
	for _, program := range b.words["command"] {
		there := false
		for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
			there = there || m.FS.Exists(path.Join(dir, program))
		}
		if !there {
			b.tell("the lab does not simulate its program %s", program)
		}
	}
}

// packages are those that are installed, with their versions.
func (b *builder) packages() map[string]string {
	out := map[string]string{}
	for l := range strings.Lines(b.runs["dpkg"].text) {
		if f := strings.Split(strings.TrimSpace(l), "\t"); len(f) == 3 && strings.HasPrefix(f[1], "ii") {
			out[f[0]] = f[2]
		}
	}
	for l := range strings.Lines(b.runs["rpm"].text) {
		if f := strings.Split(strings.TrimSpace(l), "\t"); len(f) == 2 {
			out[f[0]] = f[1]
		}
	}
	for l := range strings.Lines(b.runs["pacman"].text) {
		if f := strings.Fields(l); len(f) == 2 {
			out[f[0]] = f[1]
		}
	}
	return out
}
