// Package hca changes the flash of cards: it burns firmware, restores it, and programs
// GUIDs. Each change has a backup, a job in the journal of the host, and a read-back.
// Package safety decides; nothing is done without its verdict.
//
// It must not decide whether a write is safe, parse a tool's output itself, know
// Terraform, or end a job that has begun on a host.
package hca
