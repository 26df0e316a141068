package acctest

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// handmade is a lab that people set up by hand, as an example does it by the provider: with
// names, files and habits of their own.
type handmade struct {
	hosts  []labs.Host
	byHand func(w *Lab)
	asIs   int                          // resources that are adopted as they are
	taken  int                          // more resources with -take-over, which the apply changes
	files  map[string]map[string]string // that are taken over, by host and path
	tells  []string                     // what README.md says of the rest
	writes []string                     // with -take-over
}

// renamed gives the hosts of a lab other names.
func renamed(hosts []labs.Host, names ...string) []labs.Host {
	for i := range hosts {
		for j := range hosts {
			if hosts[j].Direct == hosts[i].Name {
				hosts[j].Direct = names[i]
			}
		}
	}
	for i := range hosts {
		hosts[i].Name = names[i]
	}
	return hosts
}

// typed is what somebody types to have an interface at once.
func typed(netdev, mode, mtu, address string) string {
	return fmt.Sprintf("echo %[2]s >/sys/class/net/%[1]s/mode; ip link set dev %[1]s mtu %[3]s; ip link set dev %[1]s up; "+
		"ip addr add %[4]s dev %[1]s", netdev, mode, mtu, address)
}

// netplanByHand is a file of somebody.
func netplanByHand(netdev, mode, mtu, address string) string {
	return "# ask Kim\nnetwork:\n  version: 2\n  ethernets:\n    " + netdev + ":\n      infiniband-mode: " + mode +
		"\n      mtu: " + mtu + "\n      addresses:\n        - " + address + "\n"
}

// profileByHand is a keyfile of NetworkManager.
func profileByHand(uuid, netdev, address string) string {
	return "[connection]\nid=fabric\nuuid=" + uuid + "\ntype=infiniband\ninterface-name=" + netdev +
		"\n\n[infiniband]\nmtu=2044\ntransport-mode=datagram\n\n[ipv4]\nmethod=manual\naddress1=" + address +
		"\n\n[ipv6]\nmethod=disabled\n"
}

// Where the files are that people wrote.
const (
	netplanFile  = "/etc/netplan/60-infiniband.yaml"
	networkdFile = "/etc/systemd/network/30-ib.network"
	ifupdownFile = "/etc/network/interfaces.d/ib0"
	profileFile  = "/etc/NetworkManager/system-connections/fabric.nmconnection"
)

// handmades are the labs of the examples as people have them.
func handmades() map[string]handmade {
	profiles := map[string]map[string]string{}
	for i, host := range []string{"dell-r720", "gpu-1", "gpu-2"} {
		profiles[host] = map[string]string{profileFile: profileByHand(
			fmt.Sprintf("7a1d5c9e-4a6b-4b7e-9a53-1f0f2a3b4c5%d", i), "ibp129s0", fmt.Sprintf("10.20.0.%d/24", 11+i))}
	}
	return map[string]handmade{
		// Two cards and a cable, as the file of a forum's answer has it.
		"point-to-point": {
			hosts: []labs.Host{labs.Server("desk", labsim.Ubuntu, "192.0.2.20", 0),
				labs.Server("shed", labsim.Debian12, "192.0.2.21", 1)},
			byHand: pairByHand, asIs: 8, taken: 4,
			files: map[string]map[string]string{
				"desk": {netplanFile: netplanByHand("ibp1s0", "connected", "65520", "10.0.2.1/24")},
				"shed": {ifupdownFile: "auto ibp1s0\niface ibp1s0 inet static\n  address 10.0.2.2/24\n  mtu 65520\n" +
					"  pre-up echo connected > /sys/class/net/ibp1s0/mode\n"},
			},
		},
		"crossflash": {
			hosts: renamed(labs.TwoHosts(), "k8s-1", "vault"), byHand: crossflashByHand, asIs: 8, taken: 4,
			files:  map[string]map[string]string{"k8s-1": {netplanFile: netplanByHand("ibp1s0", "datagram", "2044", "172.16.0.20/24")}},
			writes: []string{`adopt_interface = "ibs4d1"`, `base_guid = "0xe41d2d0300aabb00"`},
		},
		"qlogic": {
			hosts: renamed(labs.QLogic(), "lab-pc", "archbox"), byHand: qlogicByHand, asIs: 2, taken: 3,
			files: map[string]map[string]string{"archbox": {networkdFile: "[Match]\nName=ibp1s0\n\n[Link]\nMTUBytes=65520\n\n" +
				"[Network]\nAddress=10.10.10.2/24\n"}},
			tells: []string{"`infiniband_firmware` `lab-pc/0000:01:00.0`"},
		},
		"gpu": {
			hosts: renamed(labs.GPU(), "dell-r720", "gpu-1", "gpu-2"), byHand: gpuByHand, asIs: 12, taken: 3, files: profiles,
			tells: []string{"Refusing to import a subnet manager that something else starts"},
		},
		"oem": {
			hosts: renamed(labs.OEM(), "left", "right"), byHand: oemByHand, asIs: 8, taken: 4,
			files: map[string]map[string]string{
				"left":  {netplanFile: netplanByHand("ibp4s0", "connected", "65520", "172.16.0.1/24")},
				"right": {netplanFile: netplanByHand("ibp4s0", "connected", "65520", "172.16.0.2/24")},
			},
			writes: []string{"priority = 10", "log_max_size = 20", `"0x8001"`, `limited = ["ALL"]`},
		},
	}
}

