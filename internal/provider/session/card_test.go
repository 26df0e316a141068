package session

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// The lock of the cards says nothing about a card, so nothing is advised about its flash.
func TestFlashAdvice_ownLock(t *testing.T) {
	t.Parallel()
	said := flashAdvice(&inventory.Card{FlashTaken: true, FlashFailure: inventory.FlashLocked})
	if !strings.Contains(said, "lock") || strings.Contains(said, "restart") {
		t.Error(said)
	}
}
