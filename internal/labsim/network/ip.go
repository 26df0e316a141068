package network

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// ipCall is one call of iproute2.
type ipCall struct {
	s       *State
	p       *labsim.Proc
	json    bool
	details bool
	oneline bool
	ofLinks bool // "ip link", not "ip addr"
	family  int  // 0, 4, 6
}

// ipProgram is iproute2's ip for links, addresses and routes.
func ipProgram(_ context.Context, p *labsim.Proc) int {
	c := &ipCall{s: Of(p.Machine), p: p}
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if !c.flag(args[0]) {
			return p.Unknown("option " + args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return p.Unknown("no object")
	}
	object, args := args[0], args[1:]
	command := "show"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch {
	case strings.HasPrefix("address", object):
		return c.address(command, args)
	case strings.HasPrefix("link", object):
		return c.link(command, args)
	case strings.HasPrefix("route", object):
		return c.route(command, args)
	case object == "rule":
		return c.policy(command, args)
	case object == "nexthop":
		return c.nexthop(command, args)
	case strings.HasPrefix("neighbour", object):
		return c.neighbour(command, args)
	}
	return p.Unknown("object " + object)
}

func (c *ipCall) flag(f string) bool {
	switch f {
	case "-j":
		c.json = true
	case "-d":
		c.details = true
	case "-o":
		c.oneline = true
	case "-4":
		c.family = 4
	case "-6":
		c.family = 6
	default:
		return false
	}
	return true
}

func isShow(command string) bool { return command == "show" }

func (c *ipCall) refuseUser() bool {
	if c.p.UID == 0 {
		return false
	}
	c.p.Errorf("RTNETLINK answers: Operation not permitted\n")
	return true
}

// selection reads "[dev] NAME" and pairs of the words with a value.
func (c *ipCall) selection(args []string, words ...string) (opts map[string]string, bad string) {
	opts = map[string]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		known := slices.Contains(words, a)
		switch {
		case known && i+1 < len(args):
			opts[a] = args[i+1]
			i++
		case !known && opts["dev"] == "" && isDevName(a):
			opts["dev"] = a
		default:
			return nil, a
		}
	}
	return opts, ""
}

func isDevName(a string) bool { return a != "" && !strings.Contains(a, "/") && len(a) <= 15 }

// selectDevices returns the interfaces that a listing is about, with its options; a status
// if the one named is not there.
func (c *ipCall) selectDevices(object string, args []string,
	words ...string) (opts map[string]string, devs []labsim.Netdev, status int) {
	opts, bad := c.selection(args, words...)
	if bad != "" {
		return nil, nil, c.p.Unknown("ip " + object + " show " + bad)
	}
	devs = slices.DeleteFunc(c.s.m.Netdevs(),
		func(d labsim.Netdev) bool { return opts["dev"] != "" && d.Name != opts["dev"] })
	if len(devs) == 0 && opts["dev"] != "" {
		c.p.Errorf("Device \"%s\" does not exist.\n", opts["dev"])
		return nil, nil, 1
	}
	return opts, devs, 0
}

func (c *ipCall) address(command string, args []string) int {
	switch {
	case isShow(command):
		opts, devs, rc := c.selectDevices("address", args, "dev", "scope")
		if rc != 0 {
			return rc
		}
		return c.printAddrs(devs, opts["scope"])
	case c.refuseUser():
		return 2
	case command == "flush":
		return c.flush(args)
	}
	return c.changeAddr(command, args)
}

func (c *ipCall) flush(args []string) int {
	opts, bad := c.selection(args, "dev", "scope")
	if scope := opts["scope"]; bad != "" || opts["dev"] == "" || scope != "" && scope != "global" {
		return c.p.Unknown("form of ip address flush")
	}
	d, ok := c.s.m.Netdev(opts["dev"])
	if !ok {
		c.p.Errorf("Device \"%s\" does not exist.\n", opts["dev"])
		return 1
	}
	for _, a := range d.Addrs {
		if opts["scope"] == "global" && isLinkLocal(a) || !c.wants(a) {
			continue
		}
		_ = c.s.DelAddr(d.Name, a)
	}
	return 0
}

