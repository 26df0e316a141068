package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/rdma"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
)

// readyFor reads infiniband_rdma_ready, whose problems it gives as lines "kind: message".
func readyFor(t *testing.T, w *Lab, host string, purposes ...any) (v any, problems string) {
	t.Helper()
	v, diags, err := w.Workspace().Data(context.Background(), "infiniband_rdma_ready",
		map[string]any{"host": host, "purposes": purposes})
	if err != nil || diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	list, ok := field(t, v, "problems").([]any)
	if !ok {
		t.Fatalf("%v", v)
	}
	var lines []string
	for _, p := range list {
		lines = append(lines, fmt.Sprintf("%s: %s", field(t, p, "kind"), field(t, p, "message")))
	}
	return v, strings.Join(lines, "\n")
}

// readyStep is one state of a host, and what is said of it.
type readyStep struct {
	name     string
	prepare  func()
	host     string
	purposes []any
	ready    string
	says     string // the problems as a whole; "…" at the end: their begin
	shows    map[string]string
}

func checkReady(t *testing.T, w *Lab, tt readyStep) {
	t.Helper()
	if tt.prepare != nil {
		tt.prepare()
	}
	v, problems := readyFor(t, w, tt.host, tt.purposes...)
	begin, open := strings.CutSuffix(tt.says, "…")
	if fmt.Sprint(field(t, v, "ready")) != tt.ready || problems != begin && (!open || !strings.HasPrefix(problems, begin)) {
		t.Errorf("%s: ready is %v, problems:\n%s", tt.name, field(t, v, "ready"), problems)
	}
	for path, want := range tt.shows {
		if got := fmt.Sprint(field(t, v, strings.Split(path, ".")...)); got != want {
			t.Errorf("%s: %s is %s", tt.name, path, got)
		}
	}
}

// Nothing goes over RDMA until the card is InfiniBand, its port Active, and an interface has an address.
// Then each purpose names what it lacks, until it has it.
func TestRDMAReady_of_two_hosts(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	m := w.Machine(labs.Intel9)
	checkReady(t, w, readyStep{name: "as bought", host: labs.Intel9, ready: "false",
		says: "no_active_port: No port of intel9 is Active: …"})
	mustApply(t, w.Workspace(), w.BothHosts())
	rdma.AddModules(m)
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []readyStep{
		{name: "applied", ready: "true", shows: map[string]string{"memlock": "8192", "rping": "false", "nfs_server": "false",
			"nfs_rdma_port": "0", "mounts": "[]", "listeners": "[]", "gpus": "[]", "truenas_protocols": "<nil>"}},
		{name: "programs", purposes: []any{"programs"}, ready: "false",
			says: "module: intel9 has not loaded the module rdma_ucm. Programs connect through it. Run modprobe rdma_ucm, and " +
				"write rdma_ucm into a file of /etc/modules-load.d.\n" +
				"memlock: The login user of intel9 may lock 8192 KiB of memory. Programs lock what they send and receive over " +
				"RDMA. Write \"* soft memlock unlimited\" and \"* hard memlock unlimited\" into a file of " +
				"/etc/security/limits.d, and log in anew. A service needs LimitMEMLOCK=infinity in its unit.\n" +
				"no_rping: intel9 has no rping, with which RDMA between two hosts is tried. It comes with rdmacm-utils (Debian, " +
				"Ubuntu), librdmacm-utils (RHEL, Fedora) or rdma-core (Arch)."},
		{name: "programs, mended", purposes: []any{"programs"}, ready: "true", prepare: func() {
			m.Memlock = "unlimited"
			do(m.LoadModule("rdma_ucm"))
			rdma.InstallRping(m)
		}},
		{name: "no NFS server", purposes: []any{"nfs_server"}, ready: "false",
			says: "not_serving: The NFS server of intel9 does not run. Start nfs-server, and export something."},
		{name: "NFS by TCP", purposes: []any{"nfs_server"}, ready: "false", prepare: func() { do(rdma.StartNFS(m)) },
			says: "not_listening: The NFS server of intel9 does not listen for RDMA: /proc/fs/nfsd/portlist has no line " +
				"\"rdma 20049\". Write rdma=y and rdma-port=20049 below [nfsd] into /etc/nfs.conf, and restart nfs-server."},
		{name: "VRF", ready: "true", shows: map[string]string{"vrfs": "map[eno1:blue]"}, prepare: func() {
			m.FS.Put("/sys/devices/virtual/net/blue/uevent", "DEVTYPE=vrf\nINTERFACE=blue\n", 0o444)
			m.FS.PutLink("../../devices/virtual/net/blue", "/sys/class/net/blue")
			m.FS.PutLink("../../../virtual/net/blue", "/sys/class/net/eno1/master")
		}},
		{name: "NFS by RDMA", purposes: []any{"nfs_server"}, ready: "true",
			prepare: func() { w.Run(labs.Intel9, "echo rdma 20049 > /proc/fs/nfsd/portlist") },
			shows:   map[string]string{"nfs_server": "true", "nfs_rdma_port": "20049", "modules.rpcrdma": "true"}},
	} {
		tt.host = labs.Intel9
		checkReady(t, w, tt)
	}
	checkMounts(t, w, m)
	checkListeners(t, w, m, do)
	checkGPUs(t, w, m, do)
	checkAppliance(t, w)
}

