package planned

import (
	"crypto/rand"
	"sync"
)

// Restores finds out which destroy may burn an earlier firmware back. Core destroys an
// object also to replace it, under another address of the same card, and after a
// create_before_destroy; a delete sees the state alone and cannot tell. It lives as
// long as the process, hence one walk of core, and is safe for concurrent use.
type Restores struct {
	walk string

	mu        sync.Mutex
	applying  bool
	read      map[string]bool // cards, by CardKey
	holders   map[string]Holder
	unknown   bool // a resource has a card that is not known yet
	announced map[string]bool
}

// Holder says who else has a card that is to be restored.
type Holder int

// What Announce finds.
const (
	HeldByNobody Holder = iota
	HeldByNew           // a resource that is to be made
	HeldByOther         // a resource that is in the state
	HeldPerhaps         // a resource of which the card is not known yet may have it
)

// NewRestores begins a walk.
func NewRestores() *Restores {
	return &Restores{walk: rand.Text(), read: map[string]bool{}, holders: map[string]Holder{},
		announced: map[string]bool{}}
}

// Walk names this walk. A plan and its apply are two walks, so that a note with
// this name was not made by the plan that the operator saw.
func (r *Restores) Walk() string { return r.walk }

// SetApplying notes that this walk changes things: its plans come just before the
// change, and nobody sees them.
func (r *Restores) SetApplying() bool {
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
func (r *Restores) SawState(card string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[card] = true
}

// InState reports whether the state has a resource of the card. It is false in an
// apply, where nothing is read.
func (r *Restores) InState(card string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read[card]
}

// Hold notes that the configuration has a resource of the card, in the state or
// not yet, and reports whether this walk restores the card.
func (r *Restores) Hold(card string, exists bool) (restored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !exists:
		r.holders[card] = HeldByNew
	case r.holders[card] == HeldByNobody:
		r.holders[card] = HeldByOther
	}
	return r.announced[card]
}

// HoldUnknown notes that the configuration has a resource of a card that is not known yet, and
// reports whether this walk restores any card.
func (r *Restores) HoldUnknown() (restored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unknown = true
	return len(r.announced) > 0
}

// Announce notes that this walk restores the card, unless the configuration has
// a resource of it, or may have one.
func (r *Restores) Announce(card string) Holder {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.holders[card]
	switch {
	case found == HeldByNobody && r.unknown:
		found = HeldPerhaps
	case found == HeldByNobody:
		r.announced[card] = true
	}
	return found
}
