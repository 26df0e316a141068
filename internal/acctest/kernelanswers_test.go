package acctest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
)

// kernelHosts are the machines that are asked: one of each system, with its ports on the
// switch of the gate.
var kernelHosts = map[string]labsim.OS{theHost: labsim.Debian12, newer: labsim.Debian13}

const newer = "newer"

// kernelNames are their names in the order of their ports on the switch.
var kernelNames = []string{theHost, newer}

// gate is the operator's machine in the fabric: it has the subnet manager and host 1 of
// the network, and is the way to the other machines.
const gate = "gate"

const portsInfiniBand = "mlx4_core.port_type_array=1,1"

// kernelQuestions are what the provider and its users ask of driver and fabric, as far as
// the simulation knows the command, in an order: some change what later ones see.
//
// The kernel's log and perfquery are not among them. The provider reads neither: what a driver
// made of a card it takes from sysfs, and counters from ibqueryerrors, which is asked. Of logs
// it reads that of a unit of its own (journalctl -u), and what opensm wrote, which is asked.
func kernelQuestions() []string {
	const slot, device, netdev = "/sys/bus/pci/devices/0000:01:00.0", "/sys/class/infiniband/*", "/sys/class/net/ibp1s0"
	all := []string{
		"ls /sys/class/infiniband",
		shows(device, "board_id fw_ver hw_rev hca_type node_guid sys_image_guid node_type node_desc"),
		shows(device+"/ports/1", "state phys_state rate lid lid_mask_count sm_lid sm_sl cap_mask link_layer gids/0 gids/1 pkeys/0 pkeys/1 pkeys/2"),
		shows(device+"/ports/2", "state phys_state rate lid sm_lid cap_mask link_layer gids/0 pkeys/0 pkeys/1"),
		shows(slot, "vendor device subsystem_vendor subsystem_device class revision enable numa_node current_link_speed "+
			"current_link_width max_link_speed max_link_width mlx4_port1 mlx4_port2 mlx4_port1_mtu mlx4_port2_mtu"),
		"ls " + slot + "/net", "ls " + slot + "/infiniband", "readlink " + slot + "/driver", "ls -d " + slot + "/physfn",
		"ls /sys/bus/pci/drivers/mlx4_core | grep :",
		"cat /sys/module/mlx4_core/parameters/port_type_array", "cat /sys/class/infiniband_mad/abi_version",
		"cat /sys/module/mlx4_core/initstate", "cat /sys/module/nosuch/initstate",
		"ibstat", "ibstat -p", "ibstat -s", "ibstat -l", "ibstat nosuch0", "ibstat $(ls /sys/class/infiniband) 1",
		"ibstat $(ls /sys/class/infiniband) 3",
		"sminfo", "sminfo -D 0", "sminfo -C nosuch0 -P 1", "sminfo -P 2",
		"smpquery -D nodeinfo 0", "smpquery -D portinfo 0 1", "smpquery -D portinfo 0 2", "smpquery -D pkeys 0 1",
		"smpquery -D nodeinfo 0,1", "smpquery -D portinfo 0,1 0", "smpquery -D portinfo 0 7", "smpquery -D nodeinfo 0,2",
		"smpquery nodeinfo 60000", "smpquery portinfo $(cat /sys/class/infiniband/*/ports/1/lid) 1",
		"ibportstate -D 0 1", "ibportstate -D 0 1 query", "ibportstate -D 0 2 query", "ibportstate -D 0 7 query",
		"ibportstate $(cat /sys/class/infiniband/*/ports/1/lid) 1 query",
		"ibportstate -D 0 1 nonsense", "ibportstate -D 0 1 speed 99", "ibportstate -D 0,2 1 query",
		"ibnetdiscover", "ibnetdiscover -p", "ibnetdiscover -C nosuch0", "iblinkinfo", "iblinkinfo -l", "ibhosts", "ibswitches", "ibnodes",
		"ibqueryerrors --threshold-file /dev/null --skip-sl", "ibqueryerrors -C nosuch0 --threshold-file /dev/null --skip-sl",
		"saquery -g", "saquery SMIR", "saquery -P 2 SMIR",
		"lspci -D -nn -d 15b3:", "lspci -D -n -d 15b3:", lnkCapQuestion,
		"modinfo -n mlx4_core mlx4_ib nosuch | sed 's|^.*/kernel/|/kernel/|'", "modprobe -- mlx4_ib", "modprobe -- nosuch",
	}
	all = append(append(all, collectQuestion), netdevQuestions(netdev)...)
	return append(append(append(all, collectQuestion), typeQuestions(slot)...), managerQuestions()...)
}

