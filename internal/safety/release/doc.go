// Package release knows which releases of the vendor's tools work with which generation of
// chips.
//
// It must not ask a host for its release, or decide what follows from the grade.
package release
