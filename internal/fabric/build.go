package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iblinkinfo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ibnetdiscover"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ibqueryerrors"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/smpquery"
)

// portKey finds a port by what iblinkinfo and ibqueryerrors print: the GUID of
// an adapter's port or of a switch, and the number.
// An adapter's port has its own GUID, so that the number only tells the ports of a switch apart.
type portKey struct {
	guid   ib.GUID
	number int
}

type builder struct {
	f     *Fabric
	nodes map[ib.GUID]*Node
	ports map[portKey]*Port
}

func (b *builder) build(p parts) (*ibnetdiscover.Report, error) {
	report, err := ibnetdiscover.Parse(filter(p.text["net"]))
	if err != nil {
		return nil, fmt.Errorf("ibnetdiscover: %w", err)
	}
	b.f.Duplicates = ibnetdiscover.Duplicates(p.text["net"])
	// Nodes first: the other programs name ports, and only this one says whose they are.
	b.addNodes(&report)
	if err := b.addLinks(p); err != nil {
		return nil, fmt.Errorf("iblinkinfo: %w", err)
	}
	if err := b.addMaster(p); err != nil {
		return nil, fmt.Errorf("sminfo: %w", err)
	}
	if err := b.addCounters(p); err != nil {
		return nil, fmt.Errorf("ibqueryerrors: %w", err)
	}
	return &report, nil
}

// filter takes out the complaints of the discovery library, which come between
// the lines of every program that uses it.
func filter(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		if !strings.Contains(line, "/ibnetdisc.c:") { // behind a path of the build, which differs
			b.WriteString(line)
		}
	}
	return b.String()
}

// addNodes makes the nodes and those ports of adapters that have a link.
func (b *builder) addNodes(r *ibnetdiscover.Report) {
	for _, n := range r.Nodes {
		node := &Node{GUID: n.GUID, SystemGUID: n.SystemID, Switch: n.Type == "Switch", Name: n.Name, VendorID: n.VendorID,
			DeviceID: n.DeviceID, PortCount: n.Ports, LID: n.LID}
		b.nodes[n.GUID] = node
		b.f.Nodes = append(b.f.Nodes, node)
		for _, l := range n.Links {
			// A switch has one GUID for all its ports; each port of an adapter has its own.
			guid := l.PortGUID
			if node.Switch {
				guid = n.GUID
			}
			b.port(node, guid, l.Port)
		}
	}
	for _, n := range r.Nodes {
		for _, l := range n.Links {
			peer := b.nodes[l.Peer]
			if peer == nil {
				continue
			}
			p, q := b.find(b.nodes[n.GUID], l.Port), b.find(peer, l.PeerPort)
			// Each cable stands twice in a walk, once at each end.
			if q == nil || b.linked(p, q) {
				continue
			}
			p.Width, p.Speed, q.Width, q.Speed = l.Width, l.Speed, l.Width, l.Speed
			b.f.Links = append(b.f.Links, &Link{A: p, B: q})
		}
	}
}

func (b *builder) port(n *Node, guid ib.GUID, number int) *Port {
	if p := b.find(n, number); p != nil {
		return p
	}
	p := &Port{Node: n, Number: number, GUID: guid}
	n.Ports = append(n.Ports, p)
	b.ports[portKey{guid, number}] = p
	return p
}

func (b *builder) find(n *Node, number int) *Port {
	for _, p := range n.Ports {
		if p.Number == number {
			return p
		}
	}
	return nil
}

// linked reports whether a cable is known from its other end already. An end has
// one cable, so the last ones are enough to look at for one of them only.
func (b *builder) linked(p, q *Port) bool {
	return slices.ContainsFunc(b.f.Links, func(l *Link) bool { return l.A == q && l.B == p || l.A == p && l.B == q })
}