// wants says whether an address is of the family asked for.
func (c *ipCall) wants(a netip.Prefix) bool {
	return c.family == 0 || (c.family == 6) == a.Addr().Is6()
}

func (c *ipCall) changeAddr(command string, args []string) int {
	if len(args) < 1 {
		return c.p.Unknown("ip address " + command)
	}
	opts, bad := c.selection(args[1:], "dev", "brd", "broadcast", "label", "scope")
	if bad != "" || opts["dev"] == "" {
		return c.p.Unknown("form of ip address " + command)
	}
	text := args[0]
	if !strings.Contains(text, "/") {
		text += "/32"
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		c.p.Errorf("Error: any valid prefix is expected rather than \"%s\".\n", args[0])
		return 1
	}
	bare := opts["brd"] == "" && opts["broadcast"] == ""
	switch command {
	case "add":
		if err = c.s.AddAddr(opts["dev"], prefix); err == nil && bare {
			c.s.m.UpdateNetdev(opts["dev"], func(d *labsim.Netdev) { d.Bare = append(d.Bare, prefix) })
		}
	case "replace":
		if err = c.s.AddAddr(opts["dev"], prefix); errors.Is(err, ErrAddrExists) {
			err = nil
		}
	case "del", "delete":
		err = c.s.DelAddr(opts["dev"], prefix)
	default:
		return c.p.Unknown("ip address " + command)
	}
	return c.answer(err, opts["dev"])
}

// explain prints why the kernel has refused: Linux 6.1 gives the number of an error only,
// 6.8 a text (seen).
func (c *ipCall) explain(text, number string) {
	if strings.HasPrefix(c.p.Machine.Kernel, "6.1.") || strings.HasPrefix(c.p.Machine.Kernel, "5.") {
		c.p.Errorf("RTNETLINK answers: %s\n", number)
		return
	}
	c.p.Errorf("Error: %s\n", text)
}

func (c *ipCall) answer(err error, dev string) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNoDevice), errors.Is(err, syscall.ENODEV):
		c.p.Errorf("Cannot find device \"%s\"\n", dev)
		return 1
	case errors.Is(err, ErrAddrExists):
		c.explain("ipv4: Address already assigned.", "File exists")
	case errors.Is(err, errAddrGone):
		c.explain("ipv4: Address not found.", "Cannot assign requested address")
	case errors.Is(err, syscall.ENOTUNIQ):
		c.p.Errorf("RTNETLINK answers: Name not unique on network\n")
	case errors.Is(err, labsim.ErrMTUMax):
		c.p.Errorf("Error: mtu greater than device maximum.\n")
	case errors.Is(err, syscall.EOPNOTSUPP):
		c.p.Errorf("RTNETLINK answers: Operation not supported\n")
	default:
		c.p.Errorf("RTNETLINK answers: Invalid argument\n")
	}
	return 2
}

func (c *ipCall) link(command string, args []string) int {
	switch {
	case isShow(command):
		_, devs, rc := c.selectDevices("link", args, "dev")
		if rc != 0 {
			return rc
		}
		return c.printLinks(devs)
	case c.refuseUser():
		return 2
	case command == "set":
		return c.linkSet(args)
	case command == "del" || command == "delete":
		return c.linkDel(args)
	case command == "add":
		return c.linkAdd(args)
	}
	return c.p.Unknown("ip link " + command)
}

func (c *ipCall) linkSet(args []string) int {
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	if len(args) < 2 {
		return c.p.Unknown("form of ip link set")
	}
	name := args[0]
	if _, ok := c.s.m.Netdev(name); !ok {
		c.p.Errorf("Cannot find device \"%s\"\n", name)
		return 1
	}
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "up":
			c.s.SetLink(name, true)
		case "down":
			c.s.SetLink(name, false)
		case "type":
			// "type ipoib mode MODE", the way to a netlink child's mode.
			if i+3 != len(args)-1 || args[i+1] != "ipoib" || args[i+2] != "mode" {
				return c.p.Unknown("ip link set type")
			}
			return c.answer(c.s.m.SetMode(name, args[i+3]+"\n"), name)
		case "vf":
			return c.linkSetVF(name, args[i+1:])
		case "mtu":
			if i++; i == len(args) {
				return c.p.Unknown("mtu without a number")
			}
			mtu, err := strconv.Atoi(args[i])
			if err != nil {
				c.p.Errorf("Error: argument \"%s\" is wrong: Invalid \"mtu\" value\n", args[i])
				return 255
			}
			if err := c.s.m.SetMTU(name, mtu); err != nil {
				return c.answer(err, name)
			}
		default:
			return c.p.Unknown("ip link set " + args[i])
		}
	}
	return 0
}

