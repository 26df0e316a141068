package networkd

import (
	"fmt"
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

// No value names another one: systemd has no such thing, and names that name each other grow.
func TestParse_takes_values_as_they_are(t *testing.T) {
	text := "[Match]\nName=%(a0)s\n[Link]\na8=x\n"
	for i := range 8 {
		text += fmt.Sprintf("a%d=%s\n", i, strings.Repeat(fmt.Sprintf("%%(a%d)s", i+1), 20))
	}
	begin := testing.AllocsPerRun(1, func() { _, _ = Parse(text) })
	f, err := Parse(text)
	if err != nil || f.Name != "%(a0)s" || begin > 1000 {
		t.Errorf("got %q, %v, %v allocations", f.Name, err, begin)
	}
}
