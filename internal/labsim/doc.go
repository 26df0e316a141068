// Package labsim is a simulated InfiniBand lab: machines with a file system,
// programs, services and PCI cards, joined by cables and switches, with subnet
// managers that bring ports up. Commands are methods on that state, reachable
// in process, over loopback SSH (package simssh) and as a program (cmd/infiniband-lab).
//
// It is an independent reading of how the hardware and the tools behave, so it
// must not import any parser, builder or transport of the provider, and it never
// touches real hardware or the network beyond the loopback interface. An unknown
// program or flag is never "success with empty output": it fails and is recorded
// in Machine.Violations.
//
// Locking: Lab.mu is taken before Machine.mu. Hooks, programs and the functions
// of computed files run with neither held.
package labsim
