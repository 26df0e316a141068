//go:build testbed && linux

package testbed

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const baseMAC = 0xe41d2de44ed0

// An access of a register takes some fifty microseconds, and there are eighty for each
// sixteen bytes of flash. Images are therefore as small as may be: 2.5 kilobytes, most of
// which is not code.
const smallCode = 0x100

func smallImage(psid string, version [3]uint16, date uint32) []byte {
	return imageOf(smallCode, psid, version, date)
}

func imageOf(code int, psid string, version [3]uint16, date uint32) []byte {
	return card.Build(card.Spec{
		PSID: psid, Version: version, Product: "02.00.00.00", Date: date, Device: 0x1007, HWIDs: []uint32{0x1f7}, VSD: "n/a",
		PRS:   "testbed.prs",
		GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true, ChunkLog: 17, Code: code,
	})
}

var (
	imageEN  = sync.OnceValue(func() []byte { return smallImage(card.PSIDEN, [3]uint16{2, 40, 5032}, 0x20170116) })
	imageVPI = sync.OnceValue(func() []byte { return smallImage(card.PSIDVPI, [3]uint16{2, 42, 5000}, 0x20170905) })
)

// secondHand is a ConnectX-3 Pro as bought: Ethernet-only firmware, MACs of its
// own and GUIDs that nobody set.
func secondHand() card.Config {
	return card.Config{Chip: card.ConnectX3Pro, Image: imageEN(), GUIDs: card.BlankGUIDs,
		MACs: [2]uint64{baseMAC, baseMAC + 1}}
}

func start(t *testing.T, hosts ...HostConfig) *Testbed {
	t.Helper()
	b, err := Start(t.Context(), t.TempDir(), hosts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("take the testbed away: %v", err)
		}
	})
	return b
}

// open reaches a host as the provider does.
func open(t *testing.T, b *Testbed, name string) *hosts.Host {
	t.Helper()
	h, err := sshhost.New(name, sshhost.Config{
		Address: b.Hosts[name].Addr, User: User, PrivateKeyFile: b.KeyFile(), SSHConfigFile: "none",
		KnownHostsFiles: []string{b.KnownHostsFile()}, ConnectAttempts: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return hosts.New(h)
}

func snapshot(t *testing.T, h *hosts.Host) *inventory.Snapshot {
	t.Helper()
	h.Invalidate()
	s, err := h.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, h *hosts.Host, cmd shellcmd.Command) string {
	t.Helper()
	r, err := h.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Stdout)
}

func TestHost_real_tools_over_SSH(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	b := start(t, HostConfig{Name: "tools", Card: secondHand()})
	t.Logf("sshd answered %s after the start", time.Since(begin).Round(time.Millisecond))
	h := open(t, b, "tools")
	out := run(t, h, shellcmd.New("mstflint", "-d", DefaultBDF, "q").AsRoot())
	for _, line := range []string{
		"FW Version:            2.40.5032\n", "PSID:                  " + card.PSIDEN + "\n",
		"GUIDs:                 ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff \n",
		"e41d2de44ed0     e41d2de44ed1\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("mstflint does not print %q:\n%s", line, out)
		}
	}
	if out := run(t, h, shellcmd.New("lspci", "-s", DefaultBDF).AsRoot()); !strings.Contains(out,
		"MT27520 Family [ConnectX-3 Pro]") {
		t.Errorf("lspci says %q", out)
	}
	if out := run(t, h, shellcmd.New("systemctl", "is-system-running", "--wait")); strings.TrimSpace(out) != "running" {
		t.Errorf("systemd says %q", out)
	}
}

func TestHost_snapshot_of_the_provider(t *testing.T) {
	t.Parallel()
	b := start(t, HostConfig{Name: "facts", Card: secondHand(),
		Board: Board{Product: "CX314A - ConnectX-3 Pro QSFP", PartNumber: "MCX314A-BCCT", SerialNumber: "MT1234X00001"}})
	host := open(t, b, "facts")
	s := snapshot(t, host)
	if devs := s.SSH.Devs.Or(nil); s.OS.ID != "ubuntu" || s.MSTFlint.Version != "4.21.0" || len(devs) != 1 ||
		devs[0] != "eno1" {
		t.Errorf("system %+v, mstflint %v, SSH over %+v", s.OS, s.MSTFlint.Version, s.SSH)
	}
	c, ok := s.Card(ib.MustParsePCIAddress(DefaultBDF))
	if !ok || c.Flash == nil {
		t.Fatalf("no flash of the card in %+v", s.Cards)
	}
	if c.Flash.PSID != card.PSIDEN || c.Flash.FW.String() != "2.40.5032" || c.Flash.GUIDs.MAC1 != baseMAC ||
		!c.Flash.GUIDs.Node.IsUnset() {
		t.Errorf("flash %+v", c.Flash)
	}
	if c.Driver != "mlx4_core" || c.RunningPSID != card.PSIDEN || c.RunningFW != "2.40.5032" || c.DeviceID != 0x1007 ||
		len(c.Ports) != 2 {
		t.Errorf("card %+v", c)
	}
	// Read by lspci from the emulated capabilities.
	if c.PartNumber != "MCX314A-BCCT" || c.Serial.Or("") != "MT1234X00001" {
		t.Errorf("part number %q, serial number %q\n%s", c.PartNumber, c.Serial.Or(""),
			run(t, host, shellcmd.New("lspci", "-vvs", DefaultBDF).AsRoot()))
	}
	if types, err := host.StoredLinkTypes(t.Context(), c.PCI); err != nil || !fact.Yes(types.Served) {
		t.Errorf("link types in the card: %v, %s", err, types.Types.Why())
	}
	twoCards(t, b.Hosts["facts"], host)
}

