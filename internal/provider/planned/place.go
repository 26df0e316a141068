package planned

import "github.com/ibfabric/terraform-provider-infiniband/internal/ib"

// place is what a walk knows of the slot of a card. Core reads and plans resources in no
// order that helps here: what is made anew has no prior state, and the resource that has
// recorded another card in the slot may be read later. So both sides are noted.
type place struct {
	recorded []ib.Identity // cards that the state has, while another one is in the slot
	taken    []ib.Identity // that the card in the slot was taken for; empty: for whatever is there
	adopted  *ib.Identity  // what an infiniband_card of the slot says of the card; nil without one
}

// SetExchanged notes that the state has another card than the one in a slot. It reports
// whether the one in the slot was already taken for a card that this does not allow.
func (p *Walk) SetExchanged(key string, recorded ib.Identity) (late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.place(key)
	at.recorded = append(at.recorded, recorded)
	for _, who := range at.taken {
		late = late || !otherThan(recorded, who)
	}
	return late
}

// Adopt notes that an infiniband_card takes the card in a slot. named is what configuration
// or state say of that card themselves; empty: whatever is there. It gives the recorded card
// that forbids it, if there is one.
func (p *Walk) Adopt(key string, named ib.Identity) (recorded ib.Identity, forbidden bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place(key).adopted = &named
	return p.place(key).take(named)
}

// Take is Adopt for a resource without a record that writes to the card. named is what its
// card_id says; if an infiniband_card of the slot has given that id, it counts for no more than
// the infiniband_card does.
func (p *Walk) Take(key string, named ib.Identity) (recorded ib.Identity, forbidden bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.place(key)
	if at.adopted != nil && !named.Empty() {
		named = *at.adopted
	}
	return at.take(named)
}

func (p *Walk) place(key string) *place {
	if p.places[key] == nil {
		p.places[key] = &place{}
	}
	return p.places[key]
}

func (at *place) take(named ib.Identity) (recorded ib.Identity, forbidden bool) {
	at.taken = append(at.taken, named)
	for _, who := range at.recorded {
		if !otherThan(who, named) {
			return who, true
		}
	}
	return ib.Identity{}, false
}

// otherThan reports whether what is said of a card names another one than the recorded.
func otherThan(recorded, named ib.Identity) bool {
	like, _ := ib.Compare(recorded, named)
	return like == ib.Other
}
