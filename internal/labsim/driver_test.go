package labsim

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func enConfig() card.Config {
	return card.Config{Chip: card.ConnectX3Pro, Image: testImage("MT_9200111023"), GUIDs: card.BlankGUIDs,
		MACs: [2]uint64{0xe41d2de44e00, 0xe41d2de44e01}}
}

const portFile = "/sys/bus/pci/devices/0000:01:00.0/mlx4_port"

func store(t *testing.T, m *Machine, name, value string, want error) {
	t.Helper()
	if err := m.FS.WriteFile(name, []byte(value), 0); !errors.Is(err, want) && (err != nil || want != nil) {
		t.Errorf("%q to %s: %v, want %v", value, name, err, want)
	}
}

func TestMachine_portTypeStore(t *testing.T) {
	_, a, _ := testLab(t)
	before, _ := a.Netdev("ibp1s0")
	store(t, a, portFile+"1", "eth", syscall.EINVAL)
	store(t, a, portFile+"1", "ethernet\n", syscall.EINVAL)
	store(t, a, portFile+"1", "ib\n", nil)
	if now, _ := a.Netdev("ibp1s0"); now.Index != before.Index {
		t.Error("writing the present type changed something")
	}
	other, _ := a.Netdev("ibp1s0d1")
	store(t, a, portFile+"1", "eth\n", nil)
	if _, there := a.Netdev("enp1s0"); !there {
		t.Error("no Ethernet interface after eth")
	}
	if now, _ := a.Netdev("ibp1s0d1"); now.Index == other.Index {
		t.Error("the other port's interface was not re-registered")
	}
}

func TestMachine_ethernetOnlyFirmwareRefusesIB(t *testing.T) {
	l := New(Options{})
	config := Config{Name: "en", Cards: []CardConfig{{BDF: "0000:01:00.0"}}}
	config.Cards[0].Config = enConfig()
	m, err := l.AddMachine(config)
	if err != nil {
		t.Fatal(err)
	}
	store(t, m, portFile+"1", "ib\n", syscall.EOPNOTSUPP)
	store(t, m, portFile+"1", "auto\n", syscall.EOPNOTSUPP)
	store(t, m, portFile+"1", "eth\n", nil)
	if log := strings.Join(m.KernelLines(), "\n"); !strings.Contains(log,
		"Requested port type for port 1 is not supported on this HCA") {
		t.Errorf("kernel log: %q", log)
	}
}

// vpiMachine is a host with a card that knows both types.
func vpiMachine(t *testing.T) *Machine {
	t.Helper()
	config := Config{Name: "vpi", Cards: []CardConfig{{BDF: "0000:01:00.0"}}}
	config.Cards[0].Config = enConfig()
	config.Cards[0].Image = testImage("MT_9090111019")
	m, err := New(Options{Speed: 1000}).AddMachine(config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMachine_portTypeArrayComesFromTheInitramfs(t *testing.T) {
	m := vpiMachine(t)
	port := m.Cards()[0].Ports[1]
	if v := port.View(); v.LinkType != LinkETH {
		t.Fatalf("VPI firmware came up as %s", v.LinkType)
	}
	m.FS.Put("/etc/modprobe.d/ib.conf", "options mlx4_core port_type_array=1,1\n", 0o644)
	m.PowerCut()
	if err := m.AwaitBoot(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if v := port.View(); v.LinkType != LinkETH {
		t.Errorf("without update-initramfs the port is %s", v.LinkType)
	}
	m.UpdateInitramfs()
	m.PowerCut()
	if err := m.AwaitBoot(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if v := port.View(); v.LinkType != LinkIB {
		t.Errorf("with update-initramfs the port is %s", v.LinkType)
	}
}

// A module parameter that names a type overrides what is stored in the card, at boot and in
// both directions; 0 leaves it to the card.
func TestMachine_portTypeArrayOverridesTheCard(t *testing.T) {
	m := vpiMachine(t)
	c := m.Cards()[0]
	c.SetNV(card.NV{LinkType: [2]int{card.LinkIB, card.LinkETH}})
	for i, tt := range []struct {
		array string
		want  [2]string
	}{{"0,0", [2]string{LinkIB, LinkETH}}, {"2,1", [2]string{LinkETH, LinkIB}}, {"0,2", [2]string{LinkIB, LinkETH}}} {
		m.SetCmdline("mlx4-core.port_type_array=" + tt.array)
		m.PowerCut()
		if err := m.AwaitBoot(t.Context(), 2+i); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{c.Ports[0].View().LinkType, c.Ports[1].View().LinkType}; got != tt.want {
			t.Errorf("port_type_array=%s with ib and eth in the card: %v", tt.array, got)
		}
	}
	store(t, m, portFile+"2", "ib\n", nil)
}

func TestMachine_ipoibModeAndMTU(t *testing.T) {
	l, a, _ := testLab(t)
	l.AddSM(&SM{Port: a.Cards()[0].Ports[0]})
	dir := "/sys/class/net/ibp1s0/"
	if err := a.SetMTU("ibp1s0", 4092); err != nil {
		t.Fatal(err)
	}
	if d, _ := a.Netdev("ibp1s0"); d.MTU != 4092 {
		t.Errorf("an interface that has joined no group has mtu %d", d.MTU)
	}
	a.UpdateNetdev("ibp1s0", func(d *Netdev) { d.Up = true })
	for _, step := range []struct {
		err error
		mtu int
		set int
	}{{nil, 2044, 4092}, {syscall.EINVAL, 2044, 65520}, {ErrMTUMax, 2044, 65521}} {
		if err := a.SetMTU("ibp1s0", step.set); !errors.Is(err, step.err) && (err != nil || step.err != nil) {
			t.Errorf("mtu %d: %v", step.set, err)
		}
		if d, _ := a.Netdev("ibp1s0"); d.MTU != step.mtu {
			t.Errorf("mtu %d reads back %d", step.set, d.MTU)
		}
	}
	store(t, a, dir+"mode", "connected", syscall.EINVAL)
	store(t, a, dir+"mode", "connected\n", nil)
	if got := read(t, a, dir+"mtu"); got != "65520\n" {
		t.Errorf("connected mode: mtu %q", got)
	}
	store(t, a, dir+"mode", "datagram\n", nil)
	if got := read(t, a, dir+"mtu"); got != "2044\n" {
		t.Errorf("back in datagram mode: mtu %q", got)
	}
}

func TestLab_duplicateGUIDsStopTheSubnet(t *testing.T) {
	l := New(Options{})
	l.AddSwitch("sw", 1, 8)
	var first *Machine
	for i, name := range []string{"a", "b"} {
		c := Config{Name: name, Cmdline: "mlx4_core.port_type_array=1,1", Cards: []CardConfig{{BDF: "0000:01:00.0"}}}
		c.Cards[0].Config = enConfig()
		c.Cards[0].Image = testImage("MT_9090111019")
		m, err := l.AddMachine(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Connect(CardEnd(name, "0000:01:00.0", 1), SwitchEnd("sw", i+1)); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = m
		}
	}
	sm := l.AddSM(&SM{Port: first.Cards()[0].Ports[0]})
	if v := first.Cards()[0].Ports[0].View(); sm.State() != SMDiscover || v.State != StateInit || v.LID != 0 {
		t.Errorf("SM state %d, port %+v", sm.State(), v)
	}
}
