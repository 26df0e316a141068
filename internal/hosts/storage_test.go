package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// stacked is a host whose default route is a VLAN on a bond of two cards, with
// a bridge below a container's interface, and two interfaces that name each
// other.
const stacked = `[{"ifindex":2,"ifname":"eno1","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:01","master":"bond0","addr_info":[]},` +
	`{"ifindex":3,"ifname":"enp1s0","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:02","master":"bond0","addr_info":[]},` +
	`{"ifindex":4,"ifname":"enp1s0d1","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:03","master":"br0","addr_info":[]},` +
	`{"ifindex":5,"ifname":"bond0","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:01","linkinfo":{"info_kind":"bond","info_data":{"mode":"active-backup","miimon":100}},"addr_info":[]},` +
	`{"ifindex":6,"link":"bond0","ifname":"bond0.7","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:01","linkinfo":{"info_kind":"vlan","info_data":{"protocol":"802.1Q","id":7,"flags":["REORDER_HDR"]}},"addr_info":[{"family":"inet","local":"192.0.2.20","prefixlen":24}]},` +
	`{"ifindex":7,"ifname":"br0","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:03","linkinfo":{"info_kind":"bridge","info_data":{"vlan_filtering":0}},"addr_info":[]},` +
	`{"ifindex":8,"link":"veth1","ifname":"veth0","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:08","addr_info":[]},` +
	`{"ifindex":9,"link":"veth0","ifname":"veth1","flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether","address":"02:fc:00:00:00:09","addr_info":[]}]`

// allDefaults asks for the default routes.
const allDefaults = "-j -4 route show table all default"

// server is a host that uses storage of others and has storage of its own.
func server() map[string]string {
	files := maps.Clone(common)
	maps.Copy(files, map[string]string{
		pciDir + "vendor": "0x15b3\n", pciDir + "device": "0x1007\n", pciDir + "class": "0x020000\n",
		pciDir + "net/enp1s0/dev_port": "0\n", pciDir + "net/enp1s0d1/dev_port": "1\n",
		"sys/bus/pci/devices/0000:00:1f.6/vendor": "0x8086\n", "sys/bus/pci/devices/0000:00:1f.6/class": "0x020000\n",
		"sys/bus/pci/devices/0000:00:1f.6/net/eno1/dev_port": "0\n",
		"proc/mounts": "/dev/sda2 / ext4 rw,relatime 0 0\n" +
			"nas:/tank/my\\040data\\0431 /mnt/my\\040data\\0431 nfs4 rw,vers=4.2,proto=tcp,clientaddr=192.0.2.20,local_lock=none,addr=192.0.2.30 0 0\n" +
			"nas:/tank/b /mnt/b nfs rw,vers=3,mountaddr=192.0.2.31,addr=192.0.2.30 0 0\n" +
			"//far/share /mnt/s cifs rw,username=x,addr=198.51.100.9 0 0\n",
		"sys/class/iscsi_connection/connection1:0/address": "192.0.2.40\n",
		"sys/class/nvme/nvme0/transport":                   "pcie\n",
		"sys/class/nvme/nvme0/address":                     "0000:02:00.0\n",
		"sys/class/nvme/nvme1/transport":                   "rdma\n",
		"sys/class/nvme/nvme1/address":                     "traddr=192.0.2.30,trsvcid=4420,src_addr=192.0.2.20\n",
		"sys/class/scsi_host/host3/local_ib_device":        "mlx4_0\n",
		"sys/class/scsi_host/host0/proc_name":              "ahci\n",
		"sys/module/zfs/version":                           "2.3.4-1\n",
		"proc/spl/kstat/zfs/tank/state":                    "ONLINE\n",
		"proc/net/tcp": "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
			"   0: 00000000:0801 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20123 1 0 100 0 0 10 0\n" +
			"   1: 140200C0:0801 1E0200C0:02BC 01 00000000:00000000 02:000AF0C8 00000000     0        0 20200 2 0 20 4 30 10 -1\n" +
			"   2: 0100007F:0801 0100007F:02BD 01 00000000:00000000 02:000AF0C8 00000000     0        0 20201 2 0 20 4 30 10 -1\n" +
			"   3: 140200C0:02BE 1E0200C0:0801 01 00000000:00000000 02:000AF0C8 00000000     0        0 20202 2 0 20 4 30 10 -1\n" +
			"   4: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20203 1 0 100 0 0 10 0\n",
		"proc/net/tcp6":       "   0: 00000000000000000000000000000000:01BD 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20300 1 0 100 0 0 10 0\n",
		"etc/nut/upsmon.conf": "# MONITOR no@where 1 a b primary\nMONITOR ups@nas 1 monuser hunter2 secondary\n  MONITOR gone@nas 1 monuser hunter2 secondary\n",
		"bin/upsc": program(map[string]string{
			"ups@nas ups.status":  "Init SSL without certificate database\nOB DISCHRG LB",
			"gone@nas ups.status": "status 1\nError: Connection failure: No route to host",
		}),
		"bin/zpool": program(map[string]string{"status": "  pool: boot-pool\n state: ONLINE\n  scan: scrub repaired 0B in 00:00:12 with 0 errors on Sun Nov 15 03:45:13 2026\nconfig:\n\n\tNAME  STATE\n\n" +
			"  pool: tank\n state: DEGRADED\nstatus: One or more devices is currently being resilvered.\n\tThe pool will continue to function.\n  scan: resilver in progress since Sat Nov 21 09:00:00 2026\n\t1T scanned\nconfig:\n\nerrors: No known data errors\n"}),
		"bin/ip": program(map[string]string{
			"-j -d addr show":           stacked,
			allDefaults:                 `[{"dst":"default","gateway":"192.0.2.1","dev":"bond0.7","flags":[]}]`,
			"-o route get 192.0.2.1":    `192.0.2.1 dev bond0.7 src 192.0.2.20 uid 0 \    cache`,
			"-o route get 192.0.2.30":   `192.0.2.30 dev br0 src 192.0.2.20 uid 0 \    cache`,
			"-o route get 192.0.2.40":   `192.0.2.40 dev eno1 src 192.0.2.20 uid 0 \    cache`,
			"-o route get 198.51.100.9": "status 2\nRTNETLINK answers: Network is unreachable",
		}),
	})
	return files
}

