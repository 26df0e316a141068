package acctest

import (
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What is said of a resource that is not adopted, or that is taken over, is the reason of it.
// What is written can be applied.
func TestAdopt_says_why(t *testing.T) {
	t.Parallel()
	const guid, plan = "0xe41d2d0300e44ed1", "network:\n  version: 2\n  ethernets:\n"
	built := buildProvider(t)
	managed := func(w *Lab, more ...Resource) {
		address := ipoib("desk", map[string]any{"port_guid": guid, "mode": "datagram", "mtu": 2044,
			"addresses": []any{"10.0.2.1/24"}})[0]
		address.After = []string{"infiniband_opensm.it"}
		o := newOperator(t, w, append(sm("desk", map[string]any{"port_guid": guid, "priority": 3}), append(more, address)...), built)
		o.says(0, "apply", "-auto-approve")
	}
	whole := func(w *Lab) {
		managed(w, Resource{Type: "infiniband_port", Name: "it", After: []string{"infiniband_opensm.it"},
			Attrs: map[string]any{"card_id": "desk/0000:01:00.0", "port": 1}},
			Resource{Type: "infiniband_ipoib_interface", Name: "key", After: []string{"infiniband_ipoib_interface.it"},
				Attrs: map[string]any{"host": "desk", "port_guid": guid, "pkey": "0x8001", "addresses": []any{"10.0.3.1/24"}}})
	}
	for name, c := range map[string]struct {
		os   labsim.OS
		do   func(w *Lab)
		says []string // in the files
		not  string
	}{
		// The consents that IP042 asks for do not help: the plan with them is refused for the subnet.
		"refused also with consents": {labsim.Ubuntu, func(w *Lab) {
			w.Machine("desk").FS.Put(netplanFile, plan+"    ibp1s0:\n      addresses: [10.0.2.1/24]\n", 0o600)
			w.Machine("desk").FS.Put("/etc/netplan/61-other.yaml", plan+"    ibp1s0d1:\n      addresses: [10.0.2.2/24]\n", 0o600)
			w.Run("desk", typed("ibp1s0", "datagram", "2044", "10.0.2.1/24")+"; "+
				typed("ibp1s0d1", "datagram", "2044", "10.0.2.2/24"))
		}, []string{"Not adopted: infiniband_ipoib_interface desk/0xe41d2d0300e44ed1. Refusing", "IP013"}, "IP042"},
		// The kernel has given the interface an address of its own, and nobody another one.
		"a definition that is not in effect": {labsim.Ubuntu, func(w *Lab) {
			w.Machine("desk").FS.Put(netplanFile, plan+"    ibp1s0:\n      addresses: [10.0.2.1/24]\n", 0o600)
			w.Manage("desk", 1)
			w.Run("desk", "ip link set dev ibp1s0 up")
			w.succeeds("desk", "ip addr show dev ibp1s0 | grep -q fe80")
		}, []string{"Not adopted: infiniband_ipoib_interface desk/0xe41d2d0300e44ed1.", "IP042"}, ""},
		"ours, and somebody has stopped it": {labsim.Ubuntu, func(w *Lab) {
			managed(w)
			w.Run("desk", "systemctl stop opensm@"+guid+"; ip addr add 10.0.7.1/24 dev ibp1s0")
		}, []string{"Taken over: infiniband_opensm desk/0xe41d2d0300e44ed1.",
			"Taken over: infiniband_ipoib_interface desk/0xe41d2d0300e44ed1.", "This provider set it up, and somebody has changed it"},
			"Somebody else set it up"},
		"ours, with keys": {labsim.Ubuntu, func(w *Lab) {
			it := sm("desk", withKeys(1, nil))[0].With(map[string]any{"port_guid": guid})
			o := newOperator(t, w, Config{it}, built)
			o.says(0, "apply", "-auto-approve")
		}, []string{"infiniband_opensm desk/0xe41d2d0300e44ed1", "Not adopted", "SM022"},
			"a1b2c3d4e5"},
		"ours, and NetworkManager does not activate it": {labsim.RHEL9, func(w *Lab) {
			managed(w)
			w.Disconnect(labsim.CardEnd("desk", "0000:01:00.0", 1))
			w.Reboot("desk")
		}, []string{"NetworkManager does not activate it now, so an apply would fail (IP045)"}, ""},
		// The kernel has no interface for it, and opensm no port.
		"ours, and the port is Ethernet now": {labsim.Ubuntu, func(w *Lab) {
			whole(w)
			w.Run("desk", "for p in 2 1; do echo eth >/sys/bus/pci/devices/0000:01:00.0/mlx4_port$p; done")
		}, []string{"Not adopted: infiniband_opensm desk/0xe41d2d0300e44ed1. Refusing to use an Ethernet port as " +
			"InfiniBand", "PF007", "Not adopted: infiniband_ipoib_interface desk/0xe41d2d0300e44ed1",
			"desk/0xe41d2d0300e44ed1/0x8001", "Not adopted: infiniband_port desk/0000:01:00.0/1.",
			"PF007"}, ""},
		"ours, and no driver is loaded": {labsim.Ubuntu, func(w *Lab) {
			whole(w)
			w.Run("desk", "modprobe -r ib_ipoib; modprobe -r mlx4_ib")
		}, []string{"to = infiniband_opensm.desk", "infiniband_ipoib_interface desk/0xe41d2d0300e44ed1",
			"desk/0xe41d2d0300e44ed1/0x8001", "infiniband_port desk/0000:01:00.0/1"}, ""},
		"ours, and its unit is disabled": {labsim.Ubuntu, func(w *Lab) {
			whole(w)
			w.Run("desk", "systemctl disable infiniband-port-0000:01:00.0-1.service; ip link del ibp1s0.8001")
		}, []string{"Taken over: infiniband_port desk/0000:01:00.0/1.", "infiniband_ipoib_interface desk/0xe41d2d0300e44ed1/0x8001"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: []labs.Host{labs.Server("desk", c.os, "192.0.2.20", 0)}, Tolerate: true})
			w.Run("desk", `apt-get install -y rdma-core mstflint infiniband-diags || dnf install -y rdma-core mstflint infiniband-diags
				printf 'mlx4_ib\nib_umad\nib_ipoib\n' >/etc/modules-load.d/ib.conf
				echo 'options mlx4_core port_type_array=1,1' >/etc/modprobe.d/mlx4-ib.conf; update-initramfs -u || dracut -f`)
			w.Reboot("desk")
			c.do(w)
			o := newFolder(t, built)
			o.adopts(w, "-take-over")
			text := strings.Join(strings.Fields(strings.ReplaceAll(o.text("*.tf"), "\n#", " ")), " ")
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("no %q in\n%s", part, o.text("*.tf"))
				}
			}
			if c.not != "" && strings.Contains(text, c.not) {
				t.Errorf("%q is in\n%s", c.not, o.text("*.tf"))
			}
			o.plansAndApplies("0 to add")
		})
	}
}

// succeeds waits until a command of a host succeeds.
func (w *Lab) succeeds(host, command string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(pace) {
		out, status := w.Try(host, command)
		if status == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %s does not succeed: %s", host, command, out)
		}
	}
}
