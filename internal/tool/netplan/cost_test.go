package netplan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Whoever may write a file of a host must not be able to fill the memory of the machine that reads it.
func TestParse_costs_little(t *testing.T) {
	many, bomb := "network:\n  ethernets:\n", "network:\n  a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 4500 {
		many += fmt.Sprintf("    e%d: {}\n", i)
	}
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("  a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9))
	}
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", 1000), "items": strings.Repeat("- ", 1000), "braces": strings.Repeat("{a: ", 1000),
		"interfaces": many, "aliases": bomb, "self": "network: &a [*a]\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Parse(text)
		Settings(text)
		runtime.ReadMemStats(&after)
		if cost := (after.TotalAlloc - before.TotalAlloc) >> 20; cost > 250 {
			t.Errorf("%s: %d bytes cost %d MiB", name, len(text), cost)
		}
	}
	if _, err := Parse(strings.Repeat("#", 200000)); err == nil || !strings.Contains(err.Error(), "200000 bytes") {
		t.Errorf("got %v", err)
	}
}
