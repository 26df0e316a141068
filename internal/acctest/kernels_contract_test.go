//go:build reallab && linux

package acctest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// kernelQuestions are what the provider and its users ask of driver and fabric, as far as
// the simulation knows the command.
var kernelQuestions = []string{
	"ls /sys/class/infiniband",
	shows("/sys/class/infiniband/*", "board_id fw_ver hca_type node_guid sys_image_guid node_type node_desc"),
	shows("/sys/class/infiniband/*/ports/1", "state phys_state rate lid lid_mask_count sm_lid sm_sl link_layer gids/0 pkeys/0"),
	shows("/sys/class/infiniband/*/ports/2", "state phys_state rate lid link_layer"),
	shows("/sys/bus/pci/devices/0000:01:00.0", "vendor device class mlx4_port1 mlx4_port2"),
	"ls /sys/bus/pci/devices/0000:01:00.0/net", "ls /sys/bus/pci/devices/0000:01:00.0/infiniband",
	"readlink /sys/bus/pci/devices/0000:01:00.0/driver",
	"cat /sys/module/mlx4_core/parameters/port_type_array", "cat /sys/class/infiniband_mad/abi_version",
	"ibstat", "ibstat -p", "ibstat -s", "ibstat nosuch0", "sminfo", "smpquery -D nodeinfo 0", "smpquery -D portinfo 0 1",
	"ibnetdiscover", "iblinkinfo", "iblinkinfo -l", "ibhosts", "ibswitches", "lspci -D -nn -d 15b3:",
	"lspci -D -vvs 01:00.0 | grep -E 'Kernel|Serial num|Part|Product'",
}

// shows prints files of a directory, each with its name.
func shows(directory, files string) string {
	return "cd " + directory + " && for f in " + files + "; do echo $f: $(cat $f); done"
}

// kernelNoise is what must differ: numbers of the fabric, the name that rdma-core gives to
// the device, the size of the switch, and what a model of silicon says of itself.
var kernelNoise = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`0x[0-9a-f]{15,16}|\b[0-9a-f]{16}\b|([0-9a-f]{4}:){3}[0-9a-f]{4}`), "GUID"},
	{regexp.MustCompile(`(sysimgguid|switchguid)=.*`), "$1"},
	{regexp.MustCompile(`(?m)^#.*\n`), ""},
	{regexp.MustCompile(`(?m)^\S.*Down/ Polling.*\n|^ .*Down/ Polling.*\n`), ""},
	{regexp.MustCompile(`\bmlx4_0\b|\bibp1s0\b`), "DEVICE"},
	{regexp.MustCompile(`((?:Switch\t|ports )\d)\d? `), "$1 "}, {regexp.MustCompile(`(Switch\t|Switch\t: GUID ports )\d+`), "$1N"},
	{regexp.MustCompile(`(?m)^\t\t\t\tIs\w+\n`), ""},
	{regexp.MustCompile(`(activity count|Capability mask:|lid|LID) (0x)?[0-9a-f]+`), "$1 N"},
	{regexp.MustCompile(`(PartCap|CapMask|Revision|MkeyLeasePeriod|VLStallCount|GuidCap|SubnetTimeout|RespTimeVal|LocalPhysErr|OverrunErr):.*`), "$1"},
	{regexp.MustCompile(`ibpanic: \[\d+\]`), "ibpanic"},
}

// TestKernels_contract compares what a machine with a kernel of its own says of its card
// and its fabric with what a simulated one says.
func TestKernels_contract(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
	h.Stack, h.Cmdline = labsim.StackIfupdown, portsInfiniBand
	w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: h.Stack, system: labsim.Debian12}
	twin := &Lab{t: t, hosts: []labs.Host{h, labs.Server(gate, labsim.Debian12, "192.0.2.1", 16)}}
	twin.hosts[1].Cmdline = portsInfiniBand
	for i := range twin.hosts {
		twin.hosts[i].Packages = []string{"rdma-core"}
	}
	twin.simulate(Options{Lab: labsim.Options{Speed: 20}, Hosts: twin.hosts, Tolerate: true})
	for _, name := range []string{theHost, gate} {
		for _, module := range []string{"mlx4_ib", "ib_umad", "ib_ipoib"} {
			if err := twin.Machine(name).LoadModule(module); err != nil {
				t.Fatal(err)
			}
		}
		twin.Install(name, "infiniband-diags")
		twin.Unplug(name, 2)
	}
	near := labsim.CardEnd(gate, twin.PCI(gate), 1)
	twin.Disconnect(near)
	if err := twin.Connect(near, labsim.SwitchEnd("switch", 2)); err != nil {
		t.Fatal(err)
	}
	twin.AddSM(&labsim.SM{Port: twin.Machine(gate).Cards()[0].Ports[0], Priority: 1})
	w.Run(theHost, "modprobe -a mlx4_ib ib_umad ib_uverbs ib_ipoib")
	differ := 0
	for _, c := range kernelQuestions {
		simulated, status := twin.Try(theHost, c)
		actual, actualStatus := w.Try(theHost, c)
		if diff := cmp.Diff(kernelNormal(actual), kernelNormal(simulated)); diff != "" || status != actualStatus {
			differ++
			t.Errorf("%s: status %d, simulated %d; output (-real +simulated):\n%s", c, actualStatus, status, diff)
		}
	}
	t.Logf("contract of the driver and the fabric: %d commands, %d differ", len(kernelQuestions), differ)
}

func kernelNormal(answer string) []string {
	for _, n := range kernelNoise {
		answer = n.re.ReplaceAllString(answer, n.to)
	}
	return strings.Split(answer, "\n")
}
