package infiniband

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// field writes one "Name:....value" line as libibmad does, the value from column 33.
func field(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "%s:%s%s\n", name, strings.Repeat(".", max(0, 32-len(name))), fmt.Sprintf(format, args...))
}

// aim is where a management datagram goes: the node and the text that messages
// name it by.
type aim struct {
	topology *labsim.Topology
	arrived  *labsim.NodePort // nil: nobody answers
	refused  bool             // the kernel does not send it: it would leave by another port
	text     string           // "Lid 7", "DR path slid 65535; dlid 65535; 0,1"
}

// aimAt follows a LID or, with direct set, the ports of a route.
func (s *state) aimAt(from *labsim.Port, direct bool, where string) aim {
	t := s.m.Lab.Discover(from)
	if !direct {
		n, err := strconv.ParseUint(where, 0, 16)
		a := aim{topology: t, text: fmt.Sprintf("Lid %d", n)}
		for _, node := range t.Nodes {
			for _, p := range node.Ports {
				if p != nil && p.Known && err == nil && n > 0 && uint64(p.LID) == n {
					a.arrived = p
				}
			}
		}
		return a
	}
	a := aim{topology: t, text: "DR path slid 65535; dlid 65535; " + where, arrived: t.From.Ports[t.FromPort]}
	for i, hop := range strings.Split(where, ",") {
		out, err := strconv.Atoi(hop)
		switch {
		case i == 0:
			continue
		case i == 1 && err == nil && out != t.FromPort: // smi_handle_dr_smp_send
			a.arrived, a.refused = nil, true
		case a.arrived == nil || err != nil || out < 1 || out >= len(a.arrived.Node.Ports) || !a.arrived.Node.Switch && i > 1:
			a.arrived = nil
		default:
			a.arrived = a.arrived.Node.Ports[out].Peer
		}
	}
	return a
}

// port is the port that a question is about: 0 is the one that a datagram
// arrives at, of a switch its own.
func (a aim) port(number int) *labsim.NodePort {
	switch {
	case a.arrived == nil || number >= len(a.arrived.Node.Ports):
		return nil
	case number == 0 && !a.arrived.Node.Switch:
		return a.arrived
	}
	return a.arrived.Node.Ports[number]
}

// maxLID is the last one of a port; above are groups.
const maxLID = 0xbfff

// printSilence says that there was no answer. libibmad waits as long as the kernel does, and
// gives up a moment before it is told to.
func printSilence(p *labsim.Proc, a aim) {
	problem := "recv failed: Connection timed out"
	if a.refused {
		problem = "send failed; Invalid argument"
	}
	p.Errorf("ibwarn: [%d] _do_madrpc: %s\n", p.PID, problem)
	p.Errorf("ibwarn: [%d] mad_rpc: _do_madrpc failed; dport (%s)\n", p.PID, a.text)
}

func iberror(p *labsim.Proc, format string, args ...any) int {
	p.Printf("%s: iberror: failed: %s\n", p.Args[0], fmt.Sprintf(format, args...))
	return 255
}

func (s *state) openForSMP(p *labsim.Proc, o *labsim.Flags) *labsim.Port {
	port := s.madPort(o)
	if port != nil && p.UID == 0 && s.m.FS.Exists(umadFile) {
		return port
	}
	s.cannotOpen(p, o)
	iberror(p, "Failed to open '%s' port '%s'", o.Or("C", "(null)"), o.Or("P", "0"))
	return nil
}

func smpquery(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(portFlags, "D Direct")...)
	if bad != "" || len(o.Args) < 2 || len(o.Args) > 3 {
		return p.Unknown("form of smpquery " + bad)
	}
	number := 0
	if len(o.Args) == 3 {
		var err error
		if number, err = strconv.Atoi(o.Args[2]); err != nil {
			return p.Unknown("port of smpquery " + o.Args[2])
		}
	}
	op := strings.ToLower(o.Args[0])
	s := stateOf(p.Machine)
	from := s.openForSMP(p, o)
	if from == nil {
		return 255
	}
	if lid, err := strconv.ParseUint(o.Args[1], 0, 64); err == nil && lid > maxLID && !o.Has("D") {
		return iberror(p, "can't resolve destination port %s", o.Args[1])
	}
	a := s.aimAt(from, o.Has("D"), o.Args[1])
	q := a.port(number)
	switch op {
	case "portinfo", "pi":
		if q == nil {
			if a.arrived == nil { // one that has no such port answers so
				printSilence(p, a)
			}
			return iberror(p, "operation portinfo: port info query failed")
		}
		p.Printf("# Port info: %s port %d\n%s", a.text, number, portInfo(q, a.arrived.Number, s.modern()))
	case "pkeytable", "pkeys":
		if q == nil {
			printSilence(p, a)
			return iberror(p, "operation %s: node info query failed", o.Args[0])
		}
		p.Printf("%s", pkeyTable(q, number))
	case "nodeinfo", "ni":
		if q == nil {
			printSilence(p, a)
			return iberror(p, "operation nodeinfo: node info query failed")
		}
		p.Printf("# Node info: %s\n%s", a.text, nodeInfo(a.arrived))
	default:
		return p.Unknown("operation of smpquery " + op)
	}
	return 0
}

