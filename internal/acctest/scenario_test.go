package acctest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The main job through the real engine, from two cards as bought to two hosts
// that reach each other over IPoIB, with what happens to such a lab later.
func TestScenario_cross_flash(t *testing.T) {
	t.Parallel()
	Engine(t)
	w := Start(t, Options{})
	cfg := w.BothHosts()
	hcl := HCL(w.Provider(), cfg)
	refused := cfg.With("infiniband_firmware.intel9", Allow("psid_change", nil))
	before := w.Print(labs.Intel9) + w.Print(labs.Xeon2zfs)
	RunSteps(t, []Step{
		{
			Config:   HCL(w.Provider(), refused),
			PlanOnly: true,
			Refused: regexp.MustCompile(`(?s)Refusing to burn.*FW023.*psid_change\s+=\s+{\s+from\s+=\s+"` +
				card.PSIDEN),
		},
		{
			Before: func() {
				if after := w.Print(labs.Intel9) + w.Print(labs.Xeon2zfs); after != before {
					t.Error("a refused plan changed the hosts")
				}
			},
			Config: hcl, State: crossFlashed(), Check: func(EngineState) error { return w.works() },
		},
		{Config: hcl, Empty: true},
		{
			Before: func() { w.drift() },
			Config: hcl,
			Actions: map[string]string{
				"infiniband_link_type.intel9": "update", "infiniband_opensm.intel9": "update",
				"infiniband_ipoib_interface.xeon2zfs": "update", "infiniband_firmware.intel9": "no-op",
				"infiniband_guids.intel9": "no-op", "infiniband_link_type.xeon2zfs": "no-op",
			},
			Check: func(EngineState) error { return w.works() },
		},
		{Config: hcl, Empty: true},
	}, w.leftAsItIs)
	for _, host := range []string{labs.Intel9, labs.Xeon2zfs} {
		if images, guids := burns(w, host); images != 1 || guids != 1 {
			t.Errorf("%s: %d firmware burns and %d GUID changes, expected one of each", host, images, guids)
		}
		backupHolds(t, w, host, card.PSIDEN)
	}
}

func crossFlashed() []Value {
	at := func(address string, want any, path ...string) Value { return Value{address, path, want} }
	return []Value{
		at("infiniband_firmware.intel9", card.PSIDVPI, "flash_psid"),
		at("infiniband_firmware.intel9", card.PSIDVPI, "running_psid"),
		at("infiniband_firmware.xeon2zfs", "2.42.5000", "running_version"),
		at("infiniband_firmware.xeon2zfs", false, "reboot_required"),
		at("infiniband_firmware.intel9", Some{}, "backup_path"),
		at("infiniband_guids.intel9", "0xe41d2d0300e44ed0", "node_guid"),
		at("infiniband_guids.intel9", "0xe41d2d0300e44ed0", "effective", "node_guid"),
		at("infiniband_guids.xeon2zfs", "0xe41d2d0300e44ee2", "port_guids", "2"),
		at("infiniband_link_type.intel9", "modprobe.d", "stored_in"),
		at("infiniband_link_type.xeon2zfs", "ib", "effective", "2"),
		at("infiniband_opensm.intel9", "Active", "port_state"),
		at("infiniband_ipoib_interface.intel9", 65520, "mtu"),
		at("infiniband_ipoib_interface.intel9", true, "carrier"),
		at("infiniband_ipoib_interface.xeon2zfs", "ibs4d1", "interface"),
	}
}

// works asks the lab itself whether the main job is done.
func (w *Lab) works() error {
	for _, host := range []string{labs.Intel9, labs.Xeon2zfs} {
		node := NodeGUID(host)
		flash, running := w.Flash(host), w.Card(host).Running()
		if flash.PSID != card.PSIDVPI || running.PSID != card.PSIDVPI || running.GUIDs[0] != node ||
			running.Version != [3]uint16{2, 42, 5000} {
			return fmt.Errorf("%s: in flash %s, running %s %v with node GUID %x", host, flash.PSID, running.PSID,
				running.Version, running.GUIDs[0])
		}
		for _, p := range w.Card(host).Ports {
			v := p.View()
			if v.LinkType != labsim.LinkIB || v.State != labsim.StateActive || v.PhysState != labsim.PhysLinkUp || v.LID == 0 ||
				v.SMLID == 0 {
				return fmt.Errorf("%s port %d: %+v", host, p.Number, v)
			}
		}
	}
	for _, look := range []struct{ host, command, want string }{
		{labs.Intel9, "ip addr show dev ibp1s0", "inet 172.16.0.20/24"},
		{labs.Intel9, "ip link show dev ibp1s0", "mtu 65520"},
		{labs.Intel9, "ping -c 3 172.16.0.10", " 0% packet loss"},
		{labs.Intel9, "sminfo", "SMINFO_MASTER"},
		{labs.Xeon2zfs, "ip addr show dev ibs4d1", "inet 172.16.0.10/24"},
		{labs.Xeon2zfs, "ping -c 3 172.16.0.20", " 0% packet loss"},
	} {
		out, status := w.Try(look.host, look.command)
		if status != 0 || !strings.Contains(out, look.want) {
			return fmt.Errorf("%s on %s ended with %d and lacks %q:\n%s", look.command, look.host, status, look.want, out)
		}
	}
	return nil
}

// drift is what somebody does on the hosts without telling anybody.
func (w *Lab) drift() {
	w.t.Helper()
	w.Run(labs.Xeon2zfs, "ip link set dev ibs4d1 mtu 1500")
	w.Run(labs.Intel9, "systemctl stop 'opensm@0xe41d2d0300e44ed1.service'")
	w.Run(labs.Intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2")
}

// leftAsItIs holds that a destroy took away what was configured on the hosts and
// left the cards alone.
func (w *Lab) leftAsItIs() error {
	for _, host := range []string{labs.Intel9, labs.Xeon2zfs} {
		if flash := w.Flash(host); flash.PSID != card.PSIDVPI || flash.GUIDs[0] != NodeGUID(host) {
			return fmt.Errorf("%s: the card has %s and node GUID %x", host, flash.PSID, flash.GUIDs[0])
		}
		for _, p := range w.Card(host).Ports {
			if v := p.View(); v.LinkType != labsim.LinkIB {
				return fmt.Errorf("%s port %d is %s", host, p.Number, v.LinkType)
			}
		}
		if out, _ := w.Try(host, "ip addr show"); strings.Contains(out, "172.16.0.") {
			return fmt.Errorf("%s still has its IPoIB address:\n%s", host, out)
		}
	}
	if out, _ := w.Try(labs.Intel9,
		"systemctl is-active 'opensm@0xe41d2d0300e44ed1.service'"); strings.TrimSpace(out) == "active" {
		return fmt.Errorf("opensm still runs: %s", out)
	}
	return nil
}
