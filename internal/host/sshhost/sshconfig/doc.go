// Package sshconfig decides how each machine on the way to a host is reached: from
// the explicit configuration, from the SSH client configuration as OpenSSH reads it,
// and from OpenSSH's defaults.
//
// It must not dial, read a key or a list of known hosts, or follow ssh where it
// trusts anybody.
package sshconfig
