//go:build reallab && linux

package reallab_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// bench is the lab and the operator's machine.
type bench struct {
	*testing.T
	lab   *reallab.Lab
	ws    *acctest.Workspace
	dir   string
	names []string // of its machines
}

// newBench boots a machine of each suite; their names are in the order.
func newBench(t *testing.T, names []string, suites ...string) *bench {
	hosts := make([]reallab.Host, len(names))
	for i, name := range names {
		hosts[i] = reallab.NewHost(name, i)
		hosts[i].Suite = suites[i]
	}
	return benchOf(t, hosts...)
}

// benchOf boots machines, each of which must name its suite.
func benchOf(t *testing.T, hosts ...reallab.Host) *bench {
	b := &bench{T: t, dir: t.TempDir()}
	var suites []string
	for _, h := range hosts {
		b.names, suites = append(b.names, h.Name), append(suites, h.Suite)
	}
	if err := machine.Prepare(t.Context(), machine.Need{Machines: len(hosts), Suites: suites}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	lab, err := reallab.Start(t.Context(), labDir(t), hosts)
	if err != nil {
		t.Fatal(err)
	}
	b.lab = lab
	t.Cleanup(b.end)
	entries := map[string]any{}
	for _, name := range b.names {
		entries[name] = map[string]any{"address": "127.0.0.1", "port": lab.Machines[name].Port,
			"connect_timeout": "1m", "reboot": map[string]any{"allowed": true, "timeout": "10m"}}
		b.awaitBoot(name)
	}
	t.Logf("the machines answer after %s", time.Since(begin).Round(time.Second))
	b.ws = acctest.NewWorkspace(acctest.InProcess, map[string]any{
		"backup_dir": filepath.Join(b.dir, "backups"), "hosts": entries,
		"ssh": map[string]any{"private_key_file": lab.KeyFile(), "known_hosts_files": []string{lab.KnownHostsFile()},
			"config_file": "none", "use_agent": false, "user": machine.User, "command_timeout": "5m"},
	})
	return b
}

// labDir is the directory of a lab, whose logs are kept if the test fails.
func labDir(t *testing.T) string {
	dir := t.TempDir()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		kept, err := reallab.KeepLogs(dir, t.Name())
		if err != nil {
			t.Errorf("the logs of the machines and cards were not kept: %v", err)
		}
		t.Logf("the whole logs of the machines and cards are in %s", kept)
	})
	return dir
}

// cardState shows what the driver made of the first card.
const cardState = "ls /sys/class/infiniband /sys/bus/pci/devices/" + reallab.PCIAddress + "/net; grep mlx4 /proc/modules; " +
	"head /sys/bus/pci/devices/" + reallab.PCIAddress + "/mlx4_port[12]; " +
	"dmesg | grep -E 'mlx4|infiniband' | grep -v 'port level mtu' | tail -n 40"

// end prints what a failed test leaves, and ends the lab.
func (b *bench) end() {
	if b.Failed() {
		for _, name := range b.names {
			said, _ := b.lab.Run(context.Background(), name, cardState)
			b.Logf("%s:\n%s", name, said)
			b.Logf("console of %s:\n%s", name, b.lab.Machines[name].Console(30))
		}
	}
	if err := b.lab.Close(); err != nil {
		b.Error(err)
	}
}

// awaitBoot waits until a machine lets its operator in.
func (b *bench) awaitBoot(name string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	if err := b.lab.Await(ctx, name); err != nil {
		b.Fatal(err)
	}
}

// awaitBoots waits until a machine was started so many times.
func (b *bench) awaitBoots(name string, boots int) {
	b.Helper()
	for end := time.Now().Add(10 * time.Minute); b.lab.Machines[name].Boots() < boots; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("%s does not restart", name)
		}
	}
}

// on runs a command on a machine as root.
func (b *bench) on(name, command string) string {
	b.Helper()
	out, err := b.lab.Run(b.Context(), name, command)
	if err != nil {
		b.Errorf("%s: %s: %v\n%s", name, command, err, out)
	}
	return out
}

// mustApply applies what is configured, and holds that the next plan is empty.
func (b *bench) mustApply(what string, cfg acctest.Config) {
	b.Helper()
	begin := time.Now()
	plan, err := b.ws.Plan(context.Background(), cfg)
	if err != nil || plan.Diags.HasError() {
		b.Fatalf("%s: plan: %v\n%v", what, err, plan.Diags.Errors())
	}
	diags, err := b.ws.Apply(context.Background(), plan)
	if err != nil || diags.HasError() {
		b.Fatalf("%s: apply: %v\n%v", what, err, diags.Errors())
	}
	b.Logf("%s: applied in %s", what, time.Since(begin).Round(time.Second))
	again, err := b.ws.Plan(context.Background(), cfg)
	if err != nil || again.Diags.HasError() {
		b.Fatalf("%s: second plan: %v\n%v", what, err, again.Diags.Errors())
	}
	for address, action := range again.Actions() {
		if action != acctest.NoOp {
			b.Errorf("%s: the second plan is to %s %s", what, action, address)
		}
	}
}

