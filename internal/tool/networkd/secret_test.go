package networkd

import (
	"strings"
	"testing"
)

func TestParse_error_shows_no_key(t *testing.T) {
	_, err := Parse("[WireGuard]\nPrivateKey: tunnel-key\n")
	if err == nil || strings.Contains(err.Error(), "tunnel-key") ||
		!strings.Contains(err.Error(), "line 2: neither a section nor an assignment") {
		t.Errorf("got %v", err)
	}
}
