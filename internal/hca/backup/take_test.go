package backup

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// A connection that broke, or a login shell that prints, is not a matter of space.
func TestFailed_says_what_the_transport_knows(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a lost connection": {&host.UnreachableError{Op: host.OpDownload, Err: errors.New("EOF")},
			"Run the same command again"},
		"a login shell's text": {&host.TransferError{Advice: "A start-up file prints.", Err: errors.New("noise")},
			"A start-up file prints."},
		"anything that is silent": {errors.New("no"), "Check free space"},
	} {
		var failed *cards.Error
		if err := NewStore(cards.New(cards.Config{})).newError(cards.Card{Host: labelled{}}, "storing it failed",
			fmt.Errorf("copy: %w", tt.err)); !errors.As(err, &failed) || !strings.Contains(failed.Check, tt.want) ||
			tt.want != "Check free space" && strings.Contains(failed.Check, "space") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
