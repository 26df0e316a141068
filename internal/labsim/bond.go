package labsim

import (
	"slices"
	"syscall"
)

// KindBond is the kind of a bond, as iproute2 names it.
const KindBond = "bond"

// ActiveBackup is the only mode in which the kernel takes interfaces of InfiniBand.
const ActiveBackup = "active-backup"

// Slaves are the interfaces of a bond, in index order.
func (m *Machine) Slaves(bond string) []Netdev {
	return slices.DeleteFunc(m.Netdevs(), func(d Netdev) bool { return d.Master != bond || bond == "" })
}

// Enslave puts an interface into a bond by the rules of Linux (bond_enslave, 6.1 to 6.12). The kernel opens it,
// gives it the MTU of the bond, and the bond takes the kind of hardware of its first port.
func (m *Machine) Enslave(bond, name string) error {
	b, ok := m.Netdev(bond)
	d, there := m.Netdev(name)
	switch {
	case !ok || !there || b.Kind != KindBond:
		return syscall.ENODEV
	case d.Type == TypeInfiniBand && b.BondMode != ActiveBackup:
		m.KernelLog("%s: (slave %s): Only active-backup mode is supported for infiniband slaves", bond, name)
		return syscall.EOPNOTSUPP
	case d.Up:
		return syscall.EPERM
	}
	if err := m.SetMTU(name, b.MTU); err != nil {
		return err
	}
	m.UpdateNetdev(name, func(d *Netdev) { d.Master, d.Up = bond, true })
	m.SettleBond(bond)
	return nil
}

// Release takes an interface out of its bond. The kernel closes it.
func (m *Machine) Release(name string) {
	d, _ := m.Netdev(name)
	m.UpdateNetdev(name, func(d *Netdev) { d.Master, d.Up = "", false })
	m.SettleBond(d.Master)
}

// SettleBond has the preferred port carry if it can, else another one that can, and stays with the last one if none
// can. The bond has the hardware address of the port that carries.
func (m *Machine) SettleBond(bond string) {
	b, ok := m.Netdev(bond)
	if !ok || b.Kind != KindBond {
		return
	}
	var active *Netdev
	for _, d := range m.Slaves(bond) {
		if m.Carrier(&d) && (active == nil || d.Name == b.Primary) {
			active = &d
		}
	}
	m.UpdateNetdev(bond, func(b *Netdev) {
		if b.Active = ""; active != nil {
			b.Active, b.Type, b.Address, b.Port, b.PKey = active.Name, active.Type, active.Address, active.Port, active.PKey
			return
		}
		for _, d := range m.netdevs {
			if d.Master == bond && b.Type != d.Type {
				b.Type, b.Address, b.Port, b.PKey = d.Type, d.Address, d.Port, d.PKey
			}
		}
	})
}

// setBondMTU gives an MTU to a bond, which all its ports have to take.
func (m *Machine) setBondMTU(bond string, mtu int) error {
	slaves := m.Slaves(bond)
	for i := range slaves {
		if _, err := m.legalMTU(&slaves[i], mtu); err != nil {
			return err
		}
	}
	for i := range slaves {
		if err := m.SetMTU(slaves[i].Name, mtu); err != nil {
			return err
		}
	}
	m.UpdateNetdev(bond, func(d *Netdev) { d.MTU, d.AdminMTU = mtu, mtu })
	return nil
}
