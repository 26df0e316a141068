package infiniband

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// The programs that scan the whole fabric, as infiniband-diags 44 prints it.

var (
	widthTexts = map[int]string{1: "1X", 2: "4X", 4: "8X", 8: "12X", 16: "2X"}
	laneRates  = map[string]string{"SDR": "2.5", "DDR": "5.0", "QDR": "10.0", "FDR": "14.0625", "EDR": "25.78125",
		"HDR": "53.125", "NDR": "106.25"}
	linkStates = map[int]string{labsim.StateDown: "Down", labsim.StateInit: "Initialize", labsim.StateActive: "Active"}
	physStates = map[int]string{labsim.PhysPolling: "Polling", labsim.PhysDisabled: "Disabled",
		labsim.PhysLinkUp: "LinkUp"}
)

// portFlags open a port in every program.
var portFlags = []string{"C Ca=", "P Port="}

// scanFlags are those of the programs that print the names of nodes.
var scanFlags = append(portFlags[:2:2], "node-name-map=")

// survey walks the fabric and complains about GUIDs that two adapters share.
func (s *state) survey(p *labsim.Proc, o *labsim.Flags) *labsim.Topology {
	port := s.madPort(o)
	if port == nil || p.UID != 0 || !s.m.FS.Exists(umadFile) {
		return nil
	}
	t := s.m.Lab.Discover(port)
	s.name(t, o.Or("node-name-map", "/etc/rdma/ib-node-name-map"))
	for _, guid := range t.Duplicates {
		p.Errorf("./libibnetdisc/ibnetdisc.c:667; Duplicate Port: Port with guid 0x%x already exists in ports DB\n", guid)
		p.Errorf("./libibnetdisc/ibnetdisc.c:379; Error Occurred when trying to insert new port guid 0x%x to DB\n", guid)
	}
	return t
}

// name gives nodes the names of a node name map (complib, cl_nodenamemap.c): 0x and the GUID, then the name up to a
// quote or to a #, which begins a comment also within quotes.
func (s *state) name(t *labsim.Topology, file string) {
	for line := range strings.Lines(s.m.FS.Text(file)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		guid, name, ok := strings.Cut(line, "\"")
		number, err := strconv.ParseUint(strings.TrimSpace(guid), 0, 64)
		if !ok || err != nil {
			continue
		}
		name, _, _ = strings.Cut(name, "\"")
		for _, n := range t.Nodes {
			if n.GUID == number {
				n.Desc = name
			}
		}
	}
}

// cannotOpen is what the library says of a port that it cannot open.
func (s *state) cannotOpen(p *labsim.Proc, o *labsim.Flags) {
	if !s.m.FS.Exists(umadFile) {
		p.Errorf("ibwarn: [%d] get_abi_version: can't read ABI version from %s (No such file or directory): is ib_umad "+
			"module loaded?\n", p.PID, umadFile)
	}
	function, port := "mad_rpc_open_port", o.Or("C", "(null)")+":"+o.Or("P", "0")
	if s.modern() {
		function = "mad_rpc_open_port2"
		if what := "UMAD port (No such device) (" + port; o.Has("C") || o.Has("P") {
			p.Errorf("ibwarn: [%d] get_smi_gsi_pair: Can't open %s)\n", p.PID, what)
		} else {
			p.Errorf("ibwarn: [%d] get_smi_gsi_pair: Can't open SMI UMAD port (No such device) (:0)\n", p.PID)
		}
	}
	p.Errorf("ibwarn: [%d] %s: can't open UMAD port (%s)\n", p.PID, function, port)
}

// cannotScan ends ibnetdiscover and those that call it.
func (s *state) cannotScan(p *labsim.Proc, o *labsim.Flags, name string) int {
	s.cannotOpen(p, o)
	line := 802
	if s.modern() {
		line = 799
	}
	p.Errorf("./libibnetdisc/ibnetdisc.c:%d; can't open MAD port (%s:%s)\n", line, o.Or("C", "(null)"), o.Or("P", "0"))
	p.Printf("%s: iberror: failed: discover failed\n", name)
	return 255
}

