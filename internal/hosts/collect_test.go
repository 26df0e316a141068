package hosts

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

const (
	pciDir  = "sys/bus/pci/devices/0000:01:00.0/"
	rdmaDir = "sys/class/infiniband/ibp1s0/"
	netDir  = "sys/class/net/ibp1s0/"
	stateIn = "var/lib/terraform-provider-infiniband/"
	sha     = "6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d"
	jobID   = "20261121T090000Z-0000-01-00-0-1a2b"
)

// common is what every fixture needs to be a host at all.
var common = map[string]string{
	"proc/sys/kernel/osrelease":      "6.8.0-45-generic\n",
	"proc/sys/kernel/hostname":       "intel9\n",
	"proc/sys/kernel/random/boot_id": "3f2cbc3b-48f3-4682-9a22-18a1dd694e21\n",
	"proc/cmdline":                   "quiet\n",
	"proc/1/comm":                    "systemd\n",
	"proc/1/cwd":                     "->/",
	"proc/stat":                      "cpu  1 2 3\nbtime 1795000000\n",
	"proc/net/ipv6_route": "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001     eth0\n" +
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000002 00000000 00000003     eth0\n" +
		"00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n",
	"bin/df": "#!/bin/sh\necho Filesystem 1024-blocks Used Available Capacity Mounted on\necho /dev/sda1 1000 500 400 50% /\n",
	"bin/ip": program(map[string]string{
		"-j -d addr show": `[{"ifindex":1,"ifname":"lo","flags":["LOOPBACK","UP","LOWER_UP"],"mtu":65536,"operstate":"UNKNOWN","link_type":"loopback","address":"00:00:00:00:00:00","addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8}]},` +
			`{"ifindex":2,"ifname":"eth0","flags":["UP","LOWER_UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:01","addr_info":[{"family":"inet","local":"192.0.2.20","prefixlen":24,"dynamic":true}]},` +
			`{"ifindex":3,"ifname":"ibp1s0","flags":["UP","LOWER_UP"],"mtu":65520,"operstate":"UP","link_type":"infiniband","address":"80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1","linkinfo":{"info_kind":"ipoib","info_data":{"key":"0xffff","mode":"connected"}},"addr_info":[{"family":"inet","local":"172.16.0.20","prefixlen":24}]},` +
			`{"ifindex":4,"link":"ibp1s0","ifname":"ibp1s0.8001","flags":[],"mtu":2044,"operstate":"DOWN","link_type":"infiniband","address":"80:00:02:09:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1","linkinfo":{"info_kind":"ipoib","info_data":{"key":"0x8001","mode":"datagram"}},"addr_info":[]}]`,
		allDefaults:              `[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","flags":[]}]`,
		"-o route get 192.0.2.1": `192.0.2.1 dev eth0 src 192.0.2.20 uid 0 \    cache`,
	}),
}

