// Package planned remembers what one walk of core will do, so that resources further
// down are checked against what they will find, and makes plans that the host cannot
// contradict.
//
// It must not ask a host, and never carries anything from a plan to its apply.
package planned