// image writes the firmware to burn and gives its path and hash.
func (b *bench) image() (path, sum string) {
	data := card.VPI()
	path = filepath.Join(b.dir, "vpi.bin")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	hash := sha256.Sum256(data)
	return path, hex.EncodeToString(hash[:])
}

// crossFlash is all that one host needs; the first has the subnet manager.
func (b *bench) crossFlash(i int, consent, ipoib map[string]any) acctest.Config {
	host := b.names[i]
	path, sum := b.image()
	id := acctest.To("infiniband_card."+host, "id")
	portGUID := acctest.To("infiniband_guids."+host, "port_guids", "1")
	cfg := acctest.Config{
		{Type: "infiniband_card", Name: host, Attrs: map[string]any{"host": host, "pci_address": reallab.PCIAddress}},
		{Type: "infiniband_firmware_image", Name: host, Attrs: map[string]any{"host": host, "source": path, "sha256": sum}},
		{Type: "infiniband_firmware", Name: host, Attrs: map[string]any{"card_id": id,
			"image_id": acctest.To("infiniband_firmware_image."+host, "id"), "activation": "reboot"}},
		{Type: "infiniband_guids", Name: host, After: []string{"infiniband_firmware." + host}, Attrs: map[string]any{
			"card_id": id, "base_mac": label(i), "activation": "reboot"}},
		{Type: "infiniband_link_type", Name: host, After: []string{"infiniband_guids." + host},
			Attrs: map[string]any{"card_id": id, "ports": map[string]any{"1": "ib", "2": "ib"}}},
	}
	if consent != nil {
		cfg = cfg.With("infiniband_firmware."+host, acctest.Allow("psid_change", consent))
	}
	after := []string{"infiniband_link_type." + host, "infiniband_opensm.it"}
	if i == 0 {
		cfg = append(cfg, acctest.Resource{Type: "infiniband_opensm", Name: "it", After: after[:1],
			Attrs: map[string]any{"host": host, "port_guid": portGUID, "priority": 14, "partitions": map[string]any{
				"Default": map[string]any{"ipoib": true, "mtu": 4096, "full": []any{"ALL"}}}}})
	}
	attrs := map[string]any{"host": host, "port_guid": portGUID, "addresses": []any{fmt.Sprintf("172.16.0.%d/24", 20+i)}}
	for k, v := range ipoib {
		attrs[k] = v
	}
	return append(cfg, acctest.Resource{Type: "infiniband_ipoib_interface", Name: host, After: after, Attrs: attrs})
}

// label is the address on the label of the i-th card.
func label(i int) string {
	m := fmt.Sprintf("%012x", reallab.BaseMAC(i))
	return strings.Join([]string{m[0:2], m[2:4], m[4:6], m[6:8], m[8:10], m[10:12]}, ":")
}

// TestRealKernels is the main job with nothing simulated but the silicon: two machines
// with stock kernels, each with a card that is locked to Ethernet.
func TestRealKernels(t *testing.T) {
	t.Parallel()
	names := []string{"one", "other"}
	b := newBench(t, names, machine.Bookworm, machine.Bookworm)
	b.ws.Together = true
	whole := func(consent, ipoib map[string]any) (cfg acctest.Config) {
		for i := range names {
			cfg = append(cfg, b.crossFlash(i, consent, ipoib)...)
		}
		return cfg
	}
	connected := map[string]any{"mode": "connected", "mtu": 65520}
	for _, name := range names {
		if types := b.on(name, "ls /sys/bus/pci/devices/"+reallab.PCIAddress+"/net"); len(strings.Fields(types)) != 2 {
			t.Errorf("the driver made %q of the ports of an Ethernet card", types)
		}
	}
	refused, err := b.ws.Plan(context.Background(), whole(nil, connected))
	if err != nil || len(refused.Diags.Errors().Find("FW023")) != 2 {
		t.Fatalf("a cross-flash without consent: %v\n%v", err, refused.Diags.Errors())
	}
	consent := map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI}
	b.mustApply("cross-flash", whole(consent, connected))
	for i, name := range names {
		guid := card.GUIDFromMAC(reallab.BaseMAC(i))
		board := b.on(name, "cat /sys/class/infiniband/*/board_id /sys/class/infiniband/*/node_guid")
		want := fmt.Sprintf("%s\n%04x:%04x:%04x:%04x\n", card.PSIDVPI, guid>>48, guid>>32&0xffff, guid>>16&0xffff, guid&0xffff)
		if board != want {
			t.Errorf("%s: the driver sees %q, want %q", name, board, want)
		}
		if n := b.lab.Machines[name].Boots(); n != 3 {
			t.Errorf("%s was started %d times, want 3", name, n)
		}
	}
	b.ping(65492)
	b.measure()
	datagram := whole(consent, map[string]any{"mode": "datagram", "mtu": 4092})
	b.mustApply("datagram", datagram)
	b.ping(4064)
	b.drift(datagram)
	for _, name := range names {
		b.checkBackup(name)
	}
}

