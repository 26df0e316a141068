package provider_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const (
	cardAddr = "infiniband_card.intel9"
	image    = "infiniband_firmware_image.intel9"
	firmware = "infiniband_firmware.intel9"
	guids    = "infiniband_guids.intel9"
	links    = "infiniband_link_type.intel9"
	sm       = "infiniband_opensm.intel9"
	ipoib    = "infiniband_ipoib_interface.intel9"
)

// bad is one mistake and how it must show: in which phase, at which attribute
// of which object, with which words.
type bad struct {
	at     string
	change map[string]any
	path   string
	want   string
}

// Values that no host has to be asked about fail while validating.
var badValues = map[string]bad{
	"pci address that is a name": {cardAddr, map[string]any{"pci_address": "mlx4_0"}, "pci_address",
		"the function is missing"},
	"sha256 that is short": {image, map[string]any{"sha256": "abc"}, "sha256", "want 64 hexadecimal digits"},
	"PSID with a space": {firmware,
		acctest.Allow("psid_change", map[string]any{"from": "MT 1", "to": card.PSIDVPI}), "allow.psid_change.from",
		"not printable ASCII"},
	"consent for a card without a name": {firmware,
		acctest.Allow("psid_change", map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI, "card": ""}),
		"allow.psid_change.card", "string length must be at least 1"},
	"consent for an image without a name": {firmware,
		acctest.Allow("psid_change", map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI, "image_sha256": ""}),
		"allow.psid_change.image_sha256", "string length must be at least 1"},
	"version of two numbers": {firmware,
		acctest.Allow("downgrade", map[string]any{"from": "2.42", "to": "2.36.5000"}), "allow.downgrade.from",
		"want three numbers"},
	"unknown activation": {firmware, map[string]any{"activation": "now"}, "activation", `"none" "reboot"`},
	"timeout without a unit": {firmware, map[string]any{"timeouts": map[string]any{"create": "45"}},
		"timeouts.create", "a number with a unit"},
	"timeout of no length": {firmware, map[string]any{"timeouts": map[string]any{"delete": "-1m"}},
		"timeouts.delete", "must be positive"},
	"MAC with five pairs": {guids, map[string]any{"base_mac": "e4:1d:2d:e4:4e"}, "base_mac", "want 6 pairs"},
	"GUID that is short": {guids, map[string]any{"node_guid": "e41d2d03"}, "node_guid",
		"want 16 hexadecimal digits"},
	"GUID that is zero":     {guids, map[string]any{"node_guid": "0x0"}, "node_guid", "GU001"},
	"GUID that is all ones": {guids, map[string]any{"node_guid": "0xffffffffffffffff"}, "node_guid", "GU001"},
	"GUID of a group":       {guids, map[string]any{"node_guid": "0x011d2d0300e44ed0"}, "node_guid", "GU001"},
	"ports with one GUID": {guids,
		map[string]any{"port_guids": map[string]any{"1": "0xe41d2d0300e44ed9", "2": "0xe41d2d0300e44ed9"}}, "port_guids",
		"GU009"},
	"port of a link type that is a name": {links, map[string]any{"ports": map[string]any{"port1": "ib"}}, "ports.port1",
		`write "1" or "2"`},
	"port of a GUID that a card has not": {guids, map[string]any{"port_guids": map[string]any{"3": "0xe41d2d0300e44ed1"}},
		"port_guids.3", `write "1" or "2"`},
	"MAC of a group": {guids,
		map[string]any{"base_mac": nil, "base_guid": "0xe41d2d0300e44ed0",
			"macs": map[string]any{"1": "01:00:5e:00:00:01", "2": "e4:1d:2d:e4:4e:d1"}}, "macs", "GU001"},
	"three ports": {guids, map[string]any{"macs": map[string]any{"3": "e4:1d:2d:e4:4e:d2"}}, "macs.3",
		`write "1" or "2"`},
	"port without a GUID": {guids, map[string]any{"port_guids": map[string]any{"1": nil}}, "port_guids", "null"},
	"base without room": {guids, map[string]any{"base_mac": nil, "base_guid": "0xfefffffffffffffe"},
		"", "GU00"},
	"consent without its half": {guids, acctest.Allow("guid_change", map[string]any{
		"from": []any{"e4:1d:2d:e4:4e:d0", "e4:1d:2d:e4:4e:d1"}, "to": []any{"e4:1d:2d:e4:4f:d0"}}), "",
		"allow.guid_change has 2 values in from and 1 in to"},
	"consent to no GUID": {guids, acctest.Allow("guid_change", map[string]any{"from": []any{"port 1"},
		"to": []any{"e4:1d:2d:e4:4f:d0"}}), "", `Invalid value "port 1" in allow.guid_change.from`},
	"port 3":  {links, map[string]any{"ports": map[string]any{"3": "ib"}}, "ports.3", `write "1" or "2"`},
	"no port": {links, map[string]any{"ports": map[string]any{}}, "ports", "at least 1"},
	"unknown link type": {links, map[string]any{"ports": map[string]any{"1": "infiniband"}}, "ports.1",
		`"ib" "eth" "auto"`},
	"port GUID that is none": {sm, map[string]any{"port_guid": "port one"}, "port_guid",
		"want 16 hexadecimal digits"},
	"port GUID that is null": {sm, map[string]any{"port_guid": nil}, "port_guid", "says why in flash_error"},
	"card id that is null":   {links, map[string]any{"card_id": nil}, "card_id", "card_id is null. It needs a value."},
	"member that is null": {sm,
		map[string]any{"partitions": map[string]any{"Default": map[string]any{"full": []any{"ALL", nil}}}}, "partitions",
		"a member is null. While a port is in Ethernet mode"},
	"rate that no link has": {sm,
		map[string]any{"partitions": map[string]any{"Default": map[string]any{"full": []any{"ALL"}, "rate_gbps": 32}}},
		"partitions.Default.rate_gbps", "2.5, 5, 10, 14, 20, 25, 30, 40, 56, 60, 80, 100, 112, 120, 200 or 400"},
	"P_Key without 0x": {sm,
		map[string]any{"partitions": map[string]any{"storage": map[string]any{"pkey": "32769", "full": []any{"ALL"}}}},
		"partitions.storage.pkey", "for example 0x8001"},
	"default partition by a word": {sm,
		map[string]any{"partitions": map[string]any{"default": map[string]any{"full": []any{"ALL"}}}}, "partitions",
		`is called "Default"`},
	"priority 16":  {sm, map[string]any{"priority": 16}, "priority", "between 0 and 15"},
	"unknown mode": {ipoib, map[string]any{"mode": "fast"}, "mode", `"datagram" "connected"`},
	"address without a length": {ipoib, map[string]any{"addresses": []any{"172.16.0.20"}}, "addresses",
		"prefix length"},
	"address of a network": {ipoib, map[string]any{"addresses": []any{"172.16.0.0/24"}}, "addresses",
		"network's own address"},
	"datagram with MTU 65520":     {ipoib, map[string]any{"mode": "datagram", "mtu": 65520}, "mtu", "4096 − 4 = 4092"},
	"MTU that is no whole number": {ipoib, map[string]any{"mtu": 1.5}, "mtu", "whole number"},
	"source on the web": {image, map[string]any{"source": "http://example.com/fw.bin"}, "source",
		"a local file or an https address"},
	"MTU beyond everything": {ipoib, map[string]any{"mtu": 70000}, "mtu", "Use at most mtu = 65520"},
	"malformed GUID of a port": {guids,
		map[string]any{"port_guids": map[string]any{"1": "0xe41d2d0300e44ed1", "2": "e41d"}}, "port_guids.2",
		"want 16 hexadecimal digits"},
	"one address twice": {ipoib, map[string]any{"addresses": []any{"fd00::20/64", "fd00:0::20/64"}},
		"addresses", "mean the same"},
	"P_Key of no partition":        {ipoib, map[string]any{"pkey": "0x8000"}, "pkey", "are not partitions"},
	"priority of 22 digits":        {sm, map[string]any{"priority": 1e21}, "priority", "1e+21 is beyond every number"},
	"host of an SM with a slash":   {sm, map[string]any{"host": "intel9/x"}, "host", "must not be empty or hold blanks, slashes"},
	"card id without a host":       {links, map[string]any{"card_id": "0000:01:00.0"}, "card_id", "want host/pci_address"},
	"image id that is a file name": {firmware, map[string]any{"image_id": "intel9/fw.bin"}, "image_id", "invalid SHA-256"},
}

