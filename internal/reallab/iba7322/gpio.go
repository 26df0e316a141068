//go:build linux

package iba7322

// Pins (qib_iba7322.c, qib_qsfp.h). Those of a port's cable are five further up for the
// second port. The cable pulls presence low, and selection by the driver is low.
const (
	pinClock, pinData       = 1 << 0, 1 << 1
	pinSelected, pinPresent = 1 << 2, 1 << 3
	pinsOfPort              = 5
	allPins                 = 0xffff
)

// pins are the general-purpose pins, with what hangs on them.
type pins struct {
	high   uint64 // levels, by bits
	status uint64 // that rose, since they were cleared
	raised uint64 // levels as the interrupts see them
	twsi   twsi
}

// driven is what the driver puts on the pins. One that it does not drive is pulled up. The
// enabling bits are the last of ExtControl.
func (c *Card) driven() uint64 {
	enabled := c.regs[regExtControl] >> 48
	return (c.regs[regGPIOOut] | ^enabled) & allPins
}

// levels are those of the pins.
func (c *Card) levels() uint64 {
	v := c.driven()
	if !c.pins.twsi.released {
		v &^= pinData
	}
	for i, p := range c.ports {
		if p.wire.Plugged() {
			v &^= pinPresent << (pinsOfPort * i)
		}
	}
	return v
}

// externals is ExtStatus: the pins, and that the self-test of the memories is over.
func (c *Card) externals() uint64 { return c.pins.high<<48 | 1<<14 }

// pinsChanged looks at the pins again: the bus sees it, and a pin that rises interrupts.
// ExtControl says which are looked at upside down.
func (c *Card) pinsChanged() {
	v := c.driven()
	c.pins.twsi.follow(v&pinClock != 0, v&pinData != 0, c.selected)
	c.pins.high = c.levels()
	raised := (c.pins.high ^ c.regs[regExtControl]>>32) & c.regs[regGPIOMask] & allPins
	fresh := raised &^ c.pins.raised
	c.pins.raised = raised
	if fresh != 0 {
		c.pins.status |= fresh
		c.raise(intGPIO)
	}
}

// Addresses on the bus (qib_iba7322.c, qib_qsfp.h).
const addressEEPROM, addressCable = 0xa2, 0xa0

// selected is the memory that answers to an address; nil if none does. That of a cable
// does while the driver selects it.
func (c *Card) selected(address byte) []byte {
	switch address {
	case addressEEPROM:
		return c.eeprom
	case addressCable:
		for i, p := range c.ports {
			if p.wire.Plugged() && c.driven()&(pinSelected<<(pinsOfPort*i)) == 0 {
				return p.cable
			}
		}
	}
	return nil
}
