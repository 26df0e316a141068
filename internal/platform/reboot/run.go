package reboot

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

// Restart is how one platform restarts and how it says that it has started.
type Restart struct {
	Request shellcmd.Command
	// Withdraw takes back a request that failed at a time, and reports whether it is certain that
	// it brings no restart.
	Withdraw func(ctx context.Context, h host.Host, asked time.Time, failed *host.ExitError) bool
	// Started reports whether the system has finished starting, and what it said.
	Started func(ctx context.Context, h host.Host) (done bool, said string, err error)
}

// Default waiting times.
const (
	// defaultTimeout covers a server whose firmware checks its memory.
	defaultTimeout = 15 * time.Minute
	defaultPoll    = 2 * time.Second
	maxPoll        = 15 * time.Second
)

// Policy says how a host may be restarted.
type Policy struct {
	// Timeout bounds the whole, from the request to the finished start; zero
	// means defaultTimeout.
	Timeout time.Duration
	// Reason is kept in the host's log.
	Reason string
	// DrainCommands and ResumeCommands are the user's own shell commands; they
	// run as root before the request and after the start. A drain command that
	// fails stops the reboot.
	DrainCommands, ResumeCommands []string
	// Around are the resources, such as "opensm", whose changes without a restart both run around, too. Who makes
	// such a change asks for it.
	Around []string
	// Interrupts are the services whose connected clients may wait, by the names of inventory.Server. Who asks for
	// the reboot judges by them.
	Interrupts []string
	// Note is a file on the host that has the resume commands from before the first drain command until all of them
	// have run: this run may be killed in between. Empty is none.
	Note string
	// Ready is asked between the drain commands and the request, and stops the reboot by
	// an error; nil asks nothing. Drain commands may take minutes.
	Ready func(context.Context) error
	// Poll is the first pause between two looks at the host; zero means two
	// seconds. Later pauses are longer.
	Poll time.Duration
}

// rebooter carries one reboot through its steps.
type rebooter struct {
	h      *hosts.Host
	policy Policy
	begin  time.Time
	before string // boot id
	last   string
	// unsure is true if the connection broke during the request, so that the host may not
	// have got it.
	unsure bool
	// unresumed are the resume commands that are to be run once the drain commands began, and
	// unresumedBy is why one of them failed.
	unresumed   []string
	unresumedBy error
	resumed     bool   // the host is given back: all of them have run
	undrained   string // the drain command that may still run
}

// patience is how many looks may see the old boot before a lost request is repeated. A
// host that is going down already ignores the repetition.
const patience = 5

// Run restarts a host and returns the id of the new boot, read after the host had finished
// starting. Its error is *Error, except for *host.ObserveError.
func Run(ctx context.Context, h *hosts.Host, policy Policy, r Restart) (string, error) {
	if policy.Timeout <= 0 {
		policy.Timeout = defaultTimeout
	}
	if policy.Poll <= 0 {
		policy.Poll = defaultPoll
	}
	b := &rebooter{h: h, policy: policy, begin: time.Now()}
	before, err := readBootID(ctx, h)
	if err != nil {
		return "", b.stepError(StepBootID, err)
	}
	b.before = before
	if step, askErr := b.ask(ctx, r); askErr != nil {
		b.giveBack(context.WithoutCancel(ctx))
		return "", b.stepError(step, askErr)
	}
	b.unresumed = policy.ResumeCommands
	waiting, cancel := context.WithTimeout(ctx, policy.Timeout)
	defer cancel()
	after, err := b.waitForReturn(waiting, r)
	if err != nil {
		return "", b.stepError(StepReturn, err)
	}
	if err := b.waitForStart(waiting, r); err != nil {
		return "", b.stepError(StepStarted, err)
	}
	h.Invalidate() // facts from a host that was still starting are wrong
	if err := b.resume(ctx); err != nil {
		return "", b.stepError(StepResume, err)
	}
	return after, nil
}

