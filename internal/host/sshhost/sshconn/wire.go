package sshconn

import (
	"net"
	"sync/atomic"
)

// wire counts how often this side had to wait for the other while connecting:
// the times a read delivers something after a write. Later the library mixes in
// window adjustments, which nobody waits for.
type wire struct {
	net.Conn
	written atomic.Bool
	turns   atomic.Int64
	failed  atomic.Bool // a read failed: the other side or the network is gone
}

func (w *wire) Write(p []byte) (int, error) {
	w.written.Store(true)
	return w.Conn.Write(p)
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	// One wait for any number of reads: an answer may come in pieces.
	if n > 0 && w.written.Swap(false) {
		w.turns.Add(1)
	}
	if err != nil {
		w.failed.Store(true)
	}
	return n, err
}
