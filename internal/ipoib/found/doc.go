// Package found is what a host has of one IPoIB interface: the interface in the kernel, our files
// and what somebody has added to them, the definitions of others, the network stack, and what the
// way to the host and its storage lead over. At makes one Look of a snapshot and an interface, and
// nobody derives any of it again.
//
// It must not judge: what speaks against a change is in package judge.
package found
