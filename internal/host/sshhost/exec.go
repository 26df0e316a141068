package sshhost

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

// startLimit is how long a login may take until the first line of our script runs. The
// exec request asks for no reply, which saves a round trip where a server takes input at once.
// OpenSSH takes none before the shell runs (session.c: a window of 0). A server that refuses it
// silently is noticed only by this limit.
var startLimit = time.Minute

// stderrLimit bounds what is kept of standard error; the rest is dropped.
const stderrLimit = 1 << 20

// limit is how long a command may take, and how messages call that.
type limit struct {
	after time.Duration
	name  string
}

// limitError says that a limit ran out.
type limitError struct{ name string }

func (e *limitError) Error() string { return "no end within " + e.name }
func (e *limitError) Unwrap() error { return os.ErrDeadlineExceeded }

// outcome is what is known after a script was sent.
type outcome struct {
	scanner *shellcmd.Scanner
	stderr  []byte
	handed  bool          // the whole script was given to the connection: it may have run
	status  int           // of the session, if it said so
	exited  bool          // the session said how it ended
	signal  string        // the session's shell was killed
	sudo    time.Time     // when the way to root began to be looked for
	inSudo  time.Duration // how long that took
	waits   int           // round trips: opening the session, and the script with its answer; OpenSSH adds one
	err     error         // why there is no complete answer, if anything but the session ended it
}

// complete reports whether the end marker came.
func (o *outcome) complete() bool {
	_, ok := o.scanner.Ended()
	return ok
}

// execute runs one composed text on a new session and feeds its output to sink.
// The limit does not count the time that the session had to be waited for.
// A shell that was started before is used if it is one of l's.
func execute(ctx context.Context, l *link, early *earlyShell, frame shellcmd.Frame, text string, sink io.Writer,
	limit limit) *outcome {
	o := &outcome{scanner: &shellcmd.Scanner{Frame: frame, Sink: sink}, waits: 1}
	ch := early.take(l)
	if ch == nil {
		var err error
		if ch, err = l.open(ctx); err != nil {
			o.err = err
			return o
		}
		o.waits += ch.tries
		if err = ch.startShell(); err != nil {
			ch.shut()
			o.err = l.reason(err)
			return o
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit.after, &limitError{limit.name})
	defer cancel()
	s := &session{frame: frame, outcome: o, done: make(chan struct{}), changed: make(chan struct{}, 1)}
	s.start(ch, text)
	s.wait(ctx, l, ch)
	go s.end(l, ch, o.err == nil)
	return o
}

// startShell asks for the interpreter, which then waits for its script.
func (c *channel) startShell() error {
	_, err := c.SendRequest("exec", false, ssh.Marshal(struct{ Command string }{shellcmd.Interpreter}))
	return err
}

// earlyShell is a shell that is started during other work, so that the next command
// waits neither for a session nor for a slow login shell. A nil one does not exist.
type earlyShell struct {
	link *link
	got  chan *channel // one value, nil if the server did not give a session
}

// startEarly starts a shell if a session is free.
func startEarly(ctx context.Context, l *link) *earlyShell {
	if !l.sessions.TryAcquire(1) {
		return nil
	}
	release := sync.OnceFunc(func() { l.sessions.Release(1) })
	e := &earlyShell{link: l, got: make(chan *channel, 1)}
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
func (e *earlyShell) take(l *link) *channel {
	if e == nil || e.link != l {
		return nil
	}
	ch := <-e.got
	e.got <- nil // for a second attempt, and for drop
	return ch
}

// drop ends the shell if nobody took it. Without a script it does nothing.
func (e *earlyShell) drop() {
	if e == nil {
		return
	}
	if ch := <-e.got; ch != nil {
		go ssh.DiscardRequests(ch.requests)
		ch.shut()
	}
	e.got <- nil
}

// end gives the session back. After a whole answer the server closes it in a
// moment, and counts it among MaxSessions until then; only a session that a
// child of the command holds open is closed from here.
func (s *session) end(l *link, ch *channel, whole bool) {
	if whole {
		patience := time.NewTimer(time.Second)
		defer patience.Stop()
		select {
		case <-s.done:
		case <-l.gone:
		case <-patience.C:
		}
	}
	ch.shut()
}

// session gathers what one session says. Its goroutines end with the channel.
type session struct {
	frame   shellcmd.Frame
	mu      sync.Mutex // guards outcome and stderr
	outcome *outcome
	stderr  bytes.Buffer
	frozen  bool
	done    chan struct{} // all streams of the session ended
	changed chan struct{} // something arrived
}

func (s *session) start(ch *channel, text string) {
	go func() {
		// The last byte is the brace that makes the text complete: whatever was not
		// sent in full cannot have run.
		_, err := io.WriteString(ch, strings.TrimRight(text, "\n"))
		_ = s.update(func(o *outcome) { o.handed = err == nil })
		_ = ch.CloseWrite()
	}()
	var streams sync.WaitGroup
	streams.Go(func() { _, _ = io.Copy(stdoutWriter{s}, ch) })
	streams.Go(func() { _, _ = io.Copy(stderrWriter{s}, ch.Stderr()) })
	streams.Go(func() { s.requests(ch.requests) })
	go func() { streams.Wait(); close(s.done) }()
}

// timeSudo measures the time between the way to root and the command's begin.
func (o *outcome) timeSudo() {
	switch {
	case o.sudo.IsZero() && o.scanner.InSudo():
		o.sudo = time.Now()
	case !o.sudo.IsZero() && o.inSudo == 0 && o.scanner.Began():
		o.inSudo = time.Since(o.sudo)
	}
}

// update changes the outcome, unless it was already returned.
func (s *session) update(f func(*outcome)) error {
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
				_ = s.update(func(o *outcome) { o.status, o.exited = int(m.Status), true })
			}
		case "exit-signal":
			var m struct {
				Signal string
				Core   bool
				Text   string
				Lang   string
			}
			if ssh.Unmarshal(r.Payload, &m) == nil {
				_ = s.update(func(o *outcome) { o.signal, o.exited = m.Signal, true })
			}
		}
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
}

