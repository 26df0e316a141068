// Package ipoib has the words in which one IP-over-InfiniBand interface is asked for: mode, MTU,
// addresses and routes of a port or of one of its partitions, what the operator agrees to, and the
// network stacks that can bring it up. What a host has of it is in package found, what speaks
// against it in judge, and how it is done in change.
//
// It must not read anything.
package ipoib
