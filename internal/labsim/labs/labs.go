// Package labs builds whole simulated labs: the two-host lab of the main
// scenario, and fleets of any size for measurements. It installs every
// simulated program and puts an SSH server in front of each host.
//
// It must not know the provider, and holds no behaviour of hosts or cards.
package labs

import (
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/shell"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/simssh"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/system"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/unix"
)

// Hosts of the two-host lab.
const (
	Intel9   = "intel9"   // Ubuntu 24.04, user ops with password-less sudo
	Xeon2zfs = "xeon2zfs" // TrueNAS SCALE 25.10.3, user truenas_admin with password-less sudo
)

// Lab is a running lab.
type Lab struct {
	*labsim.Lab
	Dir     string // keys, known_hosts and images for the operator
	Servers map[string]*simssh.Server
	Images  map[string]card.File // firmware files by name
	users   map[string]string
	key     ssh.Signer
}

// Host is one machine of a lab to be made.
type Host struct {
	labsim.Config
	// Modules says that the kernel's InfiniBand modules are installed, which
	// Ubuntu keeps in a package of their own.
	Modules bool
	// Packages are installed from the beginning.
	Packages []string
	// Switch is the switch that all ports are plugged into; hosts of one name
	// are on one fabric.
	Switch string
	// Uncabled says that whoever starts the lab cables the host himself.
	Uncabled bool
	// Direct names another host: each port of the first card is cabled to the same
	// port of the other's, without a switch.
	Direct string
}

// User is the account that the operator logs in with.
func (h *Host) User() string { return h.Users[0].Name }

// TwoHosts describes the lab of the main scenario as it was bought: a
// ConnectX-3 Pro with Ethernet-only firmware in each host, both ports of each
// on one unmanaged switch.
func TwoHosts() []Host {
	intel9 := ubuntu(Intel9, "192.0.2.20", 0)
	xeon2zfs := trueNAS(Xeon2zfs, "192.0.2.10", 1)
	return []Host{intel9, xeon2zfs}
}

// Fleet describes n Ubuntu hosts, each on a fabric of its own, whose cards run
// VPI firmware with GUIDs of their own already.
func Fleet(n int) []Host {
	hosts := make([]Host, 0, n)
	for i := range n {
		name, address := fmt.Sprintf("host%04d", i), fmt.Sprintf("198.18.%d.%d", i/250, i%250+2)
		h := ubuntu(name, address, i)
		h.Switch = "switch-" + name
		mac := baseMAC + uint64(i)*0x10
		h.Cards[0].Image = card.VPI()
		h.Cards[0].GUIDs = card.GUIDsFromBase(card.GUIDFromMAC(mac))
		h.Cards[0].MACs = [2]uint64{mac, mac + 1}
		hosts = append(hosts, h)
	}
	return hosts
}

// baseMAC is the first address of the lab's cards.
const baseMAC = 0xe41d2de44ed0

// MAC is the first address of the i-th card of a lab, as a label shows it.
func MAC(i int) string {
	n := baseMAC + uint64(i)*0x10
	octets := make(net.HardwareAddr, 6)
	for k := range octets {
		octets[k] = byte(n >> (40 - 8*k))
	}
	return octets.String()
}

func ubuntu(name, address string, i int) Host {
	h := Host{Modules: true, Config: labsim.Config{
		Name: name, OS: labsim.Ubuntu,
		Users: []labsim.User{{Name: "ops", UID: 1000, GID: 1000, Home: "/home/ops", Shell: "/bin/bash",
			Sudo: labsim.SudoNoPasswd}},
		Cards: []labsim.CardConfig{pro("0000:01:00.0", i)},
	}}
	h.network(address, i)
	return h
}

func trueNAS(name, address string, i int) Host {
	slot := pro("0000:04:00.0", i)
	slot.Slot = "4" // udev names its interfaces ibs4 and ibs4d1
	h := Host{Config: labsim.Config{
		Name: name, OS: labsim.TrueNAS,
		Users: []labsim.User{{Name: "truenas_admin", UID: 950, GID: 950, Groups: []int{544}, Home: "/home/truenas_admin",
			Shell: "/bin/bash", Sudo: labsim.SudoNoPasswd}},
		Cards: []labsim.CardConfig{slot},
	}}
	h.network(address, i)
	return h
}