// Values that a host, a file or another resource contradicts fail while planning.
func contradictions(t *testing.T, w *acctest.Lab) map[string]bad {
	t.Helper()
	text := filepath.Join(t.TempDir(), "readme.bin")
	if err := os.WriteFile(text, []byte(strings.Repeat("firmware release notes\n", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string) map[string]any {
		return map[string]any{"source": w.Image(name), "sha256": nil}
	}
	return map[string]bad{
		"unknown host":                 {cardAddr, map[string]any{"host": "intel"}, "host", "known hosts: intel9"},
		"unknown host of an image":     {image, map[string]any{"host": "intel"}, "host", "known hosts: intel9"},
		"unknown host of an SM":        {sm, map[string]any{"host": "intel"}, "host", "known hosts: intel9"},
		"unknown host of an interface": {ipoib, map[string]any{"host": "intel"}, "host", "known hosts: intel9"},
		"unknown host in a card id": {links, map[string]any{"card_id": "intel/0000:01:00.0"}, "card_id",
			"known hosts: intel9"},
		"unknown card": {cardAddr, map[string]any{"pci_address": "0000:02:00.0"}, "pci_address",
			"Its cards are: 0000:01:00.0 ConnectX-3 Pro"},
		"unknown card of a change": {guids, map[string]any{"card_id": "intel9/0000:02:00.0"}, "card_id",
			"Its cards are: 0000:01:00.0"},
		"another card than expected": {cardAddr, map[string]any{"expect": map[string]any{"serial_number": "MT0000X00000"}},
			"expect", `expected "MT0000X00000"`},
		"missing image":             {image, map[string]any{"source": "/no/such.bin"}, "source", "FW001"},
		"image that is a directory": {image, map[string]any{"source": t.TempDir()}, "source", "it is a directory"},
		"image that is a text":      {image, map[string]any{"source": text, "sha256": nil}, "source", "FW004"},
		"damaged image":             {image, file(acctest.ImageCorrupt), "source", "FW003"},
		"truncated image":           {image, file(acctest.ImageShort), "source", "FW003"},
		"wrong sha256":              {image, map[string]any{"sha256": strings.Repeat("0", 64)}, "sha256", "FW005"},
		"image for another chip":    {image, file(acctest.ImageCX3), "", "FW020"},
		"image without failsafe":    {image, file(acctest.ImageNoFS), "", "FW007"},
		"image of another host": {firmware, map[string]any{"image_id": "xeon2zfs/" + strings.Repeat("0", 64)},
			"image_id", "the image is on another host"},
		"image that is nowhere": {firmware, map[string]any{"image_id": "intel9/" + strings.Repeat("0", 64)},
			"image_id", "the image is not on the host"},
		"no consent": {firmware, acctest.Allow("psid_change", nil), "allow", "FW023"},
		"consent to another pair": {firmware,
			acctest.Allow("psid_change", map[string]any{"from": card.PSIDVPI, "to": card.PSIDEN}), "allow",
			"FW023 allow.psid_change names another pair"},
		"older image":                  {image, file(acctest.ImageOldVPI), "", "FW026"},
		"unknown port of an SM":        {sm, map[string]any{"port_guid": "0xe41d2d0300aaaaa1"}, "port_guid", "PF006"},
		"unknown port of an interface": {ipoib, map[string]any{"port_guid": "0xe41d2d0300aaaaa1"}, "port_guid", "PF006"},
		"Ethernet before InfiniBand": {links, map[string]any{"ports": map[string]any{"1": "eth", "2": "ib"}}, "ports",
			"LT002"},
	}
}

func TestInput_malformedValuesFailWhileValidating(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	for name, b := range badValues {
		t.Run(name, func(t *testing.T) {
			said, err := w.Workspace().Validate(context.Background(), w.CrossFlash(intel9).With(b.at, b.change))
			if err != nil {
				t.Fatal(err)
			}
			b.shows(t, acctest.PhaseValidate, said)
		})
	}
}

// TestInput_noHostsAreNoHosts has a list of hosts that became empty: it does not mean all of them.
func TestInput_noHostsAreNoHosts(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	for _, source := range []string{"infiniband_cards", "infiniband_adoption"} {
		value, said, err := w.Workspace().Data(context.Background(), source, map[string]any{"hosts": []any{}})
		if err != nil || said.HasError() {
			t.Fatalf("%s: %v\n%s", source, err, said)
		}
		if text := fmt.Sprint(value); !strings.Contains(text, "id:") || strings.Contains(text, intel9) {
			t.Errorf("%s of no hosts: %v", source, text)
		}
	}
}

func TestInput_contradictionsFailWhilePlanning(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	before := w.Print(intel9)
	for name, b := range contradictions(t, w) {
		t.Run(name, func(t *testing.T) {
			b.shows(t, acctest.PhasePlan, plan(t, w.Workspace(), w.CrossFlash(intel9).With(b.at, b.change)).Diags)
		})
	}
	if after := w.Print(intel9); after != before {
		t.Errorf("planning changed the host:\n%s\nwas\n%s", after, before)
	}
}

// shows looks for the diagnostic. An image that is wrong for a card shows at
// the firmware that would burn it.
func (b bad) shows(t *testing.T, phase acctest.Phase, said acctest.Diags) {
	t.Helper()
	for _, d := range said.Errors() {
		onObject := d.Address == b.at || (b.path == "" && d.Address == firmware)
		if d.Phase == phase && onObject && strings.HasPrefix(d.Path, b.path) &&
			strings.Contains(strings.Join(strings.Fields(d.Text()), " "), b.want) {
			return
		}
	}
	t.Errorf("want %q at %s %s while %s; said:\n%s", b.want, b.at, b.path, phase, said)
}

// trouble is something wrong with the host itself.
type trouble struct {
	provider func(host map[string]any) // changes the host's entry
	whole    func(cfg map[string]any)  // changes the provider's configuration
	host     func(*labs.Host)          // changes the host before it is made
	running  func(*acctest.Lab)        // changes the running host
	at, want string
}

func troubles(t *testing.T) map[string]trouble {
	t.Helper()
	return map[string]trouble{
		"unreachable": {provider: func(h map[string]any) { h["port"] = closedPort(t) }, at: cardAddr,
			want: "could not be reached"},
		"wrong host key": {running: func(w *acctest.Lab) { w.Machine(intel9).Faults.Set(labsim.FaultSpec{WrongHostKey: true}) },
			at: cardAddr, want: "key could not be trusted"},
		"unknown host key": {whole: func(c map[string]any) { ssh(c)["known_hosts_files"] = []string{os.DevNull} },
			at: cardAddr, want: "key could not be trusted"},
		"wrong user": {provider: func(h map[string]any) { h["user"] = "nobody" }, at: cardAddr,
			want: "refused every key and password"},
		"sudo refused": {running: func(w *acctest.Lab) { w.Machine(intel9).Faults.Set(labsim.FaultSpec{SudoRefused: true}) },
			at: cardAddr, want: "could not become root"},
		"no sudo": {running: func(w *acctest.Lab) { w.Machine(intel9).Faults.Set(labsim.FaultSpec{SudoMissing: true}) },
			at: cardAddr, want: "could not become root"},
		"no mstflint":         {host: func(h *labs.Host) { h.MstflintVersion = "none" }, at: firmware, want: "FW051"},
		"reboot not allowed":  {provider: func(h map[string]any) { delete(h, "reboot") }, at: firmware, want: "HO007"},
		"no backup directory": {whole: func(c map[string]any) { delete(c, "backup_dir") }, at: firmware, want: "BK002"},
		"kernel lockdown": {running: func(w *acctest.Lab) {
			w.Machine(intel9).FS.Put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", 0o444)
		}, at: firmware, want: "HO003"},
		"no space for a backup": {running: func(w *acctest.Lab) {
			if err := w.Machine(intel9).FS.SetQuota("/var/lib", 4<<20); err != nil {
				t.Fatal(err)
			}
		}, at: firmware, want: "HO006"},
		"default route over the card": {running: func(w *acctest.Lab) {
			w.Machine(intel9).UpdateNetdev("eno1", func(n *labsim.Netdev) { n.Gateway = netip.Addr{} })
			onCard(w, func(n *labsim.Netdev) { n.Gateway = netip.MustParseAddr("198.51.100.1") })
		}, at: firmware, want: "HO002"},
		"output that is not what mstflint prints": {running: func(w *acctest.Lab) {
			w.Machine(intel9).Install("/usr/bin/mstflint", func(_ context.Context, p *labsim.Proc) int {
				_, _ = fmt.Fprintln(p.Stdout, "Usage: see the manual")
				return 0
			})
		}, at: cardAddr, want: "did not understand the output"},
	}
}

// onCard gives the interface of the card's first port an address, and more.
func onCard(w *acctest.Lab, change func(*labsim.Netdev)) {
	m := w.Machine(intel9)
	for _, d := range m.Netdevs() {
		if d.Port != nil && d.DevPort == 0 {
			m.UpdateNetdev(d.Name, func(n *labsim.Netdev) {
				n.Up, n.Addrs = true, []netip.Prefix{netip.MustParsePrefix("198.51.100.20/24")}
				change(n)
			})
		}
	}
}

func ssh(cfg map[string]any) map[string]any { return cfg["ssh"].(map[string]any) }

// closedPort is a port of this machine on which nobody listens.
func closedPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // only its number is wanted
	return l.Addr().(*net.TCPAddr).Port
}

func TestInput_troubleWithAHostFailsWhilePlanning(t *testing.T) {
	t.Parallel()
	for name, x := range troubles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := labs.TwoHosts()[:1]
			if x.host != nil {
				x.host(&hosts[0])
			}
			w := acctest.Start(t, acctest.Options{Hosts: hosts})
			if x.running != nil {
				x.running(w)
			}
			ws := w.Workspace()
			if x.provider != nil {
				x.provider(ws.Provider["hosts"].(map[string]any)[intel9].(map[string]any))
			}
			if x.whole != nil {
				x.whole(ws.Provider)
			}
			before := w.Print(intel9)
			p := plan(t, ws, w.CrossFlash(intel9))
			bad{at: x.at, want: x.want}.shows(t, acctest.PhasePlan, p.Diags)
			if after := w.Print(intel9); after != before {
				t.Errorf("planning changed the host:\n%s\nwas\n%s", after, before)
			}
		})
	}
}