// addLinks adds the states, and the ports without a link.
func (b *builder) addLinks(p parts) error {
	list, err := iblinkinfo.Parse(filter(p.text["links"]))
	if err != nil {
		return err
	}
	for _, l := range list {
		port := b.ports[portKey{l.GUID, l.Number}]
		if port == nil {
			node := b.nodes[l.GUID]
			if node == nil {
				node = b.owner(l)
			}
			if node == nil {
				continue // found by the second walk only
			}
			port = b.port(node, l.GUID, l.Number)
		}
		// From iblinkinfo, because ibnetdiscover prints no states.
		port.State, port.Physical, port.LID = stateWord(l.State), l.Physical, l.LID
		// iblinkinfo prints none for a port that is down; what the first walk has seen stays.
		if l.Width > 0 {
			port.Width, port.Speed = l.Width, l.Speed
		}
		port.couldBeWidth, port.couldBeSpeed = l.CouldBeWidth, l.CouldBeSpeed
		if l.Silent {
			b.f.Links = append(b.f.Links, &Link{A: port})
		}
	}
	return nil
}

// owner finds the adapter of a port that has no link: its node GUID is not
// printed, its description is.
func (b *builder) owner(l iblinkinfo.Port) *Node {
	var found *Node
	for _, n := range b.f.Nodes {
		if !n.Switch && n.Name == l.Name {
			// Two nodes of one name: whose port it is, nobody knows.
			if found != nil {
				return nil
			}
			found = n
		}
	}
	return found
}

func (b *builder) addMaster(p parts) error {
	text, status := p.text["sm"], p.status["sm"]
	if status != 0 {
		// A question that got no answer is no proof that there is nobody.
		b.f.Ruled = fact.Unknown[bool](sminfo.Failure(status, text))
		if sminfo.NoManager(text) {
			b.f.Ruled = fact.Known(false)
		}
		return nil
	}
	info, err := sminfo.Parse(text)
	if err != nil {
		return err
	}
	b.f.Ruled = fact.Known(info.State == sminfo.Master)
	b.f.addSM(info)
	return nil
}

// stateWord gives a state as ibstat prints it: iblinkinfo has another word for one.
func stateWord(state string) string {
	if state == "Initialize" {
		return "Initializing"
	}
	return state
}

var smStates = map[sminfo.State]string{sminfo.NotActive: "not active", sminfo.Discovering: "discovering",
	sminfo.Standby: "standby", sminfo.Master: "master"}

func (f *Fabric) addSM(info sminfo.Info) {
	sm := SM{GUID: info.GUID, LID: int(info.LID), Priority: info.Priority, State: smStates[info.State]}
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			if p.GUID == info.GUID {
				sm.Node, p.SM = n, true
				// sminfo by a direct route prints LID 0 for the host's own manager.
				if sm.LID == 0 {
					sm.LID = p.LID
				}
			}
		}
		if n.Switch && n.GUID == info.GUID {
			sm.Node = n
		}
	}
	for i := range f.SMs {
		if f.SMs[i].GUID == sm.GUID {
			f.SMs[i] = sm
			return
		}
	}
	f.SMs = append(f.SMs, sm)
}

func (b *builder) addCounters(p parts) error {
	text, asked := p.text["errors"]
	if !asked {
		return nil
	}
	// 1 is that of a program that has found errors, which is what it was asked for.
	if status := p.status["errors"]; status > 1 {
		lines := strings.Split(strings.TrimSpace(filter(text)), "\n")
		b.f.Uncounted = fmt.Sprintf("ibqueryerrors ended with status %d: %s", status, lines[len(lines)-1])
		return nil
	}
	list, err := ibqueryerrors.Parse(filter(text))
	if err != nil {
		return err
	}
	b.f.Counted = true
	for _, c := range list {
		if port := b.ports[portKey{c.GUID, c.Number}]; port != nil {
			port.Counters = c.Counters
		}
	}
	return nil
}