// Server describes a host of any distribution with one ConnectX-3 Pro that runs
// VPI firmware with GUIDs of its own, the i-th of its lab. Its user is ops, with
// password-less sudo.
func Server(name string, os labsim.OS, address string, i int) Host {
	h := ubuntu(name, address, i)
	h.OS = os
	mac := baseMAC + uint64(i)*0x10
	h.Cards[0].Image = card.VPI()
	h.Cards[0].GUIDs = card.GUIDsFromBase(card.GUIDFromMAC(mac))
	h.Cards[0].MACs = [2]uint64{mac, mac + 1}
	return h
}

func (h *Host) network(address string, i int) {
	prefix := netip.PrefixFrom(netip.MustParseAddr(address), 24)
	h.Netdevs = []labsim.Netdev{{
		Name: "eno1", Type: labsim.TypeEthernet, Address: []byte{0x3c, 0xec, 0xef, 0, byte(i >> 8), byte(i)},
		Up: true, SSH: true, Driver: "igb", Addrs: []netip.Prefix{prefix},
	}}
	h.Gateway = prefix.Masked().Addr().Next()
}

// pro is a second-hand ConnectX-3 Pro: its MACs are real, its GUIDs are all
// ones, as Ethernet-only cards leave the factory.
func pro(bdf string, i int) labsim.CardConfig {
	unset := ^uint64(0)
	mac := baseMAC + uint64(i)*0x10
	return labsim.CardConfig{
		BDF: bdf, Product: "CX314A - ConnectX-3 Pro QSFP", PartNumber: "MCX314A-BCCT",
		SerialNumber: fmt.Sprintf("MT1234X%05d", i),
		Config: card.Config{
			Chip: card.ConnectX3Pro, Image: card.EN(), GUIDs: [4]uint64{unset, unset, unset, unset}, MACs: [2]uint64{mac,
				mac + 1},
		},
	}
}

// Twin is a second card of the kind that was delivered as c, the i-th of its lab:
// equal but for serial number, MACs and, if c has any, GUIDs.
func Twin(c labsim.CardConfig, i int) labsim.CardConfig {
	mac := baseMAC + uint64(i)*0x10
	c.SerialNumber, c.MACs = fmt.Sprintf("MT1234X%05d", i), [2]uint64{mac, mac + 1}
	if c.GUIDs[0] != ^uint64(0) {
		c.GUIDs = card.GUIDsFromBase(card.GUIDFromMAC(mac))
	}
	return c
}

// Start makes a lab of hosts with both ports of every card on one unmanaged
// switch, boots it and serves it on loopback ports. dir receives what the
// operator needs. The caller closes it.
func Start(dir string, options labsim.Options, hosts ...Host) (*Lab, error) {
	signer, err := writeKey(dir)
	if err != nil {
		return nil, err
	}
	options.Dir = dir
	options.Setup = append([]func(*labsim.Machine){unix.Install, shell.Install, cardprog.Install, system.Install, softwareInstaller(hosts)}, options.Setup...)
	l := &Lab{Lab: labsim.New(options), Dir: dir, Servers: map[string]*simssh.Server{}, users: map[string]string{},
		key: signer}
	if l.Images, err = card.WriteImages(filepath.Join(dir, "images")); err != nil {
		return nil, err
	}
	if err := l.Build(func() error { return l.build(hosts) }); err != nil {
		l.Close()
		return nil, err
	}
	return l, l.writeKnownHosts()
}

func (l *Lab) build(hosts []Host) error {
	for _, h := range hosts {
		if err := l.add(h); err != nil {
			return err
		}
	}
	return l.cable(hosts)
}

