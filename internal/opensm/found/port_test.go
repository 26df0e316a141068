package found

import (
	"testing"
)

func TestPortState_Served(t *testing.T) {
	for _, tt := range []struct {
		o    PortState
		want bool
	}{{PortState{}, false}, {PortState{SMLID: 1}, true}, {PortState{SMLID: placeholderLID, State: "Initializing"}, false},
		{PortState{SMLID: placeholderLID, State: "Active"}, true}} {
		if got := tt.o.Served(); got != tt.want {
			t.Errorf("%+v: %t", tt.o, got)
		}
	}
}
