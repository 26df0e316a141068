package review

import (
	"slices"
	"strings"
)

// values are those after the apply, or before it if the object goes.
func (r *resource) values() any {
	if r.Change.After == nil {
		return r.Change.Before
	}
	return r.Change.After
}

// isOfCard reports whether it is a card, or a part of one: these alone say which card that is.
func (r *resource) isOfCard() bool {
	keys := keysOf(r.values())
	return slices.Contains(keys, "card_identity") || slices.Contains(keys, "serial_number")
}

// object is the card of a resource of a card, or else its address.
func (r *resource) object() string {
	id := strings.Split(textOf(r.values(), "id"), "/")
	if !r.isOfCard() || len(id) < 2 {
		return r.Address
	}
	return id[0] + "/" + id[1]
}

// identity says which card it is. A serial number is enough.
func (r *resource) identity() string {
	if serial := textOf(r.values(), "serial_number"); serial != "" {
		return "serial number " + serial
	}
	all := textOf(r.values(), "card_identity")
	if first, _, _ := strings.Cut(all, ", "); strings.HasPrefix(first, "serial number ") {
		return first
	}
	return all
}
