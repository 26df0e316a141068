//go:build reallab && linux

package acctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestKernels_qLogic is two machines with Debian 12 and Debian 13, each with an IBA7322, on
// the stock ib_qib: with one port each and a cable between them, and with two ports on a
// switch. Management of the subnet and connections are the driver's own.
func TestKernels_qLogic(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	for _, board := range []qLogic{{"QLE7340", 1}, {"QLE7342", 2}} {
		t.Run(board.name, func(t *testing.T) {
			t.Parallel()
			p := board.link(t)
			p.recognised()
			cfg := p.config("connected", 65520)
			ws := p.Workspace()
			mustApply(t, ws, cfg)
			emptyPlan(t, ws, cfg)
			p.measured(ws)
			p.drift(ws, cfg)
			p.ping(65492)
			p.counted()
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

// qLogic is a board.
type qLogic struct {
	name  string
	ports int
}

// qLogicLink is two machines with the same board each.
type qLogicLink struct {
	link
	qLogic
}

// link starts the machines. Boards with one port have no switch between them.
func (q qLogic) link(t *testing.T) *qLogicLink {
	hosts := labs.PointToPoint()
	for i := range hosts {
		guid := 0x0011750000791fec + uint64(i)*0x10
		c := labsim.WithoutFlash("0000:01:00.0", labsim.QIB(), [3]uint16{}, "", [4]uint64{guid, guid, 0, guid})
		c.Model.Ports, c.Chip.Ports, c.SerialNumber = q.ports, q.ports, fmt.Sprintf("AIB1109A%04d", i)
		hosts[i].Cards = []labsim.CardConfig{c}
	}
	if q.ports > 1 {
		hosts[0].Direct = ""
	}
	p := &qLogicLink{link{Lab: Start(t, Options{Hosts: hosts}), t: t, switched: q.ports > 1}, q}
	p.names = p.Names()
	return p
}

// recognised holds that the driver knows the board, and has read its memory and the
// cable's.
func (p *qLogicLink) recognised() {
	const await = `for i in $(seq 300); do grep -q -e INIT -e ACTIVE /sys/class/infiniband/*/ports/1/state && exit; sleep 0.2; done
dmesg | grep -e qib -e 01:00.0; lspci -k -s 1:0; exit 1`
	for i, name := range p.names {
		p.Run(name, await)
		got := p.Run(name, "cd /sys/class/infiniband/* && cat hca_type hw_rev node_guid ports/1/rate && ls ports | wc -l")
		want := fmt.Sprintf("InfiniPath_%s\n2\n0011:7500:0079:1f%xc\n40 Gb/sec (4X QDR)\n%d\n", p.name, 0xe+i, p.ports)
		if got != want {
			p.t.Errorf("%s: the driver sees %q, want %q", name, got, want)
		}
		if said := p.Run(name, "dmesg | grep qib | grep -i -e checksum -e 'cks[12]' -e stuck -e 'functional test' || true"); said != "" {
			p.t.Errorf("%s: the driver says %s", name, said)
		}
	}
}

// counted holds that the driver's agent counts the packets of the chip, and that ibstat
// sees the port.
func (p *qLogicLink) counted() {
	p.t.Helper()
	if out := p.Run(p.names[1], "ibstat"); !strings.Contains(out, "State: Active") || !strings.Contains(out, "InfiniPath_"+p.name) {
		p.t.Errorf("ibstat:\n%s", out)
	}
	for _, name := range p.names {
		out := p.Run(name, "perfquery")
		for _, counter := range []string{"PortXmitPkts", "PortRcvPkts", "PortXmitData", "PortRcvData"} {
			_, value, found := strings.Cut(out, counter+":")
			value, _, _ = strings.Cut(value, "\n")
			if !found || strings.Trim(value, ".") == "0" {
				p.t.Errorf("%s of %s is %q", counter, name, value)
			}
		}
	}
}