func TestRead_of_a_host_with_storage(t *testing.T) {
	root := t.TempDir()
	tree(t, root, server())
	answer := runCollect(t, root)
	if strings.Contains(answer, "hunter2") {
		t.Error("the answer holds the password of upsmon.conf")
	}
	s, err := read(answer)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		want, got any
	}{
		{"storage", []inventory.Storage{
			{Kind: "nfs4", What: "nas:/tank/my data#1", Where: "/mnt/my data#1", Server: "192.0.2.30", Dev: fact.Known("br0"),
				Protocol: "tcp"},
			{Kind: "nfs", What: "nas:/tank/b", Where: "/mnt/b", Server: "192.0.2.30", Dev: fact.Known("br0")},
			{Kind: "cifs", What: "//far/share", Where: "/mnt/s", Server: "198.51.100.9", Dev: fact.Known("")},
			{Kind: "iscsi", What: "connection1:0", Server: "192.0.2.40", Dev: fact.Known("eno1")},
			{Kind: "nvme-rdma", What: "nvme1", Server: "192.0.2.30", Dev: fact.Known("br0")},
			{Kind: "srp", What: "host3", RDMA: "mlx4_0", Dev: fact.Known("")},
		}, s.Storage},
		{"servers", []inventory.Server{{Name: "NFS", Clients: 1}, {Name: "SMB"}}, s.Servers.Or(nil)},
		{"pools", []inventory.Pool{{Name: "boot-pool", State: "ONLINE"},
			{Name: "tank", State: "DEGRADED", Doing: "resilver"}}, s.Pools},
		{"UPS", []inventory.UPS{{Name: "ups@nas", Status: "OB DISCHRG LB"}}, s.Battery.Or(nil)},
	} {
		if diff := cmp.Diff(c.want, c.got, cmp.Comparer(func(a, b fact.Of[string]) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	if len(s.Battery.Or(nil)) != 1 {
		t.Errorf("on battery: %+v", s.Battery.Or(nil))
	}
}

// TestRead_of_bound_storage holds that a connection that is bound to an interface is not
// looked for by its server's address alone.
func TestRead_of_bound_storage(t *testing.T) {
	const nvme, iface = "sys/class/nvme/nvme1/address", "sys/class/iscsi_session/session1/ifacename"
	answers := map[string]string{"-j -d addr show": stacked, allDefaults: "[]",
		"-o route get 192.0.2.40":                 `192.0.2.40 dev eno1 src 192.0.2.20 uid 0 \    cache`,
		"-o route get 192.0.2.30":                 `192.0.2.30 dev br0 src 192.0.2.20 uid 0 \    cache`,
		"-o route get 192.0.2.30 from 192.0.2.20": `192.0.2.30 from 192.0.2.20 dev bond0.7 uid 0 \    cache`,
		"-o route get 192.0.2.31 from 192.0.2.20": `192.0.2.31 from 192.0.2.20 dev br0 uid 0 \    cache`,
		"-o route get 192.0.2.30 from 192.0.2.77": "status 2\nRTNETLINK answers: Network is unreachable",
	}
	for _, c := range []struct{ file, text, what, dev, why string }{
		{nvme, "traddr=192.0.2.30,trsvcid=4420,host_iface=eno1", "nvme1", "eno1", ""},
		{nvme, "traddr=192.0.2.30,trsvcid=4420,host_traddr=192.0.2.77,host_iface=eno1,src_addr=192.0.2.20", "nvme1", "eno1", ""},
		{nvme, "traddr=192.0.2.30,trsvcid=4420,host_iface=ib9", "nvme1", "", "ip address shows no interface ib9"},
		{nvme, "traddr=192.0.2.30,trsvcid=4420,host_traddr=192.0.2.20", "nvme1", "bond0.7", ""},
		{nvme, "traddr=192.0.2.31,trsvcid=4420,host_traddr=192.0.2.20", "nvme1", "",
			"nvme1 is bound to 192.0.2.20, which is an address of bond0.7; the way from there is by br0"},
		{nvme, "traddr=192.0.2.30,trsvcid=4420,host_traddr=192.0.2.77", "nvme1", "", "Network is unreachable"},
		{iface, "default", "connection1:0", "eno1", ""},
		{iface, "(null)", "connection1:0", "eno1", ""},
		{iface, "iface0", "connection1:0", "", "connection1:0 uses the iface iface0 of open-iscsi, which may bind it to an interface"},
	} {
		t.Run(strings.Trim(c.text, "()"), func(t *testing.T) { // the name is that of a directory, too
			t.Parallel()
			root, files := t.TempDir(), server()
			files["bin/ip"], files[c.file] = program(answers), c.text+"\n"
			tree(t, root, files)
			s, err := read(runCollect(t, root))
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(s.Storage, func(st inventory.Storage) bool { return st.What == c.what })
			if dev := s.Storage[at].Dev; dev.Or("") != c.dev || (dev.Why() == "") != (c.why == "") || !strings.Contains(dev.Why(), c.why) {
				t.Errorf("%+v: %s", s.Storage[at], dev.Why())
			}
		})
	}
}

// Each file system of the network names its servers in its own way, or in none. The script
// asks for the way to each address.
func TestRead_of_network_file_systems(t *testing.T) {
	const unnamed = " names no address of its server"
	near, far := fact.Known("br0"), fact.Known("eno1")
	host := server()
	answers := map[string]string{"-j -d addr show": stacked,
		allDefaults: `[{"dst":"default","gateway":"192.0.2.1","dev":"bond0.7","flags":[]}]`}
	for address, dev := range map[string]string{"192.0.2.1": "bond0.7", "192.0.2.30": "br0", "192.0.2.31": "br0",
		"192.0.2.40": "eno1", "fd00::9": "eno1"} {
		answers["-o route get "+address] = address + " dev " + dev + " src 192.0.2.20 uid 0 \\    cache"
	}
	host["bin/ip"] = program(answers)
	for line, want := range map[string][]fact.Of[string]{
		"192.0.2.30@tcp:/lfs /mnt lustre rw,flock":                                {near},
		"192.0.2.30@o2ib,192.0.2.31@o2ib:192.0.2.40@tcp1:/lfs/sub /mnt lustre rw": {near, far},
		"/dev/sdb /mnt lustre rw,svname=lfs-OST0000,mgsnode=192.0.2.30@tcp":       nil,
		":/lfs /mnt lustre rw": {
			fact.Unknown[string](":/lfs" + unnamed),
		},
		"5@gni:/lfs /mnt lustre rw": {
			fact.Unknown[string](`"5" is not an address`),
		},
		"192.0.2.30:6789,192.0.2.40:6789:/ /mnt ceph rw,name=admin,secret=<hidden>":          {near, far},
		"[fd00::9]:6789:/a /mnt ceph rw,name=admin":                                          {far},
		"admin@b3acfc0d-575f.cephfs=/ /mnt ceph rw,mon_addr=192.0.2.31:3300/192.0.2.30:3300": {near},
		"ceph-fuse /mnt fuse.ceph-fuse rw": {
			fact.Unknown[string]("ceph-fuse" + unnamed),
		},
		"beegfs_nodev /mnt beegfs rw,cfgFile=/etc/beegfs/beegfs-client.conf": {
			fact.Unknown[string]("beegfs_nodev" + unnamed),
		},
		"192.0.2.30:/vol /mnt fuse.glusterfs rw,max_read=131072": {near},
		"nas:vol /mnt fuse.glusterfs rw": {
			fact.Unknown[string](`"nas" is not an address`),
		},
		"ops@192.0.2.40:/srv/a@b:c /mnt fuse.sshfs rw,user_id=0":              {far},
		"192.0.2.40: /mnt fuse.sshfs rw":                                      {far},
		"ops@[fd00::9]:/srv /mnt fuse.sshfs rw":                               {far},
		"192.0.2.30 /mnt 9p rw,access=user,trans=tcp,port=564":                {near},
		"192.0.2.40 /mnt 9p rw,trans=rdma":                                    {far},
		"host0 /mnt 9p rw,access=any,trans=virtio":                            nil,
		"/dev/sda2 / ext4 rw":                                                 nil,
		"lxcfs /var/lib/lxcfs fuse.lxcfs rw,user_id=0,group_id=0,allow_other": nil,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			root, files := t.TempDir(), maps.Clone(host)
			files["proc/mounts"] = line + " 0 0\n"
			delete(files, "sys/class/iscsi_connection/connection1:0/address")
			delete(files, "sys/class/nvme/nvme1/transport")
			delete(files, "sys/class/scsi_host/host3/local_ib_device")
			tree(t, root, files)
			s, err := read(runCollect(t, root))
			if err != nil {
				t.Fatal(err)
			}
			var got []fact.Of[string]
			for _, st := range s.Storage {
				got = append(got, st.Dev)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %+v, want %+v", s.Storage, want)
			}
		})
	}
}

