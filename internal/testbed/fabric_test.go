//go:build testbed && linux

package testbed

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	ibfabric "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed/umad"
)

const (
	node1, node2, node3 = 0xe41d2d0300e44ed0, 0xe41d2d0300e44f10, 0xe41d2d0300e44f20
	port1, port2        = "0xe41d2d0300e44ed1", "0xe41d2d0300e44f11"
)

// member is a host with VPI firmware, GUIDs from a node GUID on, and InfiniBand
// on both ports.
func member(name string, node uint64) HostConfig {
	return HostConfig{Name: name, LinkType: [2]int{card.LinkIB, card.LinkIB}, Card: card.Config{
		Chip: card.ConnectX3Pro, Image: imageVPI(), GUIDs: [4]uint64{node, node + 1, node + 2,
			node + 3}, MACs: [2]uint64{baseMAC, baseMAC + 1},
	}}
}

// lone is a card in no host, whose kernel has no programs.
func (b *Testbed) lone(name string, node, port uint64) *wire.Port {
	h := umad.New(b.World, cardPorts)
	h.Boot(ibfabric.Node{Description: name + " mlx4_0", GUID: node, System: node + 3, Ports: cardPorts,
		Device: card.ConnectX3Pro.PCIDevice}, []uint64{port, port + 1})
	h.Port(1).Enable(true)
	return h.Port(1).Wire()
}

// socket is the first port of a host.
func (b *Testbed) socket(host string) *wire.Port { return b.Hosts[host].Device.HCA.Port(1).Wire() }

const switchLabel = "Infiniscale-IV Mellanox Technologies"

// switched plugs ports into a new switch until the test ends.
func (b *Testbed) switched(t *testing.T, ports ...*wire.Port) (cables []*wire.Cable) {
	t.Helper()
	s := ibfabric.NewSwitch(b.World, switchLabel, switchGUID, 8)
	for i, p := range ports {
		cables = append(cables, plugged(t, p, s.Port(i+1)))
	}
	return cables
}

// plugged is a cable that is in until the test ends.
func plugged(t *testing.T, one, other *wire.Port) *wire.Cable {
	c := wire.Connect(one, other)
	t.Cleanup(c.Pull)
	return c
}

// ready is the two hosts on one switch, without a subnet manager.
func ready(t *testing.T) *Testbed {
	t.Helper()
	b := start(t, member("pve1", node1), member("pve2", node2))
	b.switched(t, b.socket("pve1"), b.socket("pve2"))
	return b
}

// on runs a command that must end with 0.
func (b *Testbed) on(t *testing.T, host, command string) string {
	t.Helper()
	out, err := b.Hosts[host].Exec(t.Context(), command)
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", host, command, err, out)
	}
	return out
}

// eventually looks until what is printed matches.
func (b *Testbed) eventually(t *testing.T, host, command, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern)
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out, _ := b.Hosts[host].Exec(t.Context(), command)
		if match.MatchString(out) {
			return out
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s does not come to match %s:\n%s", host, command, pattern, out)
		}
	}
}

const portFiles = "/sys/class/infiniband/mlx4_0/ports/1/"

// manage starts the subnet manager of a host as its package does, with standbys
// that look every second and give up after two.
func (b *Testbed) manage(t *testing.T, host, port string, priority int) {
	t.Helper()
	b.on(t, host, fmt.Sprintf("mkdir -p /etc/opensm; printf 'sm_priority %d\nforce_log_flush TRUE\nsminfo_polling_timeout 1000\npolling_retry_number 2\n' >/etc/opensm/opensm.conf\n"+
		"echo 'PORTS=%q' >/etc/default/opensm; systemctl start opensm", priority, port))
}

