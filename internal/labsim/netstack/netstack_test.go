package netstack

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	up := Uplink{Name: "eno1", Address: "192.0.2.2/24", Gateway: "192.0.2.1"}
	for _, s := range All() {
		c, err := Choose(s, up)
		if err != nil || len(c.Files) != 1 {
			t.Fatalf("%s: %v, %v", s, c.Files, err)
		}
		for path, f := range c.Files {
			if strings.Contains(path+f.Text, "{") && !strings.Contains(f.Text, "{to: default, via: 192.0.2.1}") ||
				!strings.Contains(f.Text, "192.0.2.2/24") || !strings.Contains(f.Text, "192.0.2.1") {
				t.Errorf("%s: %s:\n%s", s, path, f.Text)
			}
		}
		masks := 0
		for _, target := range c.Links {
			if target == "/dev/null" {
				masks++
			}
		}
		if masks < 2 {
			t.Errorf("%s: other stacks are not masked: %v", s, c.Links)
		}
	}
	if _, err := Choose("none", up); err == nil {
		t.Error("an unknown stack is chosen")
	}
}