func pairByHand(w *Lab) {
	for i, host := range w.Names() {
		w.Run(host, `apt-get install -y rdma-core mstflint opensm infiniband-diags
			echo 'options mlx4_core port_type_array=1,1' >/etc/modprobe.d/mlx4-ib.conf; update-initramfs -u
			for n in 1 2; do echo ib >/sys/bus/pci/devices/0000:01:00.0/mlx4_port$n; done
			for m in mlx4_ib ib_umad ib_ipoib; do modprobe $m; done
			`+typed("ibp1s0", "connected", "65520", fmt.Sprintf("10.0.2.%d/24", i+1)))
	}
	w.Run("desk", "systemctl enable --now opensm")
}

// crossflashByHand burns both cards, makes GUIDs up, and stores the types of the ports
// where each system has a place for them.
func crossflashByHand(w *Lab) {
	w.Run("k8s-1", "apt-get install -y rdma-core mstflint infiniband-diags")
	for host, c := range map[string]struct{ pci, guid string }{"k8s-1": {"0000:01:00.0", "0xe41d2d0300aabb00"},
		"vault": {"0000:04:00.0", "0xe41d2d0300aabb10"}} {
		w.Machine(host).FS.Put("/root/vpi.bin", string(card.VPI()), 0o600)
		w.Run(host, "cd /root && mstflint -d "+c.pci+" ri fw_backup_20260502.bin && mstflint -y -d "+c.pci+
			" -i vpi.bin --allow_psid_change burn && mstflint -y -d "+c.pci+" -guid "+c.guid+" sg")
	}
	w.Run("k8s-1", "echo 'options mlx4_core port_type_array=1,1' >/etc/modprobe.d/mlx4-ib.conf; update-initramfs -u; "+
		"printf 'mlx4_ib\\nib_ipoib\\nib_umad\\n' >>/etc/modules")
	w.Run("vault", `midclt call system.advanced.update '{"kernel_extra_options": "mlx4_core.port_type_array=1,1"}' && `+
		`midclt call initshutdownscript.create '{"type": "COMMAND", "when": "PREINIT", "command": "modprobe mlx4_ib; `+
		`modprobe ib_ipoib"}'`)
	for _, host := range w.Names() {
		w.Reboot(host)
	}
	w.Run("k8s-1", "apt-get install -y opensm; systemctl enable --now opensm; "+
		typed("ibp1s0", "datagram", "2044", "172.16.0.20/24"))
	w.Run("vault", `midclt call interface.update eno1 '{"ipv4_dhcp": true}' && midclt call interface.update ibs4d1 `+
		`'{"aliases": [{"type": "INET", "address": "172.16.0.10", "netmask": 24}], "mtu": 2044}' && `+
		`midclt call interface.commit '{"rollback": false}'`)
}

