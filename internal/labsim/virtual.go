package labsim

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// AddVirtualFunction adds a virtual function to a ConnectX-3, as its driver does for num_vfs
// and probe_vf: the PCI function, the links between the two, and the interface of it.
// Nothing keeps it over a restart.
func (m *Machine) AddVirtualFunction(c *Card, bdf string, d Netdev) {
	model := c.Config.Model
	dir := "/sys/devices/pci0000:00/0000:00:01.0/" + bdf
	for name, value := range map[string]string{
		"vendor": fmt.Sprintf("0x%04x", model.Vendor), "device": "0x1004",
		"subsystem_vendor": fmt.Sprintf("0x%04x", model.Subsystem),
		"subsystem_device": fmt.Sprintf("0x%04x", c.Config.SubsystemID), "class": c.class(), "uevent": "PCI_SLOT_NAME=" + bdf,
	} {
		m.FS.PutDynamic(dir+"/"+name, 0o444, text(value), nil)
	}
	m.FS.PutLink("../"+c.Config.BDF, dir+"/physfn")
	n := 0
	for m.FS.Exists(fmt.Sprintf("%s/virtfn%d", c.dir(), n)) {
		n++
	}
	m.FS.PutLink("../"+bdf, fmt.Sprintf("%s/virtfn%d", c.dir(), n))
	m.FS.PutDynamic(c.dir()+"/sriov_numvfs", 0o644, text(strconv.Itoa(n+1)), nil)
	m.FS.PutLink("../../../../bus/pci/drivers/"+model.Driver, dir+"/driver")
	m.FS.PutLink("../../../devices/pci0000:00/0000:00:01.0/"+bdf, "/sys/bus/pci/devices/"+bdf)
	d.PCI = bdf
	m.AddNetdev(d)
}

// publishVirtual gives a card of mlx5_core the files of its virtual functions, if its configuration had some at the last
// start (drivers/pci/iov.c, mlx5 sriov.c). A boot and a new driver leave none. Of their RDMA devices only the GUIDs are
// simulated.
func (m *Machine) publishVirtual(c *Card) {
	m.setVirtual(c, 0)
	settings := c.CurrentSettings()
	if c.Config.Model.Driver != "mlx5_core" || settings["SRIOV_EN"] != "True(1)" {
		return
	}
	total, now := firstOf(settings["NUM_OF_VFS"], "8"), 0
	m.FS.PutDynamic(c.dir()+"/sriov_totalvfs", 0o444, text(total), nil)
	m.FS.PutDynamic(c.dir()+"/sriov_numvfs", 0o644, line(func() string { return strconv.Itoa(now) }), func(s string) error {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		most, _ := strconv.Atoi(total)
		switch {
		case err != nil || n < 0:
			return syscall.EINVAL
		case n > most:
			return syscall.ERANGE
		case n == now:
			return nil
		case n > 0 && now > 0:
			return syscall.EBUSY
		}
		now = n
		m.setVirtual(c, n)
		return nil
	})
}

// setVirtual has the card have n virtual functions, behind the addresses of its physical ones.
func (m *Machine) setVirtual(c *Card, n int) {
	m.mu.Lock()
	c.virtual = slices.Repeat([]VirtualPort{{State: "disable"}}, n)
	m.mu.Unlock()
	for i := 0; m.FS.Exists(virtualRoot + c.virtualAddress(i)); i++ { // a boot has taken the links of the card already
		m.FS.Drop(fmt.Sprintf("%s/virtfn%d", c.dir(), i))
		m.unbindVirtual(c, i)
		m.FS.Drop(virtualRoot + c.virtualAddress(i))
		m.FS.Drop("/sys/bus/pci/devices/" + c.virtualAddress(i))
	}
	for i := range n {
		bdf, model := c.virtualAddress(i), c.Config.Model
		for name, value := range map[string]string{
			"vendor": fmt.Sprintf("0x%04x", model.Vendor), "device": fmt.Sprintf("0x%04x", c.device()+1),
			"subsystem_vendor": fmt.Sprintf("0x%04x", model.Subsystem),
			"subsystem_device": fmt.Sprintf("0x%04x", c.Config.SubsystemID), "class": c.class(), "uevent": "PCI_SLOT_NAME=" + bdf,
		} {
			m.FS.PutDynamic(virtualRoot+bdf+"/"+name, 0o444, text(value), nil)
		}
		m.FS.PutLink("../"+c.Config.BDF, virtualRoot+bdf+"/physfn")
		m.FS.PutLink("../"+bdf, fmt.Sprintf("%s/virtfn%d", c.dir(), i))
		m.FS.PutLink("../../../devices/pci0000:00/0000:00:01.0/"+bdf, "/sys/bus/pci/devices/"+bdf)
		m.bindVirtual(c, i)
	}
}

