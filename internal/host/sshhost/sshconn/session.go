package sshconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// stderrLimit bounds what is kept of standard error; the rest is dropped.
const stderrLimit = 1 << 20

// Limit is how long a command may take, and how messages call that.
type Limit struct {
	Start time.Duration // until the first line of the script runs
	Quiet time.Duration // between two pieces of output; 0 is none
	After time.Duration
	Name  string // of After
}

// LimitError says that a limit ran out.
type LimitError struct{ Name string }

func (e *LimitError) Error() string { return "the command did not end within " + e.Name }
func (e *LimitError) Unwrap() error { return os.ErrDeadlineExceeded }

// Outcome is what is known after a script was sent.
type Outcome struct {
	Scanner *shellcmd.Scanner
	Stderr  []byte
	Handed  bool          // the whole script was given to the connection: it may have run
	Status  int           // of the session, if it said so
	Exited  bool          // the session said how it ended
	Signal  string        // the session's shell was killed
	InSudo  time.Duration // how long the way to root took
	Waits   int           // round trips: opening the session, and the script with its answer; OpenSSH adds one
	Err     error         // why there is no complete answer, if anything but the session ended it

	sudo time.Time // when the way to root began to be looked for
}

// complete reports whether the end marker came.
func (o *Outcome) complete() bool {
	_, ok := o.Scanner.Ended()
	return ok
}

// Execute runs one composed text on a new session and feeds its output to sink.
// The limit does not count the time that the session had to be waited for.
// A shell that was started before is used if it is one of l's.
func Execute(ctx context.Context, l *Conn, early *EarlyShell, frame shellcmd.Frame, text string, sink io.Writer,
	limit Limit) *Outcome {
	o := &Outcome{Scanner: &shellcmd.Scanner{Frame: frame, Sink: sink}, Waits: 1}
	ch := early.take(l)
	if ch == nil {
		var err error
		if ch, err = l.Open(ctx); err != nil {
			o.Err = err
			return o
		}
		o.Waits += ch.tries
		if err = ch.startShell(); err != nil {
			ch.Shut()
			o.Err = l.reason(err)
			return o
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit.After, &LimitError{limit.Name})
	defer cancel()
	s := &session{frame: frame, outcome: o, done: make(chan struct{}), changed: make(chan struct{}, 1)}
	// The script and the first look at its answer belong to the time limit, the wait for a session does not:
	// others on this host must not use up a command's time.
	s.start(ch, text)
	s.wait(ctx, l, ch, limit)
	go s.end(l, ch, o.Err == nil)
	return o
}

// startShell asks for the interpreter, which then waits for its script.
func (c *Channel) startShell() error {
	_, err := c.SendRequest("exec", false, ssh.Marshal(struct{ Command string }{shellcmd.Interpreter}))
	return err
}

// EarlyShell is a shell that is started during other work, so that the next command
// waits neither for a session nor for a slow login shell. A nil one does not exist.
type EarlyShell struct {
	conn *Conn
	got  chan *Channel // one value, nil if the server did not give a session
}

// StartEarly starts a shell if a session is free.
func StartEarly(ctx context.Context, l *Conn) *EarlyShell {
	if !l.sessions.TryAcquire(1) {
		return nil
	}
	// Once: both the goroutine and who drops the shell may give the place back.
	release := sync.OnceFunc(func() { l.sessions.Release(1) })
	e := &EarlyShell{conn: l, got: make(chan *Channel, 1)}
	go func() {
		ch, err := l.openOnce(ctx, release)
		if err == nil {
			if err = ch.startShell(); err != nil {
				_ = ch.Close()
			}
		}
		if err != nil {
			release()
			ch = nil
		}
		e.got <- ch
	}()
	return e
}

// take returns the shell's session, or nil if there is none on l.
func (e *EarlyShell) take(l *Conn) *Channel {
	if e == nil || e.conn != l {
		return nil
	}
	ch := <-e.got
	e.got <- nil // for a second attempt, and for Drop
	return ch
}

// Drop ends the shell if nobody took it. Without a script it does nothing.
func (e *EarlyShell) Drop() {
	if e == nil {
		return
	}
	if ch := <-e.got; ch != nil {
		go ssh.DiscardRequests(ch.Requests)
		ch.Shut()
	}
	e.got <- nil
}

// end gives the session back. After a whole answer the server closes it in a
// moment, and counts it among MaxSessions until then; only a session that a
// child of the command holds open is closed from here.
func (s *session) end(l *Conn, ch *Channel, whole bool) {
	if whole {
		patience := time.NewTimer(time.Second)
		defer patience.Stop()
		select {
		case <-s.done:
		case <-l.gone:
		case <-patience.C:
		}
	}
	ch.Shut()
}

// session gathers what one session says. Its goroutines end with the channel.
type session struct {
	frame   shellcmd.Frame
	mu      sync.Mutex // guards outcome and stderr
	outcome *Outcome
	stderr  bytes.Buffer
	frozen  bool
	done    chan struct{} // all streams of the session ended
	changed chan struct{} // something arrived
}

func (s *session) start(ch *Channel, text string) {
	go func() {
		// The last byte is the brace that makes the text complete: whatever was not
		// sent in full cannot have run.
		_, err := io.WriteString(ch, strings.TrimRight(text, "\n"))
		_ = s.update(func(o *Outcome) { o.Handed = err == nil })
		_ = ch.CloseWrite()
	}()
	var streams sync.WaitGroup
	streams.Go(func() { _, _ = io.Copy(stdoutWriter{s}, ch) })
	streams.Go(func() { _, _ = io.Copy(stderrWriter{s}, ch.Stderr()) })
	streams.Go(func() { s.requests(ch.Requests) })
	go func() { streams.Wait(); close(s.done) }()
}

// timeSudo measures the time between the way to root and the command's begin.
func (o *Outcome) timeSudo() {
	switch {
	case o.sudo.IsZero() && o.Scanner.InSudo():
		o.sudo = time.Now()
	case !o.sudo.IsZero() && o.InSudo == 0 && o.Scanner.Began():
		o.InSudo = time.Since(o.sudo)
	}
}

// update changes the outcome, unless it was already returned.
func (s *session) update(f func(*Outcome)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return io.ErrClosedPipe
	}
	f(s.outcome)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return nil
}

