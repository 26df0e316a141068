package tfkit

import (
	"maps"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Planned remembers what one plan will do, so that resources further down can
// be checked against the state they will find rather than the present one. It
// lives as long as the process, hence never reaches from plan to apply; there
// the hosts themselves are asked. It is safe for concurrent use.
type Planned struct {
	mu     sync.Mutex
	cards  map[CardRef]PlannedCard
	images map[ImageRef]Image
	sms    map[PortRef]int
}

// Image is a verified image file of this plan.
type Image struct {
	Name   string // path on the operator's machine
	SHA256 string
	Size   int64
	Parsed *fwimage.Image
}

// PlannedCard is what a card will be after the resources planned so far.
type PlannedCard struct {
	PSID      ib.PSID // empty if no burn is planned
	FW        ib.FWVersion
	Device    uint16              // device type of the image
	GUIDs     *ib.GUIDSet         // nil if no change is planned
	LinkTypes map[int]ib.LinkType // by port; empty if no change is planned
}

// Changes reports whether anything about the card is going to change.
func (c PlannedCard) Changes() bool {
	return c.PSID != "" || c.GUIDs != nil || len(c.LinkTypes) > 0
}

// NewPlanned returns an empty registry.
func NewPlanned() *Planned {
	return &Planned{cards: map[CardRef]PlannedCard{}, images: map[ImageRef]Image{}, sms: map[PortRef]int{}}
}

// Image returns a parsed image by its id.
func (p *Planned) Image(ref ImageRef) (Image, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	img, ok := p.images[ref]
	return img, ok
}

// SetImage remembers a parsed image.
func (p *Planned) SetImage(ref ImageRef, img Image) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.images[ref] = img
}

// Card returns what is planned for a card.
func (p *Planned) Card(ref CardRef) PlannedCard {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cards[ref]
}

// UpdateCard changes what is planned for a card.
func (p *Planned) UpdateCard(ref CardRef, change func(*PlannedCard)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cards[ref]
	change(&c)
	p.cards[ref] = c
}

// DoneCard forgets what was planned for a card once it was applied: from then
// on the host itself is asked.
func (p *Planned) DoneCard(ref CardRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cards, ref)
}

// Cards returns what is planned for all cards.
func (p *Planned) Cards() map[CardRef]PlannedCard {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.cards)
}

// PortOf finds the card on a host that will carry a port GUID after the changes
// planned so far.
func (p *Planned) PortOf(host string, guid ib.GUID) (CardRef, int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ref, c := range p.cards {
		if ref.Host != host || c.GUIDs == nil {
			continue
		}
		switch guid {
		case c.GUIDs.Port1:
			return ref, 1, true
		case c.GUIDs.Port2:
			return ref, 2, true
		}
	}
	return CardRef{}, 0, false
}

// SetSM remembers the priority of a subnet manager of the configuration.
func (p *Planned) SetSM(port PortRef, priority int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sms[port] = priority
}

// SMs returns the priorities of the subnet managers of the configuration that
// were planned so far, by port.
func (p *Planned) SMs() map[PortRef]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.sms)
}
