// Package ib holds the value types of an InfiniBand lab: GUID, MAC, PSID, PCI
// address, link type, IPoIB mode, firmware version and hardware id, and the
// table of the chips that this provider knows.
//
// The types follow net/netip: Parse… returns an error, Must… panics and is for
// constants and tests, String gives the canonical form, values are comparable
// and usable as map keys.
//
// The package must not do I/O, must not know any tool's output format beyond
// the spelling of single values, and must not decide anything: which PSIDs are
// Ethernet-only, or whether a change is safe, is knowledge of other packages.
package ib
