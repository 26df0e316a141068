// Package judge gives the findings on a request for an IPoIB interface, from the request and the
// look at its host. It is pure: a test needs no lab.
//
// It must not read a snapshot, and hands it on to the checks of package platform only.
package judge