// allTables is what ip of iproute2 6.1 printed of a host with rules and a VRF; the names of
// interfaces are those of the fixture.
const allTables = `[{"type":"unreachable","dst":"default","table":"10","metric":4278198272,"flags":[]},` +
	`{"dst":"default","gateway":"10.1.0.2","dev":"enp1s0d1","table":"10","flags":["linkdown"]},` +
	`{"type":"local","dst":"default","dev":"lo","table":"100","scope":"host","flags":[]},` +
	`{"type":"blackhole","dst":"default","table":"101","flags":[]},` +
	`{"dst":"default","table":"102","flags":["linkdown"],"nexthops":[` +
	`{"gateway":"10.0.0.2","dev":"br0","weight":1,"flags":["linkdown"]},{"gateway":"10.0.0.3","dev":"br0","weight":1,"flags":["linkdown"]}]},` +
	`{"type":"throw","dst":"default","table":"103","flags":[]},` +
	`{"dst":"default","gateway":"192.0.2.1","dev":"eno1","flags":["linkdown"]}]`

// TestRead_default_routes_of_all_tables holds that the default route of a VRF, or of a table
// that rules choose, is one.
func TestRead_default_routes_of_all_tables(t *testing.T) {
	root, files := t.TempDir(), server()
	files["bin/ip"] = program(map[string]string{"-j -d addr show": stacked, allDefaults: allTables,
		"-j route show default": `[{"dst":"default","gateway":"192.0.2.1","dev":"eno1","flags":["linkdown"]}]`})
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	want := []inventory.DefaultRoute{{Dev: "eno1", Gateway: "192.0.2.1"}, {Dev: "eth0", Gateway: "fe80::1"},
		{Dev: "enp1s0d1", Gateway: "10.1.0.2", Table: "10"}, {Dev: "br0", Gateway: "10.0.0.2", Table: "102"},
		{Dev: "br0", Gateway: "10.0.0.3", Table: "102"}}
	if diff := cmp.Diff(want, s.Routes.Default); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshot_finds_cards_below_stacked_interfaces(t *testing.T) {
	root := t.TempDir()
	files := server()
	addVirtual(files)
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	card, other := ib.MustParsePCIAddress("0000:01:00.0"), ib.MustParsePCIAddress("0000:00:1f.6")
	for dev, want := range map[string][]ib.PCIAddress{
		"bond0.7": {other, card}, "bond0": {other,
			card}, "br0": {card}, "enp1s0": {card}, "eno1": {other}, "veth0": nil, "tun0": nil,
	} {
		same := cmp.Comparer(func(a, b ib.PCIAddress) bool { return a == b })
		if diff := cmp.Diff(want, s.CardsBelow(dev), same); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dev, diff)
		}
	}
	if devs := s.SSH.Devs.Or(nil); len(devs) == 0 || !slices.Contains(s.CardsBelow(devs[0]), card) {
		t.Errorf("the session over a VLAN on a bond is not seen to use the card: %+v", s.SSH)
	}
	for dev, want := range map[string]fact.Bool{
		"enp1s0": fact.Known(true), "enp1s0v8": fact.Known(true), "enp9s0": fact.Known(false), "eno1": fact.Known(false),
		"enp8s0":   fact.Unknown[bool]("sysfs does not say of which card 0000:08:00.0 is a virtual function"),
		"enp1s0v9": fact.Unknown[bool]("sysfs does not say of which card 0000:01:01.1 is a virtual function"),
	} {
		n, ok := s.Netdev(dev)
		if got := s.OfCard(n.PCI, card); !ok || got != want {
			t.Errorf("%s of %s is of the card: %t, %q", dev, n.PCI, got.Or(false), got.Why())
		}
	}
	if got := s.NetdevsOf(card); !slices.Equal(got, []string{"enp1s0", "enp1s0d1", "enp1s0v8", "enp1s0v9", "enp8s0"}) {
		t.Errorf("interfaces of the card: %v", got)
	}
}

