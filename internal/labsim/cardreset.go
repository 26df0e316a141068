package labsim

// TakeDriver takes the driver from a card, as a write to its "unbind" does.
func (m *Machine) TakeDriver(c *Card) {
	m.unregister(c)
	m.setBound(c, false)
	m.publishCard(c)
	m.Lab.Recompute()
}

// GiveDriver has the driver probe a card, as a write to its "bind" does.
func (m *Machine) GiveDriver(c *Card) {
	m.bind(c)
	m.Lab.Recompute()
}

// SetLink takes the PCI link of a card down or up. Without it nobody reaches the card.
func (m *Machine) SetLink(c *Card, up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.linkDown = !up
}

// HasLink reports whether the card can be reached.
func (m *Machine) HasLink(c *Card) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !c.linkDown
}
