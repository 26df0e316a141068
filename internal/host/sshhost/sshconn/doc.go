// Package sshconn is one connection to a host: it is dialled through all machines on
// the way, has the sessions of sshd's MaxSessions, notices its loss, and runs one
// composed script on a session.
//
// It must not decide what to run or whether to run it again, dial anew, or judge what
// a script answers.
package sshconn
