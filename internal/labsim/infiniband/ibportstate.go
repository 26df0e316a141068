package infiniband

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// ibportstate shows a port and, on the host's own card or a switch, changes it.
func ibportstate(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(portFlags, "D Direct", "V version")...)
	if o.Has("V") {
		return stateOf(p.Machine).printVersion(p)
	}
	if bad != "" || len(o.Args) < 2 {
		return p.Unknown("form of ibportstate " + bad)
	}
	number, err := strconv.Atoi(o.Args[1])
	asked := "query"
	if len(o.Args) > 2 {
		asked = o.Args[2]
	}
	op, value, status := portOperation(p, asked, o.Args[2:])
	if status != 0 || err != nil {
		return 255
	}
	s := stateOf(p.Machine)
	from := s.openForSMP(p, o)
	if from == nil {
		return 255
	}
	a := s.aimAt(from, o.Has("D"), o.Args[0])
	if a.arrived == nil {
		printSilence(p, a)
		return iberror(p, "smp query nodeinfo failed")
	}
	kind := "CA/RT"
	if a.arrived.Node.Switch {
		kind = "Switch"
	}
	if op != "query" {
		kind = "Initial " + kind
	}
	port := a.port(number)
	if port == nil {
		p.Printf("%s PortInfo:\n", kind)
		return iberror(p, "smp query portinfo failed")
	}
	p.Printf("%s PortInfo:\n%s", kind, linkBlock(port, a.text, number))
	vendorBlock(p, port, a.text, number)
	if op == "query" {
		if port.Node.Switch && port.Peer != nil && port.State == labsim.StateActive {
			if !o.Has("D") {
				return p.Unknown("peer of a switch's port by LID")
			}
			far := fmt.Sprintf("%s,%d", a.text, number)
			p.Printf("Peer PortInfo:\n%s", linkBlock(port.Peer, far, port.Peer.Number))
			vendorBlock(p, port.Peer, far, port.Peer.Number)
		}
		return 0
	}
	if op == "disable" {
		p.Printf("Disable may be irreversible\n")
	}
	after := *port
	s.changePort(p, port, &after, op, value)
	p.Printf("\nAfter PortInfo set:\n%s", linkBlock(&after, a.text, number))
	return 0
}

// printVersion says which rdma-core the program is of: that of Debian 12, or that of Debian
// 13, which opens no port that is down.
func (s *state) printVersion(p *labsim.Proc) int {
	version := "44.0"
	if s.modern() {
		version = "56.1"
	}
	p.Errorf("%s BUILD VERSION: %s\n", p.Args[0], version)
	return 0
}

// vendorBlock is what newer Mellanox chips say about FDR10: they have it, and here no link
// trains to it.
func vendorBlock(p *labsim.Proc, port *labsim.NodePort, where string, number int) {
	d := port.Node.DeviceID
	if port.Node.VendorID != 0x2c9 || (d < 0x1003 || d > 0x101b) && (d < 0xc738 || d > 0xc73b) {
		return
	}
	p.Printf("# MLNX ext Port info: %s port "+
		"%d\nStateChangeEnable:...............0x00\nLinkSpeedSupported:..............0x01\n"+
		"LinkSpeedEnabled:................0x01\nLinkSpeedActive:.................0x00\n", where, number)
}

// portOperation reads an operation with its value as the program does.
func portOperation(p *labsim.Proc, op string, rest []string) (string, int, int) {
	limit := map[string]int{"speed": 15, "espeed": 31, "width": 31, "fdr10": 1}
	switch op {
	case "query", "enable", "disable", "reset", "on", "off", "down":
		if len(rest) > 1 {
			return "", 0, p.Unknown("second operation of ibportstate")
		}
		op = map[string]string{"on": "enable", "off": "disable"}[op] + strings.TrimSuffix(strings.TrimSuffix(op, "on"), "off")
		return op, 0, 0
	case "speed", "espeed", "width", "fdr10":
		if len(rest) != 2 {
			return "", 0, p.Unknown("operation of ibportstate without one value")
		}
		value, err := strconv.Atoi(rest[1])
		if err != nil || value < 0 || value > limit[op] {
			return "", 0, iberror(p, "invalid %s value %s", op, rest[1])
		}
		return op, value, 0
	}
	return "", 0, iberror(p, "invalid operation: %s", op)
}

// changePort does what the operation means and fills in what the program prints
// afterwards: the answer of the port itself, before its link has followed.
func (s *state) changePort(p *labsim.Proc, port, after *labsim.NodePort, op string, value int) {
	if after.LID == 0 {
		after.LID, after.SMLID = labsim.StandInLID, labsim.StandInLID
	}
	switch op {
	case "disable":
		after.PhysState = labsim.PhysDisabled
	case "enable", "reset", "down":
		after.PhysState = labsim.PhysPolling
	case "width":
		after.May.Widths = value & port.Can.Widths
	case "speed":
		after.May.Speeds = value & port.Can.Speeds
	case "espeed":
		after.May.Extended = value & port.Can.Extended
		if value >= 30 { // 30 none, 31 all
			after.May.Extended = port.Can.Extended * (value - 30)
		}
	}
	retrain := op == "reset" || op == "enable" || op == "down"
	switch {
	case port.Node.Switch:
		if op != "enable" && op != "disable" && op != "reset" {
			p.Unknown("operation on the port of a switch " + op)
			return
		}
		s.m.Lab.SetSwitchPort(port.End.Switch, port.Number, op != "disable")
	case port.End.Machine == s.m.Name:
		own := s.m.Card(port.End.BDF).Ports[port.Number-1]
		admin := own.View().Enabled
		if op == "enable" || op == "disable" || op == "reset" {
			admin = op != "disable"
		}
		may := after.May
		own.SetLink(admin, &may, retrain)
	default:
		p.Unknown("change of another host's port")
	}
}

func linkBlock(p *labsim.NodePort, where string, number int) string {
	var b strings.Builder
	width, speed, extended := activeTexts(p.Trained)
	fmt.Fprintf(&b, "# Port info: %s port %d\n", where, number)
	field(&b, "LinkState", "%s", linkStates[p.State])
	field(&b, "PhysLinkState", "%s", physStates[p.PhysState])
	field(&b, "Lid", "%d", p.LID)
	field(&b, "SMLid", "%d", p.SMLID)
	field(&b, "LMC", "0")
	field(&b, "LinkWidthSupported", "%s", widthsText(p.Can.Widths))
	field(&b, "LinkWidthEnabled", "%s", widthsText(p.May.Widths))
	field(&b, "LinkWidthActive", "%s", width)
	field(&b, "LinkSpeedSupported", "%s", speedsText(p.Can.Speeds))
	field(&b, "LinkSpeedEnabled", "%s", speedsText(p.May.Speeds))
	field(&b, "LinkSpeedActive", "%s", speed)
	field(&b, "LinkSpeedExtSupported", "%s", extendedText(p.Can.Extended))
	field(&b, "LinkSpeedExtEnabled", "%s", extendedText(p.May.Extended))
	field(&b, "LinkSpeedExtActive", "%s", extended)
	if !p.Node.Switch {
		field(&b, "Mkey", "<not displayed>")
		field(&b, "MkeyLeasePeriod", "4089")
		field(&b, "ProtectBits", "0")
	}
	return b.String()
}
