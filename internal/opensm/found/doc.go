// Package found makes the look at the subnet manager of one port: everything that a snapshot of its host
// says of it, derived once. The ports of all managed hosts and the view of a fabric are values of this
// floor too.
//
// It must not judge, ask a host, or change one.
package found
