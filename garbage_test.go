package main

import (
	"runtime/debug"
	"testing"
)

func TestCollectGarbage(t *testing.T) {
	before := debug.SetGCPercent(usualGC)
	defer debug.SetGCPercent(before)
	for _, c := range []struct {
		set         string
		hosts, want int
	}{{"", 0, 400}, {"", 100, 400}, {"", 250, 160}, {"", 1000, 100}, {"50", 2, 77}, {"off", 2, 77}} {
		t.Setenv("GOGC", c.set)
		debug.SetGCPercent(77)
		collectGarbage(c.hosts)
		if got := debug.SetGCPercent(77); got != c.want {
			t.Errorf("GOGC=%q, %d hosts: %d percent, expected %d", c.set, c.hosts, got, c.want)
		}
	}
}
