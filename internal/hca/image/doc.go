// Package image handles firmware files: it gives their facts for a verdict, copies them
// to a host, has them verified there, and removes them.
//
// It must not reach a card, or decide whether an image may be burned.
package image