// ubuntu is a host with a ConnectX-3 Pro whose flash was burned and is not yet
// running.
func ubuntu() map[string]string {
	files := maps.Clone(common)
	maps.Copy(files, map[string]string{
		"etc/os-release":               "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\nVERSION_ID=\"24.04\"\n",
		"sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
		pciDir + "vendor":              "0x15b3\n", pciDir + "device": "0x1007\n", pciDir + "subsystem_vendor": "0x15b3\n",
		pciDir + "subsystem_device": "0x0061\n",
		pciDir + "class":            "0x020700\n", pciDir + "current_link_speed": "5.0 GT/s PCIe\n",
		pciDir + "current_link_width": "4\n", pciDir + "hwmon/hwmon3/temp1_input": "61500\n",
		pciDir + "hwmon/hwmon3/temp1_label": "asic\n", pciDir + "hwmon/hwmon3/temp2_input": "44000\n",
		pciDir + "hwmon/hwmon3/temp3_input": "60000\n", pciDir + "hwmon/hwmon3/temp3_label": "asic\n",
		pciDir + "max_link_speed": "8.0 GT/s PCIe\n", pciDir + "max_link_width": "8\n", pciDir + "mlx4_port1": "ib\n",
		pciDir + "mlx4_port2": "auto (ib)\n",
		pciDir + "driver":     "->../../../../bus/pci/drivers/mlx4_core", "sys/bus/pci/drivers/mlx4_core/bind": "",
		pciDir + "infiniband/ibp1s0": "->/", pciDir + "net/ibp1s0/dev_port": "0\n",
		pciDir + "net/ibp1s0.8001/dev_port":       "0\n",
		"sys/bus/pci/devices/0000:00:1f.6/vendor": "0x8086\n", "sys/bus/pci/devices/0000:00:1f.6/class": "0x020000\n",
		"sys/bus/pci/devices/0000:00:1f.6/net/eth0/dev_port": "0\n",
		"sys/bus/pci/devices/0000:01:00.1/vendor":            "0x15b3\n",
		"sys/bus/pci/devices/0000:01:00.1/device":            "0x1004\n",
		"sys/bus/pci/devices/0000:01:00.1/class":             "0x020700\n",
		"sys/bus/pci/devices/0000:01:00.1/physfn":            "->../0000:01:00.0",
		"sys/bus/pci/devices/0000:02:00.0/vendor":            "0x1077\n",
		"sys/bus/pci/devices/0000:02:00.0/device":            "0x7322\n",
		"sys/bus/pci/devices/0000:02:00.0/class":             "0x0c0600\n",
		"sys/bus/pci/devices/0000:03:00.0/vendor":            "0x15b3\n",
		"sys/bus/pci/devices/0000:03:00.0/device":            "0x01f6\n",
		"sys/bus/pci/devices/0000:03:00.0/class":             "0x088000\n",
		"sys/bus/pci/devices/0000:04:00.0/vendor":            "0x15b3\n",
		"sys/bus/pci/devices/0000:04:00.0/device":            "0x1979\n",
		"sys/bus/pci/devices/0000:04:00.0/class":             "0x060400\n",
		rdmaDir + "node_guid":                                "e41d:2d03:00e4:4ed0\n",
		rdmaDir + "sys_image_guid":                           "e41d:2d03:00e4:4ed3\n",
		rdmaDir + "fw_ver":                                   "2.40.500\n",
		rdmaDir + "hw_rev":                                   "0\n", rdmaDir + "board_id": "MT_9200111023\n",
		rdmaDir + "ports/1/state": "4: ACTIVE\n", rdmaDir + "ports/1/phys_state": "5: LinkUp\n",
		rdmaDir + "ports/1/rate": "40 Gb/sec (4X QDR)\n",
		rdmaDir + "ports/1/lid":  "0x1\n", rdmaDir + "ports/1/sm_lid": "0x1\n", rdmaDir + "ports/1/cap_mask": "0x0251486a\n",
		rdmaDir + "ports/1/link_layer": "InfiniBand\n",
		rdmaDir + "ports/1/gids/0":     "fe80:0000:0000:0000:e41d:2d03:00e4:4ed1\n",
		rdmaDir + "ports/2/state":      "1: DOWN\n", rdmaDir + "ports/2/phys_state": "2: Polling\n",
		rdmaDir + "ports/2/rate": "10 Gb/sec (4X SDR)\n",
		rdmaDir + "ports/2/lid":  "0xffff\n", rdmaDir + "ports/2/sm_lid": "0x0\n",
		rdmaDir + "ports/2/cap_mask":   "0x02514868\n",
		rdmaDir + "ports/2/link_layer": "InfiniBand\n",
		rdmaDir + "ports/2/gids/0":     "fe80:0000:0000:0000:e41d:2d03:00e4:4ed2\n",
		netDir + "type":                "32\n",
		netDir + "address":             "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1\n",
		netDir + "mode":                "connected\n",
		netDir + "pkey":                "0xffff\n", netDir + "dev_port": "0\n", netDir + "carrier": "1\n",
		"sys/module/mlx4_core/parameters/port_type_array": "1,1\n", "sys/module/ib_ipoib/version": "1\n",
		"etc/netplan/60-ib.yaml":    "network:\n  version: 2\n",
		"etc/modprobe.d/mlx4.conf":  "options mlx4_core port_type_array=1,1\n",
		"etc/modprobe.d/other.conf": "blacklist pcspkr\n", "etc/modprobe.d/hides.conf": "",
		"etc/modprobe.d/dash.alias":                                 "options mlx4-core debug_level=1\n",
		"etc/modprobe.d/joined.conf":                                "options mlx4\\\n_core debug_level=1\n",
		"usr/lib/modprobe.d/hides.conf":                             "options mlx4_core debug_level=1\n",
		"usr/lib/modprobe.d/pattern.conf":                           "install ml[x]4* /bin/true\n",
		"usr/lib/modprobe.d/plain.conf":                             "install cramfs /bin/true\n",
		"usr/local/lib/modprobe.d/mlx4.conf":                        "options mlx4_core debug_level=1\n",
		"usr/local/lib/modprobe.d/own.conf":                         "options foo port-type-array=1\n",
		"run/modprobe.d/own.conf":                                   "options mlx4_core debug_level=1\n",
		"lib/modprobe.d/old.conf":                                   "options mlx4_core debug_level=1\n",
		"etc/udev/rules.d/70-infiniband-ipoib.rules":                "# rule\n",
		"etc/udev/rules.d/10-x.rules":                               "# x\n",
		"etc/default/opensm":                                        "PORTS=ALL\n",
		stateIn + "images/" + sha + ".bin":                          "image",
		stateIn + "images/" + strings.Repeat("0", 64) + ".bin":      "changed",
		stateIn + "images/.partial":                                 "x",
		stateIn + "jobs/" + jobID + "/request":                      "version=1\nkind=burn\npci=0000:01:00.0\noperator=ops@desk\nboot_id=old\nunit=" + inventory.JobUnit(jobID) + "\nimage_sha256=" + sha + "\n",
		stateIn + "jobs/" + jobID + "/states":                       "1 requested 2026-11-21T09:00:00Z\n2 locked 2026-11-21T09:00:01Z\n3 bur",
		stateIn + "jobs/" + jobID + "/output":                       "Burning FS2 FW image without signatures -  34%\n",
		stateIn + "jobs/20261120T000000Z-0000-01-00-0-0000/request": "kind=guids\npci=0000:01:00.0\n",
		stateIn + "jobs/20261120T000000Z-0000-01-00-0-0000/exit":    "0\n",
		stateIn + "jobs/20261120T000000Z-0000-01-00-0-0000/settled": "",
		"bin/mstflint": program(map[string]string{
			"-v": "mstflint, mstflint 4.21.0, Git SHA Hash: N/A",
			"-d 0000:01:00.0 q": `Image type:            FS2
FW Version:            2.42.5000
FW Version(Running):   2.40.0500
FW Release Date:       5.9.2017
Product Version:       02.42.50.00
Rom Info:              type=UEFI version=14.11.49 cpu=AMD64
                       type=PXE version=3.4.752
Device ID:             4103
Description:           Node             Port1            Port2            Sys image
GUIDs:                 e41d2d0300e44ed0 e41d2d0300e44ed1 e41d2d0300e44ed2 e41d2d0300e44ed3 
MACs:                                       e41d2de44ed0     e41d2de44ed1
VSD:                   
PSID:                  MT_9090111019
`,
			"-d 0000:03:00.0 q": "status 1\n-E- Can not obtain Flash semaphore-E- Cannot open Device: 0000:03:00.0. Can not obtain Flash semaphore. You can run \"flint -clear_semaphore -d <device>\" to force semaphore unlock. See help for details.",
		}),
		"bin/lspci": program(map[string]string{
			"-vvs 0000:01:00.0": "01:00.0 Network controller: Mellanox Technologies MT27520 Family [ConnectX-3 Pro]\n\tNUMA node: 1\n\tCapabilities: [48] Vital Product Data\n\t\tRead-only fields:\n\t\t\t[PN] Part number: MCX354A-FCCT\n\t\t\t[SN] Serial number: MT9999X00001",
			"-vvs 0000:03:00.0": "03:00.0 Memory controller: Mellanox Technologies MT27500 Family [ConnectX-3 Flash Recovery]",
		}),
		"bin/systemctl": program(map[string]string{
			"show --property=Id,LoadState,ActiveState,UnitFileState -- opensm.service NetworkManager.service systemd-networkd.service networking.service kubelet.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service opensm@*.service infiniband-*.service infiniband-*.timer": "Id=opensm.service\nLoadState=not-found\nActiveState=inactive\n\nId=" +
				inventory.JobUnit(jobID) + "\nLoadState=loaded\nActiveState=active",
		}),
		"lib/modules/6.8.0-45-generic/modules.dep": "",
		"bin/modinfo": program(map[string]string{
			"-n mlx4_core mlx4_ib mlx5_core mlx5_ib ib_qib ib_mthca ib_ipoib ib_umad": "status 1\n/lib/modules/6.8.0-45-generic/kernel/drivers/net/ethernet/mellanox/mlx4/mlx4_core.ko.zst\n" +
				"modinfo: ERROR: Module mlx4_ib not found.\nname:           mlx5_core\n(builtin)\nmodinfo: ERROR: Module ib_qib not found.",
		}),
		"bin/dpkg-query": program(map[string]string{
			`-W -f ${Package}\t${db:Status-Abbrev}\t${Version}\n -- mstflint opensm infiniband-diags ibverbs-utils rdma-core pciutils netplan.io ifupdown ifupdown2 network-manager NetworkManager networkmanager libibverbs-utils kernel-modules linux-modules-extra-6.8.0-45-generic`: "status 1\nmstflint\tii \t4.21.0+1-1\nopensm\trc \t3.3.23-2",
		}),
	})
	return files
}

