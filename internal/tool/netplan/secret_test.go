package netplan

import (
	"strings"
	"testing"
)

func TestParse_error_shows_no_password(t *testing.T) {
	_, err := Parse("network:\n  wifis:\n    w0:\n      access-points:\n        lab: {password: wlan-word]\n")
	if err == nil || strings.Contains(err.Error(), "wlan-word") || !strings.Contains(err.Error(), "[5:") {
		t.Errorf("got %v", err)
	}
}
