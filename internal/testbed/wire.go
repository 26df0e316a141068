//go:build testbed && linux

package testbed

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Wire is a pair of interfaces: one is the IPoIB interface of a port of the
// host's first card, the other is plugged into the host's medium.
type Wire struct {
	Name string // of the host's interface: "ib0", "ibp1s0"
	Port int    // of the card, from 1
}

// Limits of the interfaces: of connected mode, of the port, of a broadcast group for
// packets of 2048 bytes, and from below (linux/drivers/infiniband/ulp/ipoib).
const (
	connectedMTU = 65520
	portMTU      = 4092
	groupMTU     = 2044
	leastMTU     = 72
)

// medium is what carries packets between the IPoIB interfaces of hosts: a bridge of
// the operator's, who is host 1 of its subnet. It forwards whole packets of up to
// connectedMTU, and a veth receives none that is longer than its own MTU.
type medium int

func (m medium) name() string { return "ipoib-" + strconv.Itoa(int(m)) }

// subnet is the network of the medium, without the last byte.
func (m medium) subnet() string { return "172.16." + strconv.Itoa(int(m)) }

// join makes the host's medium, unless another host has.
func (h *Host) join() error {
	if len(h.wires) == 0 || command("ip", "link", "show", h.medium.name()) == nil {
		return nil
	}
	for _, args := range [][]string{
		{"link", "add", "name", h.medium.name(), "mtu", strconv.Itoa(connectedMTU), "type", "bridge"},
		{"addr", "add", h.medium.subnet() + ".1/24", "dev", h.medium.name()},
		{"link", "set", h.medium.name(), "up"},
	} {
		if err := command("ip", args...); err != nil {
			return err
		}
	}
	return nil
}

// wireUp makes the host's interfaces anew, as a boot does: nothing of the former
// one is left on them, and IPoIB interfaces have other queue pairs.
func (h *Host) wireUp() error {
	if h.stack == "" {
		return nil
	}
	out := "to-" + strconv.Itoa(h.number)
	steps := [][]string{
		{"link", "add", out, "type", "veth", "peer", "name", uplink, "netns", h.Name},
		{"addr", "add", h.gateway() + "/24", "dev", out},
		{"link", "set", out, "up"},
		{"-n", h.Name, "link", "set", uplink, "alias", "testbed ether"},
		{"-n", h.Name, "link", "set", "lo", "up"},
	}
	_ = command("ip", "link", "del", out) // of the last boot
	for i := range h.wires {
		_ = command("ip", "link", "del", h.farEnd(i))
	}
	for _, args := range steps {
		if err := command("ip", args...); err != nil {
			return err
		}
	}
	return h.follow()
}

