package acctest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Ports without a cable, of two cards and of a list of ports: what -take-over writes can be
// applied. The subnet managers of these ports stay comments, with the reason and with what
// becomes of them. Each is adopted when its cable is back.
func TestAdopt_ports_without_link(t *testing.T) {
	t.Parallel()
	w := unplugged(t)
	built := buildProvider(t)
	o := newFolder(t, built)
	said := o.adopts(w, "-take-over")
	for _, port := range []string{"desk/0xe41d2d0300e44ed2", "desk/0xe41d2d0300e44f41", "shed/0xe41d2d0300e44ee2"} {
		if !strings.Contains(said, "Not adopted: infiniband_opensm "+port+"\n  Its port has no link, so an apply would fail (SM031)\n") {
			t.Errorf("nothing on %s in\n%s", port, said)
		}
	}
	comments := strings.Join(strings.Fields(strings.ReplaceAll(o.text("fabric.tf"), "\n#", " ")), " ")
	for _, part := range []string{
		"is Down, its physical state is Polling.",
		"desk says PORTS=ALL, so opensm@0xe41d2d0300e44ed2.service runs.", "opensm@0xe41d2d0300e44ed2.service goes on until opensm.service or the host restarts",
		"shed lists this port. It stays in the list, and opensm@0xe41d2d0300e44ee2.service stays as it is",
		"When the port has a link, this adopts it", `resource "infiniband_opensm" "desk_01_00_0_port2" {`,
	} {
		if !strings.Contains(comments, part) {
			t.Errorf("no %q in\n%s", part, o.text("fabric.tf"))
		}
	}
	// Four of each card, an interface on a port with and one on a port without link.
	o.imports(3*4+2+3, 2+3)
	if ports := w.Run("desk", "grep PORTS /etc/default/opensm"); !strings.Contains(ports,
		`PORTS="0xe41d2d0300e44ed1 0xe41d2d0300e44f42"`) {
		t.Error(ports)
	}

	if err := w.Connect(labsim.CardEnd("desk", "0000:01:00.0", 2), labsim.SwitchEnd("switch", 30)); err != nil {
		t.Fatal(err)
	}
	if err := w.Connect(labsim.CardEnd("shed", "0000:01:00.0", 2), labsim.SwitchEnd("switch", 31)); err != nil {
		t.Fatal(err)
	}
	w.waitActive("desk", 2)
	w.waitActive("shed", 2)
	o = newFolder(t, built)
	o.adopts(w, "-take-over")
	o.imports(3*4+2+3+2, 2)

	// The third has lost its place in the list, as was said.
	w.Reboot("desk")
	if out, _ := w.Try("desk", "systemctl is-active opensm@0xe41d2d0300e44f41.service"); strings.TrimSpace(out) == "active" {
		t.Error("an instance that is not in the list was started at boot")
	}
}

// Interfaces on ports without a cable: one that networkd has without a carrier is taken over, with
// an MTU that it keeps when the cable comes. NetworkManager activates none without a carrier, so
// that its profile is left alone until then.
func TestAdopt_interfaces_without_carrier(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: []labs.Host{labs.Server("desk", labsim.Ubuntu, "192.0.2.20", 0),
		labs.Server("rack", labsim.RHEL9, "192.0.2.21", 1)}, Tolerate: true})
	for i, host := range w.Names() {
		w.Run(host, `apt-get install -y rdma-core mstflint infiniband-diags || dnf install -y rdma-core mstflint infiniband-diags
			printf 'mlx4_ib\nib_umad\nib_ipoib\n' >/etc/modules-load.d/ib.conf
			echo 'options mlx4_core port_type_array=1,1' >/etc/modprobe.d/mlx4-ib.conf; update-initramfs -u || dracut -f`)
		w.Reboot(host)
		w.Disconnect(labsim.CardEnd(host, "0000:01:00.0", 1))
		w.Run(host, fmt.Sprintf("ip link set dev ibp1s0 up; ip addr add 10.0.2.%d/24 dev ibp1s0", i+1))
	}
	w.Machine("desk").FS.Put(netplanFile, "network:\n  version: 2\n  ethernets:\n    ibp1s0:\n      addresses: [10.0.2.1/24]\n",
		0o600)
	w.Machine("rack").FS.Put(profileFile, profileByHand("7a1d5c9e-4a6b-4b7e-9a53-1f0f2a3b4c50", "ibp1s0", "10.0.2.2/24"), 0o600)
	w.Run("rack", "nmcli connection reload")
	built := buildProvider(t)
	o := newFolder(t, built)
	said := o.adopts(w, "-take-over")
	if !strings.Contains(said, "Not adopted: infiniband_ipoib_interface rack/0xe41d2d0300e44ee1\n  NetworkManager does not activate it now") {
		t.Error(said)
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(o.text("network.tf"), "\n#", " ")), " ")
	for _, part := range []string{"mtu = 2044", "state Down, physical state Polling", "When a subnet manager serves the port, this adopts it",
		"Until then the interface and its definition stay as they are."} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, o.text("network.tf"))
		}
	}
	o.plansAndApplies("1 to change")

	for i, host := range w.Names() {
		if err := w.Connect(labsim.CardEnd(host, "0000:01:00.0", 1), labsim.SwitchEnd("switch", 30+i)); err != nil {
			t.Fatal(err)
		}
		w.Manage(host, 1)
	}
	w.waitActive("desk", 1)
	w.waitActive("rack", 1)
	o.says(0, "plan", "-detailed-exitcode") // nothing to do when the cable is back
	o = newFolder(t, built)
	o.adopts(w, "-take-over")
	o.plansAndApplies("1 to change")
}

