package labsim

import (
	"fmt"
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
// start (drivers/pci/iov.c, mlx5 sriov.c). A boot and a new driver leave none. Their RDMA devices are not simulated.
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
	const root = "/sys/devices/pci0000:00/0000:00:01.0/"
	for i := 0; m.FS.Exists(fmt.Sprintf("%s/virtfn%d", c.dir(), i)); i++ {
		m.FS.Drop(fmt.Sprintf("%s/virtfn%d", c.dir(), i))
		m.FS.Drop(root + c.virtual(i))
		m.FS.Drop("/sys/bus/pci/devices/" + c.virtual(i))
	}
	for i := range n {
		bdf, model := c.virtual(i), c.Config.Model
		for name, value := range map[string]string{
			"vendor": fmt.Sprintf("0x%04x", model.Vendor), "device": fmt.Sprintf("0x%04x", c.device()+1),
			"subsystem_vendor": fmt.Sprintf("0x%04x", model.Subsystem),
			"subsystem_device": fmt.Sprintf("0x%04x", c.Config.SubsystemID), "class": c.class(), "uevent": "PCI_SLOT_NAME=" + bdf,
		} {
			m.FS.PutDynamic(root+bdf+"/"+name, 0o444, text(value), nil)
		}
		m.FS.PutLink("../"+c.Config.BDF, root+bdf+"/physfn")
		m.FS.PutLink("../"+bdf, fmt.Sprintf("%s/virtfn%d", c.dir(), i))
		m.FS.PutLink("../../../../bus/pci/drivers/"+model.Driver, root+bdf+"/driver")
		m.FS.PutLink("../../../devices/pci0000:00/0000:00:01.0/"+bdf, "/sys/bus/pci/devices/"+bdf)
	}
}

// virtual is the address of a virtual function of the card.
func (c *Card) virtual(i int) string {
	slot := strings.TrimSuffix(c.Config.BDF, "00.0")
	return fmt.Sprintf("%s%02x.%d", slot, (i+2)/8, (i+2)%8)
}
