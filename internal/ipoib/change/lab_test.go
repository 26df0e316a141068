package change_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
)

// The lab of these tests: the hosts of the two-host lab with VPI cards that are
// in InfiniBand mode already.
const (
	ubuntuPort  = ib.GUID(0xe41d2d0300e44e01)
	truenasPort = ib.GUID(0xe41d2d0300e44e11)
	labCard     = "0000:01:00.0"
)

type testLab struct {
	*labs.Lab
	hosts map[string]*hosts.Host
}

type labPlan struct {
	labsim.Options
	hosts   []labs.Host
	modules []string // loaded on every host before anything is asked of it
}

type labOption func(*labPlan)

// speed makes the lab's clock, and with it every timer of its hosts, faster.
func speed(s float64) labOption {
	return func(p *labPlan) { p.Speed = s }
}

// freshTrueNAS has a TrueNAS that nobody has configured.
func freshTrueNAS(p *labPlan) {
	p.Setup = append(p.Setup, func(m *labsim.Machine) {
		if m.OS == labsim.TrueNAS {
			truenas.FreshDatabase(m)
		}
	})
}

// asleep has hosts with only what their installers left: no package of modules,
// and nothing loaded but what the PCI bus asks for.
func asleep(p *labPlan) {
	p.modules = nil
	for i := range p.hosts {
		p.hosts[i].Modules = false
	}
}

func startLab(t *testing.T, options ...labOption) *testLab {
	t.Helper()
	plan := &labPlan{Options: labsim.Options{Speed: 10}, hosts: labs.TwoHosts(), modules: []string{"mlx4_ib", "ib_ipoib"}}
	for i := range plan.hosts {
		mac := uint64(0xe41d2de44e00) + uint64(i)*0x10
		plan.hosts[i].Cmdline = "mlx4_core.port_type_array=1,1"
		plan.hosts[i].Cards = []labsim.CardConfig{{BDF: labCard, Config: card.Config{
			Chip: card.ConnectX3Pro, Image: card.VPI(), GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac)),
			MACs: [2]uint64{mac + 1, mac + 2},
		}}}
	}
	for _, o := range options {
		o(plan)
	}
	lab, err := labs.Start(t.TempDir(), plan.Options, plan.hosts...)
	if err != nil {
		t.Fatal(err)
	}
	l := &testLab{Lab: lab, hosts: map[string]*hosts.Host{}}
	t.Cleanup(func() { l.stop(t) })
	for _, m := range l.Machines() {
		for _, module := range plan.modules {
			if err = m.LoadModule(module); err != nil {
				t.Fatal(err)
			}
		}
		l.open(t, m.Name)
	}
	return l
}

func (l *testLab) open(t *testing.T, name string) {
	t.Helper()
	no, server := false, l.Servers[name]
	h, err := sshhost.New(name, sshhost.Config{
		Address: server.Addr.IP.String(), Port: server.Addr.Port, User: l.User(name), PrivateKeyFile: l.KeyFile(),
		UseAgent:        &no,
		KnownHostsFiles: []string{l.KnownHostsFile()}, SSHConfigFile: "none", ConnectTimeout: 3 * time.Second,
		ConnectAttempts: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.hosts[name] = hosts.New(h)
}

func (l *testLab) stop(t *testing.T) {
	for _, h := range l.hosts {
		h.Drop()
	}
	l.Close()
	for _, v := range l.Violations() {
		t.Errorf("asked something no real host would be: %s", v)
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
func (l *testLab) cutOff(name string) *hosts.Host {
	return hosts.New(&cutHost{Host: l.hosts[name].Host, cut: func() {
		l.Machine(name).Faults.Set(labsim.FaultSpec{Refuse: true})
		l.Servers[name].DropAll()
	}})
}

// applyCutOff makes a change that nobody can confirm, because the host is cut off
// meanwhile, and returns what Apply says of it.
func applyCutOff(t *testing.T, l *testLab, name string, next ipoib.Request) error {
	t.Helper()
	_, err := change.Apply(t.Context(), l.cutOff(name), next,
		change.Options{ConfirmTimeout: 60 * time.Second, SettleTimeout: 2 * time.Second})
	var unconfirmed *change.UnconfirmedError
	if !errors.As(err, &unconfirmed) || unconfirmed.Undone {
		t.Fatalf("apply: %v", err)
	}
	return err
}

// applyUndone cuts an apply off for good, waits until the host has undone it, and connects again.
func applyUndone(t *testing.T, l *testLab, name string, next ipoib.Request) error {
	t.Helper()
	err := applyCutOff(t, l, name, next)
	time.Sleep(4 * time.Second) // 80 seconds of a lab with speed(20)
	l.Machine(name).Faults.Set(labsim.FaultSpec{})
	l.hosts[name].Drop()
	return err
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