// plansAndApplies plans what the command wrote, applies it, and has nothing left to do.
func (o *operator) plansAndApplies(plan string) {
	o.t.Helper()
	if text := o.says(0, "plan"); !strings.Contains(text, plan) {
		o.t.Errorf("the plan is not %s:\n%s\n%s", plan, text, o.text("*.tf"))
	}
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
}

// unplugged are two hosts on which people have a subnet manager on every port, and a cable in
// half of the ports: desk with PORTS=ALL and two cards, shed with a list.
func unplugged(t *testing.T) *Lab {
	t.Helper()
	hosts := []labs.Host{labs.Server("desk", labsim.Ubuntu, "192.0.2.20", 0),
		labs.Server("shed", labsim.Debian12, "192.0.2.21", 1)}
	second := labs.Twin(hosts[0].Cards[0], 7)
	second.BDF = "0000:02:00.0"
	hosts[0].Cards = append(hosts[0].Cards, second)
	w := Start(t, Options{Hosts: hosts})
	for _, host := range w.Names() {
		w.Run(host, `apt-get install -y rdma-core mstflint opensm infiniband-diags
			printf 'mlx4_ib\nib_umad\nib_ipoib\n' >>/etc/modules
			echo 'options mlx4_core port_type_array=1,1' >/etc/modprobe.d/mlx4-ib.conf; update-initramfs -u`)
		w.Reboot(host)
	}
	for _, end := range []labsim.End{labsim.CardEnd("desk", "0000:01:00.0", 2), labsim.CardEnd("desk", "0000:02:00.0", 1),
		labsim.CardEnd("shed", "0000:01:00.0", 2)} {
		w.Disconnect(end)
	}
	w.Machine("shed").FS.Put("/etc/default/opensm", "PORTS=\"0xe41d2d0300e44ee1 0xe41d2d0300e44ee2\"\n", 0o644)
	for _, host := range w.Names() {
		w.Run(host, "systemctl enable opensm; systemctl restart opensm")
	}
	w.Machine("desk").FS.Put(netplanFile, netplanByHand("ibp1s0", "connected", "65520", "10.0.2.1/24"), 0o600)
	w.Machine("desk").FS.Put("/etc/netplan/61-other.yaml", netplanByHand("ibp1s0d1", "datagram", "2044", "10.0.3.1/24"), 0o600)
	w.Run("desk", typed("ibp1s0", "connected", "65520", "10.0.2.1/24")+"; "+
		typed("ibp1s0d1", "datagram", "2044", "10.0.3.1/24"))
	w.waitActive("desk", 1)
	w.waitActive("shed", 1)
	return w
}

// waitActive waits until a subnet manager has served a port of the host's first card.
func (w *Lab) waitActive(host string, port int) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); w.Card(host).Ports[port-1].View().State != labsim.StateActive; time.Sleep(pace) {
		if time.Now().After(deadline) {
			w.t.Fatalf("port %d of %s is not served", port, host)
		}
	}
}
