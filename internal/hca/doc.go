// Package hca changes the flash of cards: it burns firmware, gives it back, and programs
// GUIDs, each with a backup, a job in the journal of the host and a read-back.
// It joins what is observed with what package safety decides, and does nothing
// without its verdict.
//
// It must not decide whether a write is safe, parse a tool's output itself,
// know Terraform, or end a job that has begun on a host.
package hca