// Mounts over an interface of InfiniBand must say rdma; those over another network are let alone.
func checkMounts(t *testing.T, w *Lab, m *labsim.Machine) {
	t.Helper()
	mounts := func(lines ...string) func() {
		return func() {
			m.FS.Put("/proc/mounts", "/dev/sda2 / ext4 rw 0 0\n"+strings.Join(lines, "\n")+"\n", 0o444)
		}
	}
	const home = "198.51.100.9:/home /home nfs4 rw,vers=4.2,proto=tcp,addr=198.51.100.9 0 0"
	const tank = "172.16.0.10:/mnt/tank /mnt/tank nfs4 rw,vers=4.2,proto=%s,addr=172.16.0.10 0 0"
	_, problems := readyFor(t, w, labs.Intel9, "nfs_client")
	if want := "no_mount: intel9 has mounted no NFS over InfiniBand. Mount it with the options proto=rdma,port=20049. " +
		"What automount has not mounted now is not seen."; problems != want {
		t.Errorf("no mount:\n%s", problems)
	}
	mounts(home, fmt.Sprintf(tank, "tcp"))()
	v, problems := readyFor(t, w, labs.Intel9, "nfs_client")
	list, _ := field(t, v, "mounts").([]any)
	if len(list) != 2 {
		t.Fatalf("mounts: %v", list)
	}
	dev := field(t, list[1], "interface")
	if want := fmt.Sprintf("mount: nfs4 172.16.0.10:/mnt/tank on /mnt/tank goes over tcp on %s. Mount it with the "+
		"options proto=rdma,port=20049; its server must listen there.", dev); problems != want {
		t.Errorf("by TCP:\n%s", problems)
	}
	mounts(home, fmt.Sprintf(tank, "rdma,port=20049"))()
	if v, problems = readyFor(t, w, labs.Intel9, "nfs_client"); problems != "" || field(t, v, "ready") != true {
		t.Errorf("by RDMA:\n%s", problems)
	}
}

func checkListeners(t *testing.T, w *Lab, m *labsim.Machine, do func(error)) {
	t.Helper()
	const iqn, gid = "iqn.2003-01.org.linux-iscsi.intel9:tank", "0xfe80000000000000e41d2d0300e44ed1"
	const portal = "/sys/kernel/config/target/iscsi/" + iqn + "/tpgt_1/np/172.16.0.9:3260/iser"
	iser := "not_listening: intel9 has no iSCSI portal with iSER. Write enable_iser true for a portal in targetcli, or " +
		"1 into its file iser in configfs."
	srp := "not_listening: intel9 has no SRP port that is enabled. Make a target below /srpt in targetcli, which loads " +
		"ib_srpt."
	nvme := "not_listening: intel9 has no NVMe-oF port with the transport rdma. Write rdma into addr_trtype of a port " +
		"of nvmet, and link a subsystem to it."
	for _, tt := range []readyStep{
		{name: "no target", purposes: []any{"iscsi", "srp", "nvmeof"}, ready: "false", says: iser + "\n" + srp + "\n" + nvme},
		{name: "iSCSI by TCP", purposes: []any{"iscsi"}, ready: "false", says: iser,
			prepare: func() { do(rdma.AddPortal(m, iqn, "172.16.0.9:3260")) }},
		{name: "iSER", purposes: []any{"iscsi"}, ready: "true",
			prepare: func() { w.Run(labs.Intel9, "echo 1 > '"+portal+"'") }},
		{name: "SRP disabled", purposes: []any{"srp"}, ready: "false", says: srp,
			prepare: func() { do(rdma.AddSRP(m, gid, "0")) }},
		{name: "SRP", purposes: []any{"srp"}, ready: "true", prepare: func() { do(rdma.AddSRP(m, gid, "1")) }},
		{name: "NVMe by TCP", purposes: []any{"nvmeof"}, ready: "false", says: nvme,
			prepare: func() { do(rdma.AddNVMe(m, "tcp", "172.16.0.9", "nqn.tank")) }},
		{name: "NVMe without subsystem", purposes: []any{"nvmeof"}, ready: "false", says: nvme, prepare: func() {
			m.FS.Drop("/sys/kernel/config/nvmet/ports/1")
			do(rdma.AddNVMe(m, "rdma", "172.16.0.9", ""))
		}},
		{name: "NVMe", purposes: []any{"nvmeof"}, ready: "true",
			prepare: func() { do(rdma.AddNVMe(m, "rdma", "172.16.0.9", "nqn.tank")) }},
	} {
		tt.host = labs.Intel9
		checkReady(t, w, tt)
	}
	v, _ := readyFor(t, w, labs.Intel9)
	want := "[map[address:172.16.0.9:3260 enabled:true kind:iscsi name:" + iqn + " rdma:true] map[address:<nil> " +
		"enabled:true kind:srp name:" + gid + " rdma:true] map[address:172.16.0.9:4420 enabled:true kind:nvmeof " +
		"name:nqn.tank rdma:true]]"
	if got := fmt.Sprint(field(t, v, "listeners")); got != want {
		t.Errorf("listeners: %s", got)
	}
	m.FS.PutDir("/sys/kernel/config/target", 0o700, 0, 0)
	checkReady(t, w, readyStep{name: "closed", host: labs.Intel9, purposes: []any{"iscsi"}, ready: "<nil>",
		says: "unknown: It is not known whether intel9 has an iSCSI portal with iSER: /sys/kernel/config/target could not " +
			"be read, or no file system is mounted there."})
}

