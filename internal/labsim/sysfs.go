package labsim

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// text is a read function of a constant line.
func text(s string) vfs.ReadFunc { return func() (string, error) { return s + "\n", nil } }

func line(f func() string) vfs.ReadFunc { return func() (string, error) { return f() + "\n", nil } }

// cardDir is the device directory of a card behind its bridge.
func (c *Card) dir() string { return "/sys/devices/pci0000:00/0000:00:01.0/" + c.Config.BDF }

// publishCard makes the PCI function's directory (Linux 6.x, linux-pci and mlx4).
func (m *Machine) publishCard(c *Card) {
	dir, model := c.dir(), c.Config.Model
	m.FS.Drop(dir)
	for name, value := range map[string]string{
		"vendor": fmt.Sprintf("0x%04x", model.Vendor), "device": fmt.Sprintf("0x%04x",
			c.device()), "subsystem_vendor": fmt.Sprintf("0x%04x", model.Subsystem),
		"subsystem_device": fmt.Sprintf("0x%04x", c.Config.SubsystemID), "class": c.class(), "revision": "0x00",
		"current_link_speed": firstOf(c.Config.SlotSpeed, model.PCIe), "current_link_width": strconv.Itoa(c.Config.LinkWidth),
		"max_link_speed": model.PCIe, "max_link_width": strconv.Itoa(model.Lanes), "enable": "1",
		"numa_node": strconv.Itoa(c.Config.Node - 1),
		"irq":       "32",
		"uevent":    "PCI_SLOT_NAME=" + c.Config.BDF,
	} {
		m.FS.PutDynamic(dir+"/"+name, 0o444, text(value), nil)
	}
	m.FS.PutDynamic(dir+"/config", 0o600, func() (string, error) { return strings.Repeat("\x00", 256), nil }, nil)
	m.FS.PutLink("../../../bus/pci", dir+"/subsystem")
	m.FS.PutLink("../../../devices/pci0000:00/0000:00:01.0/"+c.Config.BDF, "/sys/bus/pci/devices/"+c.Config.BDF)
	drivers := "bus/pci/drivers/" + model.Driver
	if !c.Bound() {
		m.FS.Drop("/sys/" + drivers + "/" + c.Config.BDF)
		return
	}
	m.FS.PutLink("../../../../"+drivers, dir+"/driver")
	m.publishSensors(c)
	m.publishVirtual(c)
	m.FS.PutLink("../../../../devices/pci0000:00/0000:00:01.0/"+c.Config.BDF, "/sys/"+drivers+"/"+c.Config.BDF)
	if !model.Switchable {
		return
	}
	for _, p := range c.Ports {
		file := fmt.Sprintf("%s/mlx4_port%d", dir, p.Number)
		m.FS.PutDynamic(file, 0o644, line(func() string { return portTypeText(p.View()) }),
			func(s string) error { return m.writePortType(c, p.Number, s) })
		m.FS.PutDynamic(file+"_mtu", 0o644, line(func() string { return strconv.Itoa(c.Config.MaxIBMTU) }), nil)
	}
}

func portTypeText(v PortView) string {
	if v.Auto {
		return "auto (" + v.LinkType + ")"
	}
	return v.LinkType
}

// class is 0x020700 for an InfiniBand capable function, 0x020000 for Ethernet.
func (c *Card) class() string {
	if class := c.Config.Model.Class; class != "" {
		return class
	}
	if c.Running().VPI {
		return "0x028000"
	}
	return "0x020000"
}

func (m *Machine) publishRDMAFiles(c *Card, name string) {
	fw := c.Running()
	dir := c.dir() + "/infiniband/" + name
	model := c.Config.Model
	hcaType := firstOf(model.HCAType, fmt.Sprintf("MT%d", c.device()))
	desc := hcaType + " ConnectX Mellanox Technologies"
	version := ""
	if model.Version != nil {
		version = model.Version(fw.Version)
	}
	if m.rdmaCore() {
		desc = m.Name + " " + name
	}
	for file, value := range map[string]string{
		"node_type": "1: CA", "node_guid": sysfsGUID(fw.GUIDs[0]), "sys_image_guid": sysfsGUID(fw.GUIDs[3]),
		"fw_ver": version, "hw_rev": firstOf(model.HWRev, strconv.FormatUint(uint64(c.Rev), 16)), "hca_type": hcaType,
		"board_id": firstOf(model.BoardID, fw.PSID),
	} {
		m.FS.PutDynamic(dir+"/"+file, 0o444, text(value), nil)
	}
	m.FS.PutDynamic(dir+"/node_desc", 0o644, line(func() string { return desc }), func(s string) error {
		desc = strings.TrimSuffix(s, "\n")
		return nil
	})
	m.FS.PutLink("../../../"+c.Config.BDF, dir+"/device")
	m.FS.PutLink("../../devices/pci0000:00/0000:00:01.0/"+c.Config.BDF+"/infiniband/"+name, "/sys/class/infiniband/"+name)
	for _, p := range c.Ports {
		m.publishPort(dir, p)
	}
}

