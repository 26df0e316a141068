package labsim

import (
	"fmt"
	"time"
)

// renameDelay is how long udev takes to give a new RDMA device its lasting name: longer
// than the way from a change of link types to the next question, as on real machines.
const renameDelay = 2 * time.Second

// publishRDMA makes the RDMA device of a card. The kernel gives it a name; where
// rdma-core has a rule for it, udev gives it another one a moment later. While a
// machine starts nobody sees the first: sshd is not up yet.
func (m *Machine) publishRDMA(c *Card) {
	name, lasting := m.kernelRDMAName(c), m.lastingRDMAName(c)
	if lasting == "" || !m.Ready() {
		m.nameRDMA(c, firstOf(lasting, name))
		return
	}
	m.nameRDMA(c, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.udevEvents++
	c.renaming = m.Lab.Clock.AfterFunc(renameDelay, func() { m.renameRDMA(c, lasting) })
}

// renameRDMA gives a device the name that udev has for it, if it is still there.
func (m *Machine) renameRDMA(c *Card, name string) {
	defer m.udevHasDone()
	m.Lab.mu.Lock()
	was := c.RDMA
	if was != "" {
		c.RDMA = name
	}
	m.Lab.mu.Unlock()
	if was == "" {
		return
	}
	m.dropRDMA(c, was)
	m.publishRDMAFiles(c, name)
}

// RenameRDMA is "rdma dev set": the device has the name until the next boot.
func (m *Machine) RenameRDMA(c *Card, name string) {
	m.mu.Lock()
	m.udevEvents++
	m.mu.Unlock()
	m.renameRDMA(c, name)
}

func (m *Machine) udevHasDone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.udevEvents--
}

// UdevIsBusy says whether udev still has a device to name.
func (m *Machine) UdevIsBusy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.udevEvents > 0
}

func (m *Machine) nameRDMA(c *Card, name string) {
	m.Lab.mu.Lock()
	c.RDMA = name
	m.Lab.mu.Unlock()
	m.publishRDMAFiles(c, name)
}

// kernelRDMAName counts the devices of a driver: mlx4_0.
func (m *Machine) kernelRDMAName(c *Card) string {
	index := 0
	for _, other := range m.Cards() {
		if other == c {
			break
		}
		if other.Config.Model.RDMA == c.Config.Model.RDMA {
			index++
		}
	}
	return fmt.Sprintf("%s%d", c.Config.Model.RDMA, index)
}

// lastingRDMAName is made of the address of the card (ibp1s0), if there is a rule.
func (m *Machine) lastingRDMAName(c *Card) string {
	if !m.FS.Exists("/usr/lib/udev/rules.d/60-rdma-persistent-naming.rules") ||
		m.FS.Exists("/etc/udev/rules.d/60-rdma-persistent-naming.rules") {
		return ""
	}
	prefix := "roce"
	if c.Ports[0].View().LinkType == LinkIB {
		prefix = "ib"
	}
	return prefix + pathName(c.Config.BDF)
}

func (m *Machine) unpublishRDMA(c *Card) {
	m.mu.Lock()
	renaming := c.renaming
	c.renaming = nil
	m.mu.Unlock()
	if renaming != nil && renaming.Stop() {
		m.udevHasDone()
	}
	m.Lab.mu.Lock()
	name := c.RDMA
	c.RDMA = ""
	m.Lab.mu.Unlock()
	m.dropRDMA(c, name)
}

func (m *Machine) dropRDMA(c *Card, name string) {
	if name == "" {
		return
	}
	m.FS.Drop("/sys/class/infiniband/" + name)
	m.FS.Drop(c.dir() + "/infiniband")
}
