package acctest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

func guidFindings() []findingCase {
	values := func(code, at string, attrs map[string]any, says ...string) findingCase {
		return findingCase{code: code, at: at, says: says, config: func(w *Lab) Config { return w.guids(labs.Intel9, attrs) }}
	}
	malformed := func(code, at string, attrs map[string]any, says ...string) findingCase {
		f := values(code, at, attrs, says...)
		f.phase = PhaseValidate
		return f
	}
	ports := func(one, two string) map[string]any {
		return map[string]any{"node_guid": "0xe41d2d0300aaaa00", "port_guids": map[string]any{"1": one, "2": two}}
	}
	return []findingCase{
		malformed("GU001", "node_guid",
			map[string]any{"node_guid": "0x0",
				"port_guids": map[string]any{"1": "0xe41d2d0300aaaa01", "2": "0xe41d2d0300aaaa02"}}, "node GUID"),
		malformed("GU001", "port_guids", ports("0xffffffffffffffff", "0xe41d2d0300aaaa02"), "port 1 GUID"),
		malformed("GU001", "port_guids", ports("0xe51d2d0300aaaa01", "0xe41d2d0300aaaa02"), "0xe51d2d0300aaaa01"),
		malformed("GU004", "base_guid", map[string]any{"base_guid": "0xfffffffffffffffd"}, "0xfffffffffffffffd"),
		values("GU005", "port_guids", ports("0x02aabb0300aaaa01", "0x02aabb0300aaaa02"), "02aabb", "locally administered"),
		values("GU006", "", map[string]any{"base_guid": "0xe41d2d0300e44ee0"}, "xeon2zfs/0000:04:00.0", "0xe41d2d0300e44ee0"),
		values("GU006", "base_guid", map[string]any{"base_guid": "0xe41d2d0300e44ede"},
			"is 2 from node GUID 0xe41d2d0300e44ee0 of xeon2zfs/0000:04:00.0"),
		malformed("GU001", "macs", map[string]any{"macs": map[string]any{"1": "01:00:5e:00:00:01", "2": "e4:1d:2d:aa:aa:01"}},
			"01:00:5e:00:00:01"),
		malformed("GU009", "port_guids", ports("0xe41d2d0300aaaa01", "0xe41d2d0300aaaa01"), "0xe41d2d0300aaaa01"),
		{code: "GU010", says: []string{"MACs given: false"},
			prepare: func(w *Lab) { w.mstflintEdits(labs.Intel9, " q", blank) },
			config:  func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300aaaa00"}) }},
		values("GU011", "allow", map[string]any{"base_guid": "0xe41d2d0300aaaa00"},
			"0xe41d2d0300e44ed0 becomes 0xe41d2d0300aaaa00", `guid_change = { from = ["0xe41d2d0300e44ed0", `),
		{code: "FW008", at: "card_id", says: []string{"non-failsafe"},
			hosts:  func() []labs.Host { return vpi(image(card.NonFailsafeVPI())) },
			config: func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300aaaa00"}) }},
		{code: "FW045", at: "card_id", hosts: func() []labs.Host { return boughtHost() },
			says:    []string{"In flash: MT_9090111019 2.42.5000. Running: MT_9200111023 2.40.5032", "or a change of GUIDs"},
			prepare: func(w *Lab) { w.write(labs.Intel9, card.VPI()) },
			config:  func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_mac": baseMACs[labs.Intel9]}) }},
		{code: "GU016", says: []string{"node GUID 0xe41d2d0300e44ee0", "xeon2zfs/0000:04:00.0 (until its next start)"},
			prepare: func(w *Lab) {
				w.Run(labs.Xeon2zfs, "mstflint -y -d 04:00.0 -guid 0xe41d2d0300bbbb00 -mac e41d2dbbbb00 sg")
			},
			config: func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300e44ee0"}) }},
		{code: "GU015", says: []string{"node GUID 0xe41d2d0300ca1100", `"old-box mlx4_0"`, "intel9 mlx4_0/1 sees"},
			prepare: unmanagedNode,
			config:  func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300ca1100"}) }},
		{code: "GU015", says: []string{"node GUID 0xe41d2d0300ca2200", `"other-box mlx4_0"`, "intel9 mlx4_0/2 sees"},
			prepare: otherFabric,
			config:  func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300ca2200"}) }},
		{code: "GU015", says: []string{`"other-box mlx4_0"`, "intel9 mlx4_0/2 sees"}, // both ports show the same unset GUID
			hosts: func() []labs.Host {
				return vpi(func(h *labs.Host) { n := ^uint64(0); h.Cards[0].GUIDs = [4]uint64{n, n, n, n} })
			},
			prepare: otherFabric,
			config:  func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300ca2200"}) }},
		{code: "GU015", says: []string{"node GUID 0xe41d2d0300ca1100", `"old-box mlx4_0"`, "intel9 mlx4_0/1 sees"},
			prepare: unmanagedNode,
			config:  func(w *Lab) Config { return w.guids(labs.Xeon2zfs, map[string]any{"base_guid": "0xe41d2d0300ca1100"}) }},
		{code: "GU015", says: []string{"is not known: the look at the fabric of host intel9 failed", "ibnetdiscover"},
			prepare: blind,
			config:  func(w *Lab) Config { return w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300ca1100"}) }},
		values("GU005", "macs", map[string]any{"macs": map[string]any{"1": "02:aa:bb:00:00:01", "2": "02:aa:bb:00:00:02"}},
			"02aabb"),
	}
}

// unmanagedNode connects a machine that nobody has configured to the switch.
func unmanagedNode(w *Lab) {
	w.t.Helper()
	w.needSimulated("adds a machine to the fabric")
	drivers(w)
	w.Run(labs.Intel9, "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q infiniband-diags && modprobe ib_umad")
	w.AddAdapter(labsim.Adapter{Name: "old-box", Desc: "old-box mlx4_0", GUID: 0xe41d2d0300ca1100,
		SystemGUID: 0xe41d2d0300ca1103, Ports: 2, VendorID: 0x2c9, DeviceID: 0x1003})
	if err := w.Connect(labsim.AdapterEnd("old-box", 1), labsim.SwitchEnd(w.Switches()[0].Name, 7)); err != nil {
		w.t.Fatal(err)
	}
}

// blind has a fabric that cannot be walked.
func blind(w *Lab) {
	w.t.Helper()
	unmanagedNode(w)
	w.tool(labs.Intel9, "/usr/sbin/ibnetdiscover", func(_ context.Context, p *labsim.Proc, _ labsim.Program) int {
		p.Printf("discovery failed\n")
		return 1
	})
}

// twoFabrics leads the second port of the Ubuntu host to another machine in place
// of the switch.
func twoFabrics(w *Lab) {
	w.t.Helper()
	unmanagedNode(w)
	w.Disconnect(labsim.SwitchEnd(w.Switches()[0].Name, 2))
	if err := w.Connect(labsim.CardEnd(labs.Intel9, "0000:01:00.0", 2), labsim.AdapterEnd("old-box", 2)); err != nil {
		w.t.Fatal(err)
	}
}

// otherFabric leads the second port of the Ubuntu host to a machine on no switch.
func otherFabric(w *Lab) {
	w.t.Helper()
	unmanagedNode(w)
	w.Disconnect(labsim.SwitchEnd(w.Switches()[0].Name, 2))
	w.AddAdapter(labsim.Adapter{Name: "other-box", Desc: "other-box mlx4_0", GUID: 0xe41d2d0300ca2200,
		SystemGUID: 0xe41d2d0300ca2203, Ports: 2, VendorID: 0x2c9, DeviceID: 0x1003})
	if err := w.Connect(labsim.CardEnd(labs.Intel9, "0000:01:00.0", 2), labsim.AdapterEnd("other-box", 1)); err != nil {
		w.t.Fatal(err)
	}
}

// A fabric that no configured host looks at is not one without nodes: a plan of new GUIDs
// names each port whose fabric is not compared. A host on another fabric sees nothing of it.
func TestGUIDs_of_a_fabric_that_nobody_sees(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(*Lab)
		unseen  []int // ports of the card of the TrueNAS host, which has no infiniband-diags
	}{
		"no host looks":                    {drivers, []int{1, 2}},
		"the other host is on this fabric": {unmanagedNode, nil},
		"the other host is on another fabric": {func(w *Lab) {
			otherFabric(w)
			w.Disconnect(labsim.SwitchEnd(w.Switches()[0].Name, 1))
		}, []int{1, 2}},
		"a third host is on this fabric": {func(w *Lab) {
			otherFabric(w)
			w.Disconnect(labsim.SwitchEnd(w.Switches()[0].Name, 1))
			w.Run("yonder", "apt-get update -q && apt-get install -y -q infiniband-diags && modprobe -a mlx4_ib ib_umad")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			yonder := labs.Server("yonder", labsim.Debian12, "192.0.2.30", 5)
			yonder.Cards[0].Image, yonder.Cmdline = card.VPI(), "mlx4_core.port_type_array=1,1"
			w := Start(t, Options{Hosts: append(vpi(), yonder)})
			tt.prepare(w)
			cfg := w.guids(labs.Xeon2zfs, map[string]any{"base_guid": "0xe41d2d0300aaaa00"})
			said := mustPlan(t, w.Workspace(), cfg).Diags.Warnings().Find("GUIDs of the fabric of port")
			var want []string
			for _, port := range tt.unseen {
				want = append(want, fmt.Sprintf("Card xeon2zfs/0000:04:00.0: GUIDs of the fabric of port %d are not compared", port))
			}
			var got []string
			for _, one := range said {
				got = append(got, one.Summary)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func linkFindings() []findingCase {
	types := func(one, two string) func(*Lab) Config {
		return func(w *Lab) Config { return w.types(labs.Intel9, one, two) }
	}
	one := func(link string) func(*Lab) Config {
		return func(w *Lab) Config {
			it := w.types(labs.Intel9, link, link)
			it[0].Attrs["ports"] = map[string]any{"1": link}
			return it
		}
	}
	connectX4 := func() []labs.Host { return []labs.Host{labs.ConnectX4(labs.Intel9, "192.0.2.20", 0)} }
	return []findingCase{
		{code: "LT001", at: "ports", hosts: func() []labs.Host { return boughtHost() },
			says: []string{"MT_9200111023", "infiniband_firmware"}, config: types("ib", "ib")},
		{code: "LT002", at: "ports", says: []string{`"1" = "eth", "2" = "ib"`}, config: types("eth", "ib")},
		{code: "LT003", at: "ports", says: []string{"auto"}, config: types("auto", "auto")},
		{code: "LT004", at: "ports", says: []string{"the kernel shows 1"}, config: types("eth", "eth"),
			prepare: func(w *Lab) {
				w.Machine(labs.Intel9).FS.Drop("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/mlx4_port2")
			}},
		{code: "LT013", at: "card_id", hosts: connectX4, says: []string{"mstconfig of intel9"}, config: one("eth"),
			prepare: func(w *Lab) { w.Machine(labs.Intel9).Uninstall("/usr/bin/mstconfig") }},
		{code: "HO011", at: "activation", hosts: connectX4, says: []string{`activation = "reboot"`}, config: one("eth")},
		{code: "LT018", at: "ports", says: []string{"port 1 has IPoIB interface ibp1s0 (198.51.100.2/24)"},
			config: types("eth", "eth"), prepare: func(w *Lab) {
				drivers(w)
				w.Run(labs.Intel9, "ip addr add 198.51.100.2/24 dev ibp1s0 && ip link set dev ibp1s0 up")
			}},
		{code: "LT007", at: "ports", hosts: func() []labs.Host { return vpi(anotherCard) }, says: []string{"0000:02:00.0"},
			config: types("eth", "eth")},
		{code: "LT008", at: "card_id", says: []string{"none"}, prepare: func(w *Lab) { w.unbind(labs.Intel9) },
			config: types("eth", "eth")},
		{code: "LT015", at: "ports", says: []string{"port 1 is ib now and eth after a restart",
			"port 2 is ib now and eth after a restart"}, config: types("ib", "ib"),
			hosts: func() []labs.Host { return vpi(func(h *labs.Host) { h.OS, h.Kernel = labsim.Debian12, "" }) },
			prepare: func(w *Lab) {
				w.Install(labs.Intel9, "mstflint")
				w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf; mstconfig -y -d 0000:01:00.0 set LINK_TYPE_P1=2 LINK_TYPE_P2=2")
			}},
		{code: "LT017", at: "ports", says: []string{"Host intel9, modprobe.d"}, config: types("ib", "ib"),
			prepare: func(w *Lab) {
				w.Run(labs.Intel9, "sleep 1")
				w.Put(labs.Intel9, "/etc/modprobe.d/terraform-infiniband.conf",
					platform.OwnedHeader("infiniband_link_type")+"options mlx4_core port_type_array=1,1\n")
			}},
		{code: "LT016", at: "ports", says: []string{"kernel command line has ib on port 1", "update-grub"},
			config: types("eth", "eth"), hosts: func() []labs.Host {
				return vpi(func(h *labs.Host) { h.Cmdline = "mlx4_core.port_type_array=1,1" })
			}},
		{code: "LT016", at: "ports", says: []string{"/etc/modprobe.d/zz-mlx4.conf has ib on port 2"},
			config: types("eth", "eth"), prepare: func(w *Lab) {
				w.Put(labs.Intel9, "/etc/modprobe.d/zz-mlx4.conf", "options mlx4_core port_type_array=2,1\n")
			}},
		{code: "LT016", at: "ports", says: []string{"/etc/modprobe.d/zz-mlx4.conf has `install mlx4_core /bin/true`"},
			config: types("ib", "ib"), prepare: func(w *Lab) {
				w.Put(labs.Intel9, "/etc/modprobe.d/zz-mlx4.conf", "install mlx4_core /bin/true\n")
			}},
		{code: "HO035", at: "ports", says: []string{"intel9: /etc/modprobe.d/terraform-infiniband.conf", "move the file away"},
			config: types("eth", "eth"), prepare: func(w *Lab) {
				w.Put(labs.Intel9, "/etc/modprobe.d/terraform-infiniband.conf", "# Ours, not yours.\n")
			}},
		{code: "LT020", at: "ports", says: []string{"kernel_extra_options has eth on port 1",
			"in the card and in kernel_extra_options"},
			config: func(w *Lab) Config { return w.types(labs.Xeon2zfs, "ib", "ib") }, prepare: func(w *Lab) {
				w.Run(labs.Xeon2zfs, `midclt call system.advanced.update '{"kernel_extra_options": "mlx4_core.port_type_array=2,2"}'`)
			}},
		{code: "HO034", at: "ports", says: []string{"terraform-infiniband.conf also has: options mlx4_core debug_level=1"},
			config: types("ib", "ib"), prepare: func(w *Lab) {
				w.Put(labs.Intel9, "/etc/modprobe.d/terraform-infiniband.conf", platform.OwnedHeader("infiniband_link_type")+
					"options mlx4_core port_type_array=1,1\noptions mlx4_core debug_level=1\n")
			}},
	}
}

// ethernet puts both ports of the Ubuntu host into Ethernet mode.
func ethernet(w *Lab) {
	drivers(w)
	if w.testbed != nil {
		// The GUID of such a port is in flash only.
		w.Run(labs.Intel9, "chmod a+x /usr/bin/mstflint")
	}
	w.Run(labs.Intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2; echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port1")
}

// wants is a configuration of one IPoIB interface.
func wants(host string, attrs map[string]any) func(*Lab) Config {
	return func(*Lab) Config { return ipoib(host, attrs) }
}

func networkFindings() []findingCase {
	const ubuntu, nas = labs.Intel9, labs.Xeon2zfs
	return append(append(middlewareFindings(), stackFindings()...), []findingCase{
		{code: "IP001", says: []string{"openSUSE Leap 16.0"}, config: wants(ubuntu, nil), prepare: func(w *Lab) {
			w.Machine(ubuntu).FS.Put("/etc/os-release",
				"NAME=\"openSUSE Leap\"\nID=\"opensuse-leap\"\nVERSION_ID=\"16.0\"\nPRETTY_NAME=\"openSUSE Leap 16.0\"\n", 0o644)
		}},
		{code: "PF006", at: "port_guid", says: []string{"0xe41d2d0300ffff01", "port 1: 0xe41d2d0300e44ed1"}, prepare: drivers,
			config: wants(ubuntu, map[string]any{"port_guid": "0xe41d2d0300ffff01"})},
		{code: "PF007", at: "port_guid", says: []string{"infiniband_link_type"}, config: wants(ubuntu, nil),
			prepare: ethernet},
		{code: "IP005", phase: PhaseValidate, at: "mtu", says: []string{"4096 − 4 = 4092", "connected"}, prepare: drivers,
			config: wants(ubuntu, map[string]any{"mode": "datagram", "mtu": 65520})},
		{code: "IP005", phase: PhaseValidate, at: "mtu", says: []string{"65521", "1 more than 65520"}, prepare: drivers,
			config: wants(ubuntu, map[string]any{"mtu": 65521})},
		{code: "IP051", at: "mtu", says: []string{"at most 2048 bytes, which leaves 2044", "Use mtu = 2044"}, prepare: drivers,
			hosts:  func() []labs.Host { return vpi(func(h *labs.Host) { h.Cards[0].MaxIBMTU = 2048 }) },
			config: wants(ubuntu, map[string]any{"mode": "datagram", "mtu": 4092})},
		{code: "IP052", at: "port_guid", says: []string{"is Active, so the interface could not join the broadcast group",
			"multicast join failed"}, config: wants(ubuntu, nil),
			hosts: func() []labs.Host { return vpi(func(h *labs.Host) { h.Cards[0].MaxIBMTU = 2048 }) },
			prepare: func(w *Lab) {
				drivers(w)
				w.Run(ubuntu, "ip link set dev ibp1s0 up")
				w.AddSM(&labsim.SM{Port: w.Machine(ubuntu).Cards()[0].Ports[0], Priority: 1, GroupMTU: 4096})
			}},
		{code: "IP005", phase: PhaseValidate, at: "mtu", says: []string{"1279"}, prepare: drivers,
			config: wants(ubuntu, map[string]any{"mtu": 1279})},
		{code: "IP009", at: "mode", says: []string{"0x80"}, config: wants(ubuntu, nil), prepare: func(w *Lab) {
			drivers(w)
			w.Machine(ubuntu).UpdateNetdev("ibp1s0", func(d *labsim.Netdev) { d.Address[0] &^= 0x80 })
		}},
		{code: "IP010", says: []string{"ibp1s0", `management_path = ["ibp1s0"]`}, config: wants(ubuntu, nil),
			prepare: func(w *Lab) {
				drivers(w)
				w.Run(ubuntu, "ip addr add 198.51.100.2/24 dev ibp1s0 && ip link set dev ibp1s0 up && ip route replace default via 198.51.100.1 dev ibp1s0")
			}},
		{code: "IP040", says: []string{"ibp1s0 of", "nas:/tank on /mnt/tank", `management_path = ["ibp1s0"]`},
			config: wants(ubuntu, nil), prepare: func(w *Lab) {
				drivers(w)
				w.Run(ubuntu, "ip addr add 198.51.100.2/24 dev ibp1s0 && ip link set dev ibp1s0 up")
				w.Machine(ubuntu).FS.Put("/proc/mounts", "nas:/tank /mnt/tank nfs4 rw,vers=4.2,addr=198.51.100.9 0 0\n", 0o444)
			}},
		{code: "IP041", at: "addresses", says: []string{"172.16.0.20 of port", "is an address of", "too"}, prepare: drivers,
			config: func(w *Lab) Config {
				other := ipoib(nas, map[string]any{"mtu": 9216})[0]
				other.Name = "other"
				return append(ipoib(ubuntu, map[string]any{"mtu": 9216}), other)
			}},
		{code: "IP011", says: []string{"60-by-hand.yaml", "every interface that fits its match"},
			config: wants(ubuntu, nil), prepare: func(w *Lab) {
				drivers(w)
				w.Machine(ubuntu).FS.Put("/etc/netplan/60-by-hand.yaml",
					"network:\n  version: 2\n  ethernets:\n    all:\n      match: {name: \"ib*\"}\n      mtu: 2044\n", 0o600)
			}},
		{code: "IP042", says: []string{"60-by-hand.yaml", `adopt_files = ["/etc/netplan/60-by-hand.yaml"]`},
			config: wants(ubuntu, nil), prepare: func(w *Lab) {
				drivers(w)
				w.Machine(ubuntu).FS.Put("/etc/netplan/60-by-hand.yaml",
					"network:\n  version: 2\n  ethernets:\n    ibp1s0:\n      addresses: [172.16.0.20/24]\n", 0o600)
			}},
		{code: "IP043", says: []string{"60-by-hand.yaml also sets nameservers", `adopt_without = ["nameservers"]`},
			config: wants(ubuntu, Allow("adopt_files", []any{"/etc/netplan/60-by-hand.yaml"})), prepare: func(w *Lab) {
				drivers(w)
				w.Machine(ubuntu).FS.Put("/etc/netplan/60-by-hand.yaml", "network:\n  version: 2\n  ethernets:\n    ibp1s0:\n"+
					"      addresses: [172.16.0.20/24]\n      nameservers: {addresses: [10.9.8.1]}\n", 0o600)
			}},
		{code: "HO034", says: []string{"60-infiniband-e41d2d0300e44ed1.yaml has line 6: nameservers"}, config: wants(ubuntu, nil),
			prepare: func(w *Lab) {
				drivers(w)
				w.Machine(ubuntu).FS.Put("/etc/netplan/60-infiniband-e41d2d0300e44ed1.yaml", platform.Owner+"\nnetwork:\n  "+
					"version: 2\n  ethernets:\n    ibp1s0:\n      nameservers: {addresses: [10.9.8.1]}\n", 0o600)
			}},
		{code: "IP045", only: "a host with NetworkManager", at: "port_guid",
			says: []string{"state Down, physical state Polling"}, config: wants(ubuntu, nil),
			hosts: func() []labs.Host { return vpi(func(h *labs.Host) { h.Stack = labsim.StackNetworkManager }) },
			prepare: func(w *Lab) {
				drivers(w)
				w.Disconnect(labsim.CardEnd(ubuntu, "0000:01:00.0", 1))
			}},
		{code: "IP018", at: "mtu", says: []string{"4092"}, prepare: drivers,
			config: wants(ubuntu, map[string]any{"mode": "datagram", "mtu": 4092})},
		{code: "IP019", says: []string{"systemd-networkd"}, config: wants(ubuntu, nil), prepare: func(w *Lab) {
			drivers(w)
			w.Run(ubuntu, "systemctl stop systemd-networkd.service")
		}},
		{code: "IP020", at: "port_guid", says: []string{"LinkUp"}, prepare: drivers, config: wants(ubuntu, nil)},
		{code: "IP034", at: "port_guid", says: []string{"0xe41d2d0300e44ed2 of intel9", "that of intel9/0xe41d2d0300e44ed1"},
			prepare: twoFabrics, config: func(*Lab) Config {
				second := ipoib(ubuntu, map[string]any{"port_guid": portGUID(ubuntu, 2)})[0]
				second.After = []string{"infiniband_opensm.it"}
				return append(sm(ubuntu, nil), second)
			}},
		{code: "IP021", at: "addresses", says: []string{"172.16.0.255"}, prepare: drivers,
			config: wants(ubuntu, map[string]any{"addresses": []any{"172.16.0.255/24"}})},
		{code: "IP013", at: "addresses", says: []string{"192.0.2.10/24", "eno1"}, prepare: drivers,
			config: wants(nas, map[string]any{"addresses": []any{"192.0.2.77/24"}})},
	}...)
}

// fresh makes the TrueNAS host one on which no interface was ever stored.
func fresh(w *Lab) {
	drivers(w)
	w.Run(labs.Xeon2zfs, `midclt call interface.delete eno1 && midclt call interface.commit '{"rollback": false}'`)
}

// middlewareFindings are those that only TrueNAS knows.
func middlewareFindings() []findingCase {
	const nas = labs.Xeon2zfs
	return []findingCase{
		{code: "IP008", at: "mtu", says: []string{"9216", "private_mtu = 65520"}, prepare: drivers,
			config: wants(nas, map[string]any{"mtu": 65520})},
		{code: "IP012", says: []string{"ibs4", `adopt_interface = "ibs4"`}, config: wants(nas, nil), prepare: func(w *Lab) {
			drivers(w)
			w.Run(nas, `midclt call interface.update eno1 '{"ipv4_dhcp": true}' && midclt call interface.update ibs4 '{"aliases": [{"type": "INET", "address": "10.9.8.7", "netmask": 24}]}' && midclt call interface.commit '{"rollback": false}'`)
		}},
		{code: "IP014", says: []string{"eno1", `keep_interface = "eno1"`}, prepare: fresh,
			config: wants(nas, nil)},
		{code: "IP015", says: []string{"ibs4d1", "10.9.8.7/24"}, config: wants(nas, nil), prepare: func(w *Lab) {
			fresh(w)
			w.Run(nas, "ip addr add 10.9.8.7/24 dev ibs4d1 && ip link set dev ibs4d1 up")
		}},
		{code: "IP054", at: "dhcp4", says: []string{"is a TrueNAS", "allows DHCP on one interface"},
			config: wants(nas, map[string]any{"addresses": []any{}, "dhcp4": true}), prepare: drivers},
		{code: "IP016", says: []string{"pending changes: true"}, config: wants(nas, nil), prepare: func(w *Lab) {
			drivers(w)
			w.Run(nas, `midclt call interface.update eno1 '{"ipv4_dhcp": true}'`)
		}},
		{code: "IP031", at: "routes", says: []string{"10.20.0.0/16 via 172.16.0.1"}, prepare: drivers,
			config: wants(nas, map[string]any{"routes": []any{map[string]any{"to": "10.20.0.0/16", "via": "172.16.0.1"}}})},
		{code: "IP031", at: "pkey", says: []string{"0x8001"}, prepare: drivers,
			config: wants(nas, map[string]any{"pkey": "0x8001"})},
		{code: "IP017", says: []string{"99-by-hand.rules"}, config: wants(nas, nil), prepare: func(w *Lab) {
			drivers(w)
			w.Machine(nas).FS.Put("/etc/udev/rules.d/99-by-hand.rules", "# mine\n", 0o644)
		}},
	}
}

func smFindings() []findingCase {
	const ubuntu = labs.Intel9
	plain := func(*Lab) Config { return sm(ubuntu, nil) }
	installed := func(w *Lab) {
		drivers(w)
		w.Install(ubuntu, "opensm")
	}
	return []findingCase{
		{code: "SM001", only: "TrueNAS", at: "host", says: []string{"xeon2zfs"}, prepare: drivers,
			config: func(*Lab) Config { return sm(labs.Xeon2zfs, nil) }},
		{code: "PF006", at: "port_guid", says: []string{"It is the node GUID of card 0000:01:00.0", portGUID(ubuntu, 1)},
			prepare: drivers, config: func(*Lab) Config {
				return sm(ubuntu, map[string]any{"port_guid": fmt.Sprintf("0x%016x", NodeGUID(ubuntu))})
			}},
		{code: "PF006", at: "port_guid", says: []string{"0xe41d2d0300ffff01"}, prepare: drivers,
			config: func(*Lab) Config { return sm(ubuntu, map[string]any{"port_guid": "0xe41d2d0300ffff01"}) }},
		{code: "PF007", at: "port_guid", says: []string{"infiniband_link_type"}, config: plain, prepare: ethernet},
		{code: "PF003", only: "a host without opensm", says: []string{"opensm"}, prepare: drivers,
			config: func(*Lab) Config { return sm(ubuntu, map[string]any{"port_guid": Unknown}) }},
		{code: "SM007", says: []string{"PORTS=ALL"}, prepare: installed, config: plain},
		{code: "SM010", says: []string{"opensm@0xe41d2d0300e44ed1"}, prepare: installed, config: plain},
		{code: "SM031", only: "a port without cable", at: "port_guid",
			says: []string{portGUID(ubuntu, 1) + " of intel9 is Down, its physical state is Polling"}, config: plain,
			prepare: func(w *Lab) {
				drivers(w)
				w.Disconnect(labsim.CardEnd(ubuntu, "0000:01:00.0", 1))
			}},
		{code: "SM012", says: []string{"/etc/default/opensm"}, config: plain, prepare: func(w *Lab) {
			drivers(w)
			w.Put(ubuntu, "/etc/default/opensm", "PORTS=(broken\n")
		}},
	}
}
