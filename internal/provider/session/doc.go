// Package session is what the provider hands to its resources: the hosts, the cards
// on them, who writes when, and what this walk has planned.
//
// It must not run commands, know a tool, or decide whether a change is safe.
package session
