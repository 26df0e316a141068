// Package fusetree serves a tree of small files by FUSE, each access in order and size as the
// program makes it: so a tool meets the registers of a card that does not exist. Linux only.
//
// It must not know what the files mean.
package fusetree
