package main

import (
	"os"
	"runtime/debug"
)

// A plan allocates a hundred times what it keeps, and Go's collector takes a quarter of its processor time. So the
// plugin lets more garbage wait than Go does. What waits grows with what is kept, and that with the hosts: beyond
// lazyHosts of them the collector comes more often, so that about 350 MB wait at most.
const (
	usualGC   = 100 // percent, as GOGC
	lazyGC    = 400
	lazyHosts = 100
)

// collectGarbage says how often garbage is collected. What the operator has set stays.
func collectGarbage(hosts int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent(hosts))
	}
}

func gcPercent(hosts int) int { return min(lazyGC, max(usualGC, lazyGC*lazyHosts/max(hosts, 1))) }
