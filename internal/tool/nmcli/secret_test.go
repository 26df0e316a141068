package nmcli

import (
	"strings"
	"testing"
)

func TestParse_error_shows_no_password(t *testing.T) {
	_, err := Parse("[wifi-security]\npsk: wlan-word\n")
	if err == nil || strings.Contains(err.Error(), "wlan-word") ||
		!strings.Contains(err.Error(), "line 2: neither a section nor an assignment") {
		t.Errorf("got %v", err)
	}
}
