package adopt_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// byHand sets a host up as a person does: link types by modprobe.d, and the modules.
func byHand(w *acctest.Lab, host, install string) {
	w.Run(host, install+`
		echo 'options mlx4_core port_type_array=1,1' >/etc/modprobe.d/mlx4-ib.conf
		echo ib >/sys/bus/pci/devices/0000:01:00.0/mlx4_port1; echo ib >/sys/bus/pci/devices/0000:01:00.0/mlx4_port2
		modprobe mlx4_ib; modprobe ib_umad; modprobe ib_ipoib`)
}

// Nothing of this lab was made by the provider. What can be imported as it is is adopted;
// what the apply would change is a comment that can be used, and with -take-over it is
// written.
func TestAdopt_handmadeLab(t *testing.T) {
	t.Parallel()
	const netplan = "/etc/netplan/60-infiniband.yaml"
	w := acctest.Start(t, acctest.Options{Hosts: two(), Tolerate: true})
	for _, host := range w.Names() {
		byHand(w, host, "apt-get install -y rdma-core mstflint opensm infiniband-diags; update-initramfs -u")
	}
	w.Run("one", "systemctl enable --now opensm")
	w.Machine("one").FS.Put(netplan, "network:\n  version: 2\n  ethernets:\n    ibp1s0:\n      "+
		"infiniband-mode: connected\n      mtu: 65520\n      addresses: [10.0.2.1/24]\n", 0o600)
	w.Run("one", "echo connected >/sys/class/net/ibp1s0/mode; ip link set dev ibp1s0 mtu 65520; ip link set dev ibp1s0 up; "+
		"ip addr add 10.0.2.1/24 dev ibp1s0")
	// The kernel makes link-local addresses at a time of its own.
	local := regexp.MustCompile(` ?fe80::[0-9a-f:]+/64`)
	look := func() string { return local.ReplaceAllString(w.Print("one")+w.Print("other"), "") }
	before := look()
	o := run(t, w, "one", "other")
	if o.status != command.OK {
		t.Fatalf("ended with %d\n%s", o.status, o.err)
	}
	says(t, o.file(t, "cards.tf"), `resource "infiniband_firmware" "one" { card_id = infiniband_card.one.id flash_psid = `,
		`resource "infiniband_link_type" "other"`, "Held as it is")
	says(t, o.file(t, "fabric.tf"), "# Not adopted: infiniband_opensm one/0xe41d2d0300e44ed1.",
		"Its plan would change what sets it up", "opensm@0xe41d2d0300e44ed1.service of one is active.",
		"/etc/default/opensm of one says PORTS=ALL", `# resource "infiniband_opensm" "one_port1" {`)
	says(t, o.file(t, "network.tf"), "IP042", `# allow = { adopt_files = ["`+netplan+`"] }`,
		`# resource "infiniband_ipoib_interface" "one" {`, `# mode = "connected"`)
	if strings.Contains(o.file(t, "imports.tf"), smResource) {
		t.Error("what is not adopted is imported")
	}
	says(t, o.out, "A plan imports 8 resources and changes nothing.")

	o = run(t, w, "-take-over", "one", "other")
	says(t, o.file(t, "network.tf"), "# Taken over: infiniband_ipoib_interface one/0xe41d2d0300e44ed1.",
		`allow = { adopt_files = ["`+netplan+`"] } depends_on = [infiniband_link_type.one] }`)
	says(t, o.file(t, "imports.tf"), "to = infiniband_ipoib_interface.one", "to = infiniband_opensm.one_port2")
	says(t, o.out, "A plan imports 11 resources and changes 3 of them.", "infiniband_opensm.one_port1",
		"(the apply changes it)")
	says(t, o.file(t, "README.md"), "## Taken over by the apply")
	for _, file := range []string{"README.md", "network.tf"} { // what was missing stands in the block now
		if text := o.file(t, file); strings.Contains(text, "Refusing to") {
			t.Errorf("%s refuses what it takes over:\n%s", file, text)
		}
	}
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Error("a host was changed:", diff)
	}
}