func (m *Machine) publishPort(device string, p *Port) {
	dir := fmt.Sprintf("%s/ports/%d", device, p.Number)
	files := map[string]func(PortView) string{
		"state":      func(v PortView) string { return stateName(v.State) },
		"phys_state": func(v PortView) string { return physName(v.PhysState) },
		"rate":       rateText,
		"lid":        func(v PortView) string { return fmt.Sprintf("0x%x", p.Card.shownLID(v.LID)) },
		"sm_lid":     func(v PortView) string { return fmt.Sprintf("0x%x", p.Card.shownLID(v.SMLID)) },
		"sm_sl":      func(PortView) string { return "0" },
		"cap_mask":   capMask,
		"link_layer": func(v PortView) string {
			if v.LinkType == LinkIB {
				return "InfiniBand"
			}
			return "Ethernet"
		},
		"lid_mask_count": func(PortView) string { return "0" },
		"gids/0":         gidText,
		"gids/1":         emptyGID,
	}
	for i := range PKeyCapacity {
		files["pkeys/"+strconv.Itoa(i)] = func(v PortView) string { return pkeyText(v, i) }
	}
	for name, f := range files {
		m.FS.PutDynamic(dir+"/"+name, 0o444, line(func() string { return f(p.View()) }), nil)
	}
}

func stateName(s int) string {
	return map[int]string{StateDown: "1: DOWN", StateInit: "2: INIT", StateActive: "4: ACTIVE"}[s]
}

func physName(s int) string {
	return map[int]string{PhysPolling: "2: Polling", PhysDisabled: "3: Disabled", PhysLinkUp: "5: LinkUp"}[s]
}

// rateText follows mlx4, which reports SDR while a port is down.
func rateText(v PortView) string {
	switch {
	case v.State == StateDown && v.LinkType == LinkETH:
		return "10 Gb/sec (1X QDR)" // the default of eth_link_query_port
	case v.State == StateDown:
		return "10 Gb/sec (4X SDR)"
	case v.LinkType == LinkETH:
		return "40 Gb/sec (4X QDR)"
	}
	return v.Trained.rate()
}

func capMask(v PortView) string {
	if v.LinkType == LinkETH {
		return "0x00010000"
	}
	return fmt.Sprintf("0x%08x", v.CapMask)
}

func gidText(v PortView) string {
	g := v.GUID
	if v.LinkType == LinkETH {
		// RoCE: a link-local address made from the MAC.
		mac := v.MAC ^ 0x020000000000
		g = mac>>24<<40 | 0xfffe<<24 | mac&0xffffff
	}
	if v.Prefix != 0 && v.LinkType == LinkIB {
		return sysfsGUID(v.Prefix) + ":" + sysfsGUID(g)
	}
	return "fe80:0000:0000:0000:" + sysfsGUID(g)
}

// emptyGID is an entry that is not used: a port of InfiniBand puts its prefix before it.
func emptyGID(v PortView) string {
	if v.LinkType != LinkIB {
		return sysfsGUID(0) + ":" + sysfsGUID(0)
	}
	v.GUID = 0
	return gidText(v)
}

func sysfsGUID(g uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", g>>48, g>>32&0xffff, g>>16&0xffff, g&0xffff)
}

func (m *Machine) publishModule(name string) {
	dir := "/sys/module/" + name
	m.FS.PutDir(dir, 0o755, 0, 0)
	m.FS.PutDynamic(dir+"/initstate", 0o444, text("live"), nil)
	if name == "mlx4_core" {
		array := m.portTypeArray()
		m.FS.PutDynamic(dir+"/parameters/port_type_array", 0o444, text(fmt.Sprintf("%d,%d", array[0], array[1])), nil)
	}
	for _, c := range m.Cards() {
		if c.Config.Model.Driver == name {
			m.FS.PutDir("/sys/bus/pci/drivers/"+name, 0o755, 0, 0)
		}
	}
}

// netdevDir is the device directory of an interface.
func (d *Netdev) dir() string {
	switch {
	case d.Kind == KindBond:
		return "/sys/devices/virtual/net/" + d.Name
	case d.Parent != "":
		return "/sys/devices/virtual/net/" + d.Name // ib_ipoib gives its children no device
	case d.Port != nil:
		return d.Port.Card.dir() + "/net/" + d.Name
	case d.PCI != "":
		return "/sys/devices/pci0000:00/0000:00:01.0/" + d.PCI + "/net/" + d.Name
	case d.Type == TypeLoopback || d.Driver == "":
		return "/sys/devices/virtual/net/" + d.Name
	}
	return "/sys/devices/pci0000:00/0000:00:1f.6/net/" + d.Name
}

