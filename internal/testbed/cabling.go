//go:build testbed && linux

package testbed

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed/ibsim"
)

// cabling is the fabric of a loan: the cards of its hosts, cabled as the hosts are
// described, in one ibsim. It follows the cards: their power, the types of their
// ports, and the GUIDs with which they boot.
type cabling struct {
	dir    string
	nodes  []cardNode
	cables [][2]plug

	mu     sync.Mutex
	ended  bool
	fabric *ibsim.Fabric
	net    string           // that runs
	out    map[[2]plug]bool // cables that are not in
	pulled map[plug]bool    // ends that a hand has pulled out
	err    error
}

// cardNode is a card as a node of the fabric.
type cardNode struct {
	name   string
	device *Device
}

// plug is one end of a cable.
type plug struct {
	node string
	port int // counted from one
}

// switchGUID is that of the first switch, as in the simulated lab.
const switchGUID = 0x0002c902004a1b00

func cardName(host string, slot int) string { return fmt.Sprintf("H-%s-%d", host, slot) }

func switchName(i int) string { return fmt.Sprintf("S-%016x", switchGUID+i) }

// cable describes the fabric of hosts, whose cards stand in the given boxes.
func cable(dir string, hosts []labs.Host, boxes map[string]*Host) *cabling {
	c := &cabling{dir: dir, pulled: map[plug]bool{}}
	direct := map[string]bool{}
	for _, h := range hosts {
		if h.Direct != "" {
			direct[h.Name], direct[h.Direct] = true, true
		}
	}
	var switches []string
	used := map[string]int{}
	for _, h := range hosts {
		to := cmp.Or(h.Switch, "switch")
		if !direct[h.Name] && !slices.Contains(switches, to) {
			switches = append(switches, to)
		}
		for slot, described := range h.Cards {
			name := cardName(h.Name, slot)
			c.nodes = append(c.nodes, cardNode{name, boxes[h.Name].cards()[described.BDF]})
			for port := 1; port <= described.Chip.Ports; port++ {
				switch {
				case h.Direct != "":
					c.cables = append(c.cables, [2]plug{{name, port}, {cardName(h.Direct, 0), port}})
				case !direct[h.Name]:
					used[to]++
					c.cables = append(c.cables, [2]plug{{name, port}, {switchName(slices.Index(switches, to)), used[to]}})
				}
			}
		}
	}
	return c
}

// follow has the cards tell of changes, and takes the first picture.
func (c *cabling) follow() error {
	for _, n := range c.nodes {
		n.device.Changed = c.sync
	}
	c.sync()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end takes the fabric away, and says what went wrong with it meanwhile.
func (c *cabling) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	return errors.Join(c.err, c.stop())
}

// stop ends the running ibsim. The caller holds the lock.
func (c *cabling) stop() error {
	for _, n := range c.nodes {
		n.device.HCA.Detach()
	}
	if c.fabric == nil {
		return nil
	}
	f := c.fabric
	c.fabric, c.net = nil, ""
	return f.Stop()
}

// sync makes the fabric what the cards are. Another set of nodes is another
// fabric: then subnet managers begin anew, as they do after a power cut.
func (c *cabling) sync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	err := c.restart(c.describe())
	if err == nil {
		err = c.pull()
	}
	c.err = errors.Join(c.err, err)
}

// restart runs another net, if it is another.
func (c *cabling) restart(net string) error {
	if net == c.net {
		return nil
	}
	if err := c.stop(); err != nil || net == "" {
		return err
	}
	f, err := ibsim.Start(c.dir, net)
	if err != nil {
		return err
	}
	c.fabric, c.net, c.out = f, net, map[[2]plug]bool{}
	for _, n := range c.nodes {
		if !n.device.onFabric() {
			continue
		}
		if err := n.device.HCA.Attach(f, n.name); err != nil {
			return err
		}
	}
	return nil
}

