package inventory

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// UPS is an uninterruptible power supply.
type UPS struct {
	Name   string // "ups@localhost:3493"
	Status string // words of NUT: "OL", "OB", "LB", …
}

// Says reports whether a word stands in the status.
func (u UPS) Says(word string) bool { return slices.Contains(strings.Fields(u.Status), word) }

// Battery gives the power supplies that run on battery or are low. If there is one,
// it does not matter that another one is silent.
func (s *Snapshot) Battery() fact.Of[[]UPS] {
	var found []UPS
	for _, u := range s.UPS {
		if u.Says("OB") || u.Says("LB") {
			found = append(found, u)
		}
	}
	if len(found) == 0 && s.UPSWhy != "" {
		return fact.Unknown[[]UPS](s.UPSWhy)
	}
	return fact.Known(found)
}
