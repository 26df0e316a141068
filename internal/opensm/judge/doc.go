// Package judge says what speaks for and against a subnet manager: findings from a request and a look,
// what differs between the two, and what a removal leaves.
//
// It must not read a snapshot or ask a host: what it has to know of one is in the look. Only the checks that
// platform has for all objects of a host are handed the snapshot.
package judge
