package acctest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// contract compares a real host with a simulated one of the same configuration: what
// each prints, on both streams, and the status, of the commands that the provider or
// its users ask. What must differ is normalised; everything else that does is an
// error of the simulation, or of this test.
func (w *stackLab) contract(cfg Config) {
	w.t.Helper()
	if w.testbed == nil {
		return
	}
	twin := w.twin(cfg)
	differ, commands := 0, w.questions()
	for _, c := range commands {
		simulated, status := twin.Try(theHost, c)
		actual, actualStatus := w.Try(theHost, c)
		diff := cmp.Diff(w.normal(c, actual), w.normal(c, simulated))
		// networkd does what it is asked a while after it has answered.
		for try := 0; diff != "" && try < 10; try++ {
			time.Sleep(300 * time.Millisecond)
			actual, actualStatus = w.Try(theHost, c)
			diff = cmp.Diff(w.normal(c, actual), w.normal(c, simulated))
		}
		if diff != "" || actualStatus != status {
			differ++
			w.t.Errorf("%s: status %d, simulated %d; output (-real +simulated):\n%s", c, actualStatus, status, diff)
		}
	}
	w.t.Logf("contract of %s with %s: %d commands, %d differ", w.system, w.stack, len(commands), differ)
	// Some of them changed something.
	mustApply(w.t, w.ws, cfg)
}

// twin is a simulated host with the same addresses, configured by the provider.
func (w *stackLab) twin(cfg Config) *stackLab {
	w.t.Helper()
	ip, _, _ := w.testbed.Address(theHost)
	h := labs.Server(theHost, w.system, ip, 0)
	h.Stack, h.Cmdline = w.stack, "mlx4_core.port_type_array=1,1"
	hosts := []labs.Host{h}
	twin := &stackLab{Lab: &Lab{Backups: filepath.Join(w.t.TempDir(), "backups"), t: w.t, hosts: hosts}, t: w.t,
		stack: w.stack}
	twin.simulate(Options{Lab: labsim.Options{Speed: 20}, Hosts: hosts, Tolerate: true})
	twin.ws = twin.workspace(nil, 0)
	twin.fabric()
	mustApply(w.t, twin.ws, cfg)
	return twin
}

// questions are the commands of the contract. Those that fail are as much of it.
func (w *stackLab) questions() []string {
	name, subnet := w.name(), w.Subnet(theHost)
	all := []string{
		"ip -j -d addr show dev " + name, "ip -j addr show dev " + name, "ip addr show dev " + name,
		"ip -o addr show dev " + name, "ip -4 addr show dev " + name,
		"ip -j link show dev " + name, "ip -j -d link show dev " + name, "ip link show dev " + name,
		"ip -j route show dev " + name, "ip route show dev " + name, "ip -j -6 route show dev " + name,
		"ip -o route get " + subnet + ".1", "ip -o route get 10.20.1.1",
		"ip link show dev nosuch0", "ip -j addr show dev nosuch0", "ip addr del 10.99.0.1/24 dev " + name,
		"ip addr add " + subnet + ".20/24 dev " + name, "ip route del 10.99.0.0/16 via " + subnet + ".1 dev " + name,
		"ip link set dev " + name + " mtu 65521", "ip link del dev nosuch0",
		"ip route replace 10.98.0.0/16 via 192.0.2.77 dev " + name,
	}
	for _, f := range []string{"type", "mode", "mtu", "pkey", "umcast", "dev_id", "dev_port", "operstate", "carrier",
		"flags"} {
		all = append(all, "cat /sys/class/net/"+name+"/"+f)
	}
	switch w.stack {
	case labsim.StackNetplan:
		all = append(append(all, planQuestions(name)...), networkdQuestions(name)...)
		all = append(all, "cat /run/systemd/network/10-netplan-"+name+".network",
			"cat /run/systemd/network/10-netplan-"+name+".link")
	case labsim.StackNetplanNM:
		all = append(append(all, planQuestions(name)...), nmQuestions(name)...)
		all = append(all, "cat /run/NetworkManager/system-connections/netplan-"+name+".nmconnection")
	case labsim.StackNetworkd:
		all = append(all, networkdQuestions(name)...)
	case labsim.StackNetworkManager:
		all = append(all, nmQuestions(name)...)
	case labsim.StackIfupdown:
		all = append(all, "ifup "+name, "ifup nosuch0")
	case labsim.StackMiddleware:
	}
	return all
}

