package labsim

import (
	"fmt"
	"strconv"
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