// twoCards puts a ConnectX-3 beside the first card.
func twoCards(t *testing.T, box *Host, host *hosts.Host) {
	t.Helper()
	const slot = "0000:02:00.0"
	model, err := card.New(oldCard())
	if err != nil {
		t.Fatal(err)
	}
	second := NewDevice(model)
	second.RDMA = "mlx4_1"
	box.Slot(slot, second)
	s := snapshot(t, host)
	c, ok := s.Card(ib.MustParsePCIAddress(slot))
	if !ok || c.Flash == nil || c.DeviceID != 0x1003 || c.Flash.PSID != card.PSIDCX3 || c.RunningPSID != card.PSIDCX3 ||
		len(s.Cards) != 2 {
		t.Errorf("a ConnectX-3 beside the first card: %+v of %d", c, len(s.Cards))
	}
	box.Slot(slot, nil)
	if s := snapshot(t, host); len(s.Cards) != 1 {
		t.Errorf("without the second card there are %d", len(s.Cards))
	}
}

// TestHost_boots_what_is_in_flash burns with the real tool and restarts: only
// then does the card run the new firmware.
func TestHost_boots_what_is_in_flash(t *testing.T) {
	t.Parallel()
	b := start(t, HostConfig{Name: "reboot", Card: secondHand()})
	h, box := open(t, b, "reboot"), b.Hosts["reboot"]
	if err := box.Put("/root/vpi.bin", imageVPI()); err != nil {
		t.Fatal(err)
	}
	run(t, h, shellcmd.New("mstflint", "-y", "-allow_psid_change", "-d", DefaultBDF, "-i", "/root/vpi.bin", "b").AsRoot())
	before := snapshot(t, h)
	c, _ := before.Card(ib.MustParsePCIAddress(DefaultBDF))
	if c.Flash.PSID != card.PSIDVPI || c.RunningPSID != card.PSIDEN {
		t.Errorf("before the restart: in flash %s, running %s", c.Flash.PSID, c.RunningPSID)
	}
	p, err := platform.Of(before)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	id, err := p.Reboot(t.Context(),
		h, reboot.Policy{Timeout: time.Minute, Poll: 100 * time.Millisecond, Reason: "test"})
	if err != nil {
		t.Fatalf("%v\n%s", err, box.Console())
	}
	t.Logf("restarted in %s", time.Since(begin).Round(time.Millisecond))
	after := snapshot(t, h)
	c, _ = after.Card(ib.MustParsePCIAddress(DefaultBDF))
	if id == before.BootID || after.BootID != id || box.Boots() != 2 {
		t.Errorf("boot id %s, before %s, %d boots", after.BootID, before.BootID, box.Boots())
	}
	if c.RunningPSID != card.PSIDVPI || c.RunningFW != "2.42.5000" || box.Device.Card().Running().PSID != card.PSIDVPI {
		t.Errorf("after the restart: running %s %s", c.RunningPSID, c.RunningFW)
	}
}

// TestHost_power_cut takes the power away and gives it back: a new boot of the
// same disk.
func TestHost_power_cut(t *testing.T) {
	t.Parallel()
	b := start(t, HostConfig{Name: "cut", Card: secondHand()})
	box := b.Hosts["cut"]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	first, err := box.Exec(ctx, "echo kept >/root/kept; cat /proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if err = box.Cut(); err != nil {
		t.Fatal(err)
	}
	if out, failed := box.Exec(ctx, "true"); failed == nil {
		t.Errorf("the host runs commands without power: %q", out)
	}
	if err = box.Boot(ctx); err != nil {
		t.Fatal(err)
	}
	second, err := box.Exec(ctx, "cat /root/kept /proc/sys/kernel/random/boot_id")
	if err != nil || !strings.HasPrefix(second, "kept\n") || strings.HasSuffix(second, first) {
		t.Errorf("after the cut: %v, %q, boot id before %q", err, second, first)
	}
}

// TestDevice_without_power_is_deaf holds that nothing writes to a flash whose
// power is gone.
func TestDevice_without_power_is_deaf(t *testing.T) {
	t.Parallel()
	model, err := card.New(secondHand())
	if err != nil {
		t.Fatal(err)
	}
	d := NewDevice(model)
	before := model.Flash.Dump()
	erase := func() {
		// Write enable and an erase of 4 KiB, through the flash gateway.
		for _, w := range [][2]uint32{{0xf0400, 1<<30 | 1<<2 | 0x06<<16}, {0xf0404, 0}, {0xf0400, 1<<30 | 1<<2 | 0x20<<16}} {
			d.Write(0, registers.WindowAddr, []byte{byte(w[0]), byte(w[0] >> 8), byte(w[0] >> 16), byte(w[0] >> 24)})
			d.Write(0, registers.WindowData, []byte{byte(w[1]), byte(w[1] >> 8), byte(w[1] >> 16), byte(w[1] >> 24)})
		}
	}
	d.PowerOff()
	erase()
	if !bytes.Equal(before, model.Flash.Dump()) {
		t.Error("the flash changed without power")
	}
	d.PowerOn()
	erase()
	if bytes.Equal(before, model.Flash.Dump()) {
		t.Error("an erase through the registers changed nothing")
	}
}