// A port waits for a subnet manager, and all that shows its state says so; then
// the package's own unit brings both hosts up.
func TestFabric_comes_up(t *testing.T) {
	b := ready(t)
	for _, host := range []string{"pve1", "pve2"} {
		if got := b.on(t, host, "cd "+portFiles+
			"; cat state phys_state rate lid sm_lid link_layer gids/0 | tail -c 40; cat state lid"); !strings.Contains(got,
			"2: INIT\n0x0\n") {
			t.Errorf("%s: %q", host, got)
		}
	}
	for command, want := range map[string]string{
		"ibstat mlx4_0 1":  "State: Initializing\nPhysical state: LinkUp\nRate: 56\nBase lid: 0\nLMC: 0\nSM lid: 0\n",
		"ibstat mlx4_0 2":  "State: Down\nPhysical state: Polling\n",
		"ibstatus":         "state:\t\t 2: INIT\n\tphys state:\t 5: LinkUp\n\trate:\t\t 56 Gb/sec (4X FDR)\n\tlink_layer:\t InfiniBand\n",
		"sminfo; echo $?":  "sminfo: iberror: failed: query\n255\n",
		"ibstat -p":        port1 + "\n0xe41d2d0300e44ed2\n",
		"ibhosts":          "\"pve2 mlx4_0\"",
		"saquery; echo $?": "No SM/SA found on port (null):0\n",
	} {
		if got := b.on(t, "pve1", command); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", command, got)
		}
	}
	b.manage(t, "pve1", port1, 3)
	for _, host := range []string{"pve1", "pve2"} {
		b.eventually(t, host, "cat "+portFiles+"state", "^4: ACTIVE\n$")
	}
	if got := b.on(t, "pve2", "sminfo"); !regexp.MustCompile(`^sminfo: sm lid 1 sm guid 0xe41d2d0300e44ed1, activity count \d+ priority 3 state 3 SMINFO_MASTER\n$`).MatchString(got) {
		t.Errorf("%s", got)
	}
	// A file says what the tool says, also who manages.
	b.on(t, "pve1", `cd `+portFiles+`; s=$(ibstat mlx4_0 1)
has() { echo "$s" | grep -qx "$1" || { echo "no $1 in: $s"; exit 1; }; }
has "Base lid: $(($(cat lid)))"; has "SM lid: $(($(cat sm_lid)))"; has "Capability mask: $(cat cap_mask)"; [ $(($(cat cap_mask) & 2)) = 2 ]`)
	// Answers of more than one datagram, and of more than the tool expects.
	if got := b.on(t, "pve2", "saquery"); strings.Count(got, "NodeRecord dump:") != 3 ||
		!strings.Contains(got, "NodeDescription.........pve2 mlx4_0\n") {
		t.Errorf("%s", got)
	}
	if got := b.on(t, "pve2", "saquery PR"); strings.Count(got, "PathRecord dump:") != 9 {
		t.Errorf("%s", got)
	}
	b.on(t, "pve1", "systemctl stop opensm")
	// The emulated port learns of the closed file a moment later.
	b.eventually(t, "pve1", "echo $(($(cat "+portFiles+"cap_mask) & 2))", "^0\n$")
}

