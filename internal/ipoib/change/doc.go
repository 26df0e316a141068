// Package change configures one IPoIB interface in a host's own network stack, now and after every
// boot. Each change is confirmed over a new connection, or undone by the host itself: it may cut
// off whoever made it.
//
// It must not judge: it has package judge look once more before the first write. It must not touch
// an interface that is not InfiniBand except where its owner consented, a card, or a subnet manager.
package change
