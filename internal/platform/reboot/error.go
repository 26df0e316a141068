package reboot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// Steps of a reboot, as Error names them.
const (
	StepBootID  = "reading the boot id before the restart"
	StepDrain   = "running a drain command"
	StepReady   = "looking once more, directly before the restart"
	StepRequest = "asking for the restart"
	StepReturn  = "waiting for the host to answer with a new boot id"
	StepStarted = "waiting for the system to finish starting"
	StepResume  = "running a resume command"
)

// stillOldBoot begins the last state of a host that answers and has not restarted.
const stillOldBoot = "still the old boot"

// Error says in which step a reboot ended, and after what time.
type Error struct {
	Host      string
	Step      string
	Elapsed   time.Duration // since the first step
	Limit     time.Duration // of the policy
	LastState string        // what the host said last, if anything
	// Undrained is the drain command whose end was not seen: it may still run. Empty if
	// there is none.
	Undrained string
	// Unresumed are the resume commands that failed or were not run. A later apply runs them
	// only if it drains the host again.
	Unresumed []string
	Err       error
	// UnresumedBy is why a resume command failed on a host that was not restarted because of
	// Err.
	UnresumedBy error
	// Resumed says that the resume commands have run on such a host.
	Resumed bool
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: reboot failed in step %q after %s (limit %s)", e.Host, e.Step, e.Elapsed.Round(time.Second),
		e.Limit)
	if e.LastState != "" {
		s += "; last seen: " + e.LastState
	}
	if e.Err != nil && !strings.HasSuffix(e.LastState, e.Err.Error()) {
		s += ": " + e.Err.Error()
	}
	if e.UnresumedBy != nil {
		s += "; then a resume command failed: " + e.UnresumedBy.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Untouched reports whether it is certain that the host was not restarted. A host whose
// connection broke may have lost power.
func (e *Error) Untouched() bool {
	return e.beforeRestart() && !lineBroke(e.Err) && !lineBroke(e.UnresumedBy)
}

// NeverDown reports whether the host answered to the end of the wait and had not restarted. A wait that the operator
// ended says nothing of that.
func (e *Error) NeverDown() bool {
	return e.Step == StepReturn && strings.HasPrefix(e.LastState, stillOldBoot) && !errors.Is(e.Err, context.Canceled)
}

// beforeRestart reports whether the reboot ended before the restart was asked for.
func (e *Error) beforeRestart() bool {
	return e.Step == StepBootID || e.Step == StepDrain || e.Step == StepReady || e.Step == StepRequest
}

// lineBroke reports whether the host was lost. A time that ran out, or an apply that was
// interrupted, says nothing against the line.
func lineBroke(err error) bool {
	var lost *host.UnreachableError
	return errors.As(err, &lost) && lost.Limit == "" && !interrupted(lost)
}

// interrupted reports whether the caller ended a command. A connection that could not be
// made in time ends so, too.
func interrupted(lost *host.UnreachableError) bool {
	return lost.Op == host.OpRun && (errors.Is(lost, context.Canceled) || errors.Is(lost, context.DeadlineExceeded))
}

// Meaning says what state the host was left in.
func (e *Error) Meaning() string {
	switch e.Step {
	case StepBootID, StepDrain, StepReady, StepRequest:
		if e.Resumed {
			return e.whyNotRestarted() + " The resume commands have run."
		}
		return e.whyNotRestarted()
	case StepReturn:
		if e.NeverDown() {
			return "The host never went down. Drain commands, if there are any, ran before the restart was asked for. " +
				"Nothing was done after that, and the host may still restart."
		}
		return "The restart was asked for and nothing was done after that. Look at the host's console; run the same " +
			"command again when it answers."
	case StepResume:
		return "The host was restarted and has finished starting; only the resume commands are incomplete."
	}
	return "The host was restarted; nothing was done after that."
}

// DrainEnd says how the drain command ended that stopped the rest: a title, and the clause of a sentence.
func (e *Error) DrainEnd() (title, clause string) {
	var late *host.UnreachableError
	switch {
	case errors.Is(e.Err, context.Canceled):
		title = "the apply was interrupted while a drain command ran"
		return title, title
	case errors.As(e.Err, &late) && late.Limit != "":
		return "a drain command did not end", "a drain command did not end within " + late.Limit
	}
	return "a drain command failed", "a drain command failed"
}

// whyNotRestarted is Meaning if the restart was not asked for.
func (e *Error) whyNotRestarted() string {
	var lost *host.UnreachableError
	switch {
	case !e.Untouched():
		return "No request for a restart has reached the host. The connection broke: the host may have restarted by " +
			"itself, or lost power."
	case e.Step == StepRequest:
		return "The request was refused, so the host was not restarted."
	case e.Step == StepDrain && errors.Is(e.Err, context.Canceled):
		return "The apply was interrupted while a drain command ran. The host was not restarted."
	case e.Undrained != "" && errors.As(e.Err, &lost) && lost.Limit != "":
		return "The command did not end within " + lost.Limit + " and may still run. The host was not restarted. Raise " +
			"that limit if the command needs more time."
	}
	return "The host was not restarted."
}

// ByHand says which commands are left to a person, if any.
func (e *Error) ByHand() string {
	switch {
	case e.Undrained != "" && len(e.Unresumed) == 0:
		return "This drain command may still run on the host. Wait until it has ended:" + block(e.Undrained)
	case e.Undrained != "":
		return "This drain command may still run on the host, so the resume commands were not run:" + block(e.Undrained) +
			"\n\nWait until it has ended. Then run the resume commands on the host as root. A later apply runs them only if " +
			"it drains the host:" + block(e.Unresumed...)
	case len(e.Unresumed) > 0 && e.NeverDown():
		return "The resume commands were not run. Find out why the host does not restart, and cancel the restart if you " +
			"do not want it. Then run them on the host as root. A later apply runs them only if it drains the host:" +
			block(e.Unresumed...)
	case len(e.Unresumed) > 0:
		return "These resume commands have failed, may still run, or were not run. Wait until none of them runs. Then run " +
			"on the host, as root, those that have not ended well. A later apply runs them only if it drains the host " +
			"again:" + block(e.Unresumed...)
	}
	return ""
}

// NotResumed says that drain commands may have left something stopped; nil if nothing is left to a person. what has
// happened is one sentence.
func (e *Error) NotResumed(what string) *explain.Failure {
	byHand, title := e.ByHand(), "Unable to run the resume commands of host "+e.Host
	if byHand == "" {
		return nil
	}
	return &explain.Failure{Summary: title, Heading: title, What: what,
		Means: "What the drain commands have stopped may still be stopped.", Check: byHand,
		Facts: []explain.Fact{{"Host", e.Host}}, Err: e.UnresumedBy}
}

// block sets commands apart from the text.
func block(commands ...string) string {
	return "\n\n    " + strings.ReplaceAll(strings.Join(commands, "\n"), "\n", "\n    ")
}
