package sshhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconn"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Run runs one command; see host.Host for the errors.
func (h *Host) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	buffer := &limitedBuffer{max: h.cfg.MaxOutput}
	o, turns, err := h.run(ctx, nil, host.Noted(ctx, cmd), buffer)
	h.trace(host.Event{Kind: "run", What: h.show(cmd), RoundTrips: turns, Err: err})
	var exit *host.ExitError
	if errors.As(err, &exit) {
		exit.Stdout = h.clean(cmd, buffer.Bytes())
	}
	var odd *host.OutputError
	if errors.As(err, &odd) && odd.Output == "" {
		odd.Output = h.clean(cmd, buffer.Bytes())
	}
	if err != nil {
		return host.Result{}, err
	}
	return host.Result{Stdout: buffer.Bytes(), Stderr: o.Stderr, Sudo: o.InSudo}, nil
}

// show is the command as messages may name it.
func (h *Host) show(cmd shellcmd.Command) string { return h.redact(cmd.String()) }

// clean is a command's output as messages may show it.
func (h *Host) clean(cmd shellcmd.Command, out []byte) string {
	if cmd.Secret() && len(out) > 0 {
		return fmt.Sprintf("(%d bytes, not shown: they may hold passwords)", len(out))
	}
	return h.redact(string(out))
}

// run runs cmd and passes its standard output to sink as it comes. What
// certainly did not run is tried once more: see again.
func (h *Host) run(ctx context.Context, early *sshconn.EarlyShell, cmd shellcmd.Command,
	sink io.Writer) (o *sshconn.Outcome, turns int, err error) {
	if cmd.Changing() && h.cfg.Observe {
		return nil, 0, &host.ObserveError{Host: h.name, Command: h.show(cmd)}
	}
	for try := 1; ; try++ {
		l, err := h.connect(ctx)
		if err != nil {
			return nil, turns, withCommand(err, h.show(cmd))
		}
		known := h.knownWay()
		o, err = h.once(ctx, l, early, cmd, h.elevation(known), sink)
		if err != nil {
			return nil, turns, err
		}
		turns += o.Waits
		err = h.judge(cmd, o)
		// Once: what fails twice is not the connection's age.
		if try == 1 && ctx.Err() == nil && h.again(l, o, known, err) {
			continue
		}
		// Learned from success only: a way that failed may fail for the command's own reasons.
		if way := o.Scanner.Way(); err == nil && way != shellcmd.WayUnknown {
			h.learnWay(way)
		}
		return o, turns, err
	}
}

// again reports whether a command certainly did not run for a reason that a
// second attempt does not meet: its text was not handed over whole to a
// connection that proved dead, or sudo refused it on a way that worked before.
func (h *Host) again(l *sshconn.Conn, o *sshconn.Outcome, known shellcmd.Way, err error) bool {
	var refused *host.PrivilegeError
	if errors.As(err, &refused) && known != shellcmd.WayUnknown {
		h.learnWay(shellcmd.WayUnknown)
		return true
	}
	return o.Err != nil && !o.Handed && l.Lost()
}

// startLimit is how long a login may take until the first line of our script runs. The
// exec request asks for no reply, which saves a round trip where a server takes input at once.
// OpenSSH takes none before the shell runs (session.c: a window of 0). A server that refuses it
// silently is noticed only by this limit.
var startLimit = time.Minute

// quietConnects is for how many connect timeouts a host that is given up early may say nothing
// while it is read. The longest pause of one that works is a list of packages or a query of a card.
const quietConnects = 3

// once composes and runs cmd over one connection.
func (h *Host) once(ctx context.Context, l *sshconn.Conn, early *sshconn.EarlyShell, cmd shellcmd.Command,
	how shellcmd.Elevation, sink io.Writer) (*sshconn.Outcome, error) {
	most := sshconn.Limit{Start: startLimit, After: cmd.Timeout(), Name: "its limit of " + poll.Text(cmd.Timeout())}
	if most.After <= 0 {
		most.After, most.Name = h.cfg.CommandTimeout, "command_timeout = "+poll.Text(h.cfg.CommandTimeout)
		if h.cfg.GiveUpEarly && !cmd.Changing() {
			most.Quiet = quietConnects * h.target().Timeout
			most.Start = min(most.Start, most.Quiet)
		}
	}
	frame := shellcmd.NewFrame()
	text, err := shellcmd.Compose(cmd, frame, how)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.name, err)
	}
	return sshconn.Execute(ctx, l, early, frame, text, sink, most), nil
}