// addVirtual gives the card virtual functions beyond its slot, one of them with a link that
// leads nowhere. Another card has one as well, and a guest of a hypervisor sees one
// without its card.
func addVirtual(files map[string]string) {
	more := ""
	for i, f := range []struct{ pci, netdev, physical string }{
		{"0000:01:01.0", "enp1s0v8", "0000:01:00.0"}, {"0000:01:01.1", "enp1s0v9", "0000:01:00.7"},
		{"0000:09:01.0", "enp9s0", "0000:09:00.0"}, {"0000:08:00.0", "enp8s0", ""},
	} {
		dir := "sys/bus/pci/devices/" + f.pci + "/"
		files[dir+"vendor"], files[dir+"device"], files[dir+"class"] = "0x15b3\n", "0x1004\n", "0x020000\n"
		files[dir+"net/"+f.netdev+"/dev_port"] = "0\n"
		if f.physical != "" {
			files[dir+"physfn"] = "->../" + f.physical
		}
		more += fmt.Sprintf(`,{"ifindex":%d,"ifname":%q,"flags":["UP"],"mtu":1500,"operstate":"UP","link_type":"ether",`+
			`"address":"02:fc:00:00:01:%02x","addr_info":[]}`, 20+i, f.netdev, i)
	}
	for file, text := range map[string]string{"vendor": "0x15b3\n", "device": "0x1007\n", "class": "0x020000\n"} {
		files["sys/bus/pci/devices/0000:09:00.0/"+file] = text
	}
	files["bin/ip"] = strings.Replace(files["bin/ip"], stacked, strings.TrimSuffix(stacked, "]")+more+"]", 1)
}