// follow has an interface for each wire whose port speaks InfiniBand, and none for
// the others, as ib_ipoib has when the type of a port changes.
func (h *Host) follow() error {
	for i, w := range h.wires {
		there := command("ip", "link", "show", h.farEnd(i)) == nil
		var steps [][]string
		switch is := h.Device.isIB(w.Port - 1); {
		case there && !is:
			steps = [][]string{{"link", "del", h.farEnd(i)}}
		case is && !there:
			steps = h.wire(i)
		}
		for _, args := range steps {
			if err := command("ip", args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewire is follow for a driver, which has nobody to tell of a failure.
func (h *Host) rewire() {
	if err := h.follow(); err != nil {
		fmt.Fprintf(os.Stderr, "testbed: host %s: %v\n", h.Name, err)
	}
}

// wire makes an interface, which is what it stands for before the host sees it.
func (h *Host) wire(i int) [][]string {
	w, far, near := h.wires[i], h.farEnd(i), fmt.Sprintf("new-%d-%d", h.number, i)
	guid := h.Device.Card().Running().GUIDs[w.Port]
	return [][]string{
		{"link", "add", far, "mtu", strconv.Itoa(connectedMTU), "type", "veth", "peer", "name", near, "mtu",
			strconv.Itoa(groupMTU)},
		{"link", "set", near, "address",
			fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", i, guid>>24&0xff, guid>>16&0xff, guid>>8&0xff, guid&0xff)},
		{"link", "set", near, "alias", guise(h.hardwareAddress(w), modeDatagram)},
		{"link", "set", near, "netns", h.Name, "name", w.Name},
		{"link", "set", far, "master", h.medium.name(), "up"},
	}
}

// farEnd is the end of a wire that is plugged into the medium.
func (h *Host) farEnd(i int) string { return fmt.Sprintf("ib-%d-%d", h.number, i) }

const (
	modeDatagram  = "datagram"
	modeConnected = "connected"
)

// guise is the alias by which the kernel keeps what an interface stands for.
func guise(address, mode string) string { return "testbed ipoib " + address + " " + mode }

// hardwareAddress is flags, the number of the queue pair, and the port's GID. The
// first flag says that the interface can do connected mode (RFC 4755).
func (h *Host) hardwareAddress(w Wire) string {
	var a [20]byte
	binary.BigEndian.PutUint32(a[0:], uint32(0x48+w.Port+2*h.boots))
	a[0] = 0x80
	a[4], a[5] = 0xfe, 0x80
	binary.BigEndian.PutUint64(a[12:], h.Device.Card().Running().GUIDs[w.Port])
	return hex.EncodeToString(a[:])
}

// netdev is an IPoIB interface as sysfs shows it. All that changes is in the
// kernel: its MTU, and its mode in the alias.
type netdev struct {
	host *Host
	wire Wire
	dir  string // of the veth
}

// files are those of ib_ipoib that a veth lacks or has with another content.
func (n netdev) files() map[string]entry {
	address, _ := n.guise()
	pairs := make([]string, 0, 20)
	for i := 0; i+2 <= len(address); i += 2 {
		pairs = append(pairs, address[i:i+2])
	}
	index, _ := os.ReadFile(filepath.Join(n.dir, "ifindex"))
	return map[string]entry{
		"type": line("32"), "address": line("%s", strings.Join(pairs, ":")), "addr_len": line("20"),
		"broadcast": line("00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff"),
		"dev_id":    line("0x0"), "dev_port": line("%d",
			n.wire.Port-1), "pkey": line("0xffff"), "umcast": line("0"), "iflink": line("%s", strings.TrimSpace(string(index))),
		"device": {link: "../../../../bus/pci/devices/" + n.host.BDF},
		"mode": {
			text: func() string {
				_, mode := n.guise()
				return mode + "\n"
			},
			set: n.setMode,
		},
		"mtu": {file: filepath.Join(n.dir, "mtu"), set: n.setMTU},
	}
}

func (n netdev) guise() (address, mode string) {
	text, _ := os.ReadFile(filepath.Join(n.dir, "ifalias"))
	if f := strings.Fields(string(text)); len(f) == 4 {
		return f[2], f[3]
	}
	return "", ""
}

// setMode does what ipoib_set_mode does: only the exact words with their newline
// are understood, and each mode brings an MTU.
func (n netdev) setMode(s string) syscall.Errno {
	address, now := n.guise()
	mode, mtu := modeConnected, connectedMTU
	switch {
	case s == now+"\n":
		return 0
	case s == modeDatagram+"\n":
		mode, mtu = modeDatagram, min(n.mtu(), groupMTU)
	case s != modeConnected+"\n" || !strings.HasPrefix(address, "80"):
		return syscall.EINVAL
	}
	for _, args := range [][]string{{"alias", guise(address, mode)}, {"mtu", strconv.Itoa(mtu)}} {
		if command("ip", append([]string{"-n", n.host.Name, "link", "set", "dev", n.wire.Name}, args...)...) != nil {
			return syscall.EIO
		}
	}
	return 0
}

func (n netdev) mtu() int {
	text, _ := os.ReadFile(filepath.Join(n.dir, "mtu"))
	mtu, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return mtu
}

// setMTU is ipoib_change_mtu: in datagram mode the port's limit is an error, the
// group's holds in silence. The library has the same rule for netlink.
func (n netdev) setMTU(s string) syscall.Errno {
	mtu, err := strconv.Atoi(strings.TrimSpace(s))
	_, mode := n.guise()
	switch {
	case err != nil || mtu > connectedMTU || mode == modeDatagram && (mtu > portMTU || mtu < leastMTU):
		return syscall.EINVAL
	case mode == modeDatagram:
		mtu = min(mtu, groupMTU)
	}
	return writeKernel(filepath.Join(n.dir, "mtu"), strconv.Itoa(mtu))
}
