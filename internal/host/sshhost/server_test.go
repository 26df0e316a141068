package sshhost

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// server is an SSH server in this process that hands commands to the real
// /bin/sh. It speaks the protocol, so that what is tested is the client as it is.
type server struct {
	t        *testing.T
	listener net.Listener
	home     string
	files    string // where SFTP begins, if that is not the home directory
	bin      string // first in the PATH of every script: id, sudo and chown of the test's own

	hostKeys []ssh.Signer
	auth     ssh.ServerConfig // callbacks only

	// Set before the first connection.
	banner    string                // text the login shell prints before the SFTP server
	login     string                // shell text the login shell runs before the command
	onConn    func(n int) connFault // n counts connections from 1
	onExec    func(n int) execFault // n counts commands from 1
	onChannel func(n int) error     // refuses the n-th session

	mu       sync.Mutex
	conns    []net.Conn
	execs    int
	channels int
	dials    int
	scripts  []string
	argv     []string // remote commands as requested
	auths    []string // methods tried, keys with fingerprint
	open     int      // sessions at the moment
	maxOpen  int
}

// fence orders a test's changes of a server before the server's next step; the
// network in between does so too, but the race detector cannot see that.
var fence atomic.Int64

type connFault int

const (
	connOK     connFault = iota
	connReset            // close before the banner
	connSilent           // never say anything
)

type execFault int

const (
	execOK        execFault = iota
	execCutBefore           // close the connection before the shell is started
	execCutDuring           // close it when the script was read whole
	execCutAfter            // run the command, then close instead of answering
	execNoStatus            // answer, but close the session without its status
	execCutMarker           // answer without the last bytes
	execSilent              // take the script and say nothing
	execRefused             // refuse the exec request and leave the session open
)

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// newServer returns a server that is not listening yet.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, home: t.TempDir(), bin: t.TempDir(), hostKeys: []ssh.Signer{newKey(t)}}
	s.tool("chown", "exit 0\n") // tests need not run as root
	return s
}

// tool puts a program of the test's own first in the PATH.
func (s *server) tool(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// allow lets one key in.
func (s *server) allow(keys ...ssh.PublicKey) {
	s.auth.PublicKeyCallback = func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		s.noteAuth("publickey " + ssh.FingerprintSHA256(key))
		for _, k := range keys {
			if bytes.Equal(k.Marshal(), key.Marshal()) {
				return nil, nil
			}
		}
		return nil, errors.New("no")
	}
}

func (s *server) noteAuth(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auths = append(s.auths, what)
}

// start listens and returns host and port.
func (s *server) start() (string, int) {
	s.t.Helper()
	if s.listener != nil {
		a := s.listener.Addr().(*net.TCPAddr)
		return a.IP.String(), a.Port
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.listener.Close(); s.cut() })
	go func() {
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s.start()
}

// cut closes every connection.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

func (s *server) count(field *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	*field++
	return *field
}

func (s *server) get(field *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *field
}

func (s *server) serve(c net.Conn) {
	fence.Load()
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	defer func() { _ = c.Close() }()
	if n := s.count(&s.dials); s.onConn != nil {
		switch s.onConn(n) {
		case connReset:
			_ = c.(*net.TCPConn).SetLinger(0)
			return
		case connSilent:
			_, _ = io.Copy(io.Discard, c)
			return
		case connOK:
		}
	}
	cfg := s.auth
	for _, k := range s.hostKeys {
		cfg.AddHostKey(k)
	}
	conn, channels, requests, err := ssh.NewServerConn(c, &cfg)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		switch ch.ChannelType() {
		case "session":
			go s.session(conn, ch)
		case "direct-tcpip":
			go s.forward(ch)
		default:
			_ = ch.Reject(ssh.UnknownChannelType, "no")
		}
	}
}

