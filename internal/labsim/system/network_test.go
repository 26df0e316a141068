package system

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const ibNetplan = `network:
  version: 2
  renderer: networkd
  ethernets:
    ibp1s0:
      infiniband-mode: connected
      mtu: 65520
      addresses: [10.10.10.1/24]
      link-local: []
      ignore-carrier: true
      optional: true
`

func (w *testLab) write(m *labsim.Machine, file, body string, mode uint32) {
	w.t.Helper()
	w.must(m, "cat > "+file+" <<'E'\n"+body+"E\nchmod "+map[uint32]string{0o600: "600", 0o644: "644"}[mode]+" "+file)
}

func TestNetplanRendersAsTheRealOne(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.write(w.a, "/etc/netplan/60-ib.yaml", ibNetplan, 0o600)
	if r := w.run(w.a, "netplan generate"); r != (result{}) {
		t.Fatalf("%+v", r)
	}
	// As 1.1.2 writes it; 0.106 has RequiredForOnline=no for what is optional.
	want := "[Match]\nName=ibp1s0\n\n[Link]\nMTUBytes=65520\n\n[Network]\nLinkLocalAddressing=no\n" +
		"Address=10.10.10.1/24\nConfigureWithoutCarrier=yes\n\n[IPoIB]\nMode=connected\n"
	if got := w.must(w.a, "cat /run/systemd/network/10-netplan-ibp1s0.network"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNetplanErrors(t *testing.T) {
	const head = "network:\n  version: 2\n  ethernets:\n    ibp1s0:\n"
	ten := strings.TrimSuffix(strings.Repeat("XX:", 20), ":")
	for name, c := range map[string]struct{ body, want string }{
		"mode": {head + "      infiniband-mode: Bogus\n",
			":5:24: Error in network definition: Value of 'infiniband-mode' needs to be 'datagram' or 'connected'\n      infiniband-mode: Bogus\n                       ^\n"},
		"mtu": {head + "      mtu: big\n",
			":5:12: Error in network definition: invalid unsigned int value 'big'\n      mtu: big\n           ^\n"},
		"address": {head + "      addresses: [10.10.10.1]\n",
			":5:18: Error in network definition: address '10.10.10.1' is missing /prefixlength\n      addresses: [10.10.10.1]\n                 ^\n"},
		"unknown key": {head + "      ipoib-mode: x\n",
			":5:7: Error in network definition: unknown key 'ipoib-mode'\n      ipoib-mode: x\n      ^\n"},
		"eight bytes": {head + "      match: {macaddress: \"00:11:22:33:44:55:66:77\"}\n",
			":5:27: Error in network definition: Invalid MAC address '00:11:22:33:44:55:66:77', must be XX:XX:XX:XX:XX:XX or " +
				ten +
				"\n      match: {macaddress: \"00:11:22:33:44:55:66:77\"}\n                          ^\n"},
		"tab": {"network:\n\tversion: 2\n", ":2:1: Invalid YAML: tabs are not allowed for indent:\n\tversion: 2\n^\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestLab(t, labsim.Ubuntu)
			w.write(w.a, "/etc/netplan/60-ib.yaml", c.body, 0o600)
			r := w.run(w.a, "netplan generate")
			if r.status != 1 || r.stderr != "/etc/netplan/60-ib.yaml"+c.want {
				t.Errorf("status %d\n%s", r.status, r.stderr)
			}
			if r := w.run(w.a, "netplan apply"); r.status != 78 {
				t.Errorf("apply: status %d", r.status)
			}
		})
	}
}

func TestNetplanAcceptsWhatItDoesNotCheck(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	for _, body := range []string{
		"network: {version: 2, ethernets: {ibp1s0: {infiniband-mode: datagram, mtu: 65520}}}\n",
		"network: {version: 2, ethernets: {ibp1s0: {match: {macaddress: \"80:00:02:08:fe:80\"}}}}\n",
		"network: {ethernets: {ibp1s0: {mtu: 999999}}}\n",
	} {
		w.write(w.a, "/etc/netplan/60-ib.yaml", body, 0o644)
		r := w.run(w.a, "netplan generate")
		if r.status != 0 || !strings.Contains(r.stderr, "Permissions for /etc/netplan/60-ib.yaml are too open. "+
			"Netplan configuration should NOT be accessible by others.\n") {
			t.Errorf("%s: %+v", body, r)
		}
	}
}

// The core trap: netplan and networkd take the mode without complaint and do
// nothing with it, and then the MTU fails quietly as well.
func TestNetworkdIgnoresTheMode(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.write(w.a, "/etc/netplan/60-ib.yaml", ibNetplan, 0o600)
	if r := w.run(w.a, "netplan apply"); r.status != 0 || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	d, _ := w.a.Netdev("ibp1s0")
	if d.Mode != labsim.ModeDatagram || d.MTU == 65520 || !d.Up || len(d.Addrs) != 1 {
		t.Errorf("%+v", d)
	}
	log := w.must(w.a, "journalctl -u systemd-networkd -o cat")
	for _, want := range []string{"Unknown section 'IPoIB'. Ignoring.",
		"ibp1s0: Failed to set MTU, ignoring: Invalid argument"} {
		if !strings.Contains(log, want) {
			t.Errorf("journal lacks %q:\n%s", want, log)
		}
	}
}

func TestUdevRulePersistsTheMode(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.write(w.a, "/etc/netplan/60-ib.yaml", ibNetplan, 0o600)
	w.write(w.a, "/etc/udev/rules.d/70-ipoib.rules",
		`ACTION=="add", SUBSYSTEM=="net", ATTR{type}=="32", ATTR{address}=="?*e4:1d:2d:03:00:e4:4e:01", RUN+="/bin/sh -c 'echo connected > /sys$$DEVPATH/mode'"`+"\n", 0o644)
	w.must(w.a, "udevadm control --reload")
	w.reboot(w.a)
	d, _ := w.a.Netdev("ibp1s0")
	if d.Mode != labsim.ModeConnected || d.MTU != 65520 || !d.Up || len(d.Addrs) != 1 {
		t.Errorf("%+v", d)
	}
	if d, _ := w.a.Netdev("ibp1s0d1"); d.Mode != labsim.ModeDatagram {
		t.Errorf("the other port: %+v", d)
	}
}

func TestUdevAttributeLacksTheNewline(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.write(w.a, "/etc/udev/rules.d/70-ipoib.rules",
		`ACTION=="add", SUBSYSTEM=="net", ATTR{type}=="32", ATTR{mode}="connected"`+"\n", 0o644)
	w.reboot(w.a)
	if d, _ := w.a.Netdev("ibp1s0"); d.Mode != labsim.ModeDatagram {
		t.Errorf("udev writes no newline, so the kernel must refuse: %+v", d)
	}
	if log := w.must(w.a, "journalctl -u systemd-udevd -o cat"); !strings.Contains(log,
		`Failed to write "connected" to sysfs attribute "/sys/class/net/ibp1s0/mode", ignoring: Invalid argument`) {
		t.Errorf("journal:\n%s", log)
	}
}

func TestLiveChangesAreLostAtReboot(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.must(w.a, "echo connected > /sys/class/net/ibp1s0/mode; ip link set dev ibp1s0 mtu 65520 up; ip addr add 10.9.9.1/24 dev ibp1s0")
	w.reboot(w.a)
	d, _ := w.a.Netdev("ibp1s0")
	if d.Up || len(d.Addrs) != 0 || d.Mode != labsim.ModeDatagram {
		t.Errorf("%+v", d)
	}
	if e, _ := w.a.Netdev("eno1"); !e.Up || len(e.Addrs) != 1 || e.Gateway.String() != "192.0.2.1" {
		t.Errorf("the management interface did not come back: %+v", e)
	}
}

func TestIPJSONShape(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.must(w.a, "ip addr add 10.9.9.1/24 dev ibp1s0; ip link set ibp1s0 up")
	out := w.must(w.a, "ip -j addr show dev ibp1s0")
	want := `[{"ifindex":3,"ifname":"ibp1s0","flags":["NO-CARRIER","BROADCAST","MULTICAST","UP"],"mtu":4092,"qdisc":"fq_codel",` +
		`"operstate":"DOWN","group":"default","txqlen":256,"link_type":"infiniband",`
	if !strings.HasPrefix(out, want) {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	if tail := `"addr_info":[{"family":"inet","local":"10.9.9.1","prefixlen":24,"scope":"global",` +
		`"label":"ibp1s0","valid_life_time":4294967295,"preferred_life_time":4294967295}]}]` + "\n"; !strings.HasSuffix(out,
		tail) {
		t.Errorf("tail of %s", out)
	}
	var details []struct {
		Linkinfo struct {
			Kind string            `json:"info_kind"`
			Data map[string]string `json:"info_data"`
		}
		ParentDev string `json:"parentdev"`
		Linkmode  string
	}
	if err := json.Unmarshal([]byte(w.must(w.a, "ip -d -j link show ibp1s0")), &details); err != nil {
		t.Fatal(err)
	}
	if d := details[0]; d.Linkinfo.Kind != "ipoib" || d.Linkinfo.Data["mode"] != "datagram" ||
		d.ParentDev != "0000:01:00.0" || d.Linkmode != "DEFAULT" {
		t.Errorf("%+v", d)
	}
	for _, question := range []string{"ip -j route show default", "ip -j -4 route show table all default"} {
		if got := w.must(w.a, question); got != `[{"dst":"default","gateway":"192.0.2.1","dev":"eno1","protocol":"static","flags":[]}]`+"\n" {
			t.Errorf("%s: %s", question, got)
		}
	}
}

func TestIPErrors(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	for script, want := range map[string]result{
		"ip link show ib9":                   {1, "", "Device \"ib9\" does not exist.\n"},
		"ip link set ib9 up":                 {1, "", "Cannot find device \"ib9\"\n"},
		"ip link set ibp1s0 mtu 65520":       {2, "", "RTNETLINK answers: Invalid argument\n"},
		"ip link set ibp1s0 mtu 65521":       {2, "", "Error: mtu greater than device maximum.\n"},
		"ip addr add 192.0.2.10/24 dev eno1": {2, "", "Error: ipv4: Address already assigned.\n"},
		"ip addr del 10.0.0.9/24 dev ibp1s0": {2, "", "Error: ipv4: Address not found.\n"},
		"ip -o route get 127.0.0.1":          {0, "local 127.0.0.1 dev lo src 127.0.0.1 uid 0 \\    cache <local> \n", ""},
		"ip -o route get 198.51.100.7": {0, "198.51.100.7 via 192.0.2.1 dev eno1 src 192.0.2.10 uid 0 \\    cache \n",
			""},
		"ip -o -4 addr show dev eno1": {0,
			"2: eno1    inet 192.0.2.10/24 brd 192.0.2.255 scope global eno1\\       valid_lft forever preferred_lft forever\n",
			""},
		"SSH_CONNECTION='198.51.100.7 1 192.0.2.10 22' ip -o route get 198.51.100.7": {0,
			"198.51.100.7 dev eno1 src 192.0.2.10 uid 0 \\    cache \n", ""},
	} {
		if got := w.run(w.a, script); got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", script, got, want)
		}
	}
	if r := w.as(w.a, "ops", "ip link set eno1 down"); r.status != 2 ||
		r.stderr != "RTNETLINK answers: Operation not permitted\n" {
		t.Errorf("%+v", r)
	}
}
