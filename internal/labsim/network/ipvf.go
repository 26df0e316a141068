package network

import (
	"encoding/binary"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// ipVF is a virtual function as print_vfinfo shows that of an IPoIB interface.
type ipVF struct {
	VF        int            `json:"vf"`
	LinkType  string         `json:"link_type"`
	Address   string         `json:"address"`
	Broadcast string         `json:"broadcast"`
	VLANs     [1]struct{}    `json:"vlan_list"`
	Rate      map[string]int `json:"rate"`
	Spoof     bool           `json:"spoofchk"`
	Node      string         `json:"node guid"`
	Port      string         `json:"port guid"`
	State     string         `json:"link_state"`
	Trust     bool           `json:"trust"`
	RSS       bool           `json:"query_rss_en"`
}

// virtual are the functions of the card of an interface. Only mlx5 has an answer, and others have none of their own.
func virtual(d *labsim.Netdev) *[]ipVF {
	all := []ipVF{}
	if d.Port != nil {
		for i, p := range d.Port.Card.VirtualPorts() {
			all = append(all, ipVF{VF: i, LinkType: "infiniband", Address: d.HardwareAddress(), Broadcast: d.Broadcast(),
				Rate: map[string]int{"max_tx": 0, "min_tx": 0}, Node: eui64(p.Node), Port: eui64(p.Port), State: p.State})
		}
	}
	return &all
}

func eui64(guid uint64) string {
	return net.HardwareAddr(binary.BigEndian.AppendUint64(nil, guid)).String()
}

// linkSetVF is "vf N [node_guid EUI64] [port_guid EUI64] [state STATE]".
func (c *ipCall) linkSetVF(name string, args []string) int {
	d, _ := c.s.m.Netdev(name)
	number, err := strconv.Atoi(strings.Join(args[:min(len(args), 1)], ""))
	if err != nil || len(args)%2 == 0 {
		return c.p.Unknown("form of ip link set vf")
	}
	for i := 1; i < len(args); i += 2 {
		var change func(*labsim.VirtualPort)
		mac, bad := net.ParseMAC(args[i+1])
		switch guid := args[i] == "node_guid" || args[i] == "port_guid"; {
		case guid && (bad != nil || len(mac) != 8):
			c.p.Errorf("Error: argument \"%s\" is wrong: Invalid GUID format\n\n", args[i+1])
			return 255
		case args[i] == "node_guid":
			change = func(p *labsim.VirtualPort) { p.Node = binary.BigEndian.Uint64(mac) }
		case args[i] == "port_guid":
			change = func(p *labsim.VirtualPort) { p.Port = binary.BigEndian.Uint64(mac) }
		case args[i] == "state" && slices.Contains([]string{"auto", "enable", "disable"}, args[i+1]):
			change = func(p *labsim.VirtualPort) { p.State = args[i+1] }
		default:
			return c.p.Unknown("ip link set vf " + args[i] + " " + args[i+1])
		}
		err := error(syscall.EOPNOTSUPP)
		if d.Type == labsim.TypeInfiniBand && d.Port != nil {
			err = d.Port.Card.SetVirtualPort(number, change)
		}
		if err != nil {
			return c.answer(err, name)
		}
	}
	return 0
}
