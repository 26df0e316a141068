// Package image knows files of firmware: what is in one, as facts for a verdict, and how
// one is brought to a host, checked there and removed.
//
// It must not reach a card, or decide whether an image may be burned.
package image
