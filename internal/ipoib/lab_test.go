package ipoib_test

import (
	"context"
	"encoding/pem"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/coreutil"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/osprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/shell"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/simssh"
)

// The lab of these tests: an Ubuntu and a TrueNAS host whose VPI cards are in
// InfiniBand mode already, both on one switch.
const (
	ubuntuPort  = ib.GUID(0xe41d2d0300e44e01)
	truenasPort = ib.GUID(0xe41d2d0300e44e11)
	labCard     = "0000:01:00.0"
)

type testLab struct {
	*labsim.Lab
	servers map[string]*simssh.Server
	hosts   map[string]*inventory.Host
}

type labOption func(*labsim.Options, map[string]*labsim.Config)

// speed makes the lab's clock, and with it every timer of its hosts, faster.
func speed(s float64) labOption {
	return func(o *labsim.Options, _ map[string]*labsim.Config) { o.Speed = s }
}

// freshTrueNAS has a TrueNAS that nobody has configured.
func freshTrueNAS(o *labsim.Options, _ map[string]*labsim.Config) {
	o.Setup = append(o.Setup, func(m *labsim.Machine) {
		if m.OS == labsim.TrueNAS {
			osprog.FreshDatabase(m)
		}
	})
}

// modules are loaded on every host before anything is asked of it.
var modules = []string{"mlx4_ib", "ib_ipoib"}

// asleep has hosts with only what their installers left: no package of modules,
// and nothing loaded but what the PCI bus asks for.
func asleep(_ *labsim.Options, configs map[string]*labsim.Config) {
	for _, c := range configs {
		c.BootDelay = asleepDelay
	}
}

const asleepDelay = 301 * time.Millisecond

func startLab(t *testing.T, options ...labOption) *testLab {
	t.Helper()
	opts := labsim.Options{Speed: 10, Setup: []func(*labsim.Machine){coreutil.Install, shell.Install, osprog.Install, cardprog.Install}}
	configs := map[string]*labsim.Config{}
	for i, name := range []string{"intel9", "xeon2zfs"} {
		mac := uint64(0xe41d2de44e00) + uint64(i)*0x10
		image := card.Build(card.Spec{
			PSID: "MT_9090111019", Version: [3]uint16{2, 42, 5000}, Product: "02.42.50.00", Date: 0x20170905, Device: 0x1007,
			HWIDs: []uint32{0x1f7}, GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true, Code: 0x8000,
		})
		configs[name] = &labsim.Config{
			Name: name, OS: []labsim.OS{labsim.Ubuntu, labsim.TrueNAS}[i],
			Cmdline: "mlx4_core.port_type_array=1,1", Gateway: netip.MustParseAddr("192.0.2.1"),
			Users: []labsim.User{{Name: "ops", UID: 1000, GID: 1000, Home: "/", Shell: "/bin/bash", Sudo: labsim.SudoNoPasswd}},
			Netdevs: []labsim.Netdev{{Name: "eno1", Type: labsim.TypeEthernet, Address: []byte{2, 0, 0, 0, 0, byte(i)}, Up: true, SSH: true,
				Driver: "e1000e", Addrs: []netip.Prefix{netip.MustParsePrefix([]string{"192.0.2.20/24", "192.0.2.10/24"}[i])}}},
			Cards: []labsim.CardConfig{{BDF: labCard, Config: card.Config{
				Chip: card.ConnectX3Pro, Image: image, GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac)), MACs: [2]uint64{mac + 1, mac + 2},
			}}},
		}
	}
	for _, o := range options {
		o(&opts, configs)
	}
	l := &testLab{Lab: labsim.New(opts), servers: map[string]*simssh.Server{}, hosts: map[string]*inventory.Host{}}
	l.AddSwitch("sw1", 0x0002c902004a1b00, 8)
	signer, private, err := simssh.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"intel9", "xeon2zfs"} {
		m, err := l.AddMachine(*configs[name])
		if err != nil {
			t.Fatal(err)
		}
		m.FS.PutDir("/.cache", 0o700, 1000, 1000)
		if asleep := configs[name].BootDelay == asleepDelay; asleep {
			l.connect(t, m, i, signer.PublicKey(), string(pem.EncodeToMemory(block)))
			continue
		}
		if m.OS == labsim.Ubuntu {
			if err := osprog.InstallPackage(m, "linux-modules-extra-"+m.Kernel); err != nil {
				t.Fatal(err)
			}
		}
		for _, module := range modules {
			if err := m.LoadModule(module); err != nil {
				t.Fatal(err)
			}
		}
		l.connect(t, m, i, signer.PublicKey(), string(pem.EncodeToMemory(block)))
	}
	t.Cleanup(func() { l.stop(t) })
	return l
}

func (l *testLab) connect(t *testing.T, m *labsim.Machine, i int, key ssh.PublicKey, private string) {
	t.Helper()
	for p := 1; p <= 2; p++ {
		if err := l.Connect(labsim.CardEnd(m.Name, labCard, p), labsim.SwitchEnd("sw1", 2*i+p)); err != nil {
			t.Fatal(err)
		}
	}
	server, err := simssh.Serve(m, key)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	h, err := sshhost.New(m.Name, sshhost.Config{
		Address: server.Addr.IP.String(), Port: server.Addr.Port, User: "ops", PrivateKey: private, UseAgent: &no,
		HostKeys: []string{string(ssh.MarshalAuthorizedKey(server.HostKey()))}, SSHConfigFile: "none",
		ConnectTimeout: 3 * time.Second, ConnectAttempts: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.servers[m.Name] = server
	l.hosts[m.Name] = inventory.New(h)
}

func (l *testLab) stop(t *testing.T) {
	for name, h := range l.hosts {
		h.Drop()
		l.servers[name].Close()
	}
	for _, m := range l.Machines() {
		for _, v := range m.Violations() {
			t.Errorf("%s was asked something no real host would be: %s", m.Name, v)
		}
	}
}

// snapshot reads a host anew.
func (l *testLab) snapshot(t *testing.T, name string) *inventory.Snapshot {
	t.Helper()
	l.hosts[name].Invalidate()
	s, err := l.hosts[name].Snapshot(t.Context())
	if err != nil {
		t.Fatalf("snapshot of %s: %v", name, err)
	}
	return s
}

// cutOff returns a host that nobody can reach any more from the moment a new
// connection is wanted.
func (l *testLab) cutOff(name string) *inventory.Host {
	return inventory.New(&cutHost{Host: l.hosts[name].Host, cut: func() {
		l.Machine(name).Faults.Set(labsim.FaultSpec{Refuse: true})
		l.servers[name].DropAll()
	}})
}

type cutHost struct {
	host.Host
	cut func()
}

func (c *cutHost) Fresh(ctx context.Context) (host.FreshHost, error) {
	c.cut()
	return c.Host.Fresh(ctx)
}

// file returns the content of a file on a host; empty if it is not there.
func (l *testLab) file(name, path string) string {
	b, err := l.Machine(name).FS.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, p := range texts {
		all[i] = netip.MustParsePrefix(p)
	}
	return all
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("want %q in:\n%s", p, text)
		}
	}
}
