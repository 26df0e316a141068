package sshhost

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// writeKey writes a private key file as ssh-keygen does.
func writeKey(t *testing.T, passphrase string) (path string, pub ssh.PublicKey) {
	t.Helper()
	public, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "test")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(priv, "test", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	if pub, err = ssh.NewPublicKey(public); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "id_ed25519")
	write(t, path, string(pem.EncodeToMemory(block)))
	return path, pub
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wan is a proxy in front of a server that delays every byte by half a round
// trip in each direction, and can cut or stall the line.
type wan struct {
	listener net.Listener
	delay    time.Duration
	cutAfter atomic.Int64  // bytes from the client until both sides are closed; 0: never
	stalled  chan struct{} // closed: nothing passes any more, and nobody is told
}

func newWAN(t *testing.T, target string, rtt time.Duration) *wan {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wan{listener: l, delay: rtt / 2, stalled: make(chan struct{})}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				continue
			}
			go w.pump(far, near, w.cutAfter.Load())
			go w.pump(near, far, 0)
		}
	}()
	return w
}

func (w *wan) port() int { return w.listener.Addr().(*net.TCPAddr).Port }

type parcel struct {
	data []byte
	due  time.Time
}

func (w *wan) pump(to, from net.Conn, cutAfter int64) {
	queue := make(chan parcel, 4096)
	go func() {
		defer close(queue)
		var passed int64
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			if passed += int64(n); cutAfter > 0 && passed >= cutAfter {
				_ = from.Close()
				_ = to.Close()
				return
			}
			if n > 0 {
				queue <- parcel{buf[:n], time.Now().Add(w.delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range queue {
		time.Sleep(time.Until(p.due))
		select {
		case <-w.stalled:
			continue
		default:
		}
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_, _ = io.Copy(io.Discard, from)
}
