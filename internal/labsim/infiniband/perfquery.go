package infiniband

import (
	"context"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// selected are the counters that a mask of perfquery names (InfiniBand Architecture, PortCounters, CounterSelect and
// CounterSelect2). Those of data, bits 12 to 15, are not simulated.
func selected(mask uint64) (names []string) {
	for i, name := range errorCounters {
		bit := i
		if name == "PortXmitWait" {
			bit = 16
		}
		if mask>>bit&1 == 1 {
			names = append(names, name)
		}
	}
	return names
}

// perfquery only resets counters.
func perfquery(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(slices.Clip(portFlags), "R Reset_only")...)
	if bad != "" || len(o.Args) != 3 || !o.Has("R") {
		return p.Unknown("form of perfquery " + bad)
	}
	number, err1 := strconv.Atoi(o.Args[1])
	mask, err2 := strconv.ParseUint(o.Args[2], 0, 32)
	if err1 != nil || err2 != nil {
		return p.Unknown("port or mask of perfquery")
	}
	s := stateOf(p.Machine)
	from := s.openForSMP(p, o)
	if from == nil {
		return 255
	}
	a := s.aimAt(from, false, o.Args[0])
	failed := func(what string) int {
		p.Printf("perfquery: iberror: failed: %s\n", what)
		return 255
	}
	if a.arrived == nil {
		printSilence(p, a)
		return failed("classportinfo query")
	}
	port := a.port(number)
	if port == nil || number == 0 || !a.arrived.Node.Switch && port != a.arrived {
		return failed("perf reset")
	}
	s.m.Lab.ClearCounters(port.End, selected(mask)...)
	return 0
}
