// Package tfkit is the plumbing that all resources of the provider share:
// value types that know two spellings of one GUID are equal, repeated
// attributes, ids, diagnostics made from errors and findings, and the data
// that the provider hands to its resources.
//
// It must not run commands, know a tool, or decide whether a change is safe.
package tfkit