// TestRead_asks_no_suspended_pool: zpool would wait in the kernel for ever.
func TestRead_asks_no_suspended_pool(t *testing.T) {
	files := server()
	files["proc/spl/kstat/zfs/tank/state"] = "SUSPENDED\n"
	root := t.TempDir()
	tree(t, root, files)
	s, err := read(runCollect(t, root))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]inventory.Pool{{Name: "tank", State: "SUSPENDED"}}, s.Pools); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
}

// TestRead_tells_unread_from_none holds that what a host did not answer is unknown,
// with the reason, and that what it does not have is none.
func TestRead_tells_unread_from_none(t *testing.T) {
	upsc := func(answers map[string]string) func(map[string]string) {
		return func(f map[string]string) {
			delete(f, "etc/nut/upsmon.conf")
			f["bin/upsc"] = program(answers)
		}
	}
	zpool := func(scans ...string) func(map[string]string) {
		return func(f map[string]string) {
			f["bin/zpool"] = program(map[string]string{"status": "  pool: tank\n state: ONLINE\n  scan: " +
				strings.Join(scans, "\n  scan: ") + "\nconfig:\n"})
		}
	}
	batteryOf := func(s *inventory.Snapshot) (int, string) { b := s.Battery; return len(b.Or(nil)), b.Why() }
	scansOf := func(s *inventory.Snapshot) (int, string) { return len(s.Scans.Or(nil)), s.Scans.Why() }
	serversOf := func(s *inventory.Snapshot) (int, string) { return len(s.Servers.Or(nil)), s.Servers.Why() }
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		of     func(s *inventory.Snapshot) (int, string)
		found  int
		why    string // empty: known
	}{
		{"on battery, whatever another one says", func(map[string]string) {}, batteryOf, 1, ""},
		{"no NUT", func(f map[string]string) { delete(f, "bin/upsc"); delete(f, "etc/nut/upsmon.conf") }, batteryOf, 0, ""},
		{"no daemon and nothing to monitor",
			upsc(map[string]string{"-l": "status 1\nError: Connection failure: Connection refused"}), batteryOf, 0, ""},
		{"a daemon that does not answer", upsc(map[string]string{"-l": "status 124\n"}), batteryOf, 0,
			"upsc -l ended with status 124"},
		{"a daemon with one that is on line",
			upsc(map[string]string{"-l": "Init SSL without certificate database\nups", "ups ups.status": "OL CHRG"}), batteryOf,
			0, ""},
		{"one that is monitored and silent", func(f map[string]string) {
			f["bin/upsc"] = program(map[string]string{"ups@nas ups.status": "OL",
				"gone@nas ups.status": "status 1\nError: Data stale"})
		}, batteryOf, 0, "upsc gone@nas ended with status 1: Error: Data stale"},
		{"one that does not know yet", upsc(map[string]string{"-l": "ups", "ups ups.status": "WAIT"}), batteryOf, 0,
			`ups does not say whether it is on line: "WAIT"`},

		{"resilver", func(map[string]string) {}, scansOf, 1, ""},
		{"no ZFS", func(f map[string]string) {
			delete(f, "sys/module/zfs/version")
			delete(f, "proc/spl/kstat/zfs/tank/state")
		}, scansOf, 0, ""},
		{"no zpool", func(f map[string]string) { delete(f, "bin/zpool") }, scansOf,
			0, "ZFS is loaded, and the host has no zpool on its PATH"},
		{"zpool hangs", func(f map[string]string) { f["bin/zpool"] = program(map[string]string{"status": "status 124\n"}) },
			scansOf, 0, "zpool status ended with status 124"},
		{"zpool prints nothing", func(f map[string]string) { f["bin/zpool"] = "#!/bin/sh\nexit 0\n" },
			scansOf, 0, "zpool status said nothing of pool tank"},
		{"zpool leaves out a pool", func(f map[string]string) {
			f["bin/zpool"] = program(map[string]string{"status": "  pool: boot-pool\n state: ONLINE\n"})
		}, scansOf, 0, "zpool status said nothing of pool tank"},
		{"zpool prints no line of a scan", func(f map[string]string) {
			f["bin/zpool"] = program(map[string]string{"status": "  pool: tank\n state: ONLINE\nconfig:\n"})
		}, scansOf, 0, ""},
		{"scrub beside the rebuild that it follows", zpool("scrub in progress since Sat Nov 21 00:24:01 2026",
			"resilvered (draid1:3d:4c:1s-0) 20.2G in 00:01:02 with 0 errors on Sat Nov 21 00:24:01 2026"), scansOf, 1, ""},
		{"rebuild of one vdev, and of another that has ended", zpool(
			"scrub repaired 0B in 00:00:12 with 0 errors on Sun Nov 15 03:45:13 2026",
			"resilver (mirror-0) in progress since Sat Nov 21 09:00:00 2026",
			"resilvered (mirror-1) 2.01G in 00:00:40 with 0 errors on Sat Nov 21 08:59:58 2026"), scansOf, 1, ""},
		{"all that has ended", zpool("scrub canceled on Sat Nov 21 00:24:01 2026", "none requested",
			"scrub paused since Sat Nov 21 00:24:01 2026", "error scrub canceled on Sat Nov 21 00:24:01 2026",
			"scrubbed 3 error blocks in 0 days 00:00:01 on Sat Nov 21 00:24:01 2026",
			"resilver (mirror-0) canceled on Sat Nov 21 00:24:01 2026"), scansOf, 0, ""},
		{"a scan that is not understood", zpool("scrub repaired 0B in 00:00:12 with 0 errors on Sun Nov 15 03:45:13 2026",
			"trim of mirror-0 has begun"), scansOf, 0, `what zpool status says of pool tank is not understood: "trim of mirror-0 has begun"`},
		{"suspended", func(f map[string]string) { f["proc/spl/kstat/zfs/tank/state"] = "SUSPENDED\n" }, scansOf, 0,
			"pool tank is suspended"},

		{"no IPv6", func(f map[string]string) { delete(f, "proc/net/tcp6") }, serversOf, 1, ""},
		{"no sockets at all", func(f map[string]string) { f["proc/net/tcp"] = "  sl  local_address\n"; delete(f, "proc/net/tcp6") }, serversOf, 0, ""},
		{"no table of sockets", func(f map[string]string) { delete(f, "proc/net/tcp") }, serversOf, 0,
			"the tables of sockets could not be read, grep ended with status 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, files := t.TempDir(), server()
			c.change(files)
			tree(t, root, files)
			s, err := read(runCollect(t, root))
			if err != nil {
				t.Fatal(err)
			}
			if n, why := c.of(s); n != c.found || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("found %d, %q; want %d, %q", n, why, c.found, c.why)
			}
		})
	}
}

