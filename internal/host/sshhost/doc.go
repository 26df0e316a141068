// Package sshhost is a host that is reached over SSH: it runs commands as the user or
// as root, and moves files. Its rooms are how machines are reached (sshconfig), whose
// keys are known (knownhosts), what lets a user in (auth), and one connection (sshconn).
//
// It must not know what a command means, parse a tool's output, decide whether
// a change is wanted, or import Terraform.
package sshhost