// addChild makes a P_Key child with the kernel's rules: no child of a child, no
// key 0 or 0x8000, of those made by create_child one a key, and bit 0x8000 set in the key of the device. The key is
// compared as it was asked for, so that one without the bit gets past (ipoib_vlan_add,
// ipoib_ndo_init).
func (s *State) addChild(parentName, name string, pkey uint64, mode string, legacy bool) error {
	parent, ok := s.m.Netdev(parentName)
	if !ok || parent.Type != labsim.TypeInfiniBand || parent.Parent != "" || pkey == 0 || pkey == 0x8000 {
		return syscall.EINVAL
	}
	for _, d := range s.m.Netdevs() {
		if d.Name == name || legacy && d.Parent == parentName && d.PKey == uint16(pkey) {
			return syscall.ENOTUNIQ
		}
	}
	if legacy && uint16(pkey) == parent.PKey {
		return syscall.ENOTUNIQ
	}
	child := parent
	child.Name, child.Parent, child.Index, child.LegacyChild = name, parent.Name, 0, legacy
	child.PKey, child.Up, child.Addrs, child.Routes, child.SSH = uint16(pkey)|0x8000, false, nil, nil, false
	child.Gateway = netip.Addr{}
	child.Opened, child.Bare, child.Umcast = false, nil, 0
	child.Mode, child.MTU, child.AdminMTU = labsim.ModeDatagram, 0, 0
	s.m.AddNetdev(child)
	_ = s.m.SetMTU(name, s.m.DatagramLimit(&child))
	if mode == labsim.ModeConnected {
		return s.m.SetMode(name, mode+"\n")
	}
	return nil
}

// linkAdd makes a P_Key child: "link PARENT name NAME type ipoib pkey KEY [mode MODE]".
func (c *ipCall) linkAdd(args []string) int {
	opts, bad := c.selection(args, "link", "name", "type", "pkey", "mode")
	key, err := strconv.ParseUint(opts["pkey"], 0, 16)
	if bad != "" || opts["type"] != "ipoib" || opts["name"] == "" || opts["dev"] != "" || err != nil {
		return c.p.Unknown("form of ip link add")
	}
	if _, ok := c.s.m.Netdev(opts["link"]); !ok {
		c.p.Errorf("Cannot find device \"%s\"\n", opts["link"])
		return 1
	}
	mode := opts["mode"]
	if mode == "" {
		mode = labsim.ModeDatagram
	}
	return c.answer(c.s.addChild(opts["link"], opts["name"], key, mode, false), opts["name"])
}

func (c *ipCall) linkDel(args []string) int {
	opts, bad := c.selection(args, "dev")
	d, ok := c.s.m.Netdev(opts["dev"])
	switch {
	case bad != "":
		return c.p.Unknown("ip link del " + bad)
	case !ok:
		c.p.Errorf("Cannot find device \"%s\"\n", opts["dev"])
		return 1
	case d.Kind == labsim.KindBond:
		c.s.m.RemoveNetdev(d.Name)
		return 0
	case d.Parent == "" && d.Type == labsim.TypeInfiniBand:
		return 0 // ib_ipoib leaves alone what is no child, and says nothing
	case d.Parent == "":
		c.p.Errorf("RTNETLINK answers: Operation not supported\n")
		return 2
	}
	c.s.m.RemoveNetdev(d.Name)
	return 0
}

// printJSON prints as iproute2 does: no blanks, one line.
func (c *ipCall) printJSON(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return c.p.Fail(255, "%v", err)
	}
	c.p.Printf("%s\n", data)
	return 0
}