// TestRead_unit_states_unread holds that a systemd that did not answer is told from
// a host that has none.
func TestRead_unit_states_unread(t *testing.T) {
	for output, why := range map[string]string{
		"Failed to get properties: Connection timed out":                                 "systemctl show ended with status 1: Failed to get properties: Connection timed out",
		"System has not been booted with systemd as init system (PID 1). Can't operate.": "",
		"": "systemctl show printed no unit",
	} {
		s, status := &inventory.Snapshot{}, min(1, len(output))
		if err := readUnits(s, &collect.Answer{Runs: map[string]collect.Run{"systemctl": {Status: status,
			Output: output + "\n"}}}); err != nil || s.UnitsWhy != why {
			t.Errorf("%q: %q, %v", output, s.UnitsWhy, err)
		}
	}
}

// TestRead_files_unread holds that a file that is there and was not read is unknown.
func TestRead_files_unread(t *testing.T) {
	const dir, lock = "/sys/class/infiniband/mlx4_0/ports/1/", "/sys/kernel/security/lockdown"
	a := &collect.Answer{
		Values: map[string]collect.Value{dir + "phys_state": {Text: "5: LinkUp"}},
		Denied: map[string]bool{dir + "state": true, dir + "cap_mask": true, lock: true},
	}
	p, there, err := port(a, dir, 1)
	if err != nil || !there || p.IsSM.Known() || !strings.Contains(p.IsSM.Why(), "cap_mask could not be read") {
		t.Errorf("port %+v, %t, %v", p, there, err)
	}
	s := &inventory.Snapshot{}
	if err := readLockdown(s, a); err != nil || s.Lockdown.Why() != lock+" could not be read" {
		t.Errorf("lockdown %q, %v", s.Lockdown.Why(), err)
	}
	if err := readLockdown(s, &collect.Answer{}); err != nil || !s.Lockdown.Known() {
		t.Errorf("a kernel without lockdown: %q, %v", s.Lockdown.Why(), err)
	}
	if err := readSpace(s, &collect.Answer{Runs: map[string]collect.Run{"df": {Status: 1,
		Output: "df: /var: Input/output error\n"}}}); err != nil ||
		!strings.Contains(s.StateFree.Why(), "Input/output error") {
		t.Errorf("space: %q, %v", s.StateFree.Why(), err)
	}
}

