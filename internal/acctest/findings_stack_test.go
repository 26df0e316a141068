package acctest

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// withStack is the lab after the cross-flash with another network stack on the
// first host.
func withStack(stack labsim.Stack) func() []labs.Host {
	return func() []labs.Host { return vpi(func(h *labs.Host) { h.Stack = stack }) }
}

// stackFindings are about what configures the network of a host.
func stackFindings() []findingCase {
	const host = labs.Intel9
	const undo = "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44ed1/"
	plain := wants(host, nil)
	put := func(path, content string) func(*Lab) {
		return func(w *Lab) {
			drivers(w)
			w.Machine(host).FS.Put(path, content, 0o644)
		}
	}
	route := func(to, via string) map[string]any {
		return map[string]any{"routes": []any{map[string]any{"to": to, "via": via}}}
	}
	return []findingCase{
		{code: "IP023", says: []string{"neither netplan nor NetworkManager"}, config: plain,
			hosts: withStack(labsim.StackIfupdown), prepare: func(w *Lab) {
				drivers(w)
				w.Machine(host).FS.Drop("/etc/network/interfaces")
			}},
		{code: "HO035", says: []string{ownFile[labsim.StackNetplan] + " of intel9 is a directory"}, config: plain,
			prepare: func(w *Lab) {
				drivers(w)
				w.Run(host, "mkdir "+ownFile[labsim.StackNetplan])
			}},
		{code: "IP024", says: []string{"ibp1s0 of intel9 is configured by ifupdown", "netplan with systemd-networkd"},
			config:  plain,
			prepare: put("/run/network/ifstate", "lo=lo\nibp1s0=ibp1s0\n")},
		{code: "IP025", says: []string{"/etc/network/interfaces",
			"no line that reads /etc/network/interfaces.d/infiniband-e41d2d0300e44ed1", "source /etc/network/interfaces.d/*"},
			hosts: withStack(labsim.StackIfupdown), config: plain, prepare: put("/etc/network/interfaces",
				"auto lo\niface lo inet loopback\n")},
		{code: "IP053", says: []string{"/etc/network/interfaces.d/infiniband-e41d2d0300e40001 of intel9 is not valid: line 3"},
			hosts: withStack(labsim.StackIfupdown), config: plain, prepare: put(
				"/etc/network/interfaces.d/infiniband-e41d2d0300e40001", platform.OwnedHeader("infiniband_ipoib_interface")+"address 10.0.0.1\n")},
		{code: "IP025", says: []string{"NetworkManager of intel9 does not manage ibp1s0: unmanaged-devices of " +
			"/etc/NetworkManager/conf.d/lab.conf is interface-name:ib*", "or add ;except:interface-name:ibp1s0"},
			hosts: withStack(labsim.StackNetworkManager), config: plain, prepare: func(w *Lab) {
				w.Machine(host).FS.Put("/etc/NetworkManager/conf.d/lab.conf", "[keyfile]\nunmanaged-devices=interface-name:ib*\n", 0o644)
				drivers(w)
			}},
		{code: "IP027", says: []string{"it was undone at boot"}, config: plain, prepare: func(w *Lab) {
			drivers(w)
			w.Machine(host).FS.Put(undo+"undo.sh", "", 0o600)
			w.Machine(host).FS.Put(undo+"undone", "at boot\n", 0o600)
		}},
		{code: "IP047", says: []string{"was confirmed and holds", undo[:len(undo)-1] + " is still there"},
			config: plain, prepare: func(w *Lab) {
				drivers(w)
				w.Machine(host).FS.Put(undo+"undo.sh", "", 0o600)
				w.Machine(host).FS.PutDir(undo+"decided", 0o700, 0, 0)
			}},
		{code: "IP049", at: "pkey", says: []string{"ibp1s0.8001 of intel9 is up and has no carrier", "ipoib = true"},
			config: wants(host, map[string]any{"pkey": "0x8001"}), prepare: func(w *Lab) {
				drivers(w)
				w.AddSM(&labsim.SM{Port: w.Machine(host).Cards()[0].Ports[0], Priority: 1})
				w.Run(host, "ip link add link ibp1s0 name ibp1s0.8001 type ipoib pkey 0x8001; ip link set ibp1s0.8001 up")
			}},
		{code: "HO035", says: []string{"60-infiniband-e41d2d0300e44ed1.yaml is not valid", "away. Then plan again"}, config: plain,
			prepare: put("/etc/netplan/60-infiniband-e41d2d0300e44ed1.yaml", "network: [\n")},
		{code: "IP029", at: "routes", says: []string{"10.20.0.0/16 via 172.17.0.1", "172.16.0.0/24"}, prepare: drivers,
			config: wants(host, route("10.20.0.0/16", "172.17.0.1"))},
		{code: "IP030", at: "routes", says: []string{"0.0.0.0/0 via 172.16.0.1", "eno1"}, prepare: drivers,
			config: wants(host, route("0.0.0.0/0", "172.16.0.1"))},
		{code: "IP035", says: []string{"/etc/netplan/60-by-hand.yaml has it in br0 of bridges", "active-backup"},
			config: plain,
			prepare: put("/etc/netplan/60-by-hand.yaml",
				"network:\n  version: 2\n  bridges:\n    br0:\n      interfaces: [ibp1s0]\n")},
		{code: "IP055", at: "bond", says: []string{"is configured through ifupdown", "a subnet of its own"}, prepare: drivers,
			hosts: withStack(labsim.StackIfupdown), config: wants(host, map[string]any{"bond": map[string]any{
				"name": "ibbond0", "backup_port_guid": portGUID(host, 2)}})},
		{code: "IP036", says: []string{"ifupdown2 2.0.1-1+pve8", "Length of MACAddress attribute not supported: 24"},
			hosts: withStack(labsim.StackIfupdown), config: plain, prepare: func(w *Lab) {
				drivers(w)
				w.Machine(host).Install("/usr/sbin/ifreload",
					func(_ context.Context, p *labsim.Proc) int { return p.Unknown("ifreload") })
				packages.SetVersion(w.Machine(host), "ifupdown2", "2.0.1-1+pve8")
			}},
		{code: "IP037", says: []string{"ibp1s0 of intel9 has mode connected, MTU 65520 and 172.16.0.20/24"}, config: plain,
			prepare: func(w *Lab) {
				drivers(w)
				w.Run(host, "echo connected > /sys/class/net/ibp1s0/mode; ip link set dev ibp1s0 mtu 65520 up; ip addr add 172.16.0.20/24 dev ibp1s0")
			}},
		{code: "IP033", at: "pkey", says: []string{"ib_of_the_port.8001", "19 characters, 4 more than 15"},
			config: wants(host, map[string]any{"pkey": "0x8001"}), prepare: func(w *Lab) {
				drivers(w)
				w.Machine(host).RenameNetdev("ibp1s0", "ib_of_the_port")
			}},
	}
}