// withCommand fills in which command could not be run; it copies, because the error of
// a failed connection is shared.
func withCommand(err error, command string) error {
	var u *host.UnreachableError
	if !errors.As(err, &u) {
		return err
	}
	c := *u
	c.Command = command
	return &c
}

// judge turns an outcome into one of the kinds of error, or nil.
func (h *Host) judge(cmd shellcmd.Command, o *sshconn.Outcome) error {
	status, complete := o.Scanner.Ended()
	switch {
	case complete && o.Err == nil && status == 0:
		return nil
	case complete && o.Err == nil:
		return &host.ExitError{Host: h.name, Command: h.show(cmd), Status: status, Stderr: h.clean(cmd, o.Stderr)}
	case errors.Is(o.Err, errSink), errors.Is(o.Err, shellcmd.ErrEndless):
		return &host.OutputError{Host: h.name, Command: h.show(cmd), Problem: o.Err.Error()}
	case o.Err != nil || !o.Exited || o.Signal != "":
		return h.unknownOutcome(cmd, o)
	}
	if left, ok := o.Scanner.Left(); ok {
		return h.privilegeError(left, o.Stderr)
	}
	return h.noAnswer(cmd, o)
}

// unknownOutcome is the error for a command that may have run to whatever point.
func (h *Host) unknownOutcome(cmd shellcmd.Command, o *sshconn.Outcome) error {
	e := h.unreachable("run", h.show(cmd), o.Err)
	e.MayHaveRun, e.Reading = o.Handed, !cmd.Changing()
	e.Silent = errors.Is(o.Err, sshconn.ErrSilent) || errors.Is(o.Err, os.ErrDeadlineExceeded)
	var out *sshconn.LimitError
	if errors.As(o.Err, &out) {
		e.Limit = out.Name
	}
	switch {
	case o.Err == nil && o.Signal != "":
		e.Err = fmt.Errorf("the session was ended by signal %s before the command reported its end", o.Signal)
		e.Advice = "The host may be shutting down, or it ran out of memory."
	case o.Err == nil:
		e.Err = errors.New("the session ended without saying how")
	// A session that broke off says nothing of sudo.
	case o.Scanner.InSudo() && errors.Is(o.Err, os.ErrDeadlineExceeded):
		e.Advice = adviceSlowSudo
	case !o.Handed:
		e.Advice = "The command was not handed over, so nothing ran. If this persists, check sshd's MaxSessions and its " +
			"log on the host."
	}
	return e
}

const adviceSlowSudo = "sudo was still busy before it started the command. It looks up the user, the groups and the " +
	"host's own name: " +
	"check DNS and LDAP on the host, the PAM modules in /etc/pam.d/sudo, and that /etc/hosts there names the host " +
	"itself. `time sudo -n true` on the host shows how long it takes."

// noAnswer is the error for a session that ended properly without our markers.
func (h *Host) noAnswer(cmd shellcmd.Command, o *sshconn.Outcome) error {
	e := &host.OutputError{Host: h.name, Command: h.show(cmd)}
	if o.Scanner.Began() {
		e.Problem = fmt.Sprintf("the output ends before its end marker; the session ended with status %d", o.Status)
		return e
	}
	e.Problem = fmt.Sprintf("the begin marker is missing, so the command did not start; the session ended with status "+
		"%d. The login shell may be restricted or a forced command be set, or /bin/sh is missing", o.Status)
	said := bytes.Join([][]byte{o.Scanner.Preamble(), o.Stderr}, nil)
	if e.Output = h.clean(cmd, said); !o.Scanner.Frame.Marks(said) {
		// The login shell's own words hold nothing of a command that did not start.
		e.Output = h.redact(string(said[:min(len(said), shownLimit)]))
	}
	return e
}

// shownLimit bounds what is shown of a login shell's own words.
const shownLimit = 400

// errSink marks errors of the place that output goes to.
var errSink = errors.New("output not taken")

// limitedBuffer is a buffer that refuses more than max bytes.
type limitedBuffer struct {
	bytes.Buffer
	max int64
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if int64(b.Len())+int64(len(p)) > b.max {
		return 0, fmt.Errorf("%w: the command printed more than %d bytes", errSink, b.max)
	}
	return b.Buffer.Write(p)
}
