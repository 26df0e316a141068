// Package cards reads one card on its host: who it is, what is in its flash, what it
// runs, and who else uses it. Reads of a card take turns.
//
// It must not write to a card, decide whether a write is safe, or end a job that has
// begun on a host.
package cards
