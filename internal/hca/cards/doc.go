// Package cards knows one card on its host: who it is, what is in its flash and what
// it runs, who else uses it, and how it is read in turn with others.
//
// It must not write to a card, decide whether a write is safe, or end a job that has
// begun on a host.
package cards
