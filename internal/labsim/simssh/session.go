package simssh

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// session serves the requests of one channel: env, then exec or SFTP.
func (s *Server) session(conn *ssh.ServerConn, wire *line, ch ssh.Channel, reqs <-chan *ssh.Request) {
	extra := map[string]string{}
	var run *execution
	for req := range reqs {
		switch req.Type {
		case "env":
			var kv struct{ Name, Value string }
			ok := ssh.Unmarshal(req.Payload, &kv) == nil && (kv.Name == "LANG" || strings.HasPrefix(kv.Name, "LC_"))
			if ok {
				extra[kv.Name] = kv.Value
			}
			_ = req.Reply(ok, nil)
		case "exec":
			var command struct{ Text string }
			if ssh.Unmarshal(req.Payload, &command) != nil || run != nil {
				_ = req.Reply(false, nil)
				continue
			}
			run = &execution{user: conn.User(), wire: wire, ch: ch, command: command.Text, env: extra}
			s.exec(run, req)
		case "subsystem":
			var name struct{ Text string }
			ok := ssh.Unmarshal(req.Payload, &name) == nil && name.Text == "sftp"
			_ = req.Reply(ok, nil)
			if ok {
				go s.sftp(conn, wire, ch)
			}
		case "signal":
			var name struct{ Text string }
			if ssh.Unmarshal(req.Payload, &name) == nil && run != nil {
				if sig, known := sshSignals[name.Text]; known {
					run.signal(sig)
				}
			}
		default:
			// No terminals and no interactive shells in this lab.
			_ = req.Reply(false, nil)
		}
	}
}

var sshSignals = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL,
	"QUIT": syscall.SIGQUIT,
}

// execution is one exec request.
type execution struct {
	user    string
	wire    *line
	ch      ssh.Channel
	command string
	env     map[string]string

	mu   sync.Mutex
	proc *labsim.Proc
}

func (e *execution) signal(sig syscall.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.proc != nil {
		e.proc.Signal(sig)
	}
}

// exec starts the user's login shell with the command, as sshd does, with the
// faults that wait for this exec request. If a fault waits for a certain text,
// the shell starts when all of it has arrived.
func (s *Server) exec(e *execution, req *ssh.Request) {
	s.Machine.Count(func(n *labsim.Counters) { n.Sessions++ })
	if s.Machine.Faults.Get().ExecHolds != "" {
		_ = req.Reply(true, nil)
		go func() {
			text, _ := io.ReadAll(e.ch) // what a lost connection has let through is run
			s.run(e, s.Machine.Faults.NextExec(e.command+"\n"+string(text)), text)
		}()
		return
	}
	fault := s.Machine.Faults.NextExec("")
	if fault.Cut != labsim.CutBefore && !fault.Hang {
		_ = req.Reply(true, nil)
	}
	s.run(e, fault, nil)
}

// run runs the command of an exec request; text is its standard input, if it was
// read already.
func (s *Server) run(e *execution, fault labsim.ExecFault, text []byte) {
	switch {
	case fault.Cut == labsim.CutBefore:
		e.wire.cut()
		return
	case fault.Hang:
		return
	case fault.Exit:
		(&gate{ch: e.ch}).finish(fault.Status)
		return
	}
	user, _ := s.Machine.LookupUser(e.user)
	p := s.process(user, e.env, user.Shell, "-c", e.command)
	gate := &gate{ch: e.ch, wire: e.wire, left: fault.Output, limited: fault.Output > 0}
	p.Stdin, p.Stdout, p.Stderr = e.ch, gate, &gateErr{gate}
	login := s.Machine.Faults.Get()
	if _, _ = io.WriteString(gate, login.LoginPrints); login.NoLogin {
		gate.finish(1)
		return
	}
	if text != nil {
		p.Stdin = bytes.NewReader(text)
	}
	if fault.Input > 0 {
		p.Stdin = bytes.NewReader(text[:min(int(fault.Input), len(text))])
		e.wire.cut()
	}
	done := s.Machine.Spawn(p)
	e.mu.Lock()
	e.proc = p
	e.mu.Unlock()
	go func() {
		if fault.Cut == labsim.CutDuring {
			// The script has arrived when its first program starts or it ends.
			e.wire.cut()
		}
		status := <-done
		if fault.Cut == labsim.CutAfter {
			e.wire.cut()
			return
		}
		gate.finish(status)
	}()
}

