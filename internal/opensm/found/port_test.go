package found

import (
	"testing"
)

func TestPortState_HasPlaceholderLID(t *testing.T) {
	for _, tt := range []struct {
		o    PortState
		want bool
	}{{PortState{}, false}, {PortState{SMLID: 1}, false}, {PortState{SMLID: placeholderLID, State: "Initializing"}, true},
		{PortState{SMLID: placeholderLID, State: "Active"}, false}} {
		if got := tt.o.HasPlaceholderLID(); got != tt.want {
			t.Errorf("%+v: %t", tt.o, got)
		}
	}
}
