// Package planned remembers what one walk of core will do, so that later resources are
// checked against what they will find. It also makes plans that a change of the host
// cannot contradict.
//
// It must not ask a host, and never carries anything from a plan to its apply.
package planned
