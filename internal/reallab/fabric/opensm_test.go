//go:build linux

package fabric_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// toolLab is four machines, two on each of two switches, with a link between these.
type toolLab struct {
	world    *wire.World
	hosts    []*toolHost
	switches []*fabric.Switch
	cables   []*wire.Cable // of the hosts
	between  *wire.Cable
}

const (
	hostGUID   = 0xe41d2d0300e44ed0
	switchGUID = 0x0002c90300112200
)

func newToolLab(t *testing.T) *toolLab {
	t.Helper()
	w := &wire.World{}
	l := &toolLab{world: w, switches: []*fabric.Switch{fabric.NewSwitch(w, "left", switchGUID, 12),
		fabric.NewSwitch(w, "right", switchGUID+0x10, 12)}}
	for i, name := range []string{"one", "two", "three", "four"} {
		h := newToolHost(t, w, name, hostGUID+uint64(i)*0x10)
		l.hosts = append(l.hosts, h)
		l.cables = append(l.cables, wire.Connect(h.port.Wire(), l.switches[i/2].Port(1+i%2)))
	}
	l.between = wire.Connect(l.switches[0].Port(12), l.switches[1].Port(12))
	return l
}

// up waits until the hosts of a list, by number, are active.
func (l *toolLab) up(t *testing.T, hosts ...int) {
	t.Helper()
	for _, i := range hosts {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			var active bool
			l.world.Do(func() { active = l.hosts[i].port.State() == fabric.Active })
			if active {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s does not become active", l.hosts[i].name)
			}
		}
	}
}

// shows holds that a program prints some texts.
func (h *toolHost) shows(program string, args []string, want ...string) {
	h.t.Helper()
	out := h.run(program, args...)
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(out) {
			h.t.Errorf("%s %v prints no %q:\n%s", program, args, w, out)
		}
	}
}

func (h *toolHost) lid() string {
	var lid uint16
	h.world.Do(func() { lid = h.port.LID() })
	return strconv.Itoa(int(lid))
}

// TestTools_two_switches: opensm brings two switches up, and the tools see all of it.
func TestTools_two_switches(t *testing.T) {
	l := newToolLab(t)
	sm := l.hosts[0].opensm("")
	sm.await("SUBNET UP")
	l.up(t, 0, 1, 2, 3)
	four := l.hosts[3]
	out := four.run("ibnetdiscover")
	if strings.Count(out, "\nSwitch\t") != 2 || strings.Count(out, "\nCa\t") != 4 || strings.Count(out, "4xFDR") != 10 {
		t.Errorf("ibnetdiscover:\n%s", out)
	}
	four.shows("sminfo", nil, "sm lid "+l.hosts[0].lid()+" sm guid 0xe41d2d0300e44ed1, .* SMINFO_MASTER")
	four.shows("iblinkinfo", nil, `12\[  \] ==\( 4X       14.0625 Gbps Active/  LinkUp\)==>       \d   12\[  \] "left"`)
	four.shows("smpquery", []string{"-D", "switchinfo", "0,1"}, `LinearFdbTop:\.+6`, `InboundPartEnf:\.+1`, `OutboundPartEnf:\.+1`,
		`FilterRawInbound:\.+0`)
	four.shows("smpquery", []string{"-D", "portinfo", "0,1", "12"}, `LinkState:\.+Active`, `NeighborMTU:\.+4096`)
	four.shows("smpquery", []string{"-D", "nodedesc", "0,1,12,2"}, "two")
	four.shows("perfquery", []string{"-x", four.lid(), "1"}, `PortUnicastRcvPkts:\.+[1-9]`, `PortMulticastXmitPkts:\.+0`)
	four.shows("perfquery", []string{"-a", four.lid()}, `CapMask: 0x1300`, `PortXmitData:\.+[1-9]`)
	four.shows("ibqueryerrors", nil, "6 nodes checked, 0 bad nodes found", "0 ports have errors beyond threshold")
	// A route that begins with a LID, and goes on from there by ports.
	left := l.switchLID(t, 0)
	four.shows("smpquery", []string{"-c", "nodeinfo", left, "0,12"}, "Guid:.*0x0002c90300112210", `LocalPort:\.+12`)
	four.shows("ibroute", []string{left}, "6 valid lids dumped")
	four.shows("ibtracert", []string{four.lid(), l.hosts[0].lid()}, `\[12\] -> switch port`, "To ca")
}

// switchLID gives the LID of a switch.
func (l *toolLab) switchLID(t *testing.T, i int) string {
	t.Helper()
	path := []string{"0,1,12", "0,1"}[i] // from the last host
	found := regexp.MustCompile(`\nLid:\.+(\d+)`).FindStringSubmatch(l.hosts[3].run("smpquery", "-D", "portinfo", path, "0"))
	if found == nil {
		t.Fatal("the switch has no LID")
	}
	return found[1]
}

