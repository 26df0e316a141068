package planned

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// SetExchanged notes that the state has another card than the one in a slot. It reports
// whether the one in the slot was already taken for a card that this does not allow.
func (p *Walk) SetExchanged(key string, recorded ib.Identity) (late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.place(key)
	at.recorded = append(at.recorded, recorded)
	for _, who := range at.taken {
		late = late || !OtherThan(recorded, who)
	}
	return late
}

// Adopt notes that an infiniband_card takes the card in a slot. named is what configuration
// or state say of that card themselves; empty: whatever is there. It gives the cards that the
// state has there instead.
func (p *Walk) Adopt(key string, named ib.Identity) (recorded []ib.Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.place(key)
	at.adopted, at.taken = &named, append(at.taken, named)
	return slices.Clone(at.recorded)
}

// Import notes that an infiniband_card is imported by its place: its state says no more of the
// card than what is there. Imported reports that.
func (p *Walk) Import(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place(key).imported = true
}

// Imported: see Import.
func (p *Walk) Imported(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.place(key).imported
}

// Take notes that a resource without a record takes the card in a slot. named is what its
// card_id says; if an infiniband_card of the slot has given that id, it counts for no more than
// the infiniband_card does. It gives the recorded card that forbids it, if there is one.
func (p *Walk) Take(key string, named ib.Identity) (recorded ib.Identity, forbidden bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.place(key)
	if at.adopted != nil && !named.Empty() {
		named = *at.adopted
	}
	at.taken = append(at.taken, named)
	for _, who := range at.recorded {
		if !OtherThan(who, named) {
			return who, true
		}
	}
	return ib.Identity{}, false
}

func (p *Walk) place(key string) *place {
	if p.places[key] == nil {
		p.places[key] = &place{}
	}
	return p.places[key]
}

// OtherThan reports whether what is said of a card names another one than the recorded.
func OtherThan(recorded, named ib.Identity) bool {
	like, _ := ib.Compare(recorded, named)
	return like == ib.Other
}