// What is taken over refers to nothing that is not adopted itself: this mstflint does not suit
// the card, so that its GUIDs are not managed.
func TestAdopt_takesOverWithoutTheGUIDs(t *testing.T) {
	t.Parallel()
	hosts := two()[:1]
	hosts[0].MstflintVersion = "4.6.0"
	w := acctest.Start(t, acctest.Options{Hosts: hosts, Tolerate: true})
	byHand(w, "one", "apt-get install -y rdma-core mstflint opensm infiniband-diags")
	w.Run("one", "systemctl enable --now opensm")
	for _, options := range [][]string{{"one"}, {"-take-over", "one"}} {
		o := run(t, w, options...)
		says(t, o.file(t, "cards.tf"), "Not adopted: infiniband_guids one/0000:01:00.0", "FW052")
		says(t, o.file(t, "fabric.tf"), `port_guid = infiniband_card.one.port_guids["1"]`)
	}
}

const smResource = "infiniband_opensm"

// A definition made by hand in each network stack is taken over, or the finding says why
// it is not.
func TestAdopt_handmadeInterfaces(t *testing.T) {
	t.Parallel()
	const up = "echo connected >/sys/class/net/ibp1s0/mode; ip link set dev ibp1s0 mtu 65520; " +
		"ip link set dev ibp1s0 up; ip addr add 10.0.2.1/24 dev ibp1s0"
	for name, c := range map[string]struct {
		os            labsim.OS
		install, file string
		text          string
		want          []string
		dormant       bool // the interface does not show what the file says
	}{
		"ifupdown": {labsim.Debian12, "apt-get install -y rdma-core mstflint; update-initramfs -u",
			"/etc/network/interfaces.d/ib0",
			"auto ibp1s0\niface ibp1s0 inet static\n  address 10.0.2.1/24\n  mtu 65520\n" +
				"  pre-up echo connected > /sys/class/net/ibp1s0/mode\n",
			[]string{"IP042", `adopt_files = ["/etc/network/interfaces.d/ib0"]`}, false},
		"not in effect": {labsim.Debian12, "apt-get install -y rdma-core mstflint; update-initramfs -u",
			"/etc/network/interfaces.d/ib0", "auto ibp1s0\niface ibp1s0 inet static\n  address 10.0.2.1/24\n",
			[]string{"IP042"}, true},
		"a pattern": {labsim.Ubuntu, "apt-get install -y rdma-core mstflint; update-initramfs -u",
			"/etc/netplan/60-all.yaml", "network:\n  version: 2\n  ethernets:\n    all:\n      match: {name: \"ib*\"}\n" +
				"      addresses: [10.0.2.1/24]\n", []string{"IP011", "/etc/netplan/60-all.yaml"}, false},
		"NetworkManager": {labsim.RHEL9, "dnf install -y rdma-core mstflint; dracut -f",
			"/etc/NetworkManager/system-connections/ib.nmconnection",
			"[connection]\nid=ib\nuuid=7a1d5c9e-4a6b-4b7e-9a53-1f0f2a3b4c5d\ntype=infiniband\ninterface-name=ibp1s0\n\n" +
				"[infiniband]\nmtu=65520\ntransport-mode=connected\n\n[ipv4]\nmethod=manual\naddress1=10.0.2.1/24\n\n" +
				"[ipv6]\nmethod=disabled\n",
			[]string{"IP042", `adopt_files = ["/etc/NetworkManager/system-connections/ib.nmconnection"]`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := acctest.Start(t, acctest.Options{Hosts: []labs.Host{labs.Server("one", c.os, "192.0.2.20", 0)},
				Tolerate: true})
			byHand(w, "one", c.install)
			w.Machine("one").FS.Put(c.file, c.text, 0o600)
			args := []string{"one"}
			if c.dormant {
				args = []string{"-take-over", "one"}
			} else {
				w.Run("one", up)
			}
			o := run(t, w, args...)
			if o.status != command.OK {
				t.Fatalf("ended with %d\n%s", o.status, o.err)
			}
			says(t, strings.ReplaceAll(o.file(t, "network.tf"), "#", ""), append(c.want, "Not adopted: infiniband_ipoib_interface")...)
		})
	}
}