// TestTools_lone_card: a card in a host without programs is set up and read as any other.
func TestTools_lone_card(t *testing.T) {
	w := &wire.World{}
	h := newToolHost(t, w, "one", hostGUID)
	alone := fabric.NewLone(w, fabric.Node{Description: "alone", GUID: hostGUID + 0x10, Ports: 1, Device: 0x1007}, hostGUID+0x11)
	wire.Connect(h.port.Wire(), alone)
	h.opensm("").await("SUBNET UP")
	h.shows("iblinkinfo", nil, `Active/  LinkUp.*"alone"`)
	h.shows("smpquery", []string{"-D", "portinfo", "0,1"}, `LinkState:\.+Active`, `Lid:\.+2`)
	h.shows("perfquery", []string{"-x", "2", "1"}, `PortUnicastRcvPkts:\.+[1-9]`)
}

// TestTools_cables: traps alone tell opensm what becomes of cables, and it represses them.
func TestTools_cables(t *testing.T) {
	l := newToolLab(t)
	sm := l.hosts[0].opensm("")
	sm.await("SUBNET UP")
	l.up(t, 0, 1, 2, 3)
	one := l.hosts[0]
	l.cables[3].Pull()
	sm.await("num:128")
	sm.await("SUBNET UP")
	if out := one.run("ibnetdiscover"); strings.Count(out, "\nCa\t") != 3 {
		t.Errorf("without the cable:\n%s", out)
	}
	l.cables[3].Plug()
	sm.await("num:128")
	l.up(t, 3)
	l.between.Pull()
	sm.await("num:128")
	sm.await("SUBNET UP")
	if out := one.run("ibnetdiscover"); strings.Count(out, "\nCa\t") != 2 {
		t.Errorf("without the link between the switches:\n%s", out)
	}
	l.between.Plug()
	sm.await("num:128")
	l.up(t, 2, 3)
	sm.await("SUBNET UP")
	// The switch at the far end tells of its own port as soon as its trap can come through.
	sm.await("num:128")
	before := strings.Count(sm.text(), "num:128")
	time.Sleep(2500 * time.Millisecond) // twice the subnet's time-out
	if after := strings.Count(sm.text(), "num:128"); after != before {
		t.Errorf("%d traps after opensm had repressed them", after-before)
	}
}

// TestTools_bad_cables: what a cable limits or breaks is in what the tools print.
func TestTools_bad_cables(t *testing.T) {
	l := newToolLab(t)
	sm := l.hosts[0].opensm("")
	sm.await("SUBNET UP")
	l.up(t, 0, 1, 2, 3)
	one := l.hosts[0]
	for _, c := range []struct {
		width  uint8
		speeds wire.Speeds
		want   string
	}{
		{3, wire.Speeds{Basic: 1}, `4X {11}2.5 Gbps.*Could be`},
		{1, wire.Quality, `1X       14.0625 Gbps.*Could be 4X`},
		{3, wire.Speeds{Basic: 7, FDR10: true}, `4X  10.0 Gbps \(FDR10\) Active`},
	} {
		l.between.Degrade(c.width, c.speeds)
		sm.await("SUBNET UP")
		l.up(t, 2, 3)
		one.shows("iblinkinfo", []string{"--switches-only"}, `12\[  \] ==\( `+c.want)
	}
	l.cables[1].Disturb(40)
	one.shows("ibqueryerrors", nil, `GUID 0xe41d2d0300e44ee1 port 1: \[SymbolErrorCounter == 40\]|GUID 0xe41d2d0300e44ee0 port 1: \[SymbolErrorCounter == 40\]`)
	l.cables[1].LoseEvery(1)
	for range 20 {
		l.world.Do(func() {
			l.hosts[1].port.Send(&wire.Packet{DLID: 1, SLID: 2, DestQP: 5, PKey: 0xffff, Opcode: wire.UDSend})
		})
	}
	l.cables[1].LoseEvery(0)
	sm.await("num:129")
	one.shows("ibqueryerrors", nil, `PortRcvErrors == 20`, `LocalLinkIntegrityErrors == 2`)
	one.run("perfquery", "-a", "-R", l.switchLID(t, 0))
	one.run("ibqueryerrors", "-k")
	one.shows("ibqueryerrors", nil, " 0 bad nodes found")
	one.shows("perfquery", []string{l.switchLID(t, 0), "2"}, `SymbolErrorCounter:\.+0`, `PortRcvErrors:\.+0`)
}

// TestTools_M_Key: with a key on all ports nobody reads or changes a port without it.
func TestTools_M_Key(t *testing.T) {
	l := newToolLab(t)
	sm := l.hosts[0].opensm("m_key 0x1234\nm_key_protection_level 2\nm_key_lease_period 2\n")
	sm.await("SUBNET UP")
	l.up(t, 0, 1, 2, 3)
	one, four := l.hosts[0], l.hosts[3]
	four.shows("smpquery", []string{"-y", "0x1234", "-D", "portinfo", "0,1,2"}, "LinkState:.*Active", `ProtectBits:\.+2`)
	one.shows("smpquery", []string{"-D", "-t", "200", "nodeinfo", "0,1,12,1"}, "iberror: failed")
	sm.await("num:256")
}