// questions lists what ports.sh is to ask: all ports that have a link, and those
// of adapters. LIDs lead everywhere once a subnet manager is there; before that,
// routes from the node that asks.
func (f *Fabric) questions(r *ibnetdiscover.Report) []string {
	args, routes := f.agents(), f.routes(r)
	linked := map[*Port]bool{}
	for _, l := range f.Links {
		linked[l.A] = true
		if l.B != nil {
			linked[l.B] = true
		}
	}
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			// Without a link nobody is there to answer, and each silence costs seconds.
			if !linked[p] {
				continue
			}
			kind, way := "ca", strconv.Itoa(p.LID)
			if n.Switch {
				kind, way = "sw", strconv.Itoa(n.LID)
			}
			// LIDs of a manager that has gone still stand in the ports, and lead nowhere certain.
			if way == "0" || f.Master() == nil {
				way = routes[p]
				if n.Switch {
					way = routes[n]
				}
			}
			if way != "" {
				args = append(args, kind, way, strconv.Itoa(p.Number))
			}
		}
	}
	return args
}

// routes finds for every node, and every port of an adapter, the shortest way as
// the list of ports to leave by: "0" is the node that asks.
func (f *Fabric) routes(r *ibnetdiscover.Report) map[any]string {
	peers := map[*Port]*Port{}
	for _, l := range f.Links {
		if l.B != nil {
			peers[l.A], peers[l.B] = l.B, l.A
		}
	}
	routes := map[any]string{}
	var queue []*Port // to leave by
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			if n.GUID == r.FromNode && p.GUID == r.FromPort {
				routes[n], routes[p] = "0", "0"
				queue = append(queue, p)
			}
		}
	}
	// In breadth, so that each way is a shortest one: a directed route has at most 63 hops.
	for ; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		q := peers[p]
		if q == nil || routes[q] != "" {
			continue
		}
		way := routes[p.Node] + "," + strconv.Itoa(p.Number)
		routes[q] = way
		if routes[q.Node] == "" {
			routes[q.Node] = way
			// Only switches pass a directed route on.
			if q.Node.Switch {
				queue = append(queue, q.Node.Ports...)
			}
		}
	}
	return routes
}

// details reads what ports.sh printed into the ports. A port that did not answer
// keeps what the walk has found.
func (f *Fabric) details(output string, r *ibnetdiscover.Report) error {
	byWay := map[string]*Port{}
	routes := f.routes(r)
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			lid, way := p.LID, routes[p]
			if n.Switch {
				lid, way = n.LID, routes[n]
			}
			// Both ways: which of them was asked, the answer's name says.
			if lid > 0 {
				byWay[fmt.Sprintf("%d %d", lid, p.Number)] = p
			}
			if way != "" {
				byWay[fmt.Sprintf("%s %d", way, p.Number)] = p
			}
		}
	}
	err := answer.Read(output, func(i answer.Item) error {
		if lid, ok := strings.CutPrefix(i.Name, "vendor "); ok {
			return f.agent(lid, i.Text)
		}
		port := byWay[i.Name]
		if port == nil {
			return nil
		}
		if bad := port.detail(f, i.Text); bad != nil {
			return fmt.Errorf("port %s: %w", i.Name, bad)
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.Detailed = true
	return nil
}

func (p *Port) detail(f *Fabric, text string) error {
	if !strings.Contains(text, "# Port info") {
		return nil // it did not answer
	}
	info, err := smpquery.ParsePort(text)
	if err != nil {
		return err
	}
	p.WidthEnabled, p.WidthSupported = info.WidthEnabled, info.WidthSupported
	p.SpeedsEnabled, p.SpeedsSupported = info.SpeedsEnabled, info.SpeedsSupported
	p.MTU, p.MTUCap = info.MTU, info.MTUCap
	// Of a port without a table the rest of the answer counts.
	if keys, err := smpquery.ParsePKeys(text); err == nil {
		p.PKeys = keys
	}
	if info.IsSM() && !p.Node.Switch {
		if sm, err := sminfo.Parse(text); err == nil {
			f.addSM(sm)
		}
	}
	return nil
}

// parts is the answer of walk.sh: the text and the status of each program.
type parts struct {
	text    map[string]string
	status  map[string]int
	missing []string
}