// cable joins the cards of all hosts: two hosts to each other, or all to switches.
func (l *Lab) cable(hosts []Host) error {
	direct := map[string]bool{}
	for _, h := range hosts {
		if h.Direct != "" {
			direct[h.Name], direct[h.Direct] = true, true
		}
	}
	used := map[string]int{} // ports taken, by switch
	for _, h := range hosts {
		if h.Switch == "" {
			h.Switch = "switch"
		}
		if h.Uncabled {
			continue
		}
		if used[h.Switch] == 0 && !direct[h.Name] {
			l.addSwitch(h.Switch, len(used))
		}
		for _, c := range l.Machine(h.Name).Cards() {
			for _, p := range c.Ports {
				near := labsim.CardEnd(h.Name, c.Config.BDF, p.Number)
				far := labsim.SwitchEnd(h.Switch, used[h.Switch]+1)
				switch {
				case h.Direct != "":
					far = labsim.CardEnd(h.Direct, l.Machine(h.Direct).Cards()[0].Config.BDF, p.Number)
				case direct[h.Name]:
					continue
				default:
					used[h.Switch]++
				}
				if err := l.Connect(near, far); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (l *Lab) addSwitch(name string, i int) {
	guid := 0x0002c902004a1b00 + uint64(i)
	if name != IS5022 {
		l.AddSwitch(name, guid, 36)
		return
	}
	s := l.AddSwitch(name, guid, 8)
	s.Desc, s.Link, s.DeviceID = "Infiniscale-IV Mellanox Technologies", labsim.QDR4X, 0xbd36
	s.Firmware, s.PSID = "07.04.0000", "MT_9D90110009"
}

// softwareInstaller installs the kernel's InfiniBand modules, which Ubuntu has in a
// package of their own, and other packages before the first boot, so that drivers
// come up as on a host that has been set up for a while.
func softwareInstaller(hosts []Host) func(*labsim.Machine) {
	byName := map[string]Host{}
	for _, h := range hosts {
		byName[h.Name] = h
	}
	return func(m *labsim.Machine) {
		list := slices.Clone(byName[m.Name].Packages)
		if byName[m.Name].Modules && m.OS == labsim.Ubuntu && m.Kernel < "7" {
			list = append(list, "linux-modules-extra-"+m.Kernel)
		}
		if err := packages.Preinstall(m, list...); err != nil {
			m.Violate("labs: %v", err)
		}
	}
}

// add puts a host into the lab.
func (l *Lab) add(h Host) error {
	m, err := l.AddMachine(h.Config)
	if err != nil {
		return err
	}
	server, err := simssh.Serve(m, l.key.PublicKey())
	if err != nil {
		return err
	}
	l.Servers[h.Name], l.users[h.Name] = server, h.User()
	return nil
}

// Close stops all servers.
func (l *Lab) Close() {
	for _, s := range l.Servers {
		s.Close()
	}
}

// KeyFile is the private key that logs in to every host.
func (l *Lab) KeyFile() string { return filepath.Join(l.Dir, "id_ed25519") }

// KnownHostsFile vouches for every host.
func (l *Lab) KnownHostsFile() string { return filepath.Join(l.Dir, "known_hosts") }

// User is the account to log in with on a host.
func (l *Lab) User(host string) string { return l.users[host] }

// SSHConfig is an SSH client configuration that reaches every host by its name. more holds
// further lines of single hosts, which come first.
func (l *Lab) SSHConfig(more map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.Servers)) {
		server := l.Servers[name]
		fmt.Fprintf(&b, "Host %s\n%s  HostName %s\n  Port %d\n  User %s\n  UserKnownHostsFile %s\n", name, more[name],
			server.Addr.IP, server.Addr.Port, l.User(name), l.KnownHostsFile())
		if !strings.Contains(more[name], "IdentityFile") { // ssh adds them up
			fmt.Fprintf(&b, "  IdentityFile %s\n", l.KeyFile())
		}
	}
	return b.String() + "Host *\n  IdentityAgent none\n"
}

// Violations are what no real host would have been asked, over all hosts.
func (l *Lab) Violations() []string {
	var all []string
	for _, m := range l.Machines() {
		for _, v := range m.Violations() {
			all = append(all, m.Name+": "+v)
		}
	}
	return all
}

func writeKey(dir string) (ssh.Signer, error) {
	signer, private, err := simssh.NewKey()
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "simulated lab")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return signer, os.WriteFile(filepath.Join(dir, "id_ed25519"), pem.EncodeToMemory(block), 0o600)
}

func (l *Lab) writeKnownHosts() error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.Servers)) {
		s := l.Servers[name]
		fmt.Fprintf(&text, "[%s]:%d %s", s.Addr.IP, s.Addr.Port, ssh.MarshalAuthorizedKey(s.HostKey()))
	}
	return os.WriteFile(l.KnownHostsFile(), []byte(text.String()), 0o600)
}
