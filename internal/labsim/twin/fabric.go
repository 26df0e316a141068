package twin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// node is one of ibnetdiscover.
type node struct {
	kind, desc     string // Switch or Ca
	ports          int
	guid, system   uint64
	vendor, device uint64
	links          map[int]peer
	portGUIDs      map[int]uint64
}

type peer struct {
	guid uint64
	port int
}

var (
	attribute = regexp.MustCompile(`^(vendid|devid|sysimgguid|switchguid|caguid)=0x([0-9a-f]+)`)
	head      = regexp.MustCompile(`^(Switch|Ca|Rt)\t(\d+) "[SHR]-([0-9a-f]{16})"\s+# "([^"]*)"`)
	cable     = regexp.MustCompile(`^\[(\d+)\](?:\(([0-9a-f]+)\))?\s+"[SHR]-([0-9a-f]{16})"\[(\d+)\]`)
)

// nodes are those of all walks, by GUID.
func (t *Twin) nodes() map[uint64]*node {
	all := map[uint64]*node{}
	for _, h := range t.Hosts {
		for _, walk := range t.builders[h.Name].walks {
			now, attrs := (*node)(nil), map[string]uint64{}
			for line := range strings.Lines(walk["net"].text) {
				switch {
				case strings.TrimSpace(line) == "":
					now, attrs = nil, map[string]uint64{}
				case attribute.MatchString(line):
					m := attribute.FindStringSubmatch(line)
					attrs[m[1]], _ = strconv.ParseUint(m[2], 16, 64)
				case head.MatchString(line):
					m := head.FindStringSubmatch(line)
					now = &node{kind: m[1], desc: m[4], guid: guid(m[3]), system: attrs["sysimgguid"], vendor: attrs["vendid"],
						device: attrs["devid"], links: map[int]peer{}, portGUIDs: map[int]uint64{}}
					now.ports, _ = strconv.Atoi(m[2])
					all[now.guid] = now
				case cable.MatchString(line) && now != nil:
					m := cable.FindStringSubmatch(line)
					port, _ := strconv.Atoi(m[1])
					far, _ := strconv.Atoi(m[4])
					now.links[port], now.portGUIDs[port] = peer{guid(m[3]), far}, guid(m[2])
				}
			}
		}
	}
	return all
}

var (
	ownLID   = regexp.MustCompile(`(?m)^Switch\t\d+ "S-([0-9a-f]{16})".* lid (\d+) lmc`)
	gidFiles = regexp.MustCompile(`^(/sys/class/infiniband/.*/ports/\d+)/gids/0$`)
)

// lids are those that ports and switches had, by GUID.
func (t *Twin) lids() map[uint64]uint16 {
	all := map[uint64]uint16{}
	for _, b := range t.builders {
		for file, gid := range b.values {
			m := gidFiles.FindStringSubmatch(file)
			if m == nil || len(gid) <= 20 {
				continue
			}
			if lid, err := strconv.ParseUint(b.values[m[1]+"/lid"], 0, 16); err == nil && lid > 0 && lid < 0xc000 {
				all[guid(gid[20:])] = uint16(lid)
			}
		}
		for _, walk := range b.walks {
			for _, m := range ownLID.FindAllStringSubmatch(walk["net"].text, -1) {
				if lid, err := strconv.ParseUint(m[2], 10, 16); err == nil && lid > 0 {
					all[guid(m[1])] = uint16(lid)
				}
			}
		}
	}
	return all
}

// cable joins what the fabric has shown. A port with a link of which no walk tells has
// something of its own at the other end.
func (t *Twin) cable(lab *labs.Lab) error {
	ends, nodes := t.ownPorts(lab), t.nodes()
	var order []uint64
	for id, n := range nodes {
		order = append(order, id)
		switch {
		case n.kind == "Switch":
			s := lab.AddSwitch(name(n), n.guid, n.ports)
			s.Desc, s.SystemGUID, s.VendorID, s.DeviceID = n.desc, n.system, uint32(n.vendor), uint16(n.device)
		case !t.isOurs(lab, n.guid):
			lab.AddAdapter(labsim.Adapter{Name: name(n), Desc: n.desc, GUID: n.guid, SystemGUID: n.system, Ports: n.ports,
				VendorID: uint32(n.vendor), DeviceID: uint16(n.device)})
		}
	}
	slices.Sort(order)
	end := func(n *node, port int) (labsim.End, bool) {
		switch own, ours := ends[peer{n.guid, port}]; {
		case n.kind == "Switch":
			return labsim.SwitchEnd(name(n), port), true
		case ours:
			return own, true
		case t.isOurs(lab, n.guid):
			return own, false
		}
		return labsim.AdapterEnd(name(n), port), true
	}
	for _, id := range order {
		for _, port := range slices.Sorted(maps.Keys(nodes[id].links)) {
			p := nodes[id].links[port]
			far := nodes[p.guid]
			if far == nil {
				continue
			}
			a, known := end(nodes[id], port)
			b, knownToo := end(far, p.port)
			if _, done := lab.Peer(a); known && knownToo && !done {
				if err := lab.Connect(a, b); err != nil {
					return err
				}
			}
		}
	}
	if t.OneSwitch {
		return t.plugIn(lab)
	}
	return t.looseEnds(lab)
}