// requests learns how the session ended.
func (s *session) requests(in <-chan *ssh.Request) {
	for r := range in {
		switch r.Type {
		case "exit-status":
			var m struct{ Status uint32 }
			if ssh.Unmarshal(r.Payload, &m) == nil {
				_ = s.update(func(o *Outcome) { o.Status, o.Exited = int(m.Status), true })
			}
		case "exit-signal":
			var m struct {
				Signal string
				Core   bool
				Text   string
				Lang   string
			}
			if ssh.Unmarshal(r.Payload, &m) == nil {
				_ = s.update(func(o *Outcome) { o.Signal, o.Exited = m.Signal, true })
			}
		}
		// A request without its reply stops the server's side (RFC 4254, section 4).
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
}

type stdoutWriter struct{ s *session }

func (w stdoutWriter) Write(p []byte) (n int, err error) {
	late := w.s.update(func(o *Outcome) {
		if n, err = o.Scanner.Write(p); err != nil {
			o.Err = err
		}
		o.timeSudo()
	})
	return n, errors.Join(late, err)
}

type stderrWriter struct{ s *session }

func (w stderrWriter) Write(p []byte) (int, error) {
	return len(p), w.s.update(func(*Outcome) {
		w.s.stderr.Write(p)
		if w.s.stderr.Len() > 2*stderrLimit {
			// Keep both ends: the first says what went wrong, the last holds the marker.
			tail := bytes.Clone(w.s.stderr.Bytes()[w.s.stderr.Len()-stderrLimit/2:])
			w.s.stderr.Truncate(stderrLimit)
			w.s.stderr.WriteString("\n[…]\n")
			w.s.stderr.Write(tail)
		}
	})
}

// wait returns when the answer is complete, the session or connection ended, or
// ctx did; then nothing changes the outcome any more.
func (s *session) wait(ctx context.Context, l *Conn, ch *Channel, limit Limit) {
	err := s.settle(ctx, l, limit)
	if err != nil && ctx.Err() != nil {
		// Best effort: sshd passes it on since OpenSSH 7.9, and not to root's
		// processes if the user is another one.
		_, _ = ch.SendRequest("signal", false, ssh.Marshal(struct{ Name string }{"TERM"}))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	own, _ := s.frame.TrimStderr(s.stderr.Bytes())
	s.outcome.Stderr = bytes.Clone(own)
	if s.outcome.Err == nil {
		s.outcome.Err = err
	}
}

// settle waits for one of the ends and returns nil if the session ended by
// itself or answered.
func (s *session) settle(ctx context.Context, l *Conn, limit Limit) error {
	late := time.NewTimer(limit.Start)
	defer late.Stop()
	quiet := after(limit.Quiet)
	for {
		select {
		case <-s.done:
			if !s.outcomeComplete() && l.LostSoon() {
				return l.why
			}
			return nil
		case <-s.changed:
			if s.answered() {
				return nil
			}
			quiet = after(limit.Quiet)
		// Only until the script's first line: after that the command's own limit holds.
		case <-late.C:
			if err := s.silence(limit.Start); err != nil {
				return err
			}
		case <-quiet:
			return &quietError{fmt.Sprintf("%v in the middle of an answer, for %s", ErrSilent, poll.Text(limit.Quiet))}
		case <-l.gone:
			<-s.done // the streams end with the connection; what came before counts
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// after is time.After, and never for 0.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// silence names what has not started the command in time; empty if it was started.
func (s *session) silence(start time.Duration) error {
	switch began, sudo := s.began(); {
	case began:
		return nil
	case sudo:
		return &quietError{"sudo did not start the command within " + poll.Text(start)}
	}
	return &quietError{fmt.Sprintf("%v within %s: the login shell did not run /bin/sh", ErrSilent, poll.Text(start))}
}

// quietError is ErrSilent in words that say what was waited for.
type quietError struct{ text string }

func (e *quietError) Error() string { return e.text }
func (e *quietError) Unwrap() error { return ErrSilent }

// answered reports whether both streams came to their end marker, or the sink
// refuses more.
func (s *session) answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, whole := s.frame.TrimStderr(s.stderr.Bytes())
	return s.outcome.Err != nil || (s.outcome.complete() && whole)
}

func (s *session) outcomeComplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome.complete() || s.outcome.Exited
}

func (s *session) began() (began, sudo bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome.Scanner.Began(), s.outcome.Scanner.InSudo()
}
