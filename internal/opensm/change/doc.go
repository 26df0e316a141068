// Package change makes the subnet manager of a port what a request says, now and at boot, and proves by the
// port and by the fabric that it works. It asks the fabric through the port, before and after.
//
// It must not judge: it does what the findings of judge allow. It must not trust the exit status of opensm,
// or touch instances of others.
package change