// reverseNodes gives the order of the library's lists, which grow at their head.
func reverseNodes(t *labsim.Topology) []*labsim.Node {
	nodes := slices.Clone(t.Nodes)
	slices.Reverse(nodes)
	return nodes
}

func lidOf(p *labsim.NodePort) uint16 {
	if p.Node.Switch {
		return p.Node.Ports[0].LID
	}
	return p.LID
}

// inUse is what PortInfo holds of a link; without one it is 4X SDR.
func inUse(p *labsim.NodePort) (width, speed string) {
	if p.Trained == (labsim.Trained{}) {
		return "4x", "SDR"
	}
	return strings.ToLower(widthTexts[p.Trained.Width]), p.Trained.Name()
}

func ibnetdiscover(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(scanFlags, "p ports")...)
	if bad != "" || len(o.Args) > 0 {
		return p.Unknown("form of ibnetdiscover " + bad)
	}
	s := stateOf(p.Machine)
	t := s.survey(p, o)
	if t == nil {
		status := s.cannotScan(p, o, p.Args[0])
		p.Printf("\n")
		return status
	}
	if o.Has("p") {
		portsReport(p, t)
		return 0
	}
	p.Printf("#\n# Topology file: generated on %s\n#\n", s.m.Lab.Clock.Now().Format("Mon Jan _2 15:04:05 2006"))
	p.Printf("# Initiated from node %016x port %016x\n", t.From.GUID, t.From.Ports[t.FromPort].GUID)
	for _, kind := range []bool{true, false} {
		for _, n := range reverseNodes(t) {
			if n.Switch == kind {
				printNode(p, n)
			}
		}
	}
	return 0
}

func printNode(p *labsim.Proc, n *labsim.Node) {
	p.Printf("\nvendid=0x%x\ndevid=0x%x\nsysimgguid=0x%x\n", n.VendorID, n.DeviceID, n.SystemGUID)
	if n.Switch {
		p.Printf("switchguid=0x%x(%x)\nSwitch\t%d \"S-%016x\"\t\t# \"%s\" base port 0 lid %d lmc 0\n", n.GUID, n.GUID,
			len(n.Ports)-1, n.GUID, n.Desc, n.Ports[0].LID)
	} else {
		p.Printf("caguid=0x%x\nCa\t%d \"H-%016x\"\t\t# \"%s\"\n", n.GUID, len(n.Ports)-1, n.GUID, n.Desc)
	}
	for _, port := range n.Ports[1:] {
		peer := port.Peer
		if !port.Known || peer == nil {
			continue
		}
		width, speed := inUse(port)
		switch {
		case n.Switch && peer.Node.Switch:
			p.Printf("[%d]\t\"S-%016x\"[%d]\t\t# \"%s\" lid %d %s%s\n", port.Number, peer.Node.GUID, peer.Number, peer.Node.Desc,
				lidOf(peer), width, speed)
		case n.Switch:
			p.Printf("[%d]\t\"H-%016x\"[%d](%x) \t\t# \"%s\" lid %d %s%s\n", port.Number, peer.Node.GUID, peer.Number, peer.GUID,
				peer.Node.Desc, lidOf(peer), width, speed)
		case peer.Node.Switch:
			p.Printf("[%d](%x) \t\"S-%016x\"[%d]\t\t# lid %d lmc 0 \"%s\" lid %d %s%s\n", port.Number, port.GUID, peer.Node.GUID,
				peer.Number, port.LID, peer.Node.Desc, lidOf(peer), width, speed)
		default:
			p.Printf("[%d](%x) \t\"H-%016x\"[%d] (%x) \t\t# lid %d lmc 0 \"%s\" lid %d %s%s\n",
				port.Number, port.GUID, peer.Node.GUID, peer.Number, peer.GUID, port.LID, peer.Node.Desc, lidOf(peer), width, speed)
		}
	}
}

func kind(n *labsim.Node) string {
	if n.Switch {
		return "SW"
	}
	return "CA"
}

