package session

import (
	"errors"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Only what says something about other cards keeps them from being written.
func TestTurns_afterOneThatFailed(t *testing.T) {
	first := attribute.CardRef{Host: "intel9", PCI: ib.MustParsePCIAddress("0000:01:00.0")}
	second := attribute.CardRef{Host: "xeon2zfs", PCI: ib.MustParsePCIAddress("0000:01:00.0")}
	for name, c := range map[string]struct {
		err  error
		goOn bool
	}{
		"done":                   {nil, true},
		"refused before a write": {&safety.RefusedError{What: "burn firmware"}, true},
		"restart refused, not shown": {&safety.RefusedError{What: "reboot", Done: "The flash is written and verified"},
			false},
		"host is away":  {&host.UnreachableError{Host: "intel9"}, true},
		"burn failed":   {&cards.Error{Summary: "Unable to burn"}, false},
		"anything else": {errors.New("odd"), false},
	} {
		turns := NewTurns()
		if err := turns.Do(t.Context(), first, func() error { return c.err }); !errors.Is(err, c.err) {
			t.Errorf("%s: the error became %v", name, err)
		}
		wrote := false
		err := turns.Do(t.Context(), second, func() error { wrote = true; return nil })
		var refused *safety.RefusedError
		if wrote != c.goOn || errors.As(err, &refused) == c.goOn {
			t.Errorf("%s: the next card was written: %t, %v", name, wrote, err)
		}
	}
}
