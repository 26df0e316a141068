package labsim

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// ErrMTUMax is what the kernel answers above the device's maximum; ip prints
// "Error: mtu greater than device maximum."
const ErrMTUMax = syscall.ERANGE

// SetMTU applies the kernel's rules (Linux 6.1 to 7.3, ipoib_change_mtu):
// connected mode takes up to 65520; datagram mode takes up to the port's IB MTU
// minus 4 and is silently clamped to the broadcast group's.
func (m *Machine) SetMTU(name string, mtu int) error {
	dev, ok := m.Netdev(name)
	if !ok {
		return syscall.ENODEV
	}
	if dev.Kind == KindBond {
		return m.setBondMTU(name, mtu)
	}
	shown, err := m.legalMTU(&dev, mtu)
	if err != nil {
		return err
	}
	m.UpdateNetdev(name, func(d *Netdev) { d.MTU, d.AdminMTU = shown, mtu })
	return nil
}

func (m *Machine) legalMTU(d *Netdev, mtu int) (int, error) {
	if d.Type != TypeInfiniBand {
		if mtu < 68 || mtu > 9978 {
			return 0, ErrMTUMax
		}
		return mtu, nil
	}
	if mtu > ConnectedMaxMTU {
		return 0, ErrMTUMax
	}
	if d.Mode == ModeConnected {
		return mtu, nil
	}
	if mtu < 72 || mtu > m.portMTU(d)-4 {
		return 0, syscall.EINVAL
	}
	return min(mtu, m.groupLimit(d)), nil
}

func (m *Machine) portMTU(d *Netdev) int {
	if d.Port == nil {
		return 2048
	}
	return d.Port.Card.Config.MaxIBMTU
}

// groupLimit is the datagram MTU of the joined broadcast group, or the port's own
// limit while there is none: an interface joins as it comes up, and remembers.
func (m *Machine) groupLimit(d *Netdev) int {
	if d.Port != nil && (d.Up || d.Opened) {
		if v := d.Port.View(); v.GroupMTU > 0 {
			return v.GroupMTU - 4
		}
	}
	return m.portMTU(d) - 4
}

// DatagramLimit is the largest datagram MTU that the kernel takes.
func (m *Machine) DatagramLimit(d *Netdev) int { return m.portMTU(d) - 4 }

// SetMode writes the IPoIB mode with the kernel's parsing: the newline is
// required, the same mode is no change, connected mode needs the flag byte in
// the hardware address and raises the MTU to 65520 by itself.
func (m *Machine) SetMode(name, written string) error {
	dev, ok := m.Netdev(name)
	if !ok || dev.Type != TypeInfiniBand {
		return syscall.ENODEV
	}
	switch written {
	case dev.Mode + "\n":
		return nil
	case "connected\n":
		if dev.Address[0]&0x80 == 0 {
			return syscall.EINVAL
		}
		m.KernelLog("%s: enabling connected mode will cause multicast packet drops", name)
		m.UpdateNetdev(name, func(d *Netdev) { d.Mode, d.MTU = ModeConnected, ConnectedMaxMTU })
	case "datagram\n":
		limit := m.groupLimit(&dev)
		m.UpdateNetdev(name, func(d *Netdev) {
			d.Mode = ModeDatagram
			d.MTU = min(limit, d.MTU)
			d.AdminMTU = d.MTU
		})
	default:
		return syscall.EINVAL
	}
	return nil
}

// Carrier says whether an interface has carrier: for InfiniBand that needs the
// interface up, an active port and a joined broadcast group.
func (m *Machine) Carrier(d *Netdev) bool {
	if !d.Up {
		return false
	}
	if d.Kind == KindBond {
		return d.Active != ""
	}
	if d.Port == nil {
		return true
	}
	v := d.Port.View()
	if d.Parent != "" && !d.ofPort(v.GUID) {
		return false // ib_ipoib looks for a port with the GUID of the address
	}
	if d.Type != TypeInfiniBand {
		return v.State == StateActive
	}
	return v.State == StateActive && v.GroupMTU > 0 && m.hasPKey(d)
}

// hasPKey says whether the port's partition table holds the interface's P_Key.
func (m *Machine) hasPKey(d *Netdev) bool {
	if d.PKey == 0xffff || d.PKey == 0x7fff {
		return true
	}
	l := m.Lab
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.subnetOf(d.Port).ports {
		for _, sm := range l.sms {
			if sm.Port == p && sm.state == SMMaster {
				return sm.admits(d)
			}
		}
	}
	return false
}

// portChanged lets the interfaces of a port follow it, then runs the hooks.
func (m *Machine) portChanged(p *Port) {
	for _, d := range m.Netdevs() {
		if d.Port != p || d.Type != TypeInfiniBand || d.Mode != ModeDatagram || !d.Up {
			continue
		}
		limit := m.groupLimit(&d)
		m.UpdateNetdev(d.Name, func(n *Netdev) { n.MTU = min(limit, max(n.AdminMTU, 72)) })
	}
	for _, hook := range m.Hooks.OnPortChange {
		hook(m, p)
	}
}

func unreadable() (string, error) { return "", syscall.EACCES }

// publishChildFiles are create_child and delete_child of a port's interface:
// the child is called by the first 10 characters of its parent and the key as
// written (ipoib_vlan_add).
func (m *Machine) publishChildFiles(dir, name string) {
	child := func(s string) (string, uint64, error) {
		key, err := strconv.ParseUint(strings.TrimSpace(s), 0, 32)
		if err != nil || key > 0xffff {
			return "", 0, syscall.EINVAL
		}
		return fmt.Sprintf("%.10s.%04x", name, key), key, nil
	}
	m.FS.PutDynamic(dir+"/create_child", 0o200, unreadable, func(s string) error {
		childName, key, err := child(s)
		if err != nil || m.Hooks.AddChild == nil {
			return syscall.EINVAL
		}
		return m.Hooks.AddChild(m, name, childName, key)
	})
	m.FS.PutDynamic(dir+"/delete_child", 0o200, unreadable, func(s string) error {
		_, key, err := child(s)
		if err != nil {
			return syscall.EINVAL
		}
		for _, d := range m.Netdevs() {
			if d.Parent == name && d.LegacyChild && uint64(d.PKey) == key { // the key that it has, with bit 0x8000
				m.RemoveNetdev(d.Name)
				return nil
			}
		}
		return syscall.ENODEV
	})
}