// qlogicByHand has an address that somebody types again after each restart.
func qlogicByHand(w *Lab) {
	w.Run("lab-pc", "apt-get install -y opensm infiniband-diags; printf 'ib_qib\\nib_ipoib\\nib_umad\\n' >>/etc/modules; "+
		"for m in ib_qib ib_ipoib ib_umad; do modprobe $m; done; systemctl restart opensm; "+
		typed("ibp1s0", "connected", "65520", "10.10.10.1/24"))
	w.Run("archbox", "for m in ib_qib ib_ipoib; do modprobe $m; done; printf 'ib_qib\\nib_ipoib\\n' >/etc/modules-load.d/ib.conf; "+
		typed("ibp1s0", "connected", "65520", "10.10.10.2/24"))
}

// gpuByHand has profiles of NetworkManager, and the subnet manager of the distribution.
func gpuByHand(w *Lab) {
	w.Run("gpu-1", "modprobe ib_umad; dnf install -y opensm; echo PRIORITY=15 >>/etc/sysconfig/opensm; systemctl enable --now opensm")
	for _, host := range w.Names() {
		w.Run(host, "dnf install -y rdma-core mstflint infiniband-diags; modprobe ib_ipoib; modprobe ib_umad")
	}
}

// oemByHand has a subnet manager with options and partitions of the rack.
func oemByHand(w *Lab) {
	w.Machine("left").FS.Put("/etc/opensm/opensm.conf", "# rack 4\nsm_priority 10\nlog_max_size 20\n", 0o644)
	w.Machine("left").FS.Put("/etc/opensm/partitions.conf", "Default=0x7fff, ipoib, mtu=4 : ALL=full ; # all of us\n"+
		"storage=0x8001, ipoib : ALL=limited, SELF=full ;\n", 0o644)
	for i, host := range w.Names() {
		w.Run(host, "apt-get install -y mstflint infiniband-diags; printf 'ib_ipoib\\nib_umad\\nmlx4_ib\\n' >>/etc/modules; "+
			"echo options mlx4_core port_type_array=1,1 >/etc/modprobe.d/local.conf; update-initramfs -u")
		w.Reboot(host)
		w.Run(host, typed("ibp4s0", "connected", "65520", fmt.Sprintf("172.16.0.%d/24", 1+i)))
	}
	w.Run("left", "apt-get install -y opensm; systemctl enable --now opensm")
}

// start makes the lab and has everything done in it that people did.
func (h handmade) start(t *testing.T) *Lab {
	t.Helper()
	w := Start(t, Options{Hosts: h.hosts})
	h.byHand(w)
	for host, files := range h.files {
		for file, text := range files {
			w.Machine(host).FS.Put(file, text, 0o600)
			if file == profileFile {
				w.activates(host, file)
			}
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); !h.quiet(w); time.Sleep(pace) {
		if time.Now().After(deadline) {
			t.Fatalf("an interface has no carrier:\n%s", h.wires(w))
		}
	}
	return w
}

// quiet reports whether the kernel has given every interface that is up the address that it
// makes of its own when a subnet manager has served the port. NetworkManager makes none here.
func (h handmade) quiet(w *Lab) bool {
	for _, host := range w.Names() {
		if _, byProfile := h.files[host][profileFile]; byProfile {
			continue
		}
		for _, d := range w.Machine(host).Netdevs() {
			if d.Type == labsim.TypeInfiniBand && d.Up && !slices.ContainsFunc(d.Addrs,
				func(a netip.Prefix) bool { return a.Addr().IsLinkLocalUnicast() }) {
				return false
			}
		}
	}
	return true
}

// activates brings a profile up; NetworkManager refuses until a subnet manager has served
// the port.
func (w *Lab) activates(host, file string) {
	w.t.Helper()
	w.Run(host, "nmcli connection load "+file+"; ip link set dev ibp129s0 up")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(pace) {
		out, status := w.Try(host, "nmcli connection up id fabric ifname ibp129s0")
		if status == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the profile of %s does not come up: %s", host, out)
		}
	}
}