func nodeInfo(arrived *labsim.NodePort) string {
	var b strings.Builder
	n := arrived.Node
	kind, guid, keys := "Channel Adapter", arrived.GUID, labsim.PKeyCapacity
	if n.Switch {
		kind, keys = "Switch", 8
	}
	field(&b, "BaseVers", "1")
	field(&b, "ClassVers", "1")
	field(&b, "NodeType", "%s", kind)
	field(&b, "NumPorts", "%d", len(n.Ports)-1)
	field(&b, "SystemGuid", "0x%016x", n.SystemGUID)
	field(&b, "Guid", "0x%016x", n.GUID)
	field(&b, "PortGuid", "0x%016x", guid)
	field(&b, "PartCap", "%d", keys)
	field(&b, "DevId", "0x%04x", n.DeviceID)
	field(&b, "Revision", "0x000000a1")
	field(&b, "LocalPort", "%d", arrived.Number)
	field(&b, "VendorId", "0x%06x", n.VendorID)
	return b.String()
}

func pkeyTable(p *labsim.NodePort, number int) string {
	capacity := labsim.PKeyCapacity
	if p.Node.Switch && number == 0 {
		capacity = 8
	}
	var b strings.Builder
	for i := range capacity {
		key := uint16(0)
		if i < len(p.PKeys) {
			key = p.PKeys[i]
		}
		if i%8 == 0 {
			fmt.Fprintf(&b, "%4d:", i)
		}
		fmt.Fprintf(&b, " 0x%04x", key)
		if i%8 == 7 {
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "%d pkeys capacity for this port\n", capacity)
	return b.String()
}

// capNames are the names of the bits of CapMask and CapabilityMask2 that cards of
// the lab or ibsim set.
var (
	capNames = map[int]string{
		1: "IsSM", 3: "IsTrapSupported", 5: "IsAutomaticMigrationSupported", 6: "IsSLMappingSupported",
		11: "IsSystemImageGUIDsupported",
		14: "IsExtendedSpeedsSupported", 15: "IsCapabilityMask2Supported", 16: "IsCommunicatonManagementSupported",
		19: "IsDeviceManagementSupported",
		20: "IsVendorClassSupported", 22: "IsCapabilityMaskNoticeSupported", 25: "IsClientRegistrationSupported",
	}
	cap2Names = map[int]string{4: "IsLinkWidth2xSupported", 5: "IsLinkSpeedHDRSupported"}
)

func capLines(b *strings.Builder, name string, value uint32, names map[int]string) {
	field(b, name, "0x%x", value)
	for bit := range 32 {
		if value&(1<<bit) != 0 {
			fmt.Fprintf(b, "\t\t\t\t%s\n", names[bit])
		}
	}
}

func bitTexts(bits, top int, text func(int) string) string {
	var list []string
	for bit := 1; bit <= top; bit <<= 1 {
		if bits&bit != 0 {
			list = append(list, text(bit))
		}
	}
	if len(list) == 0 {
		return "0"
	}
	return strings.Join(list, " or ")
}

func widthsText(bits int) string {
	return bitTexts(bits, 16, func(bit int) string { return widthTexts[bit] })
}

func speedsText(bits int) string {
	return bitTexts(bits, 4, func(bit int) string { return laneRates[labsim.Trained{Speed: bit}.Name()] + " Gbps" })
}

func extendedText(bits int) string {
	return bitTexts(bits, 8, func(bit int) string { return laneRates[labsim.Trained{Extended: bit}.Name()] + " Gbps" })
}

func activeTexts(t labsim.Trained) (width, speed, extended string) {
	if t == (labsim.Trained{}) {
		t = labsim.Trained{Width: 2, Speed: 1}
	}
	extended = "No Extended Speed"
	if t.Extended != 0 {
		extended = extendedText(t.Extended)
	}
	return widthTexts[t.Width], speedsText(t.Speed), extended
}

// fixed are the values that the lab does not model, those of ibsim, which differ
// between adapters, a switch's own port and its others.
type fixed struct{ lease, mtu, mtuCap, stall, guids, subnet, response, phyErr string }

func fixedOf(p *labsim.NodePort) fixed {
	mtu := strconv.Itoa(p.MTU)
	switch {
	case !p.Node.Switch:
		return fixed{"4089", mtu, strconv.Itoa(p.MTUCap), "7", "32", "31", "0", "0"}
	case p.Number == 0:
		return fixed{"4089", "256", "1024", "0", "1", "31", "8", "0"}
	}
	f := fixed{"0", mtu, strconv.Itoa(p.MTUCap), "7", "0", "0", "0", "0"}
	if p.PhysState != labsim.PhysLinkUp {
		f.phyErr = "4"
	}
	return f
}

// fixedFields are those of a PortInfo that are alike on every port here.
var fixedFields = [][2]string{{"SMSL", "0"}, {"VLCap", "VL0-7"}, {"InitType", "0x00"}, {"VLHighLimit", "0"},
	{"VLArbHighCap", "8"}, {"VLArbLowCap", "8"}, {"InitReply", "0x00"}}

func portInfo(p *labsim.NodePort, arrived int, modern bool) string {
	var b strings.Builder
	f := fixedOf(p)
	width, speed, extended := activeTexts(p.Trained)
	prefix, hoq := uint64(0), 0
	if p.SMLID != 0 { // set by the subnet manager, as is HoqLife of switches
		prefix = 0xfe80000000000000
	}
	if p.Node.Switch && p.Number > 0 && p.State == labsim.StateActive {
		hoq = 16
	}
	field(&b, "Mkey", "<not displayed>")
	field(&b, "GidPrefix", "0x%016x", prefix)
	field(&b, "Lid", "%d", p.LID)
	field(&b, "SMLid", "%d", p.SMLID)
	capLines(&b, "CapMask", p.CapMask, capNames)
	field(&b, "DiagCode", "0x0000")
	field(&b, "MkeyLeasePeriod", "%s", f.lease)
	field(&b, "LocalPort", "%d", arrived)
	field(&b, "LinkWidthEnabled", "%s", widthsText(p.May.Widths))
	field(&b, "LinkWidthSupported", "%s", widthsText(p.Can.Widths))
	field(&b, "LinkWidthActive", "%s", width)
	field(&b, "LinkSpeedSupported", "%s", speedsText(p.Can.Speeds))
	field(&b, "LinkState", "%s", linkStates[p.State])
	field(&b, "PhysLinkState", "%s", physStates[p.PhysState])
	field(&b, "LinkDownDefState", "Polling")
	field(&b, "ProtectBits", "0")
	field(&b, "LMC", "0")
	field(&b, "LinkSpeedActive", "%s", speed)
	field(&b, "LinkSpeedEnabled", "%s", speedsText(p.May.Speeds))
	field(&b, "NeighborMTU", "%s", f.mtu)
	for _, l := range fixedFields {
		field(&b, l[0], "%s", l[1])
	}
	field(&b, "MtuCap", "%s", f.mtuCap)
	field(&b, "VLStallCount", "%s", f.stall)
	field(&b, "HoqLife", "%d", hoq)
	field(&b, "OperVLs", "VL0-7")
	for _, name := range []string{"PartEnforceInb", "PartEnforceOutb", "FilterRawInb", "FilterRawOutb", "MkeyViolations",
		"PkeyViolations", "QkeyViolations"} {
		field(&b, name, "0")
	}
	field(&b, "GuidCap", "%s", f.guids)
	field(&b, "ClientReregister", "0")
	field(&b, "McastPkeyTrapSuppressionEnabled", "0")
	field(&b, "SubnetTimeout", "%s", f.subnet)
	field(&b, "RespTimeVal", "%s", f.response)
	field(&b, "LocalPhysErr", "%s", f.phyErr)
	for _, name := range []string{"OverrunErr", "MaxCreditHint", "RoundTrip"} {
		field(&b, name, "0")
	}
	second := uint32(0)
	if p.CapMask&(1<<15) != 0 {
		second = 0x30
	}
	capLines(&b, "CapabilityMask2", second, cap2Names)
	speedFields(&b, p, extended, modern)
	return b.String()
}

// speedFields are the extended speeds; newer libraries know more of them.
func speedFields(b *strings.Builder, p *labsim.NodePort, extended string, modern bool) {
	field(b, "LinkSpeedExtActive", "%s", extended)
	field(b, "LinkSpeedExtSupported", "%s", extendedText(p.Can.Extended))
	field(b, "LinkSpeedExtEnabled", "%s", extendedText(p.May.Extended))
	if modern {
		field(b, "LinkSpeedExtActive2", "No Extended Speed 2")
		field(b, "LinkSpeedExtSupported2", "0")
		field(b, "LinkSpeedExtEnabled2", "0")
	}
}
