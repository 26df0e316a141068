package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
)

// Steps of a reboot, as RebootError names them.
const (
	StepBootID  = "reading the boot id before the restart"
	StepDrain   = "running a drain command"
	StepReady   = "looking once more, directly before the restart"
	StepRequest = "asking for the restart"
	StepReturn  = "waiting for the host to answer with a new boot id"
	StepStarted = "waiting for the system to finish starting"
	StepResume  = "running a resume command"
)

// RebootError says in which step a reboot ended, and after what time.
type RebootError struct {
	Host      string
	Step      string
	Elapsed   time.Duration // since the first step
	Limit     time.Duration // of the policy
	Rebooted  bool          // the boot id has changed
	LastState string        // what the host said last, if anything
	// Unresumed are the resume commands that failed or were not run. A later apply runs them
	// only if it restarts the host again.
	Unresumed []string
	Err       error
}

func (e *RebootError) Error() string {
	s := fmt.Sprintf("%s: reboot failed in step %q after %s (limit %s)", e.Host, e.Step, e.Elapsed.Round(time.Second),
		e.Limit)
	if e.LastState != "" {
		s += "; last seen: " + e.LastState
	}
	if e.Err != nil && !strings.HasSuffix(e.LastState, e.Err.Error()) {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *RebootError) Unwrap() error { return e.Err }

// Untouched reports whether it is certain that the host was not restarted. A host whose
// connection broke may have lost power.
func (e *RebootError) Untouched() bool {
	var lost *host.UnreachableError
	if errors.As(e.Err, &lost) {
		return false
	}
	return e.Step == StepBootID || e.Step == StepDrain || e.Step == StepReady || e.Step == StepRequest
}

// Meaning says what state the host was left in.
func (e *RebootError) Meaning() string {
	switch e.Step {
	case StepBootID, StepDrain, StepReady, StepRequest:
		if !e.Untouched() {
			return "No request for a restart has reached the host. The connection broke: the host may have restarted by " +
				"itself, or lost power."
		}
		if e.Step != StepRequest {
			return "The host was not restarted."
		}
		return "The request was refused, so the host was not restarted."
	case StepReturn:
		if strings.HasPrefix(e.LastState, "still the old boot") {
			return "The host never went down. Nothing else was done."
		}
		return "The restart was asked for and nothing was done after that. Look at the host's console; run the same " +
			"command again when it answers."
	case StepResume:
		return "The host was restarted and has finished starting; only the resume commands are incomplete."
	}
	return "The host was restarted; nothing was done after that."
}

// ByHand says which resume commands are left to a person, if any.
func (e *RebootError) ByHand() string {
	if len(e.Unresumed) == 0 {
		return ""
	}
	return "These resume commands have failed or were not run. A later apply runs them only if it restarts the host " +
		"again. Run them on the host as root:\n\n    " +
		strings.ReplaceAll(strings.Join(e.Unresumed, "\n"), "\n", "\n    ")
}

// restart is how one platform restarts and how it says that it has started.
type restart struct {
	request shellcmd.Command
	// started reports whether the system has finished starting, and what it said.
	started func(ctx context.Context, h host.Host) (done bool, said string, err error)
}

// rebooter carries one reboot through its steps.
type rebooter struct {
	h      *hosts.Host
	policy RebootPolicy
	begin  time.Time
	last   string
	done   bool // boot id changed
	// unsure is true if the connection broke during the request, so that the host may not
	// have got it.
	unsure bool
	// unresumed are the resume commands that are to be run once the drain commands began.
	unresumed []string
}

// patience is how many looks may see the old boot before a lost request is repeated. A
// host that is going down already ignores the repetition.
const patience = 5

func reboot(ctx context.Context, h *hosts.Host, policy RebootPolicy, r restart) (string, error) {
	if policy.Timeout <= 0 {
		policy.Timeout = defaultRebootTimeout
	}
	if policy.Poll <= 0 {
		policy.Poll = defaultPoll
	}
	b := &rebooter{h: h, policy: policy, begin: time.Now()}
	before, err := readBootID(ctx, h)
	if err != nil {
		return "", b.stepError(StepBootID, err)
	}
	if step, askErr := b.ask(ctx, r.request); askErr != nil {
		// After a failed drain the resume commands run: the host stays up.
		return "", b.stepError(step, errors.Join(askErr, b.resume(context.WithoutCancel(ctx))))
	}
	b.unresumed = policy.ResumeCommands
	waiting, cancel := context.WithTimeout(ctx, policy.Timeout)
	defer cancel()
	after, err := b.waitForReturn(waiting, before, r.request)
	if err != nil {
		return "", b.stepError(StepReturn, err)
	}
	b.done = true
	if err := b.waitForStart(waiting, r); err != nil {
		return "", b.stepError(StepStarted, err)
	}
	h.Invalidate() // facts from a host that was still starting are wrong
	if err := b.resume(ctx); err != nil {
		return "", b.stepError(StepResume, err)
	}
	return after, nil
}

// ask asks for the restart, after the drain commands and a last look. It names the step
// that failed.
func (b *rebooter) ask(ctx context.Context, request shellcmd.Command) (step string, err error) {
	if _, err = b.runAll(ctx, b.policy.DrainCommands); err != nil {
		return StepDrain, err
	}
	if b.policy.Ready != nil {
		if err = b.policy.Ready(ctx); err != nil {
			return StepReady, err
		}
	}
	return StepRequest, b.request(ctx, request)
}

func (b *rebooter) stepError(step string, err error) error {
	var observe *host.ObserveError
	if errors.As(err, &observe) {
		return err
	}
	return &RebootError{
		Host: b.h.Name(), Step: step, Elapsed: time.Since(b.begin), Limit: b.policy.Timeout,
		Rebooted: b.done, LastState: b.last, Unresumed: b.unresumed, Err: err,
	}
}

// request asks for the restart and drops the connection. A missing answer is no error:
// the boot id decides.
func (b *rebooter) request(ctx context.Context, cmd shellcmd.Command) error {
	_, err := b.h.Run(ctx, cmd)
	var lost *host.UnreachableError
	b.unsure = errors.As(err, &lost) && lost.MayHaveRun
	if b.unsure {
		b.last = "connection lost while asking"
		err = nil
	}
	if restartAsked(err) {
		b.last = "another restart was asked for already"
		err = nil
	}
	b.h.Drop()
	return err
}

// restartAsked reports whether the request was refused because another apply has asked for
// a restart, which comes in a moment: systemd-run (252, 257) takes a name of a timer once.
func restartAsked(err error) bool {
	var failed *host.ExitError
	return errors.As(err, &failed) && strings.Contains(failed.Stderr, "was already loaded")
}

func (b *rebooter) resume(ctx context.Context) (err error) {
	b.unresumed, err = b.runAll(ctx, b.policy.ResumeCommands)
	return err
}

// runAll runs commands until one fails, and gives those that have not succeeded.
func (b *rebooter) runAll(ctx context.Context, commands []string) (left []string, err error) {
	for i, text := range commands {
		if _, err := b.h.Run(ctx, coreutils.UserCommand(text)); err != nil {
			return commands[i:], fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil, nil
}

// waitForReturn waits until the host answers with another boot id than before.
// A host that answers with the old one has not gone down yet.
func (b *rebooter) waitForReturn(ctx context.Context, before string, request shellcmd.Command) (string, error) {
	var after string
	old := 0 // looks that saw the old boot since the last request
	err := poll.Until(ctx, b.policy.Poll, maxPoll, func(ctx context.Context) (bool, error) {
		id, err := readBootID(ctx, b.h)
		if permanent(err) {
			b.last = "it answered with a host key that is not accepted"
			return false, err
		}
		switch {
		case err != nil:
			b.last = err.Error()
			// A host that closed the connection half-way is not asked again over it.
			b.h.Drop()
		case id == before:
			b.last = "still the old boot " + before
			if old++; b.unsure && old >= patience {
				old = 0
				return false, b.request(ctx, request)
			}
		default:
			after = id
		}
		return after != "", nil
	})
	return after, err
}

func (b *rebooter) waitForStart(ctx context.Context, r restart) error {
	return poll.Until(ctx, b.policy.Poll, maxPoll, func(ctx context.Context) (bool, error) {
		done, said, err := r.started(ctx, b.h)
		if permanent(err) {
			return false, err
		}
		if err != nil {
			// sshd answers early in the boot, and may be restarted by it.
			said = err.Error()
			b.h.Drop()
		}
		b.last = said
		return done && err == nil, nil
	})
}

// permanent reports whether waiting is useless: another machine, or another operating
// system, answers at this address.
func permanent(err error) bool {
	var u *host.UnreachableError
	return errors.As(err, &u) && u.Op == "verify host key"
}

func readBootID(ctx context.Context, h host.Host) (string, error) {
	r, err := h.Run(ctx, coreutils.BootID())
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(r.Stdout))
	if len(id) != len("00000000-0000-0000-0000-000000000000") {
		return "", &host.OutputError{
			Host: h.Name(), Command: coreutils.BootID().String(),
			Problem: "expected a boot id of 36 characters", Output: id,
		}
	}
	return id, nil
}
