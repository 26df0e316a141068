package labsim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Spare is a card that is in no machine. It keeps what is in its flash.
type Spare struct {
	Card   *card.Card
	config CardConfig
}

// NewSpare makes a card as the factory or a shop delivers it. The address in c
// does not count.
func NewSpare(c CardConfig) (*Spare, error) {
	hw, err := card.New(c.Config)
	if err != nil {
		return nil, fmt.Errorf("labsim: spare card: %w", err)
	}
	return &Spare{Card: hw, config: c}, nil
}

var errRunning = errors.New("labsim: cards change slots only while the machine is off")

// haltPatience is how long somebody with a screwdriver waits for a machine to shut down. Some units are waited for
// without end.
const haltPatience = 5 * time.Second

// Rebuild switches the machine off, lets change work on its slots, and switches it
// on again, as somebody with a screwdriver does. It returns when it has booted.
func (m *Machine) Rebuild(change func() error) error {
	down := make(chan struct{})
	go func() {
		m.Halt()
		close(down)
	}()
	select {
	case <-down:
	case <-time.After(haltPatience):
		m.goDown() // the units end with the power
		<-down
	}
	err := change()
	m.Start()
	return err
}

// PowerCutThen is PowerCut with a change of the slots before the power comes back.
// It returns when the machine is down and changed.
func (m *Machine) PowerCutThen(change func() error) error {
	down := make(chan error, 1)
	go func() {
		m.goDown()
		down <- change()
		m.comeBack(m.Faults.Get())
	}()
	return <-down
}

// TakeOut takes the card at an address out of its slot. Its cables stay where they
// are, for the card that comes next. The machine must be off.
func (m *Machine) TakeOut(bdf string) (*Spare, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.up {
		return nil, errRunning
	}
	for i, c := range m.installed {
		if c.Config.BDF == bdf {
			m.installed = append(m.installed[:i:i], m.installed[i+1:]...)
			m.dropCard(c)
			return &Spare{Card: c.Card, config: c.Config}, nil
		}
	}
	return nil, fmt.Errorf("labsim: %s has no card at %s", m.Name, bdf)
}

// PutIn puts a card into the slot at an address. The machine must be off.
func (m *Machine) PutIn(s *Spare, bdf string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.up {
		return errRunning
	}
	for _, c := range m.installed {
		if c.Config.BDF == bdf {
			return fmt.Errorf("labsim: slot %s of %s is taken", bdf, m.Name)
		}
	}
	config := s.config
	config.BDF = bdf
	m.installed = append(m.installed, newCard(m, config, s.Card))
	return nil
}

// Exchange switches the machine off, puts another card into a slot, and switches it
// on. It gives the card that was there.
func (m *Machine) Exchange(bdf string, other *Spare) (old *Spare, err error) {
	err = m.Rebuild(func() error {
		if old, err = m.TakeOut(bdf); err != nil {
			return err
		}
		return m.PutIn(other, bdf)
	})
	return old, err
}

// Renumber gives every card another bus number, as firmware does when a device
// appears in a slot before them. Cables stay with their cards. The machine must be off.
func (m *Machine) Renumber(shift int) error {
	m.mu.Lock()
	if m.up {
		m.mu.Unlock()
		return errRunning
	}
	moved := map[string]string{}
	for i, c := range m.installed {
		to, err := shiftBus(c.Config.BDF, shift)
		if err != nil {
			m.mu.Unlock()
			return err
		}
		moved[c.Config.BDF] = to
		m.dropCard(c)
		config := c.Config
		config.BDF = to
		m.installed[i] = newCard(m, config, c.Card)
	}
	m.mu.Unlock()
	m.Lab.carry(m.Name, moved, m.Name)
	return nil
}

// MoveCard switches both machines off, moves a card with its cables, and switches
// them on.
func (l *Lab) MoveCard(from *Machine, bdf string, to *Machine, toBDF string) error {
	move := func() error {
		s, err := from.TakeOut(bdf)
		if err != nil {
			return err
		}
		if err := to.PutIn(s, toBDF); err != nil {
			return errors.Join(err, from.PutIn(s, bdf))
		}
		l.carry(from.Name, map[string]string{bdf: toBDF}, to.Name)
		return nil
	}
	if from == to {
		return from.Rebuild(move)
	}
	return from.Rebuild(func() error { return to.Rebuild(move) })
}

// carry moves the ends of cables along with their cards.
func (l *Lab) carry(from string, moved map[string]string, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.cables {
		for _, e := range []*End{&c.A, &c.B} {
			if bdf, ok := moved[e.BDF]; ok && e.Machine == from {
				e.Machine, e.BDF = to, bdf
			}
		}
	}
}

// dropCard removes what the kernel showed of a card that is no longer on the bus.
func (m *Machine) dropCard(c *Card) {
	m.FS.Drop(c.dir())
	m.FS.Drop("/sys/bus/pci/devices/" + c.Config.BDF)
	m.FS.Drop("/sys/bus/pci/drivers/" + c.Config.Model.Driver + "/" + c.Config.BDF)
}

// shiftBus adds to the bus number of "0000:01:00.0".
func shiftBus(bdf string, shift int) (string, error) {
	parts := strings.Split(bdf, ":")
	if len(parts) != 3 {
		return "", fmt.Errorf("labsim: %q is no full PCI address", bdf)
	}
	bus, err := strconv.ParseUint(parts[1], 16, 8)
	if err != nil {
		return "", fmt.Errorf("labsim: bus of %q: %w", bdf, err)
	}
	return fmt.Sprintf("%s:%02x:%s", parts[0], int(bus)+shift, parts[2]), nil
}