// unplug takes the cable out at an end.
func (c *cabling) unplug(at plug) error {
	c.mu.Lock()
	c.pulled[at] = true
	c.mu.Unlock()
	c.sync()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// pull takes cables out whose ends have no power, speak Ethernet or hang in the air,
// and puts back those that have come to life.
func (c *cabling) pull() error {
	if c.fabric == nil {
		return nil
	}
	for _, cable := range c.cables {
		if !c.has(cable[0]) || !c.has(cable[1]) {
			continue
		}
		out := !c.alive(cable[0]) || !c.alive(cable[1])
		if c.out[cable] == out {
			continue
		}
		c.out[cable] = out
		verb := "ReLink"
		if out {
			verb = "Unlink"
		}
		// One that a program has disabled has no link to lose, nor gets one.
		if err := c.fabric.Console(fmt.Sprintf("%s %q[%d]", verb, cable[0].node, cable[0].port)); err != nil &&
			!c.disabled(cable) {
			return err
		}
	}
	return nil
}

func (c *cabling) card(p plug) *Device {
	for _, n := range c.nodes {
		if n.name == p.node {
			return n.device
		}
	}
	return nil
}

// has reports whether the net has a node: switches always.
func (c *cabling) has(p plug) bool {
	d := c.card(p)
	return d == nil || d.onFabric()
}

// alive reports whether an end of a cable sends a signal.
func (c *cabling) alive(p plug) bool {
	d := c.card(p)
	return !c.pulled[p] && (d == nil || d.powered() && d.isIB(p.port-1))
}

func (c *cabling) disabled(cable [2]plug) bool {
	for _, p := range cable {
		if d := c.card(p); d != nil && d.HCA.Disabled() {
			return true
		}
	}
	return false
}

// describe writes the net file of the cards that have a port on a fabric; "" if
// there is none.
func (c *cabling) describe() string {
	var b, guids strings.Builder
	seen := map[uint64]bool{0: true, ^uint64(0): true}
	for i, n := range c.nodes {
		if !n.device.onFabric() {
			continue
		}
		fw := n.device.Card().Running()
		guid := fw.GUIDs[0]
		if seen[guid] {
			// ibsim reads nodes by their GUID; it is told afterwards.
			for p := range n.device.Card().Chip.Ports {
				fmt.Fprintf(&guids, "do Guid %q[%d] 0x%x\n", n.name, p+1, fw.GUIDs[p+1])
			}
			fmt.Fprintf(&guids, "do Guid %q 0x%x\n", n.name, guid)
			guid = switchGUID + 0x10000 + uint64(i)*16
		}
		seen[guid] = true
		fmt.Fprintf(&b, "\nvendid=0x%x\ndevid=0x%x\nsysimgguid=0x%x\ncaguid=0x%x\nCa\t%d %q\t\t# %q\n",
			vendor, fw.Device, fw.GUIDs[3], guid, n.device.Card().Chip.Ports, n.name, n.device.Description)
		c.links(&b, n.name, func(port int) string { return fmt.Sprintf("(%x)", guid+uint64(port)) })
	}
	if b.Len() == 0 {
		return ""
	}
	return "speed=7\nwidth=3\n" + c.switches() + b.String() + "\n" + guids.String()
}

// switches describes those that a cable goes to.
func (c *cabling) switches() string {
	var b strings.Builder
	for i := range len(c.cables) {
		name, guid := switchName(i), switchGUID+i
		if !slices.ContainsFunc(c.cables, func(cable [2]plug) bool { return cable[1].node == name }) {
			continue
		}
		fmt.Fprintf(&b, "\nvendid=0x%x\ndevid=0xc738\nsysimgguid=0x%x\nswitchguid=0x%x(%x)\nSwitch\t36 %q\t\t# \"SwitchX -  "+
			"Mellanox Technologies\" base port 0 lid 0 lmc 0\n",
			vendor, guid, guid, guid, name)
		c.links(&b, name, func(int) string { return "" })
	}
	return b.String()
}

// links lists the cables at a node whose other end is there too.
func (c *cabling) links(b *strings.Builder, node string, guid func(port int) string) {
	for _, cable := range c.cables {
		for side, p := range cable {
			if other := cable[1-side]; p.node == node && c.has(other) {
				fmt.Fprintf(b, "[%d]%s\t%q[%d]\t\t# \"x\" lid 0 4xQDR\n", p.port, guid(p.port), other.node, other.port)
			}
		}
	}
}
