package inventory

import (
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// CardUser is a process that uses a card and is not of this provider, or whoever has the
// card's firmware update itself.
type CardUser struct {
	PID     int           // 0 for an update of the firmware, which no process shows
	Name    string        // of the account; of an update its owner, such as "the BMC"
	Since   time.Time     // zero if unknown
	Card    ib.PCIAddress // of a virtual function, that of its card
	Any     bool          // it may use every card of the host
	Command string
}

// Uses reports whether the process uses the card at an address; the functions of one
// card share its flash.
func (u CardUser) Uses(pci ib.PCIAddress) bool {
	return u.Any || u.Card.IsValid() && u.Card.Slot() == pci.Slot()
}

// String gives "mstflint -d 01:00.0 b, pid 4711, user root, since 2026-11-22T14:00:00Z".
func (u CardUser) String() string {
	if u.PID == 0 {
		return u.Command + ", by " + u.Name
	}
	text := fmt.Sprintf("%s, pid %d, user %s", u.Command, u.PID, u.Name)
	if !u.Since.IsZero() {
		text += ", since " + u.Since.UTC().Format(time.RFC3339)
	}
	return text
}

// UsersText names processes that use a card.
func UsersText(users []CardUser) string {
	texts := make([]string, len(users))
	for i, u := range users {
		texts[i] = u.String()
	}
	return strings.Join(texts, "; ")
}
