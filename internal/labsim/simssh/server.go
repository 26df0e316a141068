// Package simssh puts a real SSH server in front of every simulated machine, on a
// loopback port: exec, SFTP, host keys, key and password authentication, and the
// faults of a bad line.
//
// It must not know what the commands mean, and never listens beyond 127.0.0.1.
package simssh

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// ClientAddress is where clients seem to come from, on the lab's network.
const ClientAddress = "192.0.2.100"

// Server serves one machine.
type Server struct {
	Machine *labsim.Machine
	Addr    *net.TCPAddr

	hostKey, otherKey ssh.Signer
	clientKey         ssh.PublicKey
	listener          net.Listener

	mu       sync.Mutex
	conns    map[net.Conn]bool
	sessions int
	closed   bool
	wg       sync.WaitGroup
}

// NewKey makes an ed25519 key.
func NewKey() (ssh.Signer, ed25519.PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	signer, err := ssh.NewSignerFromKey(private)
	return signer, private, err
}

// Serve starts a server for a machine on a free loopback port. clientKey may log
// in to every account that does not forbid it.
func Serve(m *labsim.Machine, clientKey ssh.PublicKey) (*Server, error) {
	host, _, err := NewKey()
	if err != nil {
		return nil, err
	}
	other, _, err := NewKey()
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("simssh: listen for %s: %w", m.Name, err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("simssh: not a TCP address")
	}
	s := &Server{Machine: m, Addr: addr, hostKey: host, otherKey: other, clientKey: clientKey, listener: l,
		conns: map[net.Conn]bool{}}
	m.Hooks.OnNetdevRemove = append(m.Hooks.OnNetdevRemove, func(_ *labsim.Machine, d *labsim.Netdev) {
		if d.SSH {
			s.DropAll()
		}
	})
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

// HostKey returns the key the server presents now.
func (s *Server) HostKey() ssh.PublicKey { return s.signer().PublicKey() }

func (s *Server) signer() ssh.Signer {
	if s.Machine.Faults.Get().WrongHostKey {
		return s.otherKey
	}
	return s.hostKey
}

// Close stops the server and drops its connections.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.listener.Close()
	s.DropAll()
	s.wg.Wait()
}

// DropAll cuts every connection, as a pulled cable followed by a reset does.
func (s *Server) DropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// Connections counts the open connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) accept() {
	defer s.wg.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		tcp, ok := c.(*net.TCPConn)
		if !ok || !s.Machine.Ready() || s.Machine.Faults.Get().Refuse || !s.reachable() {
			if ok {
				_ = tcp.SetLinger(0)
			}
			_ = c.Close()
			continue
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			_ = c.Close()
			return
		}
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go s.serve(tcp)
	}
}

// reachable says whether an interface that carries the lab's SSH sessions is up
// with an address.
func (s *Server) reachable() bool {
	carriers := 0
	for _, d := range s.Machine.Netdevs() {
		if !d.SSH {
			continue
		}
		carriers++
		// A link-local address, which a kernel gives by itself, is not the one that
		// the operator connects to.
		if slices.ContainsFunc(d.Addrs, func(p netip.Prefix) bool { return !p.Addr().IsLinkLocalUnicast() }) &&
			s.Machine.Carrier(&d) {
			return true
		}
	}
	return carriers == 0 && !s.expectsCarrier()
}

func (s *Server) expectsCarrier() bool {
	for _, d := range s.Machine.Config.Netdevs {
		if d.SSH {
			return true
		}
	}
	return false
}

func (s *Server) serve(c *net.TCPConn) {
	defer s.wg.Done()
	stop := context.AfterFunc(s.Machine.BootContext(), func() { _ = c.Close() })
	defer func() {
		stop()
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	if s.Machine.Faults.Get().Hang {
		// Accept and stay silent until the peer gives up.
		one := make([]byte, 4096)
		for {
			if _, err := c.Read(one); err != nil {
				return
			}
		}
	}
	line := newLine(c, s.Machine)
	defer line.stop()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	sc, channels, requests, err := ssh.NewServerConn(line, s.config())
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	s.Machine.Count(func(n *labsim.Counters) { n.Connections++ })
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		if ch.ChannelType() != "session" {
			_ = ch.Reject(ssh.UnknownChannelType, "only sessions are simulated")
			continue
		}
		channel, reqs, err := ch.Accept()
		if err != nil {
			return
		}
		go s.session(sc, line, channel, reqs)
	}
}

func (s *Server) config() *ssh.ServerConfig {
	cfg := &ssh.ServerConfig{
		MaxAuthTries:  6,
		ServerVersion: "SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13.5",
		PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			u, known := s.Machine.LookupUser(meta.User())
			if known && !u.NoKey && string(key.Marshal()) == string(s.clientKey.Marshal()) {
				return &ssh.Permissions{}, nil
			}
			return nil, fmt.Errorf("key of %s refused", meta.User())
		},
		PasswordCallback: func(meta ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			u, known := s.Machine.LookupUser(meta.User())
			if known && u.Password != "" && subtle.ConstantTimeCompare([]byte(u.Password), password) == 1 {
				return &ssh.Permissions{}, nil
			}
			return nil, fmt.Errorf("password of %s refused", meta.User())
		},
	}
	cfg.AddHostKey(s.signer())
	return cfg
}

func (s *Server) nextSession() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	return s.sessions
}