// A standby takes over from a master that dies, and a higher priority from a
// master that runs. How long a port shows the old one is what users would like to
// know.
func TestFabric_changes_hands(t *testing.T) {
	b := ready(t)
	b.manage(t, "pve1", port1, 9)
	b.eventually(t, "pve1", "sminfo", "priority 9 state 3 SMINFO_MASTER")
	b.manage(t, "pve2", port2, 5)
	b.eventually(t, "pve2", "sminfo -D 0", "priority 5 state 2 SMINFO_STANDBY")
	b.eventually(t, "pve1", "saquery SMIR", "(?s)SMInfoRecord dump:.*SMInfoRecord dump:")
	died := time.Now()
	b.on(t, "pve1", "systemctl kill -s KILL 'opensm@*'")
	b.eventually(t, "pve1", "cat "+portFiles+"sm_lid", "^0x3\n$")
	gap := time.Since(died)
	t.Logf("a dead master is replaced after %v", gap.Round(100*time.Millisecond))
	// Polling every second; two retries and the first look are the most there can be.
	if gap < time.Second {
		t.Errorf("the standby was not one: it took over after %v", gap)
	}
	b.on(t, "pve1", "systemctl restart 'opensm@"+port1+"'")
	returned := time.Now()
	b.eventually(t, "pve2", "cat "+portFiles+"sm_lid", "^0x1\n$")
	t.Logf("the higher priority rules again %v after its start", time.Since(returned).Round(100*time.Millisecond))
	b.eventually(t, "pve2", "sminfo -D 0", "state 2 SMINFO_STANDBY")
	if log := b.on(t, "pve2", "cat /var/log/opensm."+port2+
		".log"); !regexp.MustCompile(`(?s)Entering STANDBY state.*Entering MASTER state.*Entering STANDBY state`).MatchString(log) {
		t.Errorf("the log of the standby:\n%s", log)
	}
}

// look reads the fabric as the data source does, over SSH.
func look(t *testing.T, b *Testbed, host string, details bool) *fabric.Fabric {
	t.Helper()
	began := time.Now()
	f, err := fabric.Observe(t.Context(), open(t, b, host), fabric.Through{Device: "mlx4_0", Port: 1}, details)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes and %d links read in %v", len(f.Nodes), len(f.Links), time.Since(began).Round(10*time.Millisecond))
	return f
}

// kinds are the differences that a fabric shows by itself.
func kinds(f *fabric.Fabric) string {
	var list []string
	for _, d := range f.Compare(nil, nil, nil) {
		list = append(list, d.Kind+" "+d.Where)
	}
	return strings.Join(list, "; ")
}

// Fabrics of many kinds through the port of one host, before and after opensm has
// met them.
func TestFabric_is_read(t *testing.T) {
	b := start(t, member("pve1", node1), member("pve2", node2))
	twice := "duplicate_guid 0xe41d2d0300e44ed1; no_sm fabric; silent " + switchLabel + " port 2"
	for _, c := range []struct {
		name, host, port      string
		plug                  func(*testing.T)
		without, logged, with string
	}{
		{"two hosts", "pve1", port1, func(t *testing.T) { b.switched(t, b.socket("pve1"), b.socket("pve2")) },
			"no_sm fabric", "SUBNET UP", ""},
		{"back to back", "pve2", port2, func(t *testing.T) { plugged(t, b.socket("pve2"), b.lone("pve3", node3, node3+1)) },
			"no_sm fabric", "SUBNET UP", ""},
		{"a GUID twice", "pve1", port1, func(t *testing.T) { b.switched(t, b.socket("pve1"), b.lone("pve3", node1, node1+1)) },
			twice, "ERR 0D01: Found duplicated node GUID", twice},
		{"a GUID of zero", "pve1", port1, func(t *testing.T) { b.switched(t, b.socket("pve1"), b.lone("pve3", 0, 0)) },
			"zero_guid pve3 mlx4_0; no_sm fabric", "SUBNET UP",
			"zero_guid pve3 mlx4_0; inactive pve3 mlx4_0 port 1 - " + switchLabel + " port 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.plug(t)
			if got := kinds(look(t, b, c.host, true)); got != c.without {
				t.Errorf("without a subnet manager: %s", got)
			}
			b.manage(t, c.host, c.port, 1)
			defer b.forget(t, c.host)
			b.eventually(t, c.host, "tail -n 20 /var/log/opensm."+c.port+".log", c.logged)
			if got := kinds(look(t, b, c.host, true)); got != c.with {
				t.Errorf("with one: %s", got)
			}
		})
	}
}

// forget ends the subnet manager of a host.
func (b *Testbed) forget(t *testing.T, host string) {
	t.Helper()
	b.on(t, host, "systemctl stop opensm 'opensm@*'; rm -rf /var/cache/opensm/* /var/log/opensm*")
}