// local are addresses that the kernel makes at a time of its own.
var local = regexp.MustCompile(` ?fe80::[0-9a-f:]+/64`)

// Labs that people made by hand are adopted by one command: the plan imports what is there
// as it is and changes nothing, and a host is after the apply what it was to the byte. With
// -take-over the rest is adopted, too: nothing changes on a card or a wire, and every file
// of somebody is kept.
func TestAdopt_labs_made_by_hand(t *testing.T) {
	t.Parallel()
	built := buildProvider(t)
	for name, h := range handmades() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := h.start(t)
			before := local.ReplaceAllString(w.prints(), "")
			o := newFolder(t, built)
			o.adopts(w)
			o.imports(h.asIs, 0)
			for _, part := range h.tells {
				if readme := o.text("README.md"); !strings.Contains(readme, part) {
					t.Errorf("README.md has no %q:\n%s", part, readme)
				}
			}
			if diff := cmp.Diff(before, local.ReplaceAllString(w.prints(), "")); diff != "" {
				t.Error("a host is not what it was:", diff)
			}

			wires := h.wires(w)
			o = newFolder(t, built)
			o.adopts(w, "-take-over")
			o.imports(h.asIs+h.taken, h.taken)
			o.holds(h.writes...)
			if diff := cmp.Diff(wires, h.wires(w)); diff != "" {
				t.Error("a card or a wire was touched:", diff)
			}
			h.keeps(t, w)
		})
	}
}

// imports plans what the command wrote, applies it, and has nothing left to do.
func (o *operator) imports(objects, changed int) {
	o.t.Helper()
	want := fmt.Sprintf("%d to import, 0 to add, %d to change, 0 to destroy", objects, changed)
	if text := o.says(0, "plan"); !strings.Contains(text, want) {
		o.t.Errorf("the plan is not %s:\n%s\n%s", want, text, o.text("*.tf"))
	}
	o.says(0, "validate")
	o.says(0, "fmt", "-check", "-diff")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
}

// wires is what may not change whatever is taken over: cards, ports, interfaces and how
// often these were touched, and the fabric's subnet managers.
func (h handmade) wires(w *Lab) string {
	var b strings.Builder
	for _, host := range w.Names() {
		m := w.Machine(host)
		for _, c := range m.Cards() {
			fmt.Fprintf(&b, "%s %s: %d flash operations, %v\n", host, c.Config.BDF, c.Flash.Operations(), c.Running())
			for _, p := range c.Ports {
				v := p.View()
				fmt.Fprintf(&b, "port %d %v %v %v\n", p.Number, v.GUID, v.LinkType, v.PhysState)
			}
		}
		for _, d := range m.Netdevs() {
			fmt.Fprintf(&b, "%s up %t mtu %d %s %v, %d changes\n", d.Name, d.Up, d.MTU, d.Mode, d.Addrs, d.Changes)
		}
	}
	return local.ReplaceAllString(b.String(), "")
}

// keeps looks for the files of people: each is beside its place, to the byte.
func (h handmade) keeps(t *testing.T, w *Lab) {
	t.Helper()
	for host, files := range h.files {
		for file, text := range files {
			dir, name := filepath.Split(file)
			kept := w.Run(host, "cat "+dir+"."+name+".before-infiniband-*")
			if kept != text || w.Machine(host).FS.Exists(file) {
				t.Errorf("%s of %s is not kept: %s", file, host, kept)
			}
		}
	}
}