// Around runs the drain commands, then do, then the resume commands, whatever comes of do: for what takes a card
// away and does not restart its host. Its error is *Error, in StepReady with that of do.
func Around(ctx context.Context, h *hosts.Host, policy Policy, do func(context.Context) error) error {
	if policy.Timeout <= 0 {
		policy.Timeout = defaultTimeout
	}
	policy.Ready = do
	b := &rebooter{h: h, policy: policy, begin: time.Now()}
	step, err := b.prepare(ctx)
	var restart *Error
	if errors.As(err, &restart) && restart.NeverDown() {
		b.unresumed = policy.ResumeCommands // the host may still restart
	} else {
		b.giveBack(context.WithoutCancel(ctx))
	}
	switch {
	case err != nil:
		return b.stepError(step, err)
	case b.unresumedBy != nil:
		return b.stepError(StepResume, b.unresumedBy)
	}
	return nil
}

// ask asks for the restart, after the drain commands and a last look. It names the step
// that failed.
func (b *rebooter) ask(ctx context.Context, r Restart) (step string, err error) {
	if step, err = b.prepare(ctx); err != nil {
		return step, err
	}
	return StepRequest, b.request(ctx, r)
}

// prepare runs the drain commands and takes the last look.
func (b *rebooter) prepare(ctx context.Context) (step string, err error) {
	if err = b.owe(ctx); err != nil {
		return StepDrain, err
	}
	left, err := b.runAll(ctx, b.policy.DrainCommands)
	if err != nil {
		if mayRun(err) {
			b.undrained = left[0]
		}
		return StepDrain, err
	}
	if b.policy.Ready != nil {
		if err = b.policy.Ready(ctx); err != nil {
			return StepReady, err
		}
	}
	return "", nil
}

func (b *rebooter) stepError(step string, err error) error {
	var observe *host.ObserveError
	if errors.As(err, &observe) {
		return err
	}
	return &Error{
		Host: b.h.Name(), Step: step, Elapsed: time.Since(b.begin), Limit: b.policy.Timeout,
		LastState: b.last, Undrained: b.undrained, Unresumed: b.unresumed, UnresumedBy: b.unresumedBy,
		Resumed: b.resumed,
		Err:     err,
	}
}

// request asks for the restart and drops the connection. A missing answer is no error:
// the boot id decides.
func (b *rebooter) request(ctx context.Context, r Restart) error {
	asked := time.Now()
	_, err := b.h.Run(ctx, r.Request)
	var lost *host.UnreachableError
	b.unsure = errors.As(err, &lost) && lost.MayHaveRun
	if b.unsure {
		b.last = "connection lost while asking"
		err = nil
	}
	if restartAsked(err) {
		b.last = "another Restart was asked for already"
		err = nil
	}
	var failed *host.ExitError
	if errors.As(err, &failed) && !b.withdrawn(ctx, r, asked, failed) {
		b.last = "the request failed, and may bring a restart all the same: " + err.Error()
		err = nil
	}
	b.h.Drop()
	return err
}

// withdrawn reports whether it is certain that a request that failed brings no restart, and has
// brought none.
func (b *rebooter) withdrawn(ctx context.Context, r Restart, asked time.Time, failed *host.ExitError) bool {
	if !r.Withdraw(ctx, b.h, asked, failed) {
		return false
	}
	id, err := readBootID(ctx, b.h)
	return err == nil && id == b.before
}

// restartAsked reports whether the request was refused because another apply has asked for
// a restart, which comes in a moment: systemd-run (252, 257) takes a name of a timer once.
func restartAsked(err error) bool {
	var failed *host.ExitError
	return errors.As(err, &failed) && strings.Contains(failed.Stderr, "was already loaded")
}

func (b *rebooter) resume(ctx context.Context) (err error) {
	all := b.policy.ResumeCommands
	b.unresumed, err = b.runAll(ctx, all)
	if done := all[:len(all)-len(b.unresumed)]; b.owes() && len(done) > 0 {
		// A note that stays says how it is removed.
		_, _ = b.h.Run(ctx, shellcmd.Script("strike-resume-commands", strikeScript,
			append([]string{b.policy.Note}, done...)...).AsRoot().Changes())
	}
	return err
}

