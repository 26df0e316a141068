package labsim

import (
	"net/netip"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func testImage(psid string) []byte {
	return card.Build(card.Spec{
		PSID: psid, Version: [3]uint16{2, 42, 5000}, Product: "02.42.50.00", Date: 0x20170905, Device: 0x1007,
		HWIDs: []uint32{0x1f7}, GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true, Code: 0x8000,
	})
}

func testLab(t *testing.T) (*Lab, *Machine, *Machine) {
	t.Helper()
	l := New(Options{Speed: 100})
	l.AddSwitch("sw1", 0x0002c902004a1b00, 36)
	image := testImage("MT_9090111019")
	var made []*Machine
	for i, name := range []string{"a", "b"} {
		mac := uint64(0xe41d2de44e00) + uint64(i)*0x10
		m, err := l.AddMachine(Config{
			Name: name, OS: Ubuntu, Cmdline: "mlx4_core.port_type_array=1,1",
			Netdevs: []Netdev{{Name: "eno1", Type: TypeEthernet, Address: []byte{2, 0, 0, 0, 0, byte(i)}, Up: true, SSH: true,
				Driver: "e1000e", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}}},
			Cards: []CardConfig{{BDF: "0000:01:00.0", Config: card.Config{
				Chip: card.ConnectX3Pro, Image: image, GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac)), MACs: [2]uint64{mac + 1,
					mac + 2},
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		m.AddModuleFiles(InfiniBandModules...)
		if err := m.LoadModule("mlx4_ib"); err != nil {
			t.Fatal(err)
		}
		if err := m.LoadModule("ib_ipoib"); err != nil {
			t.Fatal(err)
		}
		for p := 1; p <= 2; p++ {
			if err := l.Connect(CardEnd(name, "0000:01:00.0", p), SwitchEnd("sw1", 2*i+p)); err != nil {
				t.Fatal(err)
			}
		}
		made = append(made, m)
	}
	return l, made[0], made[1]
}

func read(t *testing.T, m *Machine, name string) string {
	t.Helper()
	b, err := m.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLab_portsNeedASubnetManager(t *testing.T) {
	l, a, b := testLab(t)
	state := "/sys/class/infiniband/mlx4_0/ports/1/state"
	if got := read(t, b, state); got != "2: INIT\n" {
		t.Fatalf("without an SM: %q", got)
	}
	sm := l.AddSM(&SM{Port: a.Cards()[0].Ports[0], Priority: 5})
	if got := read(t, b, state); got != "4: ACTIVE\n" {
		t.Fatalf("with an SM: %q", got)
	}
	v := b.Cards()[0].Ports[1].View()
	if v.SMLID != a.Cards()[0].Ports[0].View().LID || v.LID == 0 || v.GroupMTU != 2048 {
		t.Fatalf("port 2 of b: %+v", v)
	}
	sm.Stop()
	if got := read(t, b, state); got != "4: ACTIVE\n" {
		t.Fatalf("after the SM went: %q", got)
	}
}

func TestLab_higherPriorityIsMaster(t *testing.T) {
	l, a, b := testLab(t)
	low := l.AddSM(&SM{Port: a.Cards()[0].Ports[0], Priority: 1})
	high := l.AddSM(&SM{Port: b.Cards()[0].Ports[0], Priority: 14})
	if low.State() != SMStandby || high.State() != SMMaster {
		t.Fatalf("states %d and %d", low.State(), high.State())
	}
	high.Update(func(s *SM) { s.Priority = 0 })
	if low.State() != SMMaster {
		t.Fatalf("after lowering the other: %d", low.State())
	}
}

func TestMachine_rebootChangesBootID(t *testing.T) {
	_, a, _ := testLab(t)
	before := a.BootID()
	a.PowerCut()
	for !a.Up() {
		_ = a.Lab.Clock.Sleep(t.Context(), 1e8)
	}
	if a.BootID() == before || a.Boots() != 2 {
		t.Fatalf("boot id %s, boots %d", a.BootID(), a.Boots())
	}
}

// A lab that is changed as a whole shows nothing of it before the end.
func TestBuild(t *testing.T) {
	l, a, _ := testLab(t)
	end := CardEnd("a", "0000:01:00.0", 1)
	state := func() int { return a.Cards()[0].Ports[0].View().PhysState }
	if state() != PhysLinkUp {
		t.Fatalf("the link is %d to begin with", state())
	}
	if err := l.Build(func() error {
		l.Disconnect(end)
		if state() != PhysLinkUp {
			t.Error("the fabric was recomputed in the middle")
		}
		return nil
	}); err != nil || state() != PhysPolling {
		t.Errorf("the link is %d at the end: %v", state(), err)
	}
}
