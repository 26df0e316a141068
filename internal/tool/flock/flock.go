// Package flock wraps commands in flock of util-linux, so that a card is never
// queried while it is being written, and never written twice at a time.
//
// It must not run anything.
package flock

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const (
	// File is the lock of a host. It covers all its cards: the functions of one
	// card share a flash, and a lock that outlives a card's address would not
	// protect it. It is gone after a boot, like every process that could hold it.
	File = "/run/lock/terraform-provider-infiniband.lock"
	// Taken is the exit status if the lock is held by somebody else. No tool
	// that is run under the lock ends with it.
	Taken = 75
)

// Exclusive returns cmd under the lock, alone; it does not wait for it.
func Exclusive(cmd shellcmd.Command) shellcmd.Command {
	return wrap(cmd, "-n", "-E", "75", File)
}

// Shared returns cmd under the lock, together with others that only read.
func Shared(cmd shellcmd.Command) shellcmd.Command {
	return wrap(cmd, "-s", "-n", "-E", "75", File)
}

func wrap(cmd shellcmd.Command, options ...string) shellcmd.Command {
	w := shellcmd.New("flock", append(options, cmd.Argv()...)...).
		WithStdin(cmd.Stdin()).
		WithTimeout(cmd.Timeout())
	if cmd.Root() {
		w = w.AsRoot()
	}
	if cmd.Changing() {
		w = w.Changes()
	}
	return w
}
