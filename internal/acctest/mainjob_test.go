package acctest

import (
	"context"
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// lockedHost is a host of Debian 12 with a card that is locked to Ethernet.
func lockedHost(name, address string, i int, stack labsim.Stack) labs.Host {
	h := labs.Server(name, labsim.Debian12, address, i)
	unset := ^uint64(0)
	h.Stack = stack
	h.Cards[0].Image, h.Cards[0].GUIDs = card.EN(), [4]uint64{unset, unset, unset, unset}
	return h
}

// TestMainJob is the main scenario between two hosts of Debian 12: one apply from
// two cards as bought to packets that are measured. make reallab does the same with real
// programs on real kernels.
func TestMainJob(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: []labs.Host{
		lockedHost(oneEnd, "192.0.2.20", 0, labsim.StackNetplan), lockedHost("other", "192.0.2.21", 1, labsim.StackNetworkManager),
	}})
	var cfg Config
	var ends []string
	for i, host := range w.Names() {
		cfg = append(cfg, w.crossFlash(host, i)...)
		ends = append(ends, "infiniband_ipoib_interface."+host)
	}
	cfg = append(cfg, Resource{Type: "infiniband_benchmark", Name: "it", After: ends, Attrs: map[string]any{
		"server": "other", "client": oneEnd, "test": "iperf3", "duration": "1s",
	}})
	ws := w.Workspace()
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	got, problems := measurePing(t, ws, map[string]any{"from": "other", "to": oneEnd, "packets": 2})
	if fmt.Sprint(field(t, got, "path_mtu"), field(t, got, "mtu_ok")) != "65520 true" || problems != "" {
		t.Errorf("path MTU %v, problems:\n%s", field(t, got, "path_mtu"), problems)
	}
	fabric, diags, err := ws.Data(context.Background(), "infiniband_fabric", map[string]any{
		"host": oneEnd, "expected_links": cables(oneEnd+"/1", oneEnd+"/2", "other/1", "other/2"),
	})
	if err != nil || diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	if m := messages(t, fabric); m != "" {
		t.Errorf("differences:\n%s", m)
	}
	t.Logf("measured: main job, iperf3 gbps %v", ws.Get("infiniband_benchmark.it", "gbps"))
	for i, host := range w.Names() {
		if images, guids := w.Burns(host); images != 1 || guids != 1 {
			t.Errorf("%s: %d firmware burns and %d GUID changes, expected one of each", host, images, guids)
		}
		if fw := w.Card(host).Running(); fw.PSID != card.PSIDVPI || fw.GUIDs[0] != 0xe41d2d0300e44ed0+uint64(i)*0x10 {
			t.Errorf("%s runs %s with the GUIDs %x", host, fw.PSID, fw.GUIDs)
		}
	}
}

// TestMainJob_link_before_diagnostics has the ports come up as InfiniBand with the first
// restart, before anything has installed infiniband-diags. The GUIDs are written, with a
// word on the fabric that nobody could look at.
func TestMainJob_link_before_diagnostics(t *testing.T) {
	t.Parallel()
	host := lockedHost(oneEnd, "192.0.2.20", 0, labsim.StackNetplan)
	host.Cmdline = "mlx4_core.port_type_array=1,1"
	host.Files = map[string]string{"/etc/modules-load.d/ib.conf": "mlx4_ib\n"}
	w := Start(t, Options{Hosts: []labs.Host{host}})
	said := mustApply(t, w.Workspace(), w.crossFlash(oneEnd, 0)[:4]).Warnings().Find("GUIDs of the fabric of port",
		"are not compared")
	if len(said) == 0 {
		t.Error("nothing is said of the fabric")
	}
	if got := w.Card(oneEnd).Running().GUIDs[0]; got != 0xe41d2d0300e44ed0 { // of labs.MAC(0)
		t.Errorf("the card runs with the GUID %#x", got)
	}
}

// crossFlash is all that one host needs; the first has the subnet manager.
func (w *Lab) crossFlash(host string, i int) Config {
	card, guids := "infiniband_card."+host, "infiniband_guids."+host
	cfg := Config{
		{Type: "infiniband_card", Name: host, Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}},
		{Type: "infiniband_firmware_image", Name: host,
			Attrs: map[string]any{"host": host, "source": w.Image(ImageVPI), "sha256": w.Images[ImageVPI].SHA256}},
		{Type: "infiniband_firmware", Name: host, Attrs: map[string]any{
			"card_id": To(card, "id"), "image_id": To("infiniband_firmware_image."+host,
				"id"), "allow": map[string]any{"psid_change": Consent()}, "activation": "reboot",
		}},
		{Type: "infiniband_guids", Name: host, After: []string{"infiniband_firmware." + host}, Attrs: map[string]any{
			"card_id": To(card, "id"), "base_mac": labs.MAC(i), "activation": "reboot",
		}},
		{Type: "infiniband_link_type", Name: host, After: []string{guids},
			Attrs: map[string]any{"card_id": To(card, "id"), "ports": map[string]any{"1": "ib", "2": "ib"}}},
	}
	after := []string{"infiniband_link_type." + host}
	if i == 0 {
		cfg = append(cfg, Resource{Type: "infiniband_opensm", Name: host, After: after, Attrs: map[string]any{
			"host": host, "port_guid": To(guids, "port_guids", "1"), "priority": 14,
		}})
	}
	return append(cfg, Resource{Type: "infiniband_ipoib_interface", Name: host,
		After: append(after, "infiniband_opensm."+w.Names()[0]), Attrs: map[string]any{
			"host": host, "port_guid": To(guids, "port_guids",
				"1"), "mode": "connected", "addresses": []any{fmt.Sprintf("%s.%d/24", w.Subnet(host), 20+i)},
		}})
}