func portsReport(p *labsim.Proc, t *labsim.Topology) {
	for _, n := range reverseNodes(t) {
		for i := len(n.Ports) - 1; i > 0; i-- {
			port := n.Ports[i]
			if !port.Known {
				continue
			}
			width, speed := inUse(port)
			p.Printf("%s %5d %2d 0x%016x %s %s", kind(n), lidOf(port), port.Number, port.GUID, width, speed)
			if q := port.Peer; q != nil {
				p.Printf(" - %s %5d %2d 0x%016x ( '%s' - '%s' )\n", kind(q.Node), lidOf(q), q.Number, q.GUID, n.Desc, q.Node.Desc)
			} else {
				p.Printf("%36s'%s'\n", "", n.Desc)
			}
		}
	}
}

func iblinkinfo(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(scanFlags, "l line", "switches-only")...)
	if bad != "" || len(o.Args) > 0 {
		return p.Unknown("form of iblinkinfo " + bad)
	}
	s := stateOf(p.Machine)
	t := s.survey(p, o)
	if t == nil {
		s.cannotOpen(p, o)
		p.Errorf("Failed to open %s port %s\n", o.Or("C", "(null)"), o.Or("P", "0"))
		return 1
	}
	for _, n := range reverseNodes(t) {
		if o.Has("switches-only") && !n.Switch {
			continue
		}
		heading := fmt.Sprintf("CA: %s:\n", n.Desc)
		if n.Switch {
			heading = fmt.Sprintf("Switch: 0x%016x %s:\n", n.GUID, n.Desc)
		}
		for _, port := range n.Ports[1:] {
			if !port.Known {
				continue
			}
			switch {
			case o.Has("l"):
				p.Printf("0x%016x \"%30s\" ", port.GUID, n.Desc)
			case n.Switch:
				p.Printf("%s      ", heading)
			default:
				p.Printf("%s      0x%016x ", heading, port.GUID)
			}
			heading = ""
			p.Printf("%6d %4d[  ] ==%s==>  %s\n", lidOf(port), port.Number, linkText(port), remoteText(port, o.Has("l")))
		}
	}
	return 0
}

func linkText(p *labsim.NodePort) string {
	if p.State == labsim.StateDown {
		return fmt.Sprintf("(%14s%6s/%8s)", "", "Down", physStates[p.PhysState])
	}
	width, speed := inUse(p)
	return fmt.Sprintf("(%3s %18s %6s/%8s)", strings.ToUpper(width), laneRates[speed]+" Gbps", linkStates[p.State],
		physStates[p.PhysState])
}

func remoteText(p *labsim.NodePort, line bool) string {
	q := p.Peer
	switch {
	case q == nil && p.State == labsim.StateDown:
		return "           [  ] \"\" ( )"
	case q == nil:
		return "    \"Port not available\""
	}
	guid := ""
	if line {
		guid = fmt.Sprintf("0x%016x ", q.GUID)
	}
	width, speed := couldBe(p, q)
	return fmt.Sprintf("%s%6d %4d[  ] \"%s\" (%s %s)", guid, lidOf(q), q.Number, q.Node.Desc, width, speed)
}

// couldBe compares what a link uses with the best that both ends support.
func couldBe(p, q *labsim.NodePort) (width, speed string) {
	for _, bit := range []int{8, 4, 2, 16, 1} {
		if p.Can.Widths&q.Can.Widths&bit != 0 {
			if p.Trained.Width != bit {
				width = "Could be " + widthTexts[bit]
			}
			break
		}
	}
	best := labsim.Trained{}
	for bit := 8; bit > 0 && best.Extended == 0; bit >>= 1 {
		best.Extended = p.Can.Extended & q.Can.Extended & bit
	}
	for bit := 4; bit > 0 && best.Speed == 0; bit >>= 1 {
		best.Speed = p.Can.Speeds & q.Can.Speeds & bit
	}
	if best.Name() != p.Trained.Name() {
		speed = "Could be " + laneRates[best.Name()] + " Gbps"
	}
	return width, speed
}