// TestTools_M_Key_lease: if no subnet manager with the key comes back, the protection ends.
func TestTools_M_Key_lease(t *testing.T) {
	l := newToolLab(t)
	sm := l.hosts[0].opensm("m_key 0x1234\nm_key_protection_level 2\nm_key_lease_period 1\n")
	sm.await("SUBNET UP")
	l.up(t, 0, 1, 2, 3)
	sm.kill()
	read := []string{"-D", "-t", "200", "portinfo", "0,1,12,1"}
	l.hosts[0].shows("smpquery", read, "iberror: failed")
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if strings.Contains(l.hosts[0].run("smpquery", read...), "LinkState:") {
			break
		}
	}
	l.hosts[0].shows("smpquery", read, `ProtectBits:\.+0`)
}

// TestTools_M_Key_change: opensm changes the key of all ports if its cache has the old one. Where the cache has another
// key, or none and the file another one, all ports stay active and opensm never says that the subnet is up.
func TestTools_M_Key_change(t *testing.T) {
	l := newToolLab(t)
	one, two, four := l.hosts[0], l.hosts[1], l.hosts[3]
	one.cache, two.cache = t.TempDir(), t.TempDir()
	start := func(h *toolHost, key string) *subnetManager {
		sm := h.opensm("m_key " + key + "\nm_key_protection_level 1\nforce_log_flush TRUE\n")
		sm.await("Entering MASTER state")
		return sm
	}
	stop := func(h *toolHost, sm *subnetManager) {
		sm.kill()
		l.world.Do(func() { h.port.SetCapabilities(0x02514868) }) // as a kernel takes IsSM back
		h.mu.Lock()
		for _, c := range h.clients { // nobody waits any more for answers that never came
			if c != nil {
				clear(c.asks)
				c.isSM = false
			}
		}
		h.mu.Unlock()
	}
	isUp := func(h *toolHost, key string) {
		t.Helper()
		sm := start(h, key)
		sm.await("SUBNET UP")
		l.up(t, 0, 1, 2, 3)
		if out := four.run("smpquery", "-y", key, "--show_keys", "-D", "portinfo", "0"); !strings.Contains(out, "0x000000000000"+key[2:]) {
			t.Errorf("the port has not the key %s:\n%s", key, out)
		}
		stop(h, sm)
	}
	isLockedOut := func(h *toolHost, key string) {
		t.Helper()
		sm := start(h, key)
		time.Sleep(3 * time.Second) // a subnet of this size is up in a tenth of one
		l.up(t, 0, 1, 2, 3)
		if text := sm.text(); strings.Contains(text, "SUBNET UP") || !strings.Contains(text, "has unknown M_Key, protection level 1") {
			t.Errorf("with the key %s opensm says:\n%s", key, text)
		}
		stop(h, sm)
	}
	isUp(two, "0x1234")
	isUp(one, "0x1234")
	isUp(one, "0x5678")
	isLockedOut(two, "0x5678") // the cache has the key of its time
	two.cache = t.TempDir()
	isUp(two, "0x5678")
	one.cache = t.TempDir()
	isLockedOut(one, "0x9abc")
	isUp(one, "0x5678")
}

// TestTools_traps: opensm hears of keys that do not fit and of capabilities that change.
func TestTools_traps(t *testing.T) {
	l := newToolLab(t)
	file := filepath.Join(t.TempDir(), "partitions.conf")
	if err := os.WriteFile(file, []byte("Default=0x7fff: ALL=limited, SELF=full;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sm := l.hosts[0].opensm("", "-P", file)
	sm.await("SUBNET UP")
	l.up(t, 0, 1, 2, 3)
	four := l.hosts[3]
	k := &wire.Packet{SLID: 2, DLID: 1, DestQP: 5, SrcQP: 7, PKey: 0x9234, QKey: 3, Opcode: wire.UDSend}
	l.world.Do(func() { four.port.Admits(k, fabric.AnyPKey) })
	sm.await("num:257")
	l.world.Do(func() { four.port.WrongQKey(k) })
	sm.await("num:258")
	l.world.Do(func() { four.port.Send(k) })
	sm.await("num:259")
	l.world.Do(func() { four.port.SetCapabilities(0x02514868 | 1<<1) })
	sm.await("num:144")
	four.shows("smpquery", []string{"-D", "portinfo", "0"}, `PkeyViolations:\.+1`, `QkeyViolations:\.+1`)
	// Limited members, as port 0 of the switch is here, do not hear each other.
	l.hosts[0].shows("perfquery", []string{l.switchLID(t, 1), "2"}, `PortRcvConstraintErrors:\.+1`)
}
