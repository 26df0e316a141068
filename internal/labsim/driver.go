package labsim

import (
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// moduleArrived is what a driver does when it is loaded.
func (m *Machine) moduleArrived(name string) {
	switch name {
	case "mlx4_en", "mlx4_ib", "mlx5_ib", "ib_ipoib":
		for _, c := range m.Cards() {
			m.registerInterfaces(c)
		}
		m.Lab.Recompute()
	case "ib_umad":
		m.FS.PutDynamic("/sys/class/infiniband_mad/abi_version", 0o444, text("5"), nil)
	default:
		for _, c := range m.Cards() {
			if c.Config.Model.Driver == name && !m.rejects(c) {
				m.bind(c)
			}
		}
	}
}

// rejects says whether the kernel has the driver and keeps it from the card, as
// RHEL 9 does with ConnectX and ConnectX-2 (kernel/rh_messages.h).
func (m *Machine) rejects(c *Card) bool {
	d := c.device()
	if m.OS == RHEL9 && c.Config.Model.Driver == "mlx4_core" && d >= 0x6340 && d <= 0x676e {
		m.KernelLog("Warning: mlx4_core %s - Hardware support is disabled", c.Config.BDF)
		return true
	}
	return false
}

func (m *Machine) moduleLeaves(name string) {
	for _, c := range m.Cards() {
		switch name {
		case c.Config.Model.Driver:
			m.unregister(c)
			m.setBound(c, false)
			m.publishCard(c)
		case c.Config.Model.Verbs:
			m.removeInterfaces(c, LinkIB)
			m.unpublishRDMA(c)
		case "mlx4_en":
			m.removeInterfaces(c, LinkETH)
		case "ib_ipoib":
			m.removeInterfaces(c, LinkIB)
		}
	}
	if name == "ib_umad" {
		m.FS.Drop("/sys/class/infiniband_mad")
	}
}

func (m *Machine) setBound(c *Card, bound bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.bound = bound
}

// bind is the driver's probe: it decides the link types and loads the drivers that
// the ports need. A card without bootable firmware is not bound.
func (m *Machine) bind(c *Card) {
	fw := c.Running()
	if !fw.Loaded {
		m.KernelLog("%s %s: device is going to recovery mode", c.Config.Model.Driver, c.Config.BDF)
		m.publishCard(c)
		return
	}
	types := [2]string{LinkIB, LinkIB}
	if c.Config.Model.Switchable {
		types = m.initialTypes(c, fw)
	} else {
		for i, t := range fw.Config.LinkType {
			if t == card.LinkETH || !fw.VPI {
				types[i] = LinkETH
			}
		}
	}
	m.Lab.mu.Lock()
	for i, p := range c.Ports {
		p.link, p.auto, p.wanted, p.admin = types[i], fw.Config.LinkType[i] == card.LinkVPI && fw.VPI, "", true
		p.state, p.phys, p.lid, p.smLID = StateDown, PhysPolling, 0, 0
	}
	m.Lab.mu.Unlock()
	m.setBound(c, true)
	m.publishCard(c)
	files := m.modprobeFiles(modprobeParents...)
	if c.Config.Model.Switchable && types[0] == LinkETH || c.Config.Model.Switchable && types[1] == LinkETH {
		_ = m.loadModule("mlx4_en", files)
	}
	// mlx5_ib comes by itself with its auxiliary device, mlx4_ib by a request of
	// mlx4_core; the older drivers are both in one.
	_ = m.loadModule(c.Config.Model.Verbs, files)
	m.register(c)
	m.mlx4Setup(c)
}

// initialTypes applies linux drivers/net/ethernet/mellanox/mlx4 (main.c, mlx4_dev_cap): a
// firmware that knows one type only decides alone, then a port that senses, then
// port_type_array, then the firmware's suggestion. That is the LINK_TYPE of the card's
// configuration, and Ethernet for an unconfigured card. Whether firmware says of a port with
// LINK_TYPE IB or ETH that it knows this type only was not seen on a card.
func (m *Machine) initialTypes(c *Card, fw card.Firmware) [2]string {
	array := m.portTypeArray()
	if array[0] == 0 && array[1] == 1 {
		m.KernelLog("mlx4_core: Module parameter configuration ETH/IB is not supported. Switching to default configuration " +
			"IB/IB")
		array[0] = 1
	}
	var types [2]string
	for i := range types {
		types[i] = LinkETH
		switch {
		case !fw.VPI:
		case fw.Config.LinkType[i] == card.LinkVPI:
			types[i] = m.sense(c, i+1)
		case array[i] == 1, array[i] == 0 && fw.Config.LinkType[i] == card.LinkIB:
			types[i] = LinkIB
		}
	}
	return types
}

// sense answers what an auto-sensing port would find at the other end.
func (m *Machine) sense(c *Card, port int) string {
	m.Lab.mu.Lock()
	defer m.Lab.mu.Unlock()
	peer, ok := m.Lab.peers()[c.Ports[port-1].end()]
	if ok && peer.Switch == "" {
		for _, p := range m.Lab.allPorts() {
			if p.end() == peer && p.link == LinkETH {
				return LinkETH
			}
		}
	}
	return LinkIB
}

// register makes the RDMA device and the interfaces of a bound card.
func (m *Machine) register(c *Card) {
	m.registerInterfaces(c)
	m.Lab.Recompute()
}

func (m *Machine) registerInterfaces(c *Card) {
	if !c.Bound() {
		return
	}
	if m.ModuleLoaded(c.Config.Model.Verbs) && c.RDMA == "" {
		m.publishRDMA(c)
		if m.rdmaCore() {
			files := m.modprobeFiles(modprobeParents...)
			for _, name := range []string{"ib_umad", "ib_ipoib", "rdma_ucm"} {
				_ = m.loadModule(name, files)
			}
		}
	}
	for _, p := range c.Ports {
		m.registerPort(p)
	}
}

// rdmaCore says whether rdma-core's rules are installed: without them nothing
// loads ib_ipoib and ib_umad, and RDMA devices keep their kernel names.
func (m *Machine) rdmaCore() bool {
	return m.FS.Exists("/usr/lib/udev/rules.d/90-rdma-hw-modules.rules")
}

func (m *Machine) registerPort(p *Port) {
	v, c := p.View(), p.Card.Config.Model
	for _, d := range m.Netdevs() {
		if d.Port == p && d.Parent == "" {
			return
		}
	}
	dev := Netdev{Port: p, DevPort: p.Number - 1, MTU: 1500}
	switch {
	case v.LinkType == LinkETH && (m.ModuleLoaded("mlx4_en") || c.Driver == "mlx5_core"):
		mac := make([]byte, 8)
		binary.BigEndian.PutUint64(mac, v.MAC)
		dev.Type, dev.Address, dev.Driver = TypeEthernet, mac[2:], "mlx4_en"
		if c.Driver == "mlx5_core" {
			dev.Driver = c.Driver
		}
	case v.LinkType == LinkIB && m.ModuleLoaded("ib_ipoib") && p.Card.RDMA != "":
		dev.Type, dev.Driver, dev.Mode, dev.PKey = TypeInfiniBand, "ib_ipoib", ModeDatagram, 0xffff
		dev.MTU = v.MaxIBMTU - 4
		dev.AdminMTU = dev.MTU
		dev.Address = m.ipoibAddress(v.GUID, p.Number)
		if !c.Connected { // enhanced IPoIB: the card's driver makes the interface
			dev.Address[0], dev.Driver = 0, "mlx5_core[ib_ipoib]"
		}
	default:
		return
	}
	dev.Name = m.netdevName(&dev)
	m.AddNetdev(dev)
}

// ipoibAddress makes the 20-byte hardware address; the queue pair number in it
// changes with every driver load.
func (m *Machine) ipoibAddress(guid uint64, port int) []byte {
	m.mu.Lock()
	qpn := uint32(0x200 + 8*m.nextIndex + port)
	m.mu.Unlock()
	b := make([]byte, 20)
	binary.BigEndian.PutUint32(b, 0x80000000|qpn)
	b[4], b[5] = 0xfe, 0x80
	binary.BigEndian.PutUint64(b[12:], guid)
	return b
}

// netdevName asks the NetdevName hook, else follows systemd's net_id policy.
func (m *Machine) netdevName(d *Netdev) string {
	if m.Hooks.NetdevName != nil {
		if name := m.Hooks.NetdevName(m, d); name != "" {
			return name
		}
	}
	return m.PredictableName(d)
}

// PredictableName is systemd's net_id name of a card's interface: the slot if the
// firmware names one, else the path; "d<port>" only beyond the first port.
func (m *Machine) PredictableName(d *Netdev) string {
	if d.Port == nil {
		return d.Name
	}
	prefix := "en"
	if d.Type == TypeInfiniBand {
		prefix = "ib"
	}
	name := prefix + pathName(d.Port.Card.Config.BDF)
	if slot := d.Port.Card.Config.Slot; slot != "" {
		name = prefix + "s" + slot
	}
	if d.DevPort > 0 {
		name += fmt.Sprintf("d%d", d.DevPort)
	}
	return name
}

// pathName turns 0000:01:00.0 into p1s0.
func pathName(bdf string) string {
	var domain, bus, slot, function int
	_, _ = fmt.Sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &slot, &function)
	name := fmt.Sprintf("p%ds%d", bus, slot)
	if function > 0 {
		name += fmt.Sprintf("f%d", function)
	}
	return name
}

