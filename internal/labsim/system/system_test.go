package system

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/shell"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/unix"
)

const portA = "0xe41d2d0300e44e01"

// testLab is a lab of two hosts on one switch, both with their InfiniBand modules.
type testLab struct {
	t   *testing.T
	lab *labsim.Lab
	a   *labsim.Machine // ubuntu
	b   *labsim.Machine // ubuntu or truenas

	tolerate bool // violations are what the test wants
}

func config(name string, os labsim.OS, i int) labsim.Config {
	mac := uint64(0xe41d2de44e00) + uint64(i)*0x10
	return labsim.Config{
		Name: name, OS: os, Cmdline: "mlx4_core.port_type_array=1,1", Gateway: netip.MustParseAddr("192.0.2.1"),
		Users: []labsim.User{
			{Name: "ops", UID: 1000, GID: 1000, Home: "/home/ops", Shell: "/bin/bash", Sudo: labsim.SudoNoPasswd},
			{Name: "truenas_admin", UID: 950, GID: 950, Home: "/home/truenas_admin", Shell: "/bin/bash",
				Sudo: labsim.SudoPassword},
		},
		Netdevs: []labsim.Netdev{{
			Name: "eno1", Type: labsim.TypeEthernet, Address: []byte{0x3c, 0xec, 0xef, 0, 0,
				byte(i)}, SSH: true, Driver: "e1000e",
			Addrs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + i)}), 24)},
		}},
		Cards: []labsim.CardConfig{{BDF: "0000:01:00.0", Config: card.Config{
			Chip: card.ConnectX3Pro, Image: card.VPI(), GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac)),
			MACs: [2]uint64{mac + 1, mac + 2},
		}}},
	}
}

func newTestLab(t *testing.T, second labsim.OS, setup ...func(*labsim.Machine)) *testLab {
	t.Helper()
	base := []func(*labsim.Machine){shell.Install, unix.Install, Install, func(m *labsim.Machine) {
		if m.OS == labsim.Ubuntu {
			if err := packages.Preinstall(m, "linux-modules-extra", "rdma-core", "infiniband-diags"); err != nil {
				t.Error(err)
			}
		}
	}}
	l := labsim.New(labsim.Options{Speed: 200, Setup: append(base, setup...)})
	l.AddSwitch("sw1", 0x0002c902004a1b00, 36)
	w := &testLab{t: t, lab: l}
	for i, os := range []labsim.OS{labsim.Ubuntu, second} {
		m, err := l.AddMachine(config([]string{"a", "b"}[i], os, i))
		if err != nil {
			t.Fatal(err)
		}
		for p := 1; p <= 2; p++ {
			if err := l.Connect(labsim.CardEnd(m.Name, "0000:01:00.0", p), labsim.SwitchEnd("sw1", 2*i+p)); err != nil {
				t.Fatal(err)
			}
		}
		if i == 0 {
			w.a = m
		} else {
			w.b = m
		}
	}
	t.Cleanup(func() {
		for _, m := range l.Machines() {
			if t.Failed() || w.tolerate {
				continue
			}
			for _, v := range m.Violations() {
				t.Errorf("%s: violation: %s", m.Name, v)
			}
		}
	})
	return w
}

type result struct {
	status         int
	stdout, stderr string
}

func (w *testLab) as(m *labsim.Machine, user, script string) result {
	w.t.Helper()
	u, ok := m.LookupUser(user)
	if !ok {
		w.t.Fatalf("no user %s", user)
	}
	var out, errw bytes.Buffer
	st := m.Exec(context.Background(), &labsim.Proc{Args: []string{"/bin/sh", "-s"}, User: u.Name, UID: u.UID, GID: u.GID,
		Stdin: strings.NewReader(script), Stdout: &out, Stderr: &errw})
	return result{st, out.String(), errw.String()}
}

func (w *testLab) run(m *labsim.Machine, script string) result {
	w.t.Helper()
	return w.as(m, "root", script)
}

// must runs a script that has to succeed and returns its output.
func (w *testLab) must(m *labsim.Machine, script string) string {
	w.t.Helper()
	r := w.run(m, script)
	if r.status != 0 {
		w.t.Fatalf("%s: %s: status %d\n%s%s", m.Name, script, r.status, r.stdout, r.stderr)
	}
	return r.stdout
}

func (w *testLab) eventually(what string, ok func() bool) {
	w.t.Helper()
	for range 400 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("never: %s", what)
}

// reboot restarts a machine and waits until its services are up again.
func (w *testLab) reboot(m *labsim.Machine) {
	w.t.Helper()
	boots := m.Boots()
	w.run(m, "reboot")
	w.waitForBoots(m, boots+1)
}

func (w *testLab) waitForBoots(m *labsim.Machine, n int) {
	w.t.Helper()
	w.eventually("boot "+m.Name, func() bool { return m.Boots() >= n && m.Up() && systemd.Of(m).Started() })
}
