package acctest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// boughtHost is one host of the main scenario as it was bought.
func boughtHost(changes ...func(*labs.Host)) []labs.Host {
	return changeHosts(labs.TwoHosts()[:1], changes)
}

func changeHosts(hosts []labs.Host, changes []func(*labs.Host)) []labs.Host {
	for _, change := range changes {
		change(&hosts[0])
	}
	return hosts
}

// vpi is the two hosts after the cross-flash: VPI firmware, GUIDs of their own
// and InfiniBand on both ports, but no subnet manager.
func vpi(changes ...func(*labs.Host)) []labs.Host {
	hosts := labs.TwoHosts()
	for i := range hosts {
		c := &hosts[i].Cards[0]
		node := NodeGUID(hosts[i].Name)
		c.Image, c.GUIDs = card.VPI(), [4]uint64{node, node + 1, node + 2, node + 3}
		if hosts[i].OS == labsim.TrueNAS {
			hosts[i].Cmdline = "mlx4_core.port_type_array=1,1"
		} else {
			hosts[i].Files = map[string]string{"/etc/modprobe.d/mlx4.conf": "options mlx4_core port_type_array=1,1\n"}
		}
	}
	return changeHosts(hosts, changes)
}

// noFlash hides the tools that read the flash of real hosts: what is asked of a
// fabric is not asked of flash, and mstflint takes a second for each look through
// emulated registers.
func (w *Lab) noFlash() {
	w.t.Helper()
	for _, name := range w.Names() {
		w.Run(name, "chmod a-x /usr/bin/mstflint /usr/bin/mstconfig")
		w.t.Cleanup(func() { w.Run(name, "chmod a+x /usr/bin/mstflint /usr/bin/mstconfig") })
	}
}

// drivers loads the InfiniBand drivers of all hosts.
func drivers(w *Lab) {
	w.t.Helper()
	if w.testbed != nil {
		w.noFlash() // real hosts have the drivers in the kernel
		return
	}
	for _, m := range w.Machines() {
		for _, name := range []string{"mlx4_ib", "ib_umad", "ib_ipoib"} {
			if err := m.LoadModule(name); err != nil {
				w.t.Fatalf("load %s on %s: %v", name, m.Name, err)
			}
		}
	}
}

// image changes the firmware that the card was delivered with.
func image(data []byte) func(*labs.Host) { return func(h *labs.Host) { h.Cards[0].Image = data } }

// spec is an image like the VPI one, with something changed.
func spec(change func(*card.Spec)) []byte {
	s := card.Spec{
		PSID: card.PSIDVPI, Version: [3]uint16{2, 42,
			5000}, Product: "02.42.50.00", Date: 0x20170905, Device: 0x1007, HWIDs: []uint32{0x1f7},
		VSD: "n/a", PRS: "synthetic_cx3pro_vpi.prs", GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true,
		Code: 0x3000,
	}
	change(&s)
	return card.Build(s)
}

// anotherCard puts a second card into the host.
func anotherCard(h *labs.Host) {
	second := h.Cards[0]
	second.BDF, second.SerialNumber = "0000:02:00.0", "MT1234X09999"
	for i := range second.GUIDs {
		if second.GUIDs[i] != ^uint64(0) {
			second.GUIDs[i] += 0x100
		}
	}
	second.MACs = [2]uint64{second.MACs[0] + 0x100, second.MACs[1] + 0x100}
	h.Cards = append(h.Cards, second)
}

// file writes a file for the operator and gives its path.
func (w *Lab) file(name string, data []byte) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// burn is the configuration that wants an image in a card of a host, with
// consent to the cross-flash of the main scenario.
func (w *Lab) burn(host, source string, extra map[string]any) Config {
	attrs := map[string]any{
		"card_id": host + "/" + w.PCI(host), "image_id": To("infiniband_firmware_image.it",
			"id"), "activation": "reboot", "allow": map[string]any{"psid_change": Consent()},
	}
	return Config{
		{Type: "infiniband_firmware_image", Name: "it", Attrs: map[string]any{"host": host, "source": source}},
		Resource{Type: "infiniband_firmware", Name: "it", Attrs: attrs}.With(extra),
	}
}

func (w *Lab) guids(host string, attrs map[string]any) Config {
	all := map[string]any{"card_id": host + "/" + w.PCI(host), "activation": "reboot"}
	return Config{Resource{Type: "infiniband_guids", Name: "it", Attrs: all}.With(attrs)}
}

func (w *Lab) types(host, one, two string) Config {
	return Config{{Type: "infiniband_link_type", Name: "it", Attrs: map[string]any{
		"card_id": host + "/" + w.PCI(host), "ports": map[string]any{"1": one, "2": two},
	}}}
}

// portGUID is the GUID of a port that a host of vpi has, as Terraform writes it.
func portGUID(host string, port int) string {
	return fmt.Sprintf("0x%016x", NodeGUID(host)+uint64(port))
}

func sm(host string, attrs map[string]any) Config {
	all := map[string]any{"host": host, "port_guid": portGUID(host, 1), "priority": 5}
	return Config{Resource{Type: "infiniband_opensm", Name: "it", Attrs: all}.With(attrs)}
}

func ipoib(host string, attrs map[string]any) Config {
	all := map[string]any{"host": host, "port_guid": portGUID(host, 1), "mode": "connected",
		"addresses": []any{"172.16.0.20/24"}}
	return Config{Resource{Type: "infiniband_ipoib_interface", Name: "it", Attrs: all}.With(attrs)}
}

// tool replaces a program of a host: it is given the former one.
func (w *Lab) tool(host, file string, replace func(ctx context.Context, p *labsim.Proc, former labsim.Program) int) {
	w.t.Helper()
	m := w.Machine(host)
	info, err := m.FS.Stat(vfs.Root, file, true)
	if err != nil {
		w.t.Fatal(err)
	}
	former, ok := info.Attached.(labsim.Program)
	if !ok {
		w.t.Fatalf("%s on %s is no simulated program", file, host)
	}
	m.Install(file, func(ctx context.Context, p *labsim.Proc) int { return replace(ctx, p, former) })
}

const mstflint = "/usr/bin/mstflint"

// mstflintSays replaces what mstflint does for calls whose arguments end in
// words: it prints text and ends with a status.
func (w *Lab) mstflintSays(host, words, text string, status int) {
	w.tool(host, mstflint, func(ctx context.Context, p *labsim.Proc, former labsim.Program) int {
		if !strings.HasSuffix(strings.Join(p.Args, " "), words) {
			return former(ctx, p)
		}
		p.Printf("%s", text)
		return status
	})
}

// mstflintEdits changes what mstflint prints for calls whose arguments end in words.
func (w *Lab) mstflintEdits(host, words string, edit func(string) string) {
	w.edits(host, mstflint, words+"$", edit)
}

// edits changes what a program prints for calls whose arguments hold words; a
// "$" behind them means that the arguments end there.
func (w *Lab) edits(host, file, words string, edit func(string) string) {
	words, atEnd := strings.CutSuffix(words, "$")
	w.tool(host, file, func(ctx context.Context, p *labsim.Proc, former labsim.Program) int {
		args := strings.Join(p.Args, " ")
		if !strings.Contains(args, words) || atEnd && !strings.HasSuffix(args, words) {
			return former(ctx, p)
		}
		var out bytes.Buffer
		stdout := p.Stdout
		p.Stdout = &out
		status := former(ctx, p)
		p.Stdout = stdout
		p.Printf("%s", edit(out.String()))
		return status
	})
}