func (m *Machine) publishNetdev(name string) {
	d, ok := m.Netdev(name)
	if !ok {
		return
	}
	dir := d.dir()
	for file, f := range netdevFiles(m) {
		m.FS.PutDynamic(dir+"/"+file, 0o444, func() (string, error) {
			now, ok := m.Netdev(name)
			if !ok {
				return "", syscall.ENODEV
			}
			v, err := f(&now)
			return v + "\n", err
		}, nil)
	}
	m.FS.PutDynamic(dir+"/mtu", 0o644, line(func() string { n, _ := m.Netdev(name); return strconv.Itoa(n.MTU) }),
		func(s string) error {
			mtu, err := strconv.Atoi(strings.TrimSpace(s))
			if err != nil {
				return syscall.EINVAL
			}
			if err := m.SetMTU(name, mtu); err != nil {
				return syscall.EINVAL
			}
			return nil
		})
	switch {
	case d.Parent != "":
		m.FS.Drop(dir + "/device")
	case d.Port != nil:
		m.FS.PutLink("../../../"+d.Port.Card.Config.BDF, dir+"/device")
	case d.PCI != "":
		m.FS.PutLink("../../../"+d.PCI, dir+"/device")
	case d.Driver != "":
		m.FS.PutLink("../../../0000:00:1f.6", dir+"/device")
	}
	m.FS.PutLink(strings.Replace(dir, "/sys/", "../../", 1), "/sys/class/net/"+name)
	if d.Type == TypeInfiniBand {
		m.publishIPoIB(dir, &d)
	}
}

func netdevFiles(m *Machine) map[string]func(*Netdev) (string, error) {
	return map[string]func(*Netdev) (string, error){
		"type":      func(d *Netdev) (string, error) { return strconv.Itoa(d.Type), nil },
		"address":   func(d *Netdev) (string, error) { return d.HardwareAddress(), nil },
		"broadcast": func(d *Netdev) (string, error) { return d.Broadcast(), nil },
		"ifindex":   func(d *Netdev) (string, error) { return strconv.Itoa(d.Index), nil },
		"iflink": func(d *Netdev) (string, error) {
			if p, ok := m.Netdev(d.Parent); ok {
				return strconv.Itoa(p.Index), nil
			}
			return strconv.Itoa(d.Index), nil
		},
		"dev_port": func(d *Netdev) (string, error) { return strconv.Itoa(d.DevPort), nil },
		"dev_id": func(d *Netdev) (string, error) {
			if d.Type != TypeInfiniBand {
				return "0x0", nil // mlx4_en tells ports apart by dev_port only
			}
			return fmt.Sprintf("0x%x", d.DevPort), nil
		},
		"flags": func(d *Netdev) (string, error) {
			if d.Up {
				return "0x1003", nil
			}
			return "0x1002", nil
		},
		"carrier": func(d *Netdev) (string, error) {
			switch {
			case !d.Up:
				return "", syscall.EINVAL
			case m.Carrier(d):
				return "1", nil
			}
			return "0", nil
		},
		"operstate": func(d *Netdev) (string, error) {
			switch {
			case d.Type == TypeLoopback:
				return "unknown", nil
			case m.Carrier(d):
				return "up", nil
			}
			return "down", nil
		},
	}
}

// publishIPoIB adds what only IPoIB interfaces have; children made by netlink
// have no mode, pkey and umcast files.
func (m *Machine) publishIPoIB(dir string, d *Netdev) {
	name := d.Name
	if d.Parent != "" && !d.LegacyChild {
		return
	}
	if d.Parent == "" {
		m.publishChildFiles(dir, name)
	}
	m.FS.PutDynamic(dir+"/mode", 0o644, line(func() string { n, _ := m.Netdev(name); return n.Mode }),
		func(s string) error { return m.SetMode(name, s) })
	m.FS.PutDynamic(dir+"/pkey", 0o444, text(fmt.Sprintf("0x%04x", d.PKey)), nil)
	m.FS.PutDynamic(dir+"/umcast", 0o644, line(func() string { n, _ := m.Netdev(name); return strconv.Itoa(n.Umcast) }),
		func(s string) error {
			// ib_ipoib refuses nothing: simple_strtoul makes 0 of what is no number.
			digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
			m.UpdateNetdev(name, func(n *Netdev) { n.Umcast = min(1, len(strings.Trim(digits, "0"))) })
			return nil
		})
	if d.LegacyChild {
		m.FS.PutDynamic(dir+"/parent", 0o444, text(d.Parent), nil)
	}
}

func (m *Machine) unpublishNetdev(d *Netdev) {
	m.FS.Drop("/sys/class/net/" + d.Name)
	m.FS.Drop(d.dir())
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