func (m *Machine) removeInterfaces(c *Card, link string) {
	for _, d := range m.Netdevs() {
		if d.Port == nil || d.Port.Card != c || d.Parent != "" {
			continue
		}
		if link == "" || (d.Type == TypeInfiniBand) == (link == LinkIB) {
			m.RemoveNetdev(d.Name)
		}
	}
}

func (m *Machine) unregister(c *Card) {
	m.removeInterfaces(c, "")
	m.unpublishRDMA(c)
}

// writePortType is a store to mlx4_portN.
func (m *Machine) writePortType(c *Card, port int, written string) error {
	fw := c.Running()
	want := strings.TrimSuffix(written, "\n")
	if want == written || want != LinkIB && want != LinkETH && want != "auto" {
		m.KernelLog("mlx4_core %s: %s is not supported port type", c.Config.BDF, want)
		return syscall.EINVAL
	}
	p := c.Ports[port-1]
	target, auto := want, want == "auto"
	if auto {
		if !fw.VPI {
			m.KernelLog("mlx4_core %s: Auto sensing is not supported on this HCA. Set only 'eth' or 'ib' for both ports "+
				"(should be the same)", c.Config.BDF)
			return syscall.EOPNOTSUPP
		}
		target = m.sense(c, port)
	}
	v := p.View()
	if v.LinkType == target && v.Auto == auto {
		return nil
	}
	if !fw.VPI && target != LinkETH {
		m.KernelLog("mlx4_core %s: Requested port type for port %d is not supported on this HCA", c.Config.BDF, port)
		return syscall.EOPNOTSUPP
	}
	if c.Config.SamePorts && m.refuseMixed(c, port, target) {
		m.KernelLog("mlx4_core %s: Only same port types supported on this HCA, aborting", c.Config.BDF)
		return syscall.EOPNOTSUPP
	}
	m.changeType(c, port, target, auto)
	return nil
}

// refuseMixed is the rule of cards that need one type on both ports: the refused
// wish is remembered and applied when the other port is written alike.
func (m *Machine) refuseMixed(c *Card, port int, target string) bool {
	m.Lab.mu.Lock()
	defer m.Lab.mu.Unlock()
	this, other := c.Ports[port-1], c.Ports[2-port]
	if other.link == target || other.wanted == target {
		if other.wanted == target {
			other.link = target
		}
		this.wanted, other.wanted = "", ""
		return false
	}
	this.wanted = target
	return true
}

// changeType takes the whole card down and up again, as mlx4 does for any real
// change of one port.
func (m *Machine) changeType(c *Card, port int, target string, auto bool) {
	m.unregister(c)
	m.Lab.mu.Lock()
	p := c.Ports[port-1]
	p.link, p.auto, p.wanted = target, auto, ""
	for _, each := range c.Ports {
		each.state, each.phys, each.lid, each.smLID = StateDown, PhysPolling, 0, 0
	}
	m.Lab.mu.Unlock()
	if target == LinkETH {
		_ = m.loadModule("mlx4_en", m.modprobeFiles(modprobeParents...))
	}
	m.register(c)
}