type stdoutWriter struct{ s *session }

func (w stdoutWriter) Write(p []byte) (n int, err error) {
	late := w.s.update(func(o *outcome) {
		if n, err = o.scanner.Write(p); err != nil {
			o.err = err
		}
		o.timeSudo()
	})
	return n, errors.Join(late, err)
}

type stderrWriter struct{ s *session }

func (w stderrWriter) Write(p []byte) (int, error) {
	return len(p), w.s.update(func(*outcome) {
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
func (s *session) wait(ctx context.Context, l *link, ch *channel) {
	err := s.settle(ctx, l)
	if err != nil && ctx.Err() != nil {
		// Best effort: sshd passes it on since OpenSSH 7.9, and not to root's
		// processes if the user is another one.
		_, _ = ch.SendRequest("signal", false, ssh.Marshal(struct{ Name string }{"TERM"}))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	own, _ := s.frame.TrimStderr(s.stderr.Bytes())
	s.outcome.stderr = bytes.Clone(own)
	if s.outcome.err == nil {
		s.outcome.err = err
	}
}

// settle waits for one of the ends and returns nil if the session ended by
// itself or answered.
func (s *session) settle(ctx context.Context, l *link) error {
	late := time.NewTimer(startLimit)
	defer late.Stop()
	for {
		select {
		case <-s.done:
			if !s.outcomeComplete() && l.lostSoon() {
				return l.why
			}
			return nil
		case <-s.changed:
			if s.answered() {
				return nil
			}
		case <-late.C:
			if err := s.silence(); err != nil {
				return err
			}
		case <-l.gone:
			<-s.done // the streams end with the connection; what came before counts
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// silence names what has not started the command in time; empty if it was started.
func (s *session) silence() error {
	switch began, sudo := s.began(); {
	case began:
		return nil
	case sudo:
		return fmt.Errorf("sudo did not start the command within %s", poll.Text(startLimit))
	}
	return fmt.Errorf("%w within %s: the login shell did not run /bin/sh", errSilent, poll.Text(startLimit))
}

// answered reports whether both streams came to their end marker, or the sink
// refuses more.
func (s *session) answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, whole := s.frame.TrimStderr(s.stderr.Bytes())
	return s.outcome.err != nil || (s.outcome.complete() && whole)
}

func (s *session) outcomeComplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome.complete() || s.outcome.exited
}

func (s *session) began() (began, sudo bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome.scanner.Began(), s.outcome.scanner.InSudo()
}