func checkGPUs(t *testing.T, w *Lab, m *labsim.Machine, do func(error)) {
	t.Helper()
	const bdf = "0000:41:00.0"
	peer := "peer_memory: intel9 has not loaded the module nvidia_peermem, by which a card reads the memory of a GPU. " +
		"Run modprobe nvidia-peermem, and write nvidia-peermem into a file of /etc/modules-load.d. It comes with NVIDIA's " +
		"driver."
	for _, tt := range []readyStep{
		{name: "no GPU", ready: "false", says: "no_gpu: intel9 has no GPU of NVIDIA on its PCI bus."},
		{name: "another bridge", ready: "false", prepare: func() { rdma.AddGPU(m, bdf, "pci0000:40/0000:40:01.0", 1) },
			says: peer + "…"},
		{name: "peer memory", ready: "<nil>", prepare: func() { do(m.LoadModule("nvidia_peermem")) },
			says: "unknown: It is not known which card of intel9 is near the GPU 0000:41:00.0: the firmware of the machine " +
				"does not tell the NUMA node."},
		{name: "another node", ready: "false",
			prepare: func() { m.FS.Put("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/numa_node", "0\n", 0o444) },
			says: "placement: The GPU 0000:41:00.0 of intel9 shares no host bridge with the card 0000:01:00.0. What goes " +
				"between them crosses the processor, or the link between two. Put both into slots of one root complex."},
		{name: "one bridge", ready: "true", prepare: func() { rdma.AddGPU(m, bdf, "pci0000:00/0000:00:03.0", 0) }},
		{name: "one root port", ready: "true", prepare: func() { rdma.AddGPU(m, bdf, "pci0000:00/0000:00:01.0", 0) }},
	} {
		tt.host, tt.purposes = labs.Intel9, []any{"gpu"}
		checkReady(t, w, tt)
	}
	v, _ := readyFor(t, w, labs.Intel9)
	want := "[map[cards:[map[numa_node:0 pci_address:0000:01:00.0 shares:root_port]] driver:nvidia numa_node:0 " +
		"pci_address:0000:41:00.0]]"
	if got := fmt.Sprint(field(t, v, "gpus")); got != want {
		t.Errorf("gpus: %s", got)
	}
}

// TrueNAS enables RDMA for its services on its own hardware only.
func checkAppliance(t *testing.T, w *Lab) {
	t.Helper()
	m := w.Machine(labs.Xeon2zfs)
	const only = "truenas: TrueNAS offers RDMA for storage only on its own hardware, and rdma.capable_protocols of " +
		"xeon2zfs does not name %s. %s"
	for _, tt := range []readyStep{
		{name: "Community Edition", purposes: []any{"nfs_server", "iscsi", "srp"}, ready: "false",
			says: fmt.Sprintf(only, "NFS", "Export over IPoIB by TCP, or from another system.") + "\n" +
				fmt.Sprintf(only, "ISER", "Serve it over IPoIB by TCP, or from another system.") + "\n" +
				fmt.Sprintf(only, "SRP", "Serve it over IPoIB by TCP, or from another system."),
			shows: map[string]string{"truenas_protocols": "[]"}},
		{name: "own hardware", purposes: []any{"nfs_server"}, ready: "false",
			shows:   map[string]string{"truenas_protocols": "[NFS]"},
			prepare: func() { truenas.OfferRDMA(m, "NFS") },
			says: "not_listening: The NFS server of xeon2zfs does not listen for RDMA. Run midclt call nfs.update " +
				"'{\"rdma\": true}' there, and start the service."},
	} {
		tt.host = labs.Xeon2zfs
		checkReady(t, w, tt)
	}
}