// plugIn cables the ports of which nothing is known to one switch.
func (t *Twin) plugIn(lab *labs.Lab) error {
	s := lab.AddSwitch("switch", 0x0002c9ff000000ff, 36)
	used := 0
	for _, m := range lab.Machines() {
		for _, c := range m.Cards() {
			for _, p := range c.Ports {
				end := labsim.CardEnd(m.Name, c.Config.BDF, p.Number)
				if _, cabled := lab.Peer(end); cabled {
					continue
				}
				used++
				s.Ports = max(s.Ports, used)
				if err := lab.Connect(end, labsim.SwitchEnd(s.Name, used)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func name(n *node) string { return fmt.Sprintf("%016x", n.guid) }

// ownPorts are the ends of the cards of the lab, by the GUID of their node and number.
func (t *Twin) ownPorts(lab *labs.Lab) map[peer]labsim.End {
	out := map[peer]labsim.End{}
	for _, m := range lab.Machines() {
		for _, c := range m.Cards() {
			for _, p := range c.Ports {
				out[peer{p.View().NodeGUID, p.Number}] = labsim.CardEnd(m.Name, c.Config.BDF, p.Number)
			}
		}
	}
	return out
}

func (t *Twin) isOurs(lab *labs.Lab, node uint64) bool {
	for _, m := range lab.Machines() {
		for _, c := range m.Cards() {
			if c.Running().GUIDs[0] == node {
				return true
			}
		}
	}
	return false
}

// looseEnds gives a link to each port that had one, and of which nothing else is known.
func (t *Twin) looseEnds(lab *labs.Lab) error {
	for _, h := range t.Hosts {
		b := t.builders[h.Name]
		for _, c := range lab.Machine(h.Name).Cards() {
			for _, p := range c.Ports {
				end := labsim.CardEnd(h.Name, c.Config.BDF, p.Number)
				file := fmt.Sprintf("%s/ports/%d/phys_state", b.rdma(c.Config.BDF), p.Number)
				if _, cabled := lab.Peer(end); cabled || !strings.HasSuffix(b.values[file], "LinkUp") {
					continue
				}
				b.lacks("where the cable of port %d of card %s leads; it ends at something that nobody knows", p.Number, c.Config.BDF)
				if err := lab.Connect(end, b.unknownEnd(lab, file, len(lab.Switches())+1)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unknownEnd is what a port has at the other end of its cable, of which the recording says no more than what the link
// has come up with.
func (b *builder) unknownEnd(lab *labs.Lab, physState string, i int) labsim.End {
	port := strings.TrimSuffix(physState, "/phys_state")
	at, id := fmt.Sprintf("unknown-%s-%s", b.name, strings.ReplaceAll(port, "/", "-")), uint64(i)|0x0002c9ff00000000
	if b.values[port+"/link_layer"] == "Ethernet" {
		lab.AddAdapter(labsim.Adapter{Name: at, Desc: at, GUID: id, Ports: 1, Ethernet: true})
		return labsim.AdapterEnd(at, 1)
	}
	s := lab.AddSwitch(at, id, 36)
	if m := speed.FindStringSubmatch(b.values[port+"/rate"]); m != nil {
		s.Link = speeds[m[1]]
	}
	return labsim.SwitchEnd(at, 1)
}

// speed is the name behind the lanes, as in "40 Gb/sec (4X QDR)".
var speed = regexp.MustCompile(`\(\d+X (SDR|DDR|QDR|FDR|EDR|HDR|NDR)\)`)

var speeds = map[string]labsim.LinkCaps{"SDR": {Widths: 3, Speeds: 1}, "DDR": {Widths: 3, Speeds: 3}, "QDR": labsim.QDR4X,
	"FDR": labsim.FDR4X, "EDR": labsim.EDR4X, "HDR": labsim.HDR4X, "NDR": labsim.NDR4X}