// forward is what a jump host does.
func (s *server) forward(ch ssh.NewChannel) {
	var m struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(ch.ExtraData(), &m); err != nil {
		return
	}
	c, err := net.Dial("tcp", net.JoinHostPort(m.Host, fmt.Sprint(m.Port)))
	if err != nil {
		_ = ch.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer func() { _ = c.Close() }()
	near, requests, err := ch.Accept()
	if err != nil {
		return
	}
	defer func() { _ = near.Close() }()
	go ssh.DiscardRequests(requests)
	go func() { _, _ = io.Copy(c, near); _ = c.Close() }()
	_, _ = io.Copy(near, c)
}

func (s *server) session(conn *ssh.ServerConn, nc ssh.NewChannel) {
	fence.Load()
	n := s.count(&s.channels)
	if s.onChannel != nil {
		if err := s.onChannel(n); err != nil {
			_ = nc.Reject(ssh.ResourceShortage, err.Error())
			return
		}
	}
	ch, requests, err := nc.Accept()
	if err != nil {
		return
	}
	s.mu.Lock()
	s.open++
	s.maxOpen = max(s.maxOpen, s.open)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.open--; s.mu.Unlock() }()
	defer func() { _ = ch.Close() }()
	for r := range requests {
		switch r.Type {
		case "exec":
			var m struct{ Command string }
			_ = ssh.Unmarshal(r.Payload, &m)
			fault := execOK
			if n := s.count(&s.execs); s.onExec != nil {
				fault = s.onExec(n)
			}
			if fault == execRefused {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(requests)
			s.exec(conn, ch, m.Command, fault)
			return
		case "subsystem":
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(requests)
			s.sftp(ch)
			return
		default:
			_ = r.Reply(false, nil)
		}
	}
}

// exec runs one command as sshd would, through the login shell.
func (s *server) exec(conn *ssh.ServerConn, ch ssh.Channel, command string, fault execFault) {
	if fault == execCutBefore {
		_ = conn.Close()
		return
	}
	script, _ := io.ReadAll(ch)
	text := strings.ReplaceAll(string(script), "PATH=/usr/local/sbin:", "PATH="+s.bin+":/usr/local/sbin:")
	s.mu.Lock()
	s.scripts = append(s.scripts, text)
	s.argv = append(s.argv, command)
	s.mu.Unlock()
	if fault == execCutDuring {
		_ = conn.Close()
		return
	}
	if fault == execSilent {
		_ = conn.Wait()
		return
	}
	cmd := exec.Command("/bin/sh", "-c", s.login+command)
	cmd.Env = []string{"HOME=" + s.home, "PATH=/usr/bin:/bin", "LANG=de_DE.UTF-8"}
	cmd.Dir, cmd.Stdin = s.home, strings.NewReader(text)
	var whole bytes.Buffer
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	if fault == execCutAfter || fault == execCutMarker {
		cmd.Stdout = &whole
	}
	cmd.WaitDelay = 200 * time.Millisecond
	if _ = cmd.Run(); cmd.ProcessState == nil {
		return // it did not start: the test has ended, and its directories are gone
	}
	switch fault {
	case execCutAfter:
		_ = conn.Close()
		return
	case execCutMarker:
		_, _ = ch.Write(whole.Bytes()[:whole.Len()-20])
	case execNoStatus:
		return
	default:
	}
	status := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		_, _ = ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal string
			Core   bool
			Text   string
			Lang   string
		}{"TERM", false, "", ""}))
		return
	}
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ S uint32 }{uint32(status)}))
}

func (s *server) sftp(ch ssh.Channel) {
	_, _ = io.WriteString(ch, s.banner)
	srv, err := sftp.NewServer(ch, sftp.WithServerWorkingDirectory(cmp.Or(s.files, s.home)))
	if err != nil {
		return
	}
	_ = srv.Serve()
	_ = srv.Close()
}

// config is how a client reaches the server with a key, which is let in.
func (s *server) config() Config {
	s.t.Helper()
	path, pub := writeKey(s.t, "")
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.allow(pub)
	host, port := s.start()
	return Config{
		Address: host, Port: port, User: "ops", PrivateKey: string(data), SSHConfigFile: "none",
		HostKeys: []string{ssh.FingerprintSHA256(s.hostKeys[0].PublicKey())}, ConnectAttempts: 1,
		ConnectTimeout: 5 * time.Second,
	}
}

func mustHost(t *testing.T, cfg Config) *Host {
	t.Helper()
	fence.Add(1)
	h, err := New("lab1", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}