func planQuestions(name string) []string {
	return []string{
		"netplan generate",
		badPlan("infiniband-mode: enhanced"), badPlan("addresses: [10.10.10.1]"), badPlan("mtu: big"),
		badPlan("ipoib-mode: connected"),
	}
}

// badPlan is a file that netplan refuses, and what it then says.
func badPlan(line string) string {
	const file = "/etc/netplan/99-bad.yaml"
	return fmt.Sprintf("printf 'network:\\n  version: 2\\n  ethernets:\\n    x0:\\n      %s\\n' >%s; chmod 600 %[2]s; netplan generate; rm %[2]s", line, file)
}

func networkdQuestions(name string) []string {
	return []string{
		"grep -h -e ^ADMIN_STATE -e ^NETWORK_FILE= /run/systemd/netif/links/$(cat /sys/class/net/" + name + "/ifindex)",
		"networkctl reload", "networkctl reconfigure nosuch0",
		"networkctl reconfigure " + name, // last: it takes a while
	}
}

func nmQuestions(name string) []string {
	device := "$(busctl call org.freedesktop.NetworkManager /org/freedesktop/NetworkManager org.freedesktop.NetworkManager GetDeviceByIpIface s " + name + " | cut -d'\"' -f2)"
	bus := "busctl call org.freedesktop.NetworkManager /org/freedesktop/NetworkManager org.freedesktop.NetworkManager "
	return []string{
		"nmcli connection reload", "nmcli connection load /etc/nosuch.nmconnection",
		"nmcli connection up uuid 00000000-0000-0000-0000-000000000000 ifname " + name,
		"grep -h -e ^managed -e ^connection-uuid /run/NetworkManager/devices/$(cat /sys/class/net/" + name + "/ifindex)",
		bus + "GetDeviceByIpIface s nosuch0", bus + "CheckpointDestroy o /org/freedesktop/NetworkManager/Checkpoint/77",
		// Two at once, and the end of the first.
		"c=$(" + bus + "CheckpointCreate aouu 1 " + device + " 30 2 | cut -d'\"' -f2); echo $c; " + bus +
			"CheckpointCreate aouu 1 " + device + " 30 2; " + bus + "CheckpointDestroy o $c; " + bus + "CheckpointDestroy o $c",
	}
}

// notOfIPoIB are keys of ip's JSON that tell of the driver or the kernel below, or that
// count.
var notOfIPoIB = []string{
	"ifindex", "qdisc", "num_tx_queues", "num_rx_queues", "gso_max_size", "gso_max_segs", "tso_max_size", "tso_max_segs",
	"gro_max_size",
	"gso_ipv4_max_size", "gro_ipv4_max_size", "parentbus", "parentdev", "permaddr", "netns-immutable",
}

var normalisations = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`80:00:[0-9a-f]{2}:[0-9a-f]{2}:fe:80`), "80:00:QP:NO:fe:80"},
	{regexp.MustCompile(`fe80::[0-9a-f:]+`), "fe80::LOCAL"},
	{regexp.MustCompile(`(?m)^ *\d+: `), "N: "},
	{regexp.MustCompile(`(?m)^ *\d+ `), "N "},
	{regexp.MustCompile(` qdisc \w+`), " qdisc Q"},
	{regexp.MustCompile(`/(Devices|Checkpoint|ActiveConnection)/\d+`), "/$1/N"},
	{regexp.MustCompile(`\(process:\d+\)|\(generate:\d+\)`), "(PROCESS)"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+`), "TIME"},
	{regexp.MustCompile(`(connection-uuid)=[-0-9a-f]{36}`), "$1=UUID"},
	{regexp.MustCompile(`(?m)^.*\bibp1s0d1\b.*\n`), ""}, // of the second port nothing is asked
}

// normal is an answer without what must differ.
func (w *stackLab) normal(question, answer string) any {
	var list []map[string]any
	if strings.Contains(question, " -j ") && json.Unmarshal([]byte(answer), &list) == nil {
		for _, entry := range list {
			for _, key := range notOfIPoIB {
				delete(entry, key)
			}
			if a, ok := entry["address"].(string); ok {
				entry["address"] = normalisations[0].re.ReplaceAllString(a, normalisations[0].to)
			}
			addresses, _ := entry["addr_info"].([]any)
			for _, a := range addresses {
				if address, ok := a.(map[string]any); ok && address["scope"] == "link" {
					address["local"] = "fe80::LOCAL"
				}
			}
		}
		return list
	}
	for _, n := range normalisations {
		answer = n.re.ReplaceAllString(answer, n.to)
	}
	return answer
}