// A provider block that cannot be meant fails before a host is asked.
func TestInput_providerThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	for name, tt := range map[string]struct {
		key    string
		change map[string]any
		at     string
		want   string
	}{
		"key with a slash":             {"rack/intel9", nil, "hosts", "must not be empty or hold blanks, slashes"},
		"key with a blank":             {"intel 9", nil, "hosts", "must not be empty or hold blanks, slashes"},
		"key with a control character": {"intel\x079", nil, "hosts", "control characters"},
		"key that is empty":            {"", nil, "hosts", "must not be empty"},
		"address with a port": {"nine", map[string]any{"address": "127.0.0.1:22"}, "hosts.nine.address",
			`Write address = "127.0.0.1" and port = 22.`},
		"port beyond everything":       {"nine", map[string]any{"port": 70000}, "hosts.nine.port", "between 1 and 65535"},
		"port that is no whole number": {"nine", map[string]any{"port": 22.5}, "hosts", "22.5 is not a whole number"},
	} {
		ws := w.Workspace()
		entry := w.Host(intel9)
		for k, v := range tt.change {
			entry[k] = v
		}
		ws.Provider["hosts"] = map[string]any{tt.key: entry}
		p, err := ws.Plan(context.Background(), acctest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		found := p.Diags.Errors().Find(tt.want)
		if len(found) != 1 || !strings.HasPrefix(found[0].Path, tt.at) {
			t.Errorf("%s: no error at %s says %q; said:\n%s", name, tt.at, tt.want, p.Diags)
		}
	}
}

// What is no firmware image is refused without reading it.
func TestInput_sourceThatIsNoImage(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	dir := t.TempDir()
	huge := filepath.Join(dir, "disk.img")
	f, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(3<<30), f.Close()); err != nil { // without blocks on the disk
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		huge:        "it has 3072 MiB; no firmware image has more than 256 MiB, so it was not read",
		dir:         "it is a directory, not a file",
		"/dev/zero": "it is a special file, not a file",
	} {
		p := plan(t, w.Workspace(), w.CrossFlash(intel9)[:2].With(image, map[string]any{"source": source, "sha256": nil}))
		found := p.Diags.Errors().Find(want)
		if len(found) != 1 || found[0].Path != "source" {
			t.Errorf("%s: no error at source says %q; said:\n%s", source, want, p.Diags)
		}
	}
}
