package infiniband

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// hca is an RDMA device as infiniband-diags reads it from sysfs.
type hca struct {
	s    *state
	name string
}

func (s *state) hcas() []hca {
	var list []hca
	for _, dir := range s.m.FS.Glob("/sys/class/infiniband/*") {
		list = append(list, hca{s, path.Base(dir)})
	}
	return list
}

func (h hca) read(file string) string {
	return strings.TrimSpace(h.s.m.FS.Text("/sys/class/infiniband/" + h.name + "/" + file))
}

func (h hca) ports() []string {
	list := h.s.m.FS.Glob("/sys/class/infiniband/" + h.name + "/ports/*")
	for i, dir := range list {
		list[i] = path.Base(dir)
	}
	return list
}

func (h hca) portGUID(port string) string {
	groups := strings.Split(h.read("ports/"+port+"/gids/0"), ":")
	if len(groups) != 8 {
		return "0x0000000000000000"
	}
	return "0x" + strings.Join(groups[4:], "")
}

func (h hca) portGUIDs() []string {
	var list []string
	for _, p := range h.ports() {
		list = append(list, h.portGUID(p))
	}
	return list
}

// ibstat prints the RDMA devices.
func ibstat(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "p port_list", "l list_of_cas", "s short")
	if bad != "" || len(o.Args) > 2 {
		return p.Unknown("form of ibstat " + bad)
	}
	all := stateOf(p.Machine).hcas()
	switch {
	case len(o.Args) > 0 && !hasHCA(all, o.Args[0]):
		p.Errorf("ibpanic: [%d] main: '%s' IB device can't be found: Success\n", p.PID, o.Args[0])
		return 255
	case len(all) == 0:
		p.Errorf("ibpanic: [%d] main: stat of IB device 'mthca0' failed: No such file or directory\n", p.PID)
		return 255
	}
	for _, h := range all {
		if len(o.Args) > 0 && h.name != o.Args[0] {
			continue
		}
		if ports := h.ports(); len(o.Args) == 2 && !slices.Contains(ports, o.Args[1]) {
			if all[0].s.modern() {
				p.Errorf("ibwarn: [%[1]d] ca_stat: CA: '%[2]s' has no port number %[3]s - max (%[4]d)\nibwarn: [%[1]d] main: stat "+
					"of IB device '%[2]s' failed\n", p.PID, h.name, o.Args[1], len(ports))
				return 0
			}
			p.Errorf("ibwarn: [%[1]d] ca_stat: CA: '%[2]s' has no port number %[3]s - max (%[4]d)\nibpanic: [%[1]d] main: stat "+
				"of IB device '%[2]s' failed: Success\n",
				p.PID, h.name, o.Args[1], len(ports))
			return 255
		}
		h.show(p, o)
	}
	return 0
}

func (h hca) show(p *labsim.Proc, o *labsim.Flags) {
	switch {
	case o.Has("l"):
		p.Printf("%s\n", h.name)
	case o.Has("p"):
		p.Printf("%s\n", strings.Join(h.portGUIDs(), "\n"))
	case len(o.Args) == 2:
		p.Printf("CA: '%s'\nPort %s:\n", h.name, o.Args[1])
		h.printPort(p, o.Args[1], "")
	default:
		h.print(p)
		for _, port := range h.ports() {
			if !o.Has("s") {
				p.Printf("\tPort %s:\n", port)
				h.printPort(p, port, "\t\t")
			}
		}
	}
}

func hasHCA(all []hca, name string) bool {
	return slices.ContainsFunc(all, func(h hca) bool { return h.name == name })
}

func (h hca) print(p *labsim.Proc) {
	p.Printf("CA '%s'\n\tCA type: %s\n\tNumber of ports: %d\n\tFirmware version: %s\n\tHardware version: %s\n", h.name,
		h.read("hca_type"), len(h.ports()), h.read("fw_ver"), h.read("hw_rev"))
	p.Printf("\tNode GUID: %s\n\tSystem image GUID: %s\n", plainGUID(h.read("node_guid")),
		plainGUID(h.read("sys_image_guid")))
}

func plainGUID(sysfs string) string { return "0x" + strings.ReplaceAll(sysfs, ":", "") }

