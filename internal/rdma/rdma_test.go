package rdma

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

// TestScript_in_every_shell holds that what this machine says of itself is understood, whatever the shell.
func TestScript_in_every_shell(t *testing.T) {
	t.Parallel()
	for _, shell := range [][]string{{"/bin/sh"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		args := slices.Concat(shell[1:], []string{"-c", answer.Functions + script, "rdma-ready"})
		out, err := exec.CommandContext(t.Context(), shell[0], args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%.300s", shell, err, out)
		}
		f, err := parse(string(out))
		if err != nil || !f.Memlock.Known() || len(f.Modules) == 0 {
			t.Errorf("%v: %v, %v\n%.2000s", shell, err, f, out)
		}
	}
}

const whole = `@begin 1
@uid 1000
@memlock 8192
@limit * soft unlimited
@modules
@module nfsd
@run 0	builtin
|kernel/drivers/infiniband/core/rdma_cm.ko
@.
@file /proc/fs/nfsd/portlist
|rdma 20049
|tcp 2049
@.
@configfs target
@portal /sys/kernel/config/target/iscsi/iqn.2003-01.org:a/tpgt_1/np/[fd00::1]:3260
=/sys/kernel/config/target/iscsi/iqn.2003-01.org:a/tpgt_1/enable	1
=/sys/kernel/config/target/iscsi/iqn.2003-01.org:a/tpgt_1/np/[fd00::1]:3260/iser	1
@srp /sys/kernel/config/target/srpt/0xfe8000/0xfe8000
!/sys/kernel/config/target/srpt/0xfe8000/0xfe8000/enable
@configfs nvmet
@port /sys/kernel/config/nvmet/ports/1
=/sys/kernel/config/nvmet/ports/1/addr_trtype	rdma
=/sys/kernel/config/nvmet/ports/1/addr_traddr	172.16.0.1
=/sys/kernel/config/nvmet/ports/1/addr_trsvcid	4420
@serves /sys/kernel/config/nvmet/ports/1 nqn.a
@gpu 0000:41:00.0 nvidia
@place 0000:41:00.0 ../../../devices/pci0000:40/0000:40:01.0/0000:41:00.0
=/sys/bus/pci/devices/0000:41:00.0/numa_node	1
@place 0000:01:00.0 ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
=/sys/bus/pci/devices/0000:01:00.0/numa_node	0
@vrf ib0 blue
@end
`

func address(t *testing.T, text string) ib.PCIAddress {
	t.Helper()
	a, err := ib.ParsePCIAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Fuzz(func(t *testing.T, output string) {
		facts, err := parse(output)
		if err == nil && len(Judge(&inventory.Snapshot{Host: "x"}, facts, Purposes)) == 0 {
			t.Error("a host without a card is ready")
		}
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	f, err := parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	if f.Root || f.Memlock.Or("") != "8192" || !f.Raised || !fact.Yes(f.Modules["nfsd"]) ||
		!fact.Yes(f.Modules["rdma_cm"]) ||
		!fact.No(f.Modules["rdma_ucm"]) || !fact.Yes(f.NFS) || f.Port.Or(0) != 20049 || f.VRFs["ib0"] != "blue" ||
		f.Protocols != nil {
		t.Errorf("%+v", f)
	}
	if len(f.Listeners) != 3 || f.Listeners[0].Address != "[fd00::1]:3260" || !fact.Yes(f.Listeners[0].RDMA) ||
		f.Listeners[1].Enabled.Known() || f.Listeners[2].Address != "172.16.0.1:4420" || f.Listeners[2].Name != "nqn.a" {
		t.Errorf("%+v", f.Listeners)
	}
	gpu, card := address(t, "0000:41:00.0"), address(t, "0000:01:00.0")
	if got := f.Common(gpu, card); got.Or("") != Apart || len(f.GPUs) != 1 || f.GPUs[0].PCI != gpu {
		t.Errorf("%v %+v %+v", got, f.GPUs, f.Places)
	}
	for i := range len(whole) - 1 {
		if _, err := parse(whole[:i]); err == nil {
			t.Fatalf("an answer that is cut behind %d bytes was read", i)
		}
	}
	for _, bad := range []string{"@gpu 41 nvidia", "@place x y"} {
		if _, err := parse(strings.Replace(whole, "@vrf ib0 blue", bad, 1)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	const up = "../../../devices/"
	for _, tt := range []struct{ a, b, nodes, want string }{
		{"pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00/0000:00:01.0/0000:02:00.0/0000:03:00.0", "00", SameRoot},
		{"pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00/0000:00:03.0/0000:03:00.0", "00", SameBridge},
		{"pci0000:00/0000:00:02.0", "pci0000:00/0000:00:03.0", "00", SameBridge},
		{"LNXSYSTM:00/pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:40/0000:40:01.0/0000:41:00.0", "11", SameNode},
		{"pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:40/0000:40:01.0/0000:41:00.0", "01", Apart},
		{"pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:40/0000:40:01.0/0000:41:00.0", "x1", ""},
		{"", "pci0000:40/0000:40:01.0/0000:41:00.0", "11", ""},
	} {
		a, b := address(t, "0000:01:00.0"), address(t, "0000:02:00.0")
		f := Facts{Places: map[ib.PCIAddress]Place{a: place(up+tt.a, tt.nodes[:1]), b: place(up+tt.b, tt.nodes[1:])}}
		if got := f.Common(a, b); got.Or("") != tt.want {
			t.Errorf("%s and %s: %q", tt.a, tt.b, got.Or(""))
		}
	}
}

// TestJudge_of_nothing_read holds that what could not be read is neither ready nor a known problem.
func TestJudge_of_nothing_read(t *testing.T) {
	t.Parallel()
	f, err := parse("@begin 1\n@uid 0\n!/proc/fs/nfsd\n!/sys/kernel/config/target\n!/sys/kernel/config/nvmet\n@run " +
		"1\tprotocols\n|[ENOTAUTHENTICATED] Not authenticated\n@.\n@end\n")
	if err != nil {
		t.Fatal(err)
	}
	s := &inventory.Snapshot{Host: "nas", Storage: []inventory.Storage{{Kind: "mounts",
		Dev: fact.Unknown[string]("grep is not installed")}}}
	for purpose, says := range map[string]string{
		Programs:  "It is not known how much memory programs on nas may lock: its shell has no ulimit -l.",
		NFSClient: "The mounts of nas are not known: grep is not installed.",
		NFSServer: "It is not known whether the NFS server of nas listens for RDMA: /proc/fs/nfsd could not be read, or no " +
			"file system is mounted there.",
		ISCSI: "It is not known whether nas has an iSCSI portal with iSER: /sys/kernel/config/target could not be read, or " +
			"no file system is mounted there.",
		SRP:    "It is not known whether nas has an SRP port that is enabled: /sys/kernel/config/target could not be read",
		NVMeOF: "It is not known whether nas has an NVMe-oF port with the transport rdma: /sys/kernel/config/nvmet could not",
	} {
		var all []string
		for _, p := range Judge(s, f, []string{purpose}) {
			all = append(all, p.Kind+": "+p.Message)
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, Unknown+": "+says) {
			t.Errorf("%s:\n%s", purpose, text)
		}
	}
	if r := Ready([]Problem{{Kind: Unknown}}); r.Known() {
		t.Error("ready is known although a fact is missing")
	}
	if !fact.No(Ready([]Problem{{Kind: Unknown}, {Kind: Memlock}})) || !fact.Yes(Ready(nil)) {
		t.Error("ready")
	}
}
