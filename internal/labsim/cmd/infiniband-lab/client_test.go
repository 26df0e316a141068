package main

import (
	"strings"
	"testing"
)

// TestTalk_refuses_what_it_does_not_know holds that a misspelt fault or drift is an error that
// names what there is. Neither asks the lab.
func TestTalk_refuses_what_it_does_not_know(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb string
		args []string
		says []string
	}{
		{"fault", []string{"a", `{"nonsense": 1}`}, []string{`unknown field "nonsense"`, "flash_slow", "power_cut_at_flash"}},
		{"drift", []string{"a", "list"}, []string{`no drift "list"`, "link-type PCI_ADDRESS PORT", "mtu INTERFACE MTU", "opensm-stop"}},
		{"drift", []string{"a"}, []string{"link-type PCI_ADDRESS PORT", "opensm-stop"}},
	} {
		status, err := client{}.talk(t.Context(), c.verb, c.args)
		if status != 2 || err == nil {
			t.Errorf("%s %q: status %d, error %v", c.verb, c.args, status, err)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %q is not in: %s", c.verb, c.args, want, err)
			}
		}
	}
}