// lnkCapQuestion is the part of what lspci says of a card that the provider reads.
const lnkCapQuestion = "lspci -D -vvs 01:00.0 | grep -E 'Kernel|Serial num|Part|Product|SN|PN|LnkCap:|LnkSta:' | head -n 20"

// Questions that are asked more than once.
var (
	childQuestion  = shows("/sys/class/net/ibp1s0.8001", "type mode mtu pkey umcast dev_id dev_port operstate carrier flags parent")
	typesQuestion1 = shows("/sys/class/infiniband/*/ports/1", "state link_layer gids/0 cap_mask")
	typesQuestion2 = shows("/sys/class/infiniband/*/ports/2", "state phys_state rate link_layer gids/0 cap_mask lid")
)

// collectQuestion stands for the script with which the provider reads a host.
const collectQuestion = "what the provider collects"

// kernelCommand is what a question is on a command line.
func kernelCommand(t *testing.T, question string) string {
	t.Helper()
	if question != collectQuestion {
		return question
	}
	script, err := shellcmd.Compose(collect.Command(collect.Places{StateDir: inventory.StateDir, LockFile: flock.File,
		Packages: []string{"opensm", "infiniband-diags", "rdma-core", "mstflint"}}), shellcmd.NewFrame(), shellcmd.Elevation{Mode: shellcmd.Direct})
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// netdevQuestions are of an interface that nobody has configured, and what is done to it
// by hand.
func netdevQuestions(netdev string) []string {
	name := filepath.Base(netdev)
	files := shows(netdev, "type mode mtu pkey umcast dev_id dev_port operstate carrier flags address broadcast create_child delete_child parent")
	addresses := []string{"ip -j -d addr show dev " + name, "ip addr show dev " + name, "ip -d link show dev " + name,
		"ip -o link show dev " + name}
	all := append([]string{files, shows("/sys/class/net/ibp1s0d1", "type mode mtu pkey dev_id dev_port operstate")}, addresses...)
	write := func(file, text string) string { return "printf '" + text + "' >" + netdev + "/" + file }
	all = append(all, write("mode", `connected`), write("mode", `enhanced\n`), write("mode", `datagram\n`), write("umcast", `2\n`),
		write("mtu", `70\n`), write("mtu", `4093\n`), write("mtu", `x\n`), "ip link set dev "+name+" mtu 4093", "ip link set dev "+name+" mtu 60",
		"ip link set dev "+name+" mtu 65521", "ip link set dev "+name+" mtu 4092", "cat "+netdev+"/mtu",
		"ip link set dev "+name+" up; "+untilCarrier(name), files)
	all = append(all, addresses...)
	all = append(all, "ip link set dev "+name+" mtu 4092", "cat "+netdev+"/mtu", "ip link set dev "+name+" mtu 1500", "cat "+netdev+"/mtu",
		write("mode", `connected\n`), untilCarrier(name), files, "ip link set dev "+name+" mtu 65521", "ip link set dev "+name+" mtu 9000",
		write("mode", `datagram\n`), untilCarrier(name), files, write("mode", `connected\n`), untilCarrier(name))
	all = append(all, "ip addr add 172.16.0.20/24 dev "+name, "ip addr add 172.16.0.20/24 dev "+name, "ip addr add fd00::20/64 dev "+name,
		"ip -j route show dev "+name, "ip route show dev "+name, "ip -j -6 route show dev "+name, "ip -j route show default dev "+name,
		"ip route add 10.20.0.0/16 via 172.16.0.1 dev "+name, "ip -o route get 172.16.0.1", "ip -o route get 10.20.1.1",
		"grep "+name+" /proc/net/route", "grep '^fd.*"+name+"$' /proc/net/ipv6_route")
	all = append(all, addresses...)
	child := name + ".8001"
	childFiles := childQuestion
	all = append(all, write("create_child", `0x0\n`), write("create_child", `nonsense\n`), write("create_child", `0x7fff\n`),
		write("create_child", `0x8001\n`), write("create_child", `0x8001\n`), write("create_child", `0x0001\n`), "ls /sys/class/net | grep ibp1s0",
		childFiles, "ip link set dev "+child+" up; "+untilCarrier(child), childFiles, "ip -d link show dev "+child, "ip -j -d addr show dev "+child,
		write("delete_child", `0x8009\n`), write("delete_child", `0x8001\n`), "ls /sys/class/net | grep ibp1s0",
		"ip link add link "+name+" name "+child+" type ipoib pkey 0x8001", childFiles, "ip -d link show dev "+child, "ip link del dev "+child,
		"ip link del dev "+name,
		"ip link set dev "+name+" down", files, "ip addr show dev "+name, "ip route show dev "+name)
	return all
}

// untilCarrier waits until an interface has a carrier, which takes a group of the fabric.
func untilCarrier(name string) string {
	return "n=0; while [ $n -lt 60 ] && [ \"$(cat /sys/class/net/" + name + "/carrier 2>/dev/null)\" != 1 ]; do n=$((n+1)); sleep 0.5; done; " +
		"cat /sys/class/net/" + name + "/carrier"
}

// typeQuestions write the types of the ports.
func typeQuestions(slot string) []string {
	write := func(port, text string) string { return "printf '" + text + "' >" + slot + "/mlx4_port" + port }
	seen := shows(slot, "mlx4_port1 mlx4_port2")
	after := []string{seen, "ls " + slot + "/net", "ls " + slot + "/infiniband", typesQuestion1,
		typesQuestion2}
	all := []string{write("1", `nonsense\n`), write("1", `ib`), write("1", `IB\n`), write("1", `\n`), write("1", `ib\n`), write("2", `eth\n`) + "; sleep 4"}
	all = append(all, after...)
	all = append(all, "ibstat -s", shows("/sys/class/net/enp1s0d1", "type mtu dev_id dev_port operstate carrier address flags"),
		write("1", `eth\n`)+"; sleep 4")
	all = append(all, after...)
	all = append(all, "ibstat", "ibportstate -D 0 1 query", "ibnetdiscover", "sminfo", write("2", `ib\n`)+"; sleep 4")
	all = append(all, after...)
	all = append(all, write("1", `auto\n`)+"; sleep 4")
	all = append(all, after...)
	return append(append(all, write("2", `ib\n`)+"; sleep 4", write("1", `ib\n`)+"; sleep 4"), after...)
}

// managerQuestions run a second subnet manager for a while and read what it says.
func managerQuestions() []string {
	message := `sed 's/^.*-> //' `
	return []string{
		"n=0; while [ $n -lt 60 ] && ! grep -q ACTIVE /sys/class/infiniband/*/ports/1/state; do n=$((n+1)); sleep 0.5; done; " +
			"cat /sys/class/infiniband/*/ports/1/state",
		"timeout 12 opensm -g " + stackPort + " -p 0 -f /var/log/opensm-it.log >/dev/null 2>&1", message + "/var/log/opensm-it.log",
		"timeout 12 opensm -g 0x1 -p 0 -f /var/log/opensm-no.log >/dev/null 2>&1", message + "/var/log/opensm-no.log",
		"printf 'Default=0x7fff, ipoib: ALL=full;\\nnonsense\\n' >/etc/opensm/bad.conf; timeout 12 opensm -g " + stackPort +
			" -p 0 -P /etc/opensm/bad.conf -f /var/log/opensm-bad.log >/dev/null 2>&1", message + "/var/log/opensm-bad.log",
	}
}

// shows prints files of a directory, each with its name.
func shows(directory, files string) string {
	return "cd " + directory + " && for f in " + files + "; do echo $f: $(cat $f 2>&1); done"
}

// kernelTwin is the simulated lab of the same machines, with the gate and its subnet manager.
func kernelTwin(t *testing.T) *Lab {
	t.Helper()
	twin := simulateKernels(t, append(kernelMachines(), kernelHost(gate, labsim.Debian12, 16)))
	everyone := []labsim.PartitionMember{{Word: "ALL", Full: true}}
	sm := &labsim.SM{Port: twin.Machine(gate).Cards()[0].Ports[0], Priority: 1, PKeys: map[uint16]int{0x0001: 2048, 0x0002: 2048}}
	for _, key := range []uint16{0x7fff, 0x0001, 0x0002} {
		sm.Partitions = append(sm.Partitions, labsim.Partition{Key: key, MTU: 2048, Rate: 3, Members: everyone})
	}
	twin.AddSM(sm)
	return twin
}

// kernelMachines are the machines that are asked.
func kernelMachines() (hosts []labs.Host) {
	for _, name := range kernelNames {
		hosts = append(hosts, kernelHost(name, kernelHosts[name], len(hosts)))
	}
	return hosts
}

// simulateKernels simulates machines as others have them before anybody asks: with the
// drivers and the tools, and an opensm that does not run.
func simulateKernels(t *testing.T, hosts []labs.Host) *Lab {
	t.Helper()
	for i := range hosts {
		hosts[i].Packages = []string{"rdma-core"}
	}
	twin := &Lab{t: t, hosts: hosts}
	twin.simulate(Options{Lab: labsim.Options{Speed: 20}, Hosts: hosts, Tolerate: true})
	kernelCables(t, twin)
	for _, h := range hosts {
		for _, module := range []string{"mlx4_ib", "ib_umad", "ib_ipoib"} {
			if err := twin.Machine(h.Name).LoadModule(module); err != nil {
				t.Fatal(err)
			}
		}
		twin.Install(h.Name, "infiniband-diags")
		twin.Run(h.Name, "echo PORTS=NONE >/etc/default/opensm")
		twin.Install(h.Name, "opensm")
		twin.Run(h.Name, "systemctl disable --now opensm.service")
	}
	return twin
}

// kernelCables plugs the first ports into a switch as large as the other lab's.
func kernelCables(t *testing.T, twin *Lab) {
	t.Helper()
	twin.AddSwitch("small", 0x0002c90300112200, 12)
	for i, h := range twin.hosts {
		twin.Unplug(h.Name, 2)
		near := labsim.CardEnd(h.Name, twin.PCI(h.Name), 1)
		twin.Disconnect(near)
		if err := twin.Connect(near, labsim.SwitchEnd("small", i+1)); err != nil {
			t.Fatal(err)
		}
	}
}

// kernelHost is a machine that configures nothing of its ports.
func kernelHost(name string, system labsim.OS, i int) labs.Host {
	h := labs.Server(name, system, fmt.Sprintf("192.0.2.%d", 20+i), i)
	h.Stack, h.Cmdline = labsim.StackIfupdown, portsInfiniBand
	h.Cards[0].SubsystemID = 0x0017 // of the emulated card
	h.Cards[0].CapMask = 0x02514868 // without a target of SRP, which sets a bit
	return h
}

// kernelNoise is what must differ: numbers of the fabric, the name that rdma-core gives to
// the device, the size of the switch, and what a model of silicon says of itself.
var kernelNoise = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(?m)^# Topology file: generated on .*`), "# Topology file"},
	// What a chip has of its own, and ibsim, whose values the simulation has, has others.
	{regexp.MustCompile(`(Revision|MkeyLeasePeriod|VLStallCount|GuidCap|SubnetTimeout|RespTimeVal|LocalPhysErr|OverrunErr):.*`), "$1"},
	{regexp.MustCompile(`\bmlx4_0\b|\bibp1s0\b`), "DEVICE"},
	{regexp.MustCompile(`activity count \d+`), "activity count"},
	{regexp.MustCompile(`\b6\.\d+\.\d+-\d+-amd64|\b6\.\d+\.\d+\+deb13-amd64`), "KERNEL"},
	{regexp.MustCompile(`(boot_id|machine-id)\t[0-9a-f-]{32,36}`), "$1\tID"},
	{regexp.MustCompile(`(?m)^@uid \d+$`), "@uid N"}, // the other lab logs in as another user
	{regexp.MustCompile(`(/proc/cmdline\t).*( mlx4_core\.)`), "$1$2"},
	{regexp.MustCompile(`ActCount\.+\d+`), "ActCount"},
	// saquery and the kernel give up at the same time. Only saquery says so, if it is the first.
	{regexp.MustCompile(`(?m)^ibwarn: \[\d+\] sa_query: umad_recv failed: .*\n\n`), ""},
	{regexp.MustCompile(`ibpanic: \[\d+\]`), "ibpanic"},
	{regexp.MustCompile(`(?m)^tpi-.*\n`), ""}, // the frame of a command of the provider
	{regexp.MustCompile(`ibwarn: \[\d+\]`), "ibwarn"},
	// The kernel looks for a second of a link-local address: a moment.
	{regexp.MustCompile(`,"tentative":true`), ""}, {regexp.MustCompile(`\btentative `), ""},
	{regexp.MustCompile(`80:00:[0-9a-f]{2}:[0-9a-f]{2}:fe:80`), "80:00:QP:NO:fe:80"},
}