var ibstatStates = map[string]string{"1": "Down", "2": "Initializing", "3": "Armed", "4": "Active"}

func (h hca) printPort(p *labsim.Proc, port, indent string) {
	read := func(f string) string { return h.read("ports/" + port + "/" + f) }
	state, _, _ := strings.Cut(read("state"), ":")
	_, phys, _ := strings.Cut(read("phys_state"), ": ")
	rate, _, _ := strings.Cut(read("rate"), " ")
	number := func(f string) uint64 { n, _ := strconv.ParseUint(read(f), 0, 32); return n }
	for _, l := range []string{
		"State: " + ibstatStates[state], "Physical state: " + phys, "Rate: " + rate,
		fmt.Sprintf("Base lid: %d", number("lid")), "LMC: " + read("lid_mask_count"), fmt.Sprintf("SM lid: %d",
			number("sm_lid")),
		"Capability mask: " + read("cap_mask"), "Port GUID: " + h.portGUID(port), "Link layer: " + read("link_layer"),
	} {
		p.Printf("%s%s\n", indent, l)
	}
}

// madPort is the port that a fabric tool uses: -C and -P, or the first InfiniBand
// port with a link.
func (s *state) madPort(o *labsim.Flags) *labsim.Port {
	for _, c := range s.m.Cards() {
		for _, port := range c.Ports {
			v := port.View()
			if c.RDMA == "" || v.LinkType != labsim.LinkIB || o.Has("C") && o.Or("C", "") != c.RDMA ||
				o.Has("P") && o.Or("P", "") != strconv.Itoa(v.Number) {
				continue
			}
			if o.Has("P") && !s.modern() || v.PhysState == labsim.PhysLinkUp {
				return port
			}
		}
	}
	return nil
}

// printNoManager says why there was no answer of a subnet manager. A kernel refuses the
// question where no program takes it; what went no further than its own port gets lost.
func printNoManager(p *labsim.Proc, a aim, o *labsim.Flags) {
	switch local := o.Has("D") && !strings.Contains(o.Args[0], ","); {
	case a.arrived == nil || a.arrived.Node.Switch || local:
		printSilence(p, a)
	case o.Has("e"):
		p.Errorf("ibwarn: [%d] mad_rpc: MAD completed with error status 0xc; dport (%s)\n", p.PID, a.text)
	}
}

// sminfo asks the master of the subnet, or what the port takes for it; or the
// port at a LID or route.
func sminfo(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(portFlags, "D Direct", "e errors")...)
	if bad != "" || len(o.Args) > 1 || o.Has("D") != (len(o.Args) == 1 && strings.HasPrefix(o.Args[0], "0")) {
		return p.Unknown("form of sminfo " + bad)
	}
	s := stateOf(p.Machine)
	port := s.openForSMP(p, o)
	if port == nil {
		return 255
	}
	a := aim{text: "DR path slid 0; dlid 0; 0"}
	if v := port.View(); v.SMLID != 0 {
		a = s.aimAt(port, false, strconv.Itoa(int(v.SMLID)))
	}
	if len(o.Args) == 1 {
		a = s.aimAt(port, o.Has("D"), o.Args[0])
	}
	var best *labsim.SMView
	for _, v := range s.m.Lab.SubnetManagers(port) {
		if len(o.Args) == 1 && (a.arrived == nil || a.arrived.GUID != v.GUID) {
			continue
		}
		if best == nil || v.State > best.State {
			best = &v
		}
	}
	if best == nil {
		printNoManager(p, a, o)
		return iberror(p, "query")
	}
	lid := best.LID
	if o.Has("D") {
		lid = 0
	}
	names := map[int]string{0: "SMINFO_NOTACT", 1: "SMINFO_DISCOVER", 2: "SMINFO_STANDBY", 3: "SMINFO_MASTER"}
	count := int(s.m.Lab.Clock.Now().Sub(s.m.BootTime()).Seconds()) + 1
	p.Printf("sminfo: sm lid %d sm guid 0x%x, activity count %d priority %d state %d %s\n",
		lid, best.GUID, count, best.Priority, best.State, names[best.State])
	return 0
}