func (s *Server) process(user labsim.User, extra map[string]string, args ...string) *labsim.Proc {
	port := s.Addr.Port
	server := "192.0.2.1"
	for _, d := range s.Machine.Netdevs() {
		if d.SSH && len(d.Addrs) > 0 {
			server = d.Addrs[0].Addr().String()
		}
	}
	id := s.nextSession()
	env := map[string]string{
		"HOME": user.Home, "USER": user.Name, "LOGNAME": user.Name, "SHELL": user.Shell,
		"PATH":           "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"SSH_CONNECTION": fmt.Sprintf("%s %d %s 22", ClientAddress, 40000+id%20000, server),
		"SSH_CLIENT":     fmt.Sprintf("%s %d 22", ClientAddress, 40000+id%20000),
	}
	if locale := s.Machine.Faults.Get().Locale; locale != "" {
		env["LANG"], env["LC_ALL"] = locale, locale
	}
	maps.Copy(env, extra)
	return &labsim.Proc{
		Machine: s.Machine, Args: args, Dir: user.Home, User: user.Name, UID: user.UID, GID: user.GID, Env: env,
		Session: &labsim.Session{ID: id, ClientAddr: ClientAddress, ServerPort: port, User: user.Name},
	}
}

// gate is the output of a session. Whoever still writes after its end, such as an
// orphan of a killed shell, gets the error of a closed pipe.
type gate struct {
	ch ssh.Channel

	mu      sync.Mutex
	closed  bool
	wire    *line
	limited bool
	left    int64 // bytes until the connection is cut
}

func (g *gate) write(w io.Writer, p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, syscall.EPIPE
	}
	if g.limited {
		if g.left < int64(len(p)) {
			_, _ = w.Write(p[:g.left])
			g.closed = true
			// Close sends what is on its way first: the bytes before the cut arrive.
			_ = g.wire.Close()
			return 0, syscall.EPIPE
		}
		g.left -= int64(len(p))
	}
	return w.Write(p)
}

// Write implements io.Writer for standard output.
func (g *gate) Write(p []byte) (int, error) { return g.write(g.ch, p) }

// Read implements io.Reader for the SFTP server.
func (g *gate) Read(p []byte) (int, error) { return g.ch.Read(p) }

// Close implements io.Closer for the SFTP server.
func (g *gate) Close() error { return g.ch.Close() }

// gateErr is standard error.
type gateErr struct{ *gate }

// Write implements io.Writer.
func (g *gateErr) Write(p []byte) (int, error) { return g.write(g.ch.Stderr(), p) }

// finish sends the exit status and ends the session.
func (g *gate) finish(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	payload := struct{ Status uint32 }{uint32(status)} // 0..255
	_, _ = g.ch.SendRequest("exit-status", false, ssh.Marshal(&payload))
	_ = g.ch.CloseWrite()
	_ = g.ch.Close()
}

// Run executes a command as a user without SSH, for tests and demos: it goes
// through the same login shell.
func (s *Server) Run(ctx context.Context, userName, command string, stdin io.Reader, stdout, stderr io.Writer) int {
	user, known := s.Machine.LookupUser(userName)
	if !known {
		return 255
	}
	p := s.process(user, nil, user.Shell, "-c", command)
	p.Stdin, p.Stdout, p.Stderr = stdin, stdout, stderr
	return s.Machine.Exec(ctx, p)
}