// ofCard are the lines of a collected host that are about a card and its driver. The rest
// is of two different machines: their network, packages, disk and services.
var ofCard = regexp.MustCompile(`0000:01:00\.0|DEVICE|/sys/class/infiniband|/sys/module|^@(begin|kernel-installed)`)

// kernelNormal is an answer without what must differ, in lines.
func kernelNormal(question, answer string) []string {
	for _, n := range kernelNoise {
		answer = n.re.ReplaceAllString(answer, n.to)
	}
	lines := strings.Split(answer, "\n")
	program, _, _ := strings.Cut(question, " ")
	switch {
	case question == collectQuestion:
		return slices.DeleteFunc(lines, func(line string) bool { return !ofCard.MatchString(line) || strings.HasPrefix(line, "|") })
	case slices.Contains(fabricScans, program):
		slices.Sort(lines)
	default:
		slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(onStderr(a), onStderr(b)) })
	}
	return lines
}

// fabricScans list nodes in the order in which they happened to answer.
var fabricScans = []string{"ibnetdiscover", "iblinkinfo", "ibhosts", "ibnodes", "ibqueryerrors"}

// onStderr tells warnings from results: the order of a program's two streams is lost on
// the way through SSH, the order within each is not. The empty end of a text stays last.
func onStderr(line string) int {
	switch {
	case line == "":
		return 2
	case strings.HasPrefix(line, "ibwarn"), strings.HasPrefix(line, "ibpanic"), strings.HasPrefix(line, "./lib"):
		return 1
	}
	return 0
}

// TestKernelAnswers holds the simulated lab to what machines with stock kernels have
// answered to the same questions.
func TestKernelAnswers(t *testing.T) {
	t.Parallel()
	for host, system := range kernelHosts {
		t.Run(string(system), func(t *testing.T) {
			t.Parallel()
			r := recording{contractTest, system}
			compareAnswers(t, kernelTwin(t), host, r, r.read(t, kernelQuestions()), true)
		})
	}
}
