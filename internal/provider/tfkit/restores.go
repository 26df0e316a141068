package tfkit

import (
	"crypto/rand"
	"slices"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Restores tells the one destroy that may burn an earlier firmware back from all
// others. Core destroys an object also to replace it, under another address of
// the same card, and as what is left of a create_before_destroy; a delete is
// shown the state alone and cannot see which it is. It lives as long as the
// process, hence as one walk of core, and is safe for concurrent use.
type Restores struct {
	walk string

	mu        sync.Mutex
	applying  bool
	read      []place
	holders   []holder
	announced []place
}

// place is a slot of a machine. One machine may have two names in the hosts map;
// its boot id is the same under both.
type place struct {
	host, boot string
	pci        ib.PCIAddress
}

func (p place) is(other place) bool {
	return p.pci == other.pci && (p.host == other.host || p.boot != "" && p.boot == other.boot)
}

type holder struct {
	place
	exists bool
}

// Holder says who else has a card that is to be restored.
type Holder int

// What Announce finds.
const (
	HeldByNobody Holder = iota
	HeldByNew           // a resource that is to be made
	HeldByOther         // a resource that is in the state
)

// NewRestores begins a walk.
func NewRestores() *Restores { return &Restores{walk: rand.Text()} }

// Walk names this walk. A plan and its apply are two walks, so that a note with
// this name was not made by the plan that the operator saw.
func (r *Restores) Walk() string { return r.walk }

// Applying says that this walk changes things: what is planned now is planned
// just before it is done, and nobody sees it first.
func (r *Restores) Applying() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.applying
}

// BeginApply notes that this walk changes things.
func (r *Restores) BeginApply() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applying = true
}

// SawState notes that the state has a resource of the card: it was read.
func (r *Restores) SawState(ref CardRef, boot string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = append(r.read, place{ref.Host, boot, ref.PCI})
}

// InState reports whether the state was seen to have a resource of the card. It
// is false in a walk that applies, where nothing is read.
func (r *Restores) InState(ref CardRef, boot string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.read, place{ref.Host, boot, ref.PCI}.is)
}

// Hold notes that the configuration has a resource of the card, in the state or
// not yet, and reports whether this walk restores the card.
func (r *Restores) Hold(ref CardRef, boot string, exists bool) (restored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := place{ref.Host, boot, ref.PCI}
	r.holders = append(r.holders, holder{at, exists})
	return slices.ContainsFunc(r.announced, at.is)
}

// Announce notes that this walk restores the card, unless the configuration has
// a resource of it.
func (r *Restores) Announce(ref CardRef, boot string) Holder {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := place{ref.Host, boot, ref.PCI}
	found := HeldByNobody
	for _, h := range r.holders {
		switch {
		case !h.is(at):
		case !h.exists:
			return HeldByNew
		default:
			found = HeldByOther
		}
	}
	if found == HeldByNobody {
		r.announced = append(r.announced, at)
	}
	return found
}
