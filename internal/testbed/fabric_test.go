//go:build testbed && linux

package testbed

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

const (
	node1, node2 = 0xe41d2d0300e44ed0, 0xe41d2d0300e44f10
	port1, port2 = "0xe41d2d0300e44ed1", "0xe41d2d0300e44f11"
)

// member is a host with VPI firmware, GUIDs from a node GUID on, and InfiniBand
// on both ports.
func member(name string, node uint64) HostConfig {
	return HostConfig{Name: name, LinkType: [2]int{card.LinkIB, card.LinkIB}, Card: card.Config{
		Chip: card.ConnectX3Pro, Image: imageVPI(), GUIDs: [4]uint64{node, node + 1, node + 2,
			node + 3}, MACs: [2]uint64{baseMAC, baseMAC + 1},
	}}
}

// plugHosts puts the hosts of a bed into a fabric until the test ends.
func plugHosts(t *testing.T, b *Testbed, net string, nodes map[string]string) *Fabric {
	t.Helper()
	f, err := b.Plug(net, nodes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// ready is the two hosts on one switch, without a subnet manager.
func ready(t *testing.T) (*Testbed, *Fabric) {
	t.Helper()
	b := start(t, member("pve1", node1), member("pve2", node2))
	return b, plugHosts(t, b, ibsimtest.Net(t, "two-hca-one-switch"),
		map[string]string{"pve1": "H-e41d2d0300e44ed0", "pve2": "H-e41d2d0300e44f10"})
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
	b, _ := ready(t)
	for _, host := range []string{"pve1", "pve2"} {
		if got := b.on(t, host, "cd "+portFiles+
			"; cat state phys_state rate lid sm_lid link_layer gids/0 | tail -c 40; cat state lid"); !strings.Contains(got,
			"2: INIT\n0x0\n") {
			t.Errorf("%s: %q", host, got)
		}
	}
	for command, want := range map[string]string{
		"ibstat mlx4_0 1":  "State: Initializing\nPhysical state: LinkUp\nRate: 40\nBase lid: 0\nLMC: 0\nSM lid: 0\n",
		"ibstat mlx4_0 2":  "State: Down\nPhysical state: Polling\n",
		"ibstatus":         "state:\t\t 2: INIT\n\tphys state:\t 5: LinkUp\n\trate:\t\t 40 Gb/sec (4X QDR)\n\tlink_layer:\t InfiniBand\n",
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
	b, _ := ready(t)
	b.manage(t, "pve1", port1, 9)
	b.eventually(t, "pve1", "sminfo", "priority 9 state 3 SMINFO_MASTER")
	b.manage(t, "pve2", port2, 5)
	b.eventually(t, "pve2", "sminfo -D 0", "priority 5 state 2 SMINFO_STANDBY")
	// A master learns of another at its next heavy sweep, if the trap is lost.
	b.on(t, "pve1", "systemctl kill -s HUP 'opensm@*'")
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
	for _, c := range []struct{ net, host, port, without, logged, with string }{
		{"two-hca-one-switch", "pve1", port1, "no_sm fabric", "SUBNET UP", ""},
		{"down-and-back-to-back", "pve2", port2, "no_sm fabric", "SUBNET UP", ""},
		{"duplicate-guid", "pve1", port1,
			"duplicate_guid 0xe41d2d0300e44ed1; no_sm fabric; silent Infiniscale-IV Mellanox Technologies port 2",
			"ERR 0D01: Found duplicated node GUID",
			"duplicate_guid 0xe41d2d0300e44ed1; no_sm fabric; silent Infiniscale-IV Mellanox Technologies port 2"},
		{"zero-guid", "pve1", port1, "zero_guid pve2 mlx4_0; no_sm fabric", "SUBNET UP",
			"zero_guid pve2 mlx4_0; inactive pve2 mlx4_0 port 1 - Infiniscale-IV Mellanox Technologies port 2"},
	} {
		t.Run(c.net, func(t *testing.T) {
			plugHosts(t, b, ibsimtest.Net(t, c.net),
				map[string]string{c.host: map[string]string{"pve1": "H-e41d2d0300e44ed0", "pve2": "H-e41d2d0300e44f10"}[c.host]})
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

// Large fabrics are read whole.
func TestFabric_of_many_nodes(t *testing.T) {
	b := start(t, member("pve1", ibsimtest.AdapterGUID(0)))
	for _, c := range []struct{ adapters, nodes, links int }{{64, 86, 136}, {512, 559, 1034}} {
		t.Run(fmt.Sprint(c.adapters), func(t *testing.T) {
			plugHosts(t, b, ibsimtest.Generate(c.adapters), map[string]string{"pve1": ibsimtest.AdapterID(0)})
			b.manage(t, "pve1", fmt.Sprintf("0x%016x", ibsimtest.AdapterGUID(0)+1), 1)
			defer b.forget(t, "pve1")
			b.eventually(t, "pve1", "cat /var/log/opensm*.log", "SUBNET UP")
			f := look(t, b, "pve1", false)
			if len(f.Nodes) != c.nodes || len(f.Links) != c.links || f.Master() == nil || !f.Counted {
				t.Errorf("%d nodes, %d links, %v, counted %t", len(f.Nodes), len(f.Links), f.Master(), f.Counted)
			}
			// Some hundred datagrams in one answer.
			if got := b.on(t, "pve1", "saquery | grep -c 'NodeRecord dump:'"); strings.TrimSpace(got) != strconv.Itoa(c.nodes) {
				t.Errorf("the subnet administrator knows %s nodes", got)
			}
		})
	}
}