// ping sends packets of the path's whole length in one piece.
func (b *bench) ping(size int) {
	b.Helper()
	out := b.on("other", fmt.Sprintf("ping -c 3 -i 0.5 -W 5 -M do -s %d 172.16.0.20", size))
	if !strings.Contains(out, " 0% packet loss") {
		b.Errorf("%d bytes do not pass:\n%s", size, out)
	}
}

// measure has iperf3, qperf and perftest use the fabric.
func (b *bench) measure() {
	b.on("one", "iperf3 -s -D; systemd-run -q ib_write_bw -s 65536 -n 200; systemd-run -q qperf")
	const to = " 172.16.0.20"
	for _, m := range []struct{ name, command, says string }{
		{"iperf3", "sleep 3; iperf3 -t 3 -c" + to + " | grep receiver", `[1-9][\d.]* .?bits/sec`},
		{"ib_write_bw", "timeout 60 ib_write_bw -s 65536 -n 200" + to + " | grep '^ 65536'", `65536 +200 +[1-9]`},
		{"qperf over TCP", "timeout 60 qperf -t 2" + to + " tcp_bw", `= +[1-9]`},
		{"qperf over RC", "timeout 60 qperf -t 2" + to + " rc_bw", `= +[1-9]`},
		{"qperf's latency over RC", "timeout 60 qperf -t 2" + to + " rc_lat", `= +[1-9]`},
	} {
		out := b.on("other", m.command)
		if !regexp.MustCompile(m.says).MatchString(out) {
			b.Errorf("%s: %q", m.name, out)
		}
		b.Logf("measured: %s: %s", m.name, strings.Join(strings.Fields(out), " "))
	}
}

// drift changes things by hand: the plan shows them, and the apply mends them. A port's
// type comes first, as the driver makes all its devices anew for it.
func (b *bench) drift(cfg acctest.Config) {
	const device = "/sys/bus/pci/devices/" + reallab.PCIAddress
	b.on("one", "echo eth >"+device+"/mlx4_port2; udevadm settle; systemctl stop 'opensm@*'")
	b.on("other", "ip link set dev ibp1s0 mtu 1500")
	plan := b.plan("drift", cfg)
	for _, address := range []string{"infiniband_link_type.one", "infiniband_opensm.it", "infiniband_ipoib_interface.other"} {
		if plan.Actions()[address] != acctest.Update {
			b.Errorf("the plan is to %s %s", plan.Actions()[address], address)
		}
	}
	b.mustApply("drift", cfg)
	if now := b.on("one", "cat "+device+"/mlx4_port2"); strings.TrimSpace(now) != "ib" {
		b.Errorf("port 2 is %q after the apply", now)
	}
	b.ping(4064)
	b.cableOut(cfg)
}

// cableOut: a plan cannot plug a cable in. It shows that the link is gone, and changes
// nothing; with the cable all is as before.
func (b *bench) cableOut(cfg acctest.Config) {
	await := func(state string) {
		b.on("other", "for i in $(seq 120); do grep -q "+state+" /sys/class/infiniband/*/ports/1/state && exit; sleep 0.5; done; exit 1")
	}
	cable := b.lab.Cable(reallab.End{Node: "other"})
	cable.Pull()
	await("DOWN")
	plan := b.plan("cable out", cfg)
	for address, action := range plan.Actions() {
		if action != acctest.NoOp {
			b.Errorf("without the cable the plan is to %s %s", action, address)
		}
	}
	if carrier := plan.Get("infiniband_ipoib_interface.other", "carrier"); carrier != false {
		b.Errorf("without the cable the carrier is %v", carrier)
	}
	cable.Plug()
	await("ACTIVE")
	b.on("other", "for i in $(seq 60); do ping -c 1 -W 1 172.16.0.20 >/dev/null && exit; done; exit 1")
	b.ping(4064)
	b.mustApply("cable in again", cfg)
}

// plan is a plan without errors.
func (b *bench) plan(what string, cfg acctest.Config) *acctest.Plan {
	b.Helper()
	plan, err := b.ws.Plan(context.Background(), cfg)
	if err != nil || plan.Diags.HasError() {
		b.Fatalf("%s: plan: %v\n%v", what, err, plan.Diags.Errors())
	}
	return plan
}

// checkBackup holds that what was kept of a card before its first burn is the firmware
// that it was bought with.
func (b *bench) checkBackup(name string) {
	b.Helper()
	directory, _ := b.ws.Get("infiniband_firmware."+name, "original_backup_path").(string)
	path := filepath.Join(directory, "firmware.bin")
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	image, err := fwimage.Parse(f, info.Size())
	if err != nil {
		b.Fatalf("%s: %v", path, err)
	}
	if string(image.PSID) != card.PSIDEN {
		b.Errorf("the backup %s is of %s", path, image.PSID)
	}
}
