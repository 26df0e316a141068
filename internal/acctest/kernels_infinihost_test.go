//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// PCI devices of the InfiniHost III: without memory of its own, with the firmware of its
// predecessor, and with one port.
const (
	arbel uint16 = 0x6282
	tavor uint16 = 0x6278
	sinai uint16 = 0x6274
)

// TestKernels_infiniHost is the lab "point-to-point" on the stock ib_mthca: two machines,
// each with an InfiniHost III, and cables between them without a switch. Debian 12 and
// Debian 13 are on one link.
func TestKernels_infiniHost(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	for _, chips := range [][2]uint16{{arbel, arbel}, {tavor, sinai}} {
		t.Run(fmt.Sprintf("%x-%x", chips[0], chips[1]), func(t *testing.T) {
			t.Parallel()
			p := newLink(t, chips)
			p.recognised()
			cfg := p.config("connected", 65520)
			ws := p.Workspace()
			mustApply(t, ws, cfg)
			emptyPlan(t, ws, cfg)
			p.measured(ws)
			p.drift(ws, cfg)
			p.ping(65492)
			p.cableOut()
			cfg = p.config("datagram", 2044)
			mustApply(t, ws, cfg)
			emptyPlan(t, ws, cfg)
			p.ping(2016)
			p.Reboot(p.names[1])
			emptyPlan(t, ws, cfg)
			p.ping(2016)
		})
	}
}

// link is two machines with a link between them.
type link struct {
	*Lab
	t        *testing.T
	names    []string
	chips    [2]uint16
	switched bool // there is a switch between them
}

func newLink(t *testing.T, chips [2]uint16) *link {
	hosts := labs.PointToPoint()
	for i := range hosts {
		c := &hosts[i].Cards[0]
		c.Chip.PCIDevice = chips[i]
		if chips[i] == sinai {
			c.Model.Ports = 1
		}
	}
	p := &link{Lab: Start(t, Options{Hosts: hosts}), t: t, chips: chips}
	p.names = p.Names()
	return p
}

// recognised holds that the driver knows the chip, its firmware and its board.
func (p *link) recognised() {
	const await = "for i in $(seq 100); do [ -e /sys/class/infiniband/*/board_id ] && exit; sleep 0.2; done; dmesg | grep -e mthca -e 01:00.0; lspci -k -s 1:0; lsmod; exit 1"
	types := map[uint16]string{arbel: "MT25208", sinai: "MT25204", tavor: "MT25208 (MT23108 compat mode)"}
	for i, name := range p.names {
		p.Run(name, await)
		got := p.Run(name, "cd /sys/class/infiniband/* && cat hca_type fw_ver board_id ports/1/rate")
		want := types[p.chips[i]] + "\n5.3.0\nMT_9230000001\n"
		if !strings.HasPrefix(got, want) {
			p.t.Errorf("%s: the driver sees %q, want %q", name, got, want)
		}
	}
}

// config is the example lab-point-to-point.
func (p *link) config(mode string, mtu int) Config {
	var cfg Config
	for _, name := range p.names {
		cfg = append(cfg, Resource{Type: "infiniband_card", Name: name,
			Attrs: map[string]any{"host": name, "pci_address": "0000:01:00.0"}})
	}
	cfg = append(cfg, Resource{Type: "infiniband_opensm", Name: "link", Attrs: map[string]any{"host": p.names[0],
		"port_guid": To("infiniband_card."+p.names[0], "port_guids", "1"), "priority": 14}})
	for i, name := range p.names {
		cfg = append(cfg, Resource{Type: "infiniband_ipoib_interface", Name: name, After: []string{"infiniband_opensm.link"},
			Attrs: map[string]any{"host": name, "port_guid": To("infiniband_card."+name, "port_guids", "1"),
				"mode": mode, "mtu": mtu, "addresses": []any{fmt.Sprintf("%s.%d/24", kernelSubnet, i+1)}}})
	}
	return cfg
}

// measured has the provider find that packets of the whole MTU pass, and the fabric's
// tools that nothing else is on the link.
func (p *link) measured(ws *Workspace) {
	p.t.Helper()
	v, diags, err := ws.Data(context.Background(), "infiniband_connectivity",
		map[string]any{"from": p.names[0], "to": p.names[1]})
	if err != nil || diags.HasError() {
		p.t.Fatalf("connectivity: %v\n%s", err, diags.Errors())
	}
	if fmt.Sprint(field(p.t, v, "mtu_ok")) != "true" {
		p.t.Errorf("connectivity: %v", v)
	}
	if cas := p.Run(p.names[0], "ibhosts"); strings.Count(cas, "Ca\t:") != 2 {
		p.t.Errorf("on the link there is\n%s", cas)
	}
}

// ping sends packets of the path's whole length in one piece.
func (p *link) ping(size int) {
	p.t.Helper()
	out := p.Run(p.names[0], fmt.Sprintf("ping -c 5 -i 0.3 -W 5 -M do -s %d %s.2", size, kernelSubnet))
	if !strings.Contains(out, " 0% packet loss") {
		p.t.Errorf("%d bytes do not pass:\n%s", size, out)
	}
}

// drift changes things by hand: the plan shows them, and the apply mends them.
func (p *link) drift(ws *Workspace, cfg Config) {
	p.t.Helper()
	p.Run(p.names[0], "systemctl stop 'opensm@*'")
	interfaceOf, _ := ws.Get("infiniband_ipoib_interface."+p.names[1], "interface").(string)
	p.Run(p.names[1], "ip link set dev "+interfaceOf+" mtu 2044")
	plan := cleanPlan(p.t, ws, cfg)
	for _, address := range []string{"infiniband_opensm.link", "infiniband_ipoib_interface." + p.names[1]} {
		if plan.Actions()[address] != Update {
			p.t.Errorf("the plan is to %s %s", plan.Actions()[address], address)
		}
	}
	mustApply(p.t, ws, cfg)
	emptyPlan(p.t, ws, cfg)
}

// cableOut pulls the cable and plugs it in again: the driver sees it, and the subnet
// manager brings the port back.
func (p *link) cableOut() {
	p.t.Helper()
	if err := p.testbed.Unplug(p.names[1], 1); err != nil {
		p.t.Fatal(err)
	}
	const await = `for i in $(seq 300); do grep -q %s /sys/class/infiniband/*/ports/1/state && exit; sleep 0.2; done; exit 1`
	if !p.switched {
		p.Run(p.names[0], fmt.Sprintf(await, "DOWN"))
	}
	p.Run(p.names[1], fmt.Sprintf(await, "DOWN"))
	p.testbed.(*kernelLoan).replug(p.names[1])
	p.Run(p.names[1], fmt.Sprintf(await, "ACTIVE"))
	if p.switched {
		p.reconnected()
	}
	p.ping(65492)
}

// reconnected waits until nothing is lost. The host whose link has stayed up has a connection
// that the other one has forgotten, and loses what it sends on it until that is noticed.
func (p *link) reconnected() {
	p.t.Helper()
	const await = `for i in $(seq 20); do ping -q -c 5 -i 0.3 -W 5 %s.2 | grep -q " 0%% packet loss" && exit; done; exit 1`
	p.Run(p.names[0], fmt.Sprintf(await, kernelSubnet))
}
