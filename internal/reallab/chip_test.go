//go:build linux

package reallab

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// TestLab_unknown_chip: a card that nobody emulates is not another card.
func TestLab_unknown_chip(t *testing.T) {
	h := NewHost("one", 0)
	h.Slots[0].Card.Chip, h.Slots[0].Card.Image = card.ConnectX5, card.CX5([3]uint16{16, 35, 8008})
	_, err := newWired(t, []Host{h}, Options{})
	if err == nil || !strings.Contains(err.Error(), "no card is emulated with the chip ConnectX-5") {
		t.Errorf("a ConnectX-5: %v", err)
	}
}
