// Package changes notes on a host what is changed there besides the flashes of its
// cards, which have their jobs: who, when, what, from what to what, and how it ended.
//
// It must not stop or fail a change, decide anything, or hold a secret.
package changes