// TestRead_storage_unread holds that storage of which the kernel does not tell the address
// is there: a session of iSCSI that is being built up again has none.
func TestRead_storage_unread(t *testing.T) {
	const iscsi, nvme, srp = "/sys/class/iscsi_connection/connection1:0/address", "/sys/class/nvme/nvme1/",
		"/sys/class/scsi_host/host3/local_ib_device"
	for path, want := range map[string]string{
		iscsi: "iscsi connection1:0", nvme + "address": "nvme-rdma nvme1", nvme + "transport": "nvme nvme1", srp: "srp host3",
	} {
		a := &collect.Answer{Denied: map[string]bool{path: true}, Runs: map[string]collect.Run{"mounts": {Status: 1}}}
		if path == nvme+"address" {
			a.Values = map[string]collect.Value{nvme + "transport": {Text: "rdma"}}
		}
		s := &inventory.Snapshot{}
		if err := readStorage(s, a); err != nil || len(s.Storage) != 1 || s.Storage[0].String() != want ||
			s.Storage[0].Dev.Why() != path+" could not be read" {
			t.Errorf("%s: %+v, %v", path, s.Storage, err)
		}
	}
}

// TestRead_routes_unread holds that a table of routes that cannot be read is not one
// without a default route.
func TestRead_routes_unread(t *testing.T) {
	a := &collect.Answer{Denied: map[string]bool{"/proc/net/ipv6_route": true},
		Runs: map[string]collect.Run{"ip-route": {Output: "[]"}}}
	if err := readRoutes(&inventory.Snapshot{}, a); err == nil ||
		!strings.Contains(err.Error(), "/proc/net/ipv6_route could not be read") {
		t.Errorf("%v", err)
	}
}

// TestRead_ports_unread holds that a port of which the driver of InfiniBand shows nothing
// may have a subnet manager.
func TestRead_ports_unread(t *testing.T) {
	a := &collect.Answer{Values: map[string]collect.Value{"/sys/bus/pci/devices/0000:01:00.0/mlx4_port1": {Text: "ib"}}}
	for device, want := range map[string]string{"": "", "mlx4_0": "mlx4_0 shows no port 1"} {
		c := inventory.Card{PCI: ib.MustParsePCIAddress("0000:01:00.0"), RDMADevice: device}
		readTypes(&c, a)
		if len(c.Ports) != 1 || c.Ports[0].IsSM.Known() != (want == "") || c.Ports[0].IsSM.Why() != want {
			t.Errorf("%q: %+v", device, c.Ports)
		}
	}
}