// owes reports whether the host is drained, and has to be given back.
func (b *rebooter) owes() bool {
	return b.policy.Note != "" && len(b.policy.DrainCommands) > 0 && len(b.policy.ResumeCommands) > 0
}

// owe notes on the host what has to run after the restart: this run may be killed before.
func (b *rebooter) owe(ctx context.Context) error {
	if !b.owes() {
		return nil
	}
	_, err := b.h.Run(ctx, shellcmd.Script("note-resume-commands", oweScript,
		append([]string{b.policy.Note}, b.policy.ResumeCommands...)...).AsRoot().Changes())
	return err
}

// oweScript notes the commands, and keeps what an earlier apply owes and this one does not run, since when it does.
const oweScript = `# NOTE COMMAND…
` + othersOwed + `
mkdir -p -- "${note%/*}" || exit
[ -n "$owed" ] || since=$(date -u '+%Y-%m-%d %H:%M:%S UTC')
{ printf '%s\n' "$since" "$@"; printf '%s' "$owed"; } >"$note.new" &&
	sync "$note.new" && mv -- "$note.new" "$note"
`

// strikeScript takes commands that have run off the note, and the note away if it has no other.
const strikeScript = `# NOTE COMMAND…
` + othersOwed + `
[ -n "$owed" ] || { rm -f -- "$note"; exit; }
{ printf '%s\n' "$since"; printf '%s' "$owed"; } >"$note.new" && mv -- "$note.new" "$note"
`

// othersOwed reads the lines of a note that are not of the given commands.
const othersOwed = `umask 077
note=$1
shift
lines="
$(printf '%s\n' "$@")
" owed=
[ ! -e "$note" ] || {
	IFS= read -r since
	while IFS= read -r line; do
		case $lines in
		*"
$line
"*) ;;
		*) owed="$owed$line
" ;;
		esac
	done
} <"$note"
`

// giveBack runs the resume commands on a host that is not restarted and stays up. A drain
// command that may still run would work against them: then they are left to a person.
func (b *rebooter) giveBack(ctx context.Context) {
	if b.undrained != "" {
		b.unresumed = b.policy.ResumeCommands
		return
	}
	b.unresumedBy = b.resume(ctx)
	b.resumed = b.unresumedBy == nil && len(b.policy.ResumeCommands) > 0
}

// mayRun reports whether a command that failed may still run on its host. A signal at its
// limit does not reach it behind sudo; see sshhost.
func mayRun(err error) bool {
	var (
		lost *host.UnreachableError
		odd  *host.OutputError
	)
	return errors.As(err, &lost) && lost.MayHaveRun || errors.As(err, &odd)
}

// runAll runs commands until one fails, and gives those that have not succeeded. Each may
// take as long as a restart: a drain may have to wait for other machines.
func (b *rebooter) runAll(ctx context.Context, commands []string) (left []string, err error) {
	for i, text := range commands {
		if _, err := b.h.Run(ctx, coreutils.UserCommand(text).WithTimeout(b.policy.Timeout)); err != nil {
			// The limit is an argument of the configuration. Only here its name is known.
			var late *host.UnreachableError
			if errors.As(err, &late) && late.Limit != "" {
				late.Limit = poll.Text(b.policy.Timeout) + " (reboot.timeout)"
			}
			return commands[i:], fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil, nil
}

// waitForReturn waits until the host answers with another boot id than before.
// A host that answers with the old one has not gone down yet.
func (b *rebooter) waitForReturn(ctx context.Context, r Restart) (string, error) {
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
		case id == b.before:
			b.last = stillOldBoot + " " + b.before
			if old++; b.unsure && old >= patience {
				old = 0
				return false, b.request(ctx, r)
			}
		default:
			after = id
		}
		return after != "", nil
	})
	return after, err
}

func (b *rebooter) waitForStart(ctx context.Context, r Restart) error {
	return poll.Until(ctx, b.policy.Poll, maxPoll, func(ctx context.Context) (bool, error) {
		done, said, err := r.Started(ctx, b.h)
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