// ibhosts, ibswitches and ibnodes are scripts over ibnetdiscover.
func ibhosts(_ context.Context, p *labsim.Proc) int    { return nodeList(p, "Ca") }
func ibswitches(_ context.Context, p *labsim.Proc) int { return nodeList(p, "Switch") }
func ibnodes(_ context.Context, p *labsim.Proc) int {
	return nodeList(p, "Ca") | nodeList(p, "Switch")
}

func nodeList(p *labsim.Proc, kind string) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, scanFlags...)
	if bad != "" || len(o.Args) > 0 {
		return p.Unknown("form of " + p.Name() + " " + bad)
	}
	s := stateOf(p.Machine)
	t := s.survey(p, o)
	if t == nil {
		return s.cannotScan(p, o, "/usr/sbin/ibnetdiscover")
	}
	for _, n := range reverseNodes(t) {
		switch {
		case n.Switch != (kind == "Switch"):
		case n.Switch:
			p.Printf("Switch\t: 0x%016x ports %d \"%s\" base port 0 lid %d lmc 0\n", n.GUID, len(n.Ports)-1, n.Desc,
				n.Ports[0].LID)
		default:
			p.Printf("Ca\t: 0x%016x ports %d \"%s\"\n", n.GUID, len(n.Ports)-1, n.Desc)
		}
	}
	return 0
}

// errorCounters are in the order of the program's report.
var errorCounters = []string{
	"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors", "PortRcvRemotePhysicalErrors",
	"PortRcvSwitchRelayErrors",
	"PortXmitDiscards", "PortXmitConstraintErrors", "PortRcvConstraintErrors", "LocalLinkIntegrityErrors",
	"ExcessiveBufferOverrunErrors", "VL15Dropped",
	"PortXmitWait",
}

// ibqueryerrors reports the counters that are not zero; the thresholds of a file
// other than /dev/null are not simulated.
func ibqueryerrors(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(scanFlags, "threshold-file=", "skip-sl")...)
	if bad != "" || len(o.Args) > 0 || o.Or("threshold-file", "") != "/dev/null" {
		return p.Unknown("form of ibqueryerrors " + bad)
	}
	s := stateOf(p.Machine)
	t := s.survey(p, o)
	if t == nil {
		s.cannotOpen(p, o)
		p.Printf("ibqueryerrors: iberror: failed: Failed to open port; %s:%s\n\n", o.Or("C", "(null)"), o.Or("P", "0"))
		return 255
	}
	badNodes, ports, badPorts := 0, 0, 0
	for _, n := range reverseNodes(t) {
		found := errorsOf(p, n, &ports)
		badPorts += found
		if found > 0 {
			badNodes++
		}
	}
	p.Printf("\n## Summary: %d nodes checked, %d bad nodes found\n##          %d ports checked, %d ports have errors "+
		"beyond threshold\n", len(t.Nodes), badNodes, ports, badPorts)
	p.Printf("## Thresholds: \n## Suppressed:\n")
	if badPorts > 0 {
		return 1
	}
	return 0
}

func errorsOf(p *labsim.Proc, n *labsim.Node, ports *int) (found int) {
	sum := map[string]uint64{}
	var lines strings.Builder
	for _, port := range n.Ports[1:] {
		if !port.Known {
			continue
		}
		*ports++
		if text := counterText(port.Counters); text != "" {
			found++
			fmt.Fprintf(&lines, "   GUID 0x%x port %d:%s\n", port.GUID, port.Number, text)
		}
		for name, v := range port.Counters {
			sum[name] += v
		}
	}
	if found == 0 {
		return 0
	}
	if n.Switch {
		p.Printf("Errors for 0x%x \"%s\"\n   GUID 0x%x port ALL:%s\n", n.GUID, n.Desc, n.GUID, counterText(sum))
	} else {
		p.Printf("Errors for \"%s\"\n", n.Desc)
	}
	p.Printf("%s", lines.String())
	return found
}

func counterText(counters map[string]uint64) string {
	var text strings.Builder
	for _, name := range errorCounters {
		if v := counters[name]; v > 0 {
			fmt.Fprintf(&text, " [%s == %d]", name, v)
		}
	}
	return text.String()
}