func TestRead_of_an_Ubuntu_host(t *testing.T) {
	root := t.TempDir()
	tree(t, root, ubuntu())
	if err := os.Chmod(root+"/etc/netplan/60-ib.yaml", 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	checkCards(t, s)
	checkNetwork(t, s)
	if s.OS != (inventory.OS{ID: "ubuntu", VersionID: "24.04", PrettyName: "Ubuntu 24.04.1 LTS",
		Kernel: "6.8.0-45-generic"}) || s.Lockdown != fact.Known("integrity") ||
		s.Hostname != "intel9" || s.BootID == "" || s.StateFree != fact.Known[int64](400*1024) || s.TrueNAS != nil ||
		s.MSTFlint != (inventory.Tool{Present: true, Version: "4.21.0"}) {
		t.Errorf("host: %+v, lockdown %q, free %d, tool %+v", s.OS, s.Lockdown.Or("?"), s.StateFree.Or(-1), s.MSTFlint)
	}
	if diff := cmp.Diff(map[string]string{"mstflint": "4.21.0+1-1"}, s.Packages); diff != "" {
		t.Errorf("packages: %s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"mlx4_core": true, "mlx4_ib": false, "mlx5_core": true, "ib_qib": false},
		s.KernelModules); diff != "" || s.NoModules {
		t.Errorf("modules of the kernel: %s", diff)
	}
	if !s.Modules["mlx4_core"] || !s.Modules["ib_ipoib"] || s.Modules["mlx5_core"] || !s.Commands["lspci"] {
		t.Errorf("modules %v commands %v", s.Modules, s.Commands)
	}
	if there, looked := s.Commands["netplan"]; there || !looked {
		t.Errorf("netplan is not there: %t, %t", there, looked)
	}
	if f := s.Files["/etc/netplan/60-ib.yaml"]; f.Mode != "644" || f.Content != "network:\n  version: 2\n" {
		t.Errorf("netplan file: %+v", f)
	}
	for dir, want := range map[string][]string{
		"/etc/modprobe.d": {"/etc/modprobe.d/dash.alias", "/etc/modprobe.d/joined.conf", "/etc/modprobe.d/mlx4.conf"},
		"/run/modprobe.d": {"/run/modprobe.d/own.conf"}, "/usr/local/lib/modprobe.d": {"/usr/local/lib/modprobe.d/own.conf"},
		"/usr/lib/modprobe.d": {"/usr/lib/modprobe.d/pattern.conf"}, "/lib/modprobe.d": {"/lib/modprobe.d/old.conf"},
	} {
		if diff := cmp.Diff(want, s.FilesUnder(dir)); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
	if diff := cmp.Diff(map[string]bool{sha: true, strings.Repeat("0", 64): false}, s.Staged); diff != "" {
		t.Errorf("staged, without the one that somebody changed: %+v", s.Staged)
	}
	checkJobs(t, s)
}

func checkCards(t *testing.T, s *inventory.Snapshot) {
	t.Helper()
	if len(s.Cards) != 4 {
		t.Fatalf("%d cards, want the card, its virtual function, the other vendor's and the one in recovery", len(s.Cards))
	}
	chip, _ := ib.ChipByPCI(0x1007)
	want := inventory.Card{
		PCI: ib.MustParsePCIAddress("0000:01:00.0"), VendorID: 0x15b3, DeviceID: 0x1007, SubVendorID: 0x15b3, SubDevice: 0x61,
		Chip: chip, Driver: "mlx4_core",
		PartNumber: "MCX354A-FCCT", Serial: fact.Known("MT9999X00001"), PCIe: inventory.PCIe{Width: 4, MaxWidth: 8,
			Speed: "5.0 GT/s", MaxSpeed: "8.0 GT/s"},
		NUMA: fact.Known(1), Celsius: map[string]float64{"asic": 61.5, "temp2": 44, "asic temp3": 60},
		RDMADevice: "ibp1s0", RunningPSID: "MT_9200111023", RunningFW: "2.40.0500", NodeGUID: 0xe41d2d0300e44ed0,
		SystemGUID: 0xe41d2d0300e44ed3,
		Ports: []inventory.Port{
			{
				Number: 1, TypeNow: "ib", State: "Active", Physical: "LinkUp", Rate: "40 Gb/sec (4X QDR)", LinkLayer: "InfiniBand",
				LID: 1, SMLID: 1,
				PortGUID: 0xe41d2d0300e44ed1, Prefix: 0xfe80000000000000, IsSM: fact.Known(true), Netdev: "ibp1s0",
			},
			{Number: 2, TypeNow: "auto (ib)", State: "Down", Physical: "Polling", Rate: "10 Gb/sec (4X SDR)",
				LinkLayer: "InfiniBand", PortGUID: 0xe41d2d0300e44ed2, Prefix: 0xfe80000000000000, IsSM: fact.Known(false)},
		},
		Flash: &inventory.Flash{
			ImageType: "FS2", Firmware: ib.Firmware{PSID: "MT_9090111019",
				FW: ib.MustParseFWVersion("2.42.5000")}, RunningFW: ib.MustParseFWVersion("2.40.500"), ReleaseDate: "2017-09-05",
			ProductVersion: "02.42.50.00",
			GUIDs: ib.GUIDSet{
				Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, Port2: 0xe41d2d0300e44ed2, SystemImage: 0xe41d2d0300e44ed3,
				MAC1: 0xe41d2de44ed0, MAC2: 0xe41d2de44ed1,
			},
			ROM: []string{"type=UEFI version=14.11.49 cpu=AMD64", "type=PXE version=3.4.752"},
		},
	}
	compare := cmp.Options{
		cmp.Comparer(func(a, b ib.PCIAddress) bool { return a == b }), cmp.Comparer(func(a,
			b ib.Chip) bool {
			return a.Name == b.Name
		}),
		cmp.Comparer(func(a, b fact.Bool) bool { return a == b }), cmp.Comparer(func(a,
			b fact.Of[string]) bool {
			return a == b
		}),
		cmp.Comparer(func(a, b fact.Of[ib.PCIAddress]) bool { return a == b }),
		cmp.Comparer(func(a, b fact.Of[int]) bool { return a == b }),
	}
	if diff := cmp.Diff(want, s.Cards[0], compare); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
	virtual, other, recovery := s.Cards[1], s.Cards[2], s.Cards[3]
	if !virtual.Virtual || virtual.Flash != nil || virtual.FlashError != "a virtual function has no flash of its own" ||
		virtual.FlashFailure != "" || virtual.Physical != fact.Known(s.Cards[0].PCI) {
		t.Errorf("virtual function: %+v", virtual)
	}
	if other.VendorID != 0x1077 || other.Flash != nil ||
		!strings.Contains(other.FlashError, "left alone: it has no firmware in flash") {
		t.Errorf("other vendor: %+v", other)
	}
	if !recovery.Livefish || recovery.Chip.Name != "ConnectX-3" || recovery.FlashFailure != "flash semaphore taken" ||
		!strings.HasPrefix(recovery.FlashError, "Cannot open Device: 0000:03:00.0.") {
		t.Errorf("recovery: %+v", recovery)
	}
	if c, p, ok := s.CardByPortGUID(0xe41d2d0300e44ed2); !ok || c != &s.Cards[0] || p.Number != 2 {
		t.Error("port 2 is not found by its GUID")
	}
}

func checkNetwork(t *testing.T, s *inventory.Snapshot) {
	t.Helper()
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	parent, ok := s.NetdevByPortGUID(0xe41d2d0300e44ed1)
	if !ok || parent.Name != "ibp1s0" || parent.PCI != pci || parent.DevPort != 0 || !parent.Connected ||
		parent.Mode != "connected" || parent.PKey != "0xffff" ||
		parent.MTU != 65520 || !parent.Up || !parent.Carrier {
		t.Errorf("interface: %+v", parent)
	}
	child, ok := s.Netdev("ibp1s0.8001")
	if !ok || child.Parent != "ibp1s0" || child.PKey != "0x8001" || child.PCI != pci || child.Mode != "datagram" || child.Up {
		t.Errorf("child: %+v", child)
	}
	eth, ok := s.Netdev("eth0")
	p := netip.MustParsePrefix("192.0.2.20/24")
	if !ok || eth.IB || len(eth.Addresses) != 1 || eth.Addresses[0] != p || !eth.Dynamic[p] ||
		eth.PCI != ib.MustParsePCIAddress("0000:00:1f.6") {
		t.Errorf("eth0: %+v", eth)
	}
	if diff := cmp.Diff(inventory.Routes{Default: []inventory.DefaultRoute{{Dev: "eth0", Gateway: "192.0.2.1"},
		{Dev: "eth0", Gateway: "fe80::1"}}}, s.Routes); diff != "" {
		t.Errorf("routes: %s", diff)
	}
	if devs, ok := s.SSH.Devs.Get(); s.SSH.Client != "192.0.2.1" || s.SSH.Server != "192.0.2.20" || !ok ||
		!slices.Equal(devs, []string{"eth0"}) {
		t.Errorf("ssh: %+v", s.SSH)
	}
}

func checkJobs(t *testing.T, s *inventory.Snapshot) {
	t.Helper()
	pci := ib.MustParsePCIAddress("0000:01:00.1")
	jobs := s.JobsOf(pci) // another function of the same card
	if len(jobs) != 2 {
		t.Fatalf("%d jobs", len(jobs))
	}
	done, open := jobs[0], jobs[1]
	if !done.Settled || done.Exit != "0" || done.Kind != "guids" || !fact.No(done.Running) || done.LogTail != "" {
		t.Errorf("settled job: %+v", done)
	}
	if open.ID != jobID || open.Settled || !fact.Yes(open.Running) || open.Exit != "" || open.State() != "locked" ||
		open.Operator != "ops@desk" || open.BootID != "old" ||
		open.Request["image_sha256"] != sha || !strings.Contains(open.LogTail, "34%") {
		t.Errorf("open job: %+v", open)
	}
}

func TestRead_of_a_host_without_tools(t *testing.T) {
	files := maps.Clone(common)
	for path, text := range ubuntu() {
		if strings.HasPrefix(path, "sys/") {
			files[path] = text
		}
	}
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cards[0]
	if s.MSTFlint.Present || c.Flash != nil || c.FlashError != "mstflint is not installed" ||
		c.RunningFW != "2.40.0500" || len(s.Units) != 0 ||
		s.Unit("opensm.service").Or(inventory.Unit{}).LoadState != "not-found" {
		t.Errorf("card %+v, units %v", c, s.Units)
	}
}

func TestRead_of_a_TrueNAS_host(t *testing.T) {
	files := maps.Clone(common)
	files["etc/os-release"] = "ID=debian\nVERSION_ID=\"12\"\n"
	files["etc/udev/rules.d/80-terraform-ipoib.rules"] = "# rule\n"
	files["bin/midclt"] = program(map[string]string{
		"call system.version":                  "TrueNAS-25.10.6",
		"call interface.query":                 `[{"id": "ibs4d1", "name": "ibs4d1", "mtu": 4092, "state": {"mtu": 4092}}]`,
		"call system.advanced.config":          `{"id": 1, "sed_passwd": "hunter2", "anonstats_token": "token", "kernel_extra_options": "mlx4_core.port_type_array=1,1"}`,
		"call initshutdownscript.query":        `[]`,
		"call tunable.query":                   `[]`,
		"call interface.has_pending_changes":   "True",
		"call interface.checkin_waiting":       "118",
		"call interface.ups.must.not.be.asked": "status 1\n",
	})
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	n := s.TrueNAS
	if s.OS.ID != "truenas" || s.OS.VersionID != "25.10.6" || n == nil || n.Error != "" || !fact.Yes(n.PendingChanges) ||
		n.CheckinWaiting.Or(0) != 118 ||
		string(n.AdvancedConfig) != `{"kernel_extra_options":"mlx4_core.port_type_array=1,1"}` ||
		!strings.HasPrefix(string(n.Interfaces), `[{"id": "ibs4d1"`) {
		t.Errorf("%+v, %+v", s.OS, n)
	}
	if diff := cmp.Diff([]string{"/etc/udev/rules.d/80-terraform-ipoib.rules"}, n.UdevRulesDirectory); diff != "" {
		t.Error(diff)
	}
}

func TestRead_of_a_TrueNAS_host_without_its_middleware(t *testing.T) {
	files := maps.Clone(common)
	files["bin/midclt"] = "#!/bin/sh\necho 'Failed to run middleware call. Daemon not running?'\nexit 1\n"
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	if s.OS.ID != "truenas" || s.TrueNAS == nil || !strings.Contains(s.TrueNAS.Error, "Daemon not running?") {
		t.Errorf("%+v, %+v", s.OS, s.TrueNAS)
	}
}

// process is what /proc shows of a process that has a file open for reading and writing.
func process(pid, words, file string) map[string]string {
	dir := "proc/" + pid + "/"
	files := map[string]string{
		dir + "comm": filepath.Base(strings.Fields(words)[0]) + "\n", dir + "cmdline": strings.ReplaceAll(words, " ",
			"\x00") + "\x00",
		dir + "status": "Name:\tx\nUid:\t0\t0\t0\t0\n",
		dir + "stat":   pid + " (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1200 0 0\n",
	}
	if file != "" {
		files[dir+"fd/3"], files[dir+"fdinfo/3"] = "->"+file, "pos:\t0\nflags:\t0100002\n"
	}
	return files
}

// TestRead_leaves_a_card_alone_that_somebody_burns holds that no tool is run on it, and
// that what needs no tool is still read, as are other cards.
func TestRead_leaves_a_card_alone_that_somebody_burns(t *testing.T) {
	files := ubuntu()
	maps.Copy(files, process("4711", "mstflint -d 01:00.0 -i fw.bin b",
		"/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config"))
	files["bin/mstflint"] = strings.Replace(files["bin/mstflint"], "case",
		"echo \"$*\" >>\"${0%bin/mstflint}asked\"\ncase", 1)
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	const who = "busy: mstflint -d 01:00.0 -i fw.bin b, pid 4711, user root, since 2026-11-18T11:06:52Z"
	c := s.Cards[0]
	if c.Flash != nil || c.FlashFailure != inventory.FlashBusy || c.FlashError != who {
		t.Errorf("flash %+v, %q: %q", c.Flash, c.FlashFailure, c.FlashError)
	}
	if c.RunningPSID != "MT_9200111023" || c.Serial.Or("") != "MT9999X00001" || c.NodeGUID != 0xe41d2d0300e44ed0 {
		t.Errorf("what needs no tool is not read: %+v", c)
	}
	asked, err := os.ReadFile(filepath.Join(root, "asked"))
	if err != nil || strings.Contains(string(asked), "01:00.0") || !strings.Contains(string(asked), "-d 0000:03:00.0 q") {
		t.Errorf("mstflint was asked: %q, %v", asked, err)
	}
	if len(s.UsersOf(ib.MustParsePCIAddress("0000:01:00.1"))) != 1 ||
		len(s.UsersOf(ib.MustParsePCIAddress("0000:03:00.0"))) != 0 {
		t.Errorf("users: %v", s.Users.Or(nil))
	}
}

// TestRead_takes_no_placeholder_for_a_serial_number has a board that was delivered without one.
func TestRead_takes_no_placeholder_for_a_serial_number(t *testing.T) {
	files := ubuntu()
	files["bin/lspci"] = strings.Replace(files["bin/lspci"], "MT9999X00001", "Not Specified", 1)
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Cards[0]; c.Serial.Known() || !strings.Contains(c.Serial.Why(), `"Not Specified" in its place`) {
		t.Errorf("serial number %v: %s", c.Serial.Or(""), c.Serial.Why())
	}
}

// TestRead_asks_no_card_whose_users_are_hidden holds that what cannot be seen is not "nobody".
func TestRead_asks_no_card_whose_users_are_hidden(t *testing.T) {
	files := ubuntu()
	delete(files, "proc/1/comm")
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cards[0]
	if s.Users.Known() || c.Flash != nil || c.FlashFailure != inventory.FlashUsersUnknown ||
		!strings.Contains(c.FlashError, "the processes in /proc cannot be read") {
		t.Errorf("flash %+v, %q: %q", c.Flash, c.FlashFailure, c.FlashError)
	}
}

// TestRead_of_a_job_that_may_run holds that only a unit that is known to be gone, without a
// process left, means that a job does not run; and that a job runs without its directory.
func TestRead_of_a_job_that_may_run(t *testing.T) {
	const removed = "20261121T100000Z-0000-03-00-0-beef"
	for name, tt := range map[string]struct {
		change func(files map[string]string)
		want   string // yes, no, or why it is not known
	}{
		"unit runs": {func(map[string]string) {}, "yes"},
		"unit gone": {func(f map[string]string) {
			f["bin/systemctl"] = strings.Replace(f["bin/systemctl"], "ActiveState=active",
				"ActiveState=inactive", 1)
		}, "no"},
		"unit runs, and somebody settled it": {func(f map[string]string) { f[stateIn+"jobs/"+jobID+"/settled"] = "by hand\n" },
			"yes"},
		"systemd printed nothing": {func(f map[string]string) { f["bin/systemctl"] = "#!/bin/sh\n" },
			"systemctl show printed no unit"},
		"systemd silent": {func(f map[string]string) {
			f["bin/systemctl"] = "#!/bin/sh\necho Failed to connect to bus: Connection refused\nexit 1\n"
		}, "systemctl ended with status 1: Failed to connect to bus: Connection refused"},
		"process left": {func(f map[string]string) {
			f["bin/systemctl"] = "#!/bin/sh\nexit 1\n"
			maps.Copy(f, process("4711", "mstflint -d 0000:01:00.0 b",
				"/var/lib/terraform-provider-infiniband/jobs/"+jobID+"/output"))
		}, "yes"},
	} {
		files := ubuntu()
		tt.change(files)
		root := t.TempDir()
		tree(t, root, files)
		s, err := read(runCollect(t, root))
		if err != nil {
			t.Fatal(err)
		}
		job, ok := s.Job(jobID)
		if !ok {
			t.Fatal("no job")
		}
		got := job.Running.Why()
		if job.Running.Known() {
			got = map[bool]string{true: "yes", false: "no"}[fact.Yes(job.Running)]
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	files := ubuntu()
	files[strings.TrimPrefix(inventory.StateDir, "/")+"/jobs/"+jobID+"/request"] = "" // as a power cut leaves it
	files["bin/systemctl"] = strings.ReplaceAll(files["bin/systemctl"], inventory.JobUnit(jobID),
		inventory.JobUnit(removed))
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	if job, ok := s.Job(removed); !ok || !job.Lost || !fact.Yes(job.Running) ||
		job.PCI != ib.MustParsePCIAddress("0000:03:00.0") {
		t.Errorf("a job whose directory was removed while it runs: %+v, %t", job, ok)
	}
	if job, ok := s.Job(jobID); !ok || !job.PCI.IsValid() || job.Unreadable() == "" {
		t.Errorf("a job whose request is empty: %+v, %t", job, ok)
	}
}

// TestRead_of_this_machine runs the script on the real root.
func TestRead_of_this_machine(t *testing.T) {
	s, err := read(ownFacts(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Netdev("lo"); !ok || s.OS.ID == "" || s.BootID == "" || s.StateFree.Or(0) <= 0 {
		t.Errorf("%+v", s)
	}
}