// virtual is the address of a virtual function of the card.
func (c *Card) virtualAddress(i int) string {
	slot := strings.TrimSuffix(c.Config.BDF, "00.0")
	return fmt.Sprintf("%s%02x.%d", slot, (i+2)/8, (i+2)%8)
}

const virtualRoot = "/sys/devices/pci0000:00/0000:00:01.0/"

// VirtualPort is what a card gives to a virtual function (drivers/infiniband/hw/mlx5/ib_virt.c). Its link state begins
// as "disable", and no GUIDs are set.
type VirtualPort struct {
	Node, Port uint64
	State      string
}

// VirtualPorts are those of the functions that a card has.
func (c *Card) VirtualPorts() []VirtualPort {
	c.Machine.mu.Lock()
	defer c.Machine.mu.Unlock()
	return slices.Clone(c.virtual)
}

// SetVirtualPort changes one. A card without such a function refuses, and so do drivers other than mlx5_core.
func (c *Card) SetVirtualPort(number int, change func(*VirtualPort)) error {
	c.Machine.mu.Lock()
	defer c.Machine.mu.Unlock()
	switch {
	case c.Config.Model.Driver != "mlx5_core":
		return syscall.EOPNOTSUPP
	case number < 0 || number >= len(c.virtual):
		return syscall.EINVAL
	}
	change(&c.virtual[number])
	return nil
}

// bindVirtual gives a function the driver of its card, which reads the GUIDs then and not again.
func (m *Machine) bindVirtual(c *Card, number int) {
	driver := "/sys/bus/pci/drivers/" + c.Config.Model.Driver
	dir := virtualRoot + c.virtualAddress(number)
	m.FS.PutLink("../../../../bus/pci/drivers/"+c.Config.Model.Driver, dir+"/driver")
	answer := func(do func(*Card, int), bound bool) func(string) error {
		return func(s string) error {
			for i := range c.VirtualPorts() {
				at := c.virtualAddress(i)
				if at == strings.TrimSpace(s) && m.FS.Exists(virtualRoot+at+"/driver") == bound {
					do(c, i)
					return nil
				}
			}
			return syscall.ENODEV
		}
	}
	m.FS.PutDynamic(driver+"/unbind", 0o200, text(""), answer(m.unbindVirtual, true))
	m.FS.PutDynamic(driver+"/bind", 0o200, text(""), answer(m.bindVirtual, false))
	if c.RDMA == "" {
		return
	}
	name, has := fmt.Sprintf("%sv%d", c.RDMA, number), c.VirtualPorts()[number]
	rdma := dir + "/infiniband/" + name
	m.FS.PutDynamic(rdma+"/node_guid", 0o444, text(sysfsGUID(has.Node)), nil)
	m.FS.PutDynamic(rdma+"/ports/1/gids/0", 0o444, text("fe80:0000:0000:0000:"+sysfsGUID(has.Port)), nil)
	m.FS.PutLink("../.."+strings.TrimPrefix(rdma, "/sys"), "/sys/class/infiniband/"+name)
}

func (m *Machine) unbindVirtual(c *Card, number int) {
	dir := virtualRoot + c.virtualAddress(number)
	for _, device := range m.FS.Glob(dir + "/infiniband/*") {
		m.FS.Drop("/sys/class/infiniband/" + path.Base(device))
	}
	m.FS.Drop(dir + "/infiniband")
	m.FS.Drop(dir + "/driver")
}
