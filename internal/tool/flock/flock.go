// Package flock says which locks keep a host's cards from being read while they are
// written, and from being written twice at a time, and where they lie. They are those
// of flock of util-linux.
//
// It must not run anything.
package flock

import "path"

const (
	// Dir holds the locks. Only root may write in /run, so nobody else can make the
	// directory or a link in its place. Only root may open it. In /run/lock, which
	// everybody may write, any user could hold a lock or put a link where root writes. A
	// boot removes it, and ends every process that could hold a lock.
	Dir = "/run/terraform-provider-infiniband"
	// File is the lock of a host. It covers all its cards: the functions of one card
	// share a flash. A lock for each PCI address would not protect a card whose address
	// changes.
	File = Dir + "/lock"
	// Holder names the job that holds File.
	Holder = Dir + "/holder"
	// Benchmark is held on both hosts by what runs there.
	Benchmark = Dir + "/benchmark"
	// Taken is the exit status if the lock is held by somebody else. No tool
	// that is run under a lock ends with it.
	Taken = 75
)

// underScript makes the directory and runs a command under a lock: LOCK DIRECTORY
// COMMAND… It may be the command of a unit: systemd puts its own values, or nothing, in
// the place of every "${…}" (systemd 252 and 257).
const underScript = `umask 077; mkdir -p "$1" && shift && exec flock -n -E 75 "$0" "$@"`

// Under returns argv under a lock, which it does not wait for.
func Under(lock string, argv []string) []string {
	return append([]string{"/bin/sh", "-c", underScript, lock, path.Dir(lock)}, argv...)
}
