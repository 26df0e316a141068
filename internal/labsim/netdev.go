package labsim

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// Link-layer types of /sys/class/net/X/type.
const (
	TypeEthernet   = 1
	TypeLoopback   = 772
	TypeInfiniBand = 32
)

// IPoIB modes.
const (
	ModeDatagram  = "datagram"
	ModeConnected = "connected"
)

// ConnectedMaxMTU is the limit of connected mode.
const ConnectedMaxMTU = 65520

// Netdev is a network interface. Change it through Machine.UpdateNetdev.
type Netdev struct {
	Name        string
	Index       int
	Type        int
	Address     []byte // 6 bytes, or 20 for InfiniBand
	MTU         int    // as the kernel shows it
	AdminMTU    int    // as asked, InfiniBand datagram mode
	Mode        string // InfiniBand: datagram or connected
	PKey        uint16
	Parent      string // of a P_Key child
	LegacyChild bool   // made by create_child
	DevPort     int
	Umcast      int
	Up          bool // administratively
	Opened      bool // has been up
	Addrs       []netip.Prefix
	Leased      []netip.Prefix // of the addresses those that DHCP has given
	Bare        []netip.Prefix // of the addresses those added without a broadcast address
	Driver      string
	SSH         bool // the SSH sessions of the lab ride on it
	Gateway     netip.Addr
	Port        *Port  // nil if not a card's
	PCI         string // of the virtual function that it is of; empty if of none
	Master      string // the bond that it is part of
	Kind        string // KindBond, or nothing
	BondMode    string
	Primary     string  // of a bond, the port that carries whenever it can
	Active      string  // of a bond, the port that carries
	Routes      []Route // with a gateway, but for the default route of IPv4
	Changes     int     // how often something of it became another
}

// Route is one route with a gateway.
type Route struct {
	To    netip.Prefix
	Via   netip.Addr
	Proto string // "static", "boot"
	NHID  string // of the nexthop object that has the gateway
}

// ofPort reports whether the hardware address of an IPoIB interface ends with a GUID.
func (d *Netdev) ofPort(guid uint64) bool {
	return len(d.Address) == 20 && binary.BigEndian.Uint64(d.Address[12:]) == guid
}

// HardwareAddress formats the address as sysfs does.
func (d *Netdev) HardwareAddress() string {
	parts := make([]string, len(d.Address))
	for i, b := range d.Address {
		parts[i] = fmt.Sprintf("%02x", b)
	}
	return strings.Join(parts, ":")
}

// Broadcast formats the broadcast address as sysfs does.
func (d *Netdev) Broadcast() string {
	if d.Type != TypeInfiniBand {
		return "ff:ff:ff:ff:ff:ff"
	}
	return fmt.Sprintf("00:ff:ff:ff:ff:12:40:1b:%02x:%02x:00:00:00:00:00:00:ff:ff:ff:ff", d.PKey>>8, d.PKey&0xff)
}

// Netdevs returns copies of the interfaces in index order.
func (m *Machine) Netdevs() []Netdev {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Netdev, 0, len(m.netdevs))
	for _, d := range m.netdevs {
		list = append(list, d.clone())
	}
	return list
}

func (d *Netdev) clone() Netdev {
	c := *d
	c.Addrs = append([]netip.Prefix{}, d.Addrs...)
	c.Leased = append([]netip.Prefix{}, d.Leased...)
	c.Bare = append([]netip.Prefix{}, d.Bare...)
	c.Routes = append([]Route{}, d.Routes...)
	return c
}

// Netdev returns a copy of an interface.
func (m *Machine) Netdev(name string) (Netdev, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.netdev(name); d != nil {
		return d.clone(), true
	}
	return Netdev{}, false
}

func (m *Machine) netdev(name string) *Netdev {
	for _, d := range m.netdevs {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// UpdateNetdev changes an interface under the machine's lock and says whether
// it is there. Mode and MTU have rules: use SetMTU and SetMode for them.
func (m *Machine) UpdateNetdev(name string, change func(*Netdev)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.netdev(name)
	if d == nil {
		return false
	}
	before := d.clone()
	change(d)
	d.Opened = d.Opened || d.Up
	d.Bare = slices.DeleteFunc(d.Bare, func(p netip.Prefix) bool { return !slices.Contains(d.Addrs, p) })
	d.Leased = slices.DeleteFunc(d.Leased, func(p netip.Prefix) bool { return !slices.Contains(d.Addrs, p) })
	if now := d.clone(); !reflect.DeepEqual(before, now) {
		d.Changes++
	}
	return true
}

// AddNetdev creates an interface, its sysfs entries and runs OnNetdevAdd. Index
// is set if 0. It returns a copy of what was made.
func (m *Machine) AddNetdev(d Netdev) Netdev {
	m.mu.Lock()
	if d.Index == 0 {
		m.nextIndex++
		d.Index = m.nextIndex
	}
	if d.MTU == 0 {
		d.MTU = 1500
	}
	dev := d.clone()
	m.netdevs = append(m.netdevs, &dev)
	m.mu.Unlock()
	m.publishNetdev(dev.Name)
	for _, hook := range m.Hooks.OnNetdevAdd {
		hook(m, &dev)
	}
	made, _ := m.Netdev(dev.Name)
	return made
}

// RemoveNetdev deletes an interface and its children and runs OnNetdevRemove.
func (m *Machine) RemoveNetdev(name string) bool {
	for _, d := range m.Netdevs() {
		if d.Parent == name {
			m.RemoveNetdev(d.Name)
		}
		if d.Master == name {
			m.UpdateNetdev(d.Name, func(d *Netdev) { d.Master, d.Up = "", false })
		}
	}
	m.mu.Lock()
	var gone *Netdev
	for i, d := range m.netdevs {
		if d.Name == name {
			gone = d
			m.netdevs = append(m.netdevs[:i:i], m.netdevs[i+1:]...)
			break
		}
	}
	m.mu.Unlock()
	if gone == nil {
		return false
	}
	m.unpublishNetdev(gone)
	m.SettleBond(gone.Master)
	for _, hook := range m.Hooks.OnNetdevRemove {
		hook(m, gone)
	}
	return true
}

// RenameNetdev is what udev does; the interface must be down in reality, which
// is not checked here because udev acts before anyone sets it up.
func (m *Machine) RenameNetdev(from, to string) bool {
	m.mu.Lock()
	d := m.netdev(from)
	taken := m.netdev(to) != nil
	m.mu.Unlock()
	if d == nil || taken {
		return false
	}
	m.unpublishNetdev(d)
	m.mu.Lock()
	d.Name = to
	m.mu.Unlock()
	m.publishNetdev(to)
	return true
}
