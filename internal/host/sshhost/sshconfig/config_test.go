package sshconfig

import "testing"

func TestParseJump(t *testing.T) {
	tests := []struct {
		spec, user, address string
		port                int
		fails               bool
	}{
		{"host", "", "host", 0, false},
		{"me@host:2222", "me", "host", 2222, false},
		{"ssh://me@host:22/", "me", "host", 22, false},
		{"me@[2001:db8::1]:22", "me", "2001:db8::1", 22, false},
		{"[2001:db8::1]", "", "2001:db8::1", 0, false},
		{"me@corp@host", "me@corp", "host", 0, false},
		{"host:x", "", "", 0, true},
		{"", "", "", 0, true},
		{"me@", "", "", 0, true},
		{"@host", "", "", 0, true},
		{"host:123456789012345678901", "", "", 0, true},
	}
	for _, tt := range tests {
		got, err := ParseJump(tt.spec)
		if (err != nil) != tt.fails || got.User != tt.user || got.Address != tt.address || got.Port != tt.port {
			t.Errorf("%q: %q %q %d %v", tt.spec, got.User, got.Address, got.Port, err)
		}
	}
}
