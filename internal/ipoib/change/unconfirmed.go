package change

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
)

// UnconfirmedError says that a change was made and not confirmed: the host
// could not be reached anew, or did not show what was asked. The host undoes
// it, by itself if need be.
type UnconfirmedError struct {
	Host      string
	Interface string
	Problem   string    // what was missing
	Undone    bool      // the former configuration is back already
	TakenOver bool      // another change of the interface came meanwhile
	UndoneBy  time.Time // when the host undoes it, by the operator's clock, unless Undone
	UndoErr   error     // undoing at once failed
	Kept      string    // the directory of the host with what an undo puts back
	MayHold   bool      // the confirmation may have arrived: then nothing undoes the change
	Lost      []string  // what others had added and the undo could not put back, one sentence each
	Differed  string    // in what the interface differed from its file before; empty if in nothing
	Expected  string    // what is known of the reason, and what to do
	Err       error
}

// notBegun is the error on a change that was prepared and not begun: what undoes it could not be
// started, or it is not known whether it was. undoneBy is when a timer that was started would fire,
// zero if none was asked for; leftErr is why what was prepared could not be taken back.
func notBegun(hostName, name string, undoneBy time.Time, cause, leftErr error) error {
	e := &explain.Failure{Summary: hostName, Facts: []explain.Fact{{"Host", hostName}}, Err: cause,
		What:  "The change of " + name + " was not begun, because the host could not be made ready to undo it.",
		Means: "What was prepared for it was taken back; the interface and its files are as they were. Apply again."}
	if leftErr == nil {
		return e
	}
	when := "at its next start"
	if !undoneBy.IsZero() {
		when = fmt.Sprintf("at about %s, or %s", undoneBy.Format("15:04:05 MST"), when)
	}
	e.Facts = append(e.Facts, explain.Fact{"Taking it back", leftErr.Error()})
	e.Means = "No file and no setting of the interface was changed by this apply. It is not known whether the host will " +
		"undo the change that was not made. If it does, it writes the same files again " + when + ", and configures " +
		"the interface by them: what the interface has only now, and no file has, may end then. The next apply ends " +
		"what is left of it; run plan first."
	return e
}

func (e *UnconfirmedError) Error() string {
	s := fmt.Sprintf("%s: the change of %s could not be confirmed: %s", e.Host, e.Interface, e.Problem)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Undone {
		return s + ". The former configuration was restored." + e.noted()
	}
	if e.TakenOver {
		return s + ". " + takenOver
	}
	if e.undoFailed() {
		return s + ". " + e.failed()
	}
	s += fmt.Sprintf(". The host restores the former configuration by itself at about %s",
		e.UndoneBy.Format("15:04:05 MST"))
	if e.MayHold {
		s += ", unless the confirmation has arrived"
	}
	if e.UndoErr != nil {
		s += fmt.Sprintf(" (restoring it at once failed: %v)", e.UndoErr)
	}
	return s + ". Run plan again after that." + e.noted()
}

// noted says what an undo cannot give back: it has the files, and takes from the interface
// what the change gave to it.
func (e *UnconfirmedError) noted() string {
	lost := strings.Join(append([]string{""}, e.Lost...), " ")
	if e.Differed == "" {
		return lost
	}
	return lost + " Before the change the interface was not as its file says (" + e.Differed + "). The file is as it " +
		"was; the interface may have what the file says besides what it had."
}

// undoFailed reports whether the host has tried to undo the change and could not.
func (e *UnconfirmedError) undoFailed() bool {
	var exit *host.ExitError
	return errors.As(e.UndoErr, &exit)
}

// failed says what is left of an undo that failed.
func (e *UnconfirmedError) failed() string {
	return "The host began to undo it and could not put back every file. What they held is kept on the host in " +
		e.Kept + "/files. Remove the reason, such as a full disk, and apply again: that finishes the undo first. The host " +
		"tries again at its next start, too." + e.noted()
}

const takenOver = "Another apply undid it and changes the same interface: what the interface has now comes from that " +
	"one. Run plan when it has ended. Manage an interface from one state only."

// Explain first says what became of the change, then why: the cause, such as a host
// that cannot be reached, does not tell that.
func (e *UnconfirmedError) Explain() string {
	text := fmt.Sprintf("The change of %s was begun and could not be confirmed: %s. ", e.Interface, e.Problem) + e.became()
	switch {
	case e.TakenOver, e.MayHold && !e.Undone:
	case e.Expected != "":
		text += "\n\n" + e.Expected
	default:
		text += "\n\nFind the reason before you apply the same change again."
		if !hostAnswered(e.Err) {
			text += " The change itself may have cut the connection."
		}
	}
	text += "\n\nHost: " + e.Host
	if e.Err != nil {
		text += "\nError: " + e.Err.Error()
	}
	if e.UndoErr != nil {
		text += "\nRestoring it at once: " + e.UndoErr.Error()
	}
	return text
}

// became says what is known of the change.
func (e *UnconfirmedError) became() string {
	switch {
	case e.Undone:
		return "The former configuration was restored, now and for the next boot." + e.noted()
	case e.TakenOver:
		return takenOver
	case e.undoFailed():
		return e.failed()
	case e.MayHold:
		return fmt.Sprintf("The connection was lost while the change was being confirmed. If the confirmation has arrived, "+
			"the change holds, now and for the next boot. Otherwise the host restores the former configuration by itself at "+
			"about %s, or at its next start if that is earlier. Run plan again after that: it shows which of the two it is.",
			e.UndoneBy.Format("15:04:05 MST")) + e.noted()
	}
	return fmt.Sprintf("The host restores the former configuration by itself at about %s, or at its next start if that "+
		"is earlier. Run plan again after that.", e.UndoneBy.Format("15:04:05 MST")) + e.noted()
}

// hostAnswered reports whether a change failed by what the host said, so that the connection was
// not cut.
func hostAnswered(err error) bool {
	var exit *host.ExitError
	var shown notShownError
	return errors.As(err, &exit) || errors.As(err, &shown)
}

// mtuRefused explains the kernel's answer to a datagram MTU above what the port carries; empty if
// that is not why a change has failed. Few drivers show the limit before.
func mtuRefused(err error, name string, d ipoib.Request) string {
	var exit *host.ExitError
	if !errors.As(err, &exit) || !strings.Contains(exit.Stderr+exit.Stdout, "Invalid argument") ||
		d.Config.Mode != ib.ModeDatagram || d.Config.MTU <= ipoib.SafeDatagramMTU {
		return ""
	}
	return fmt.Sprintf("Linux refuses mtu = %d for %s in datagram mode: its port carries packets of fewer than %d bytes "+
		"(the MTU and %d). Use mtu = %d, which every port carries, or mode = \"connected\" if the card supports it.",
		d.Config.MTU, name, d.Config.MTU+ib.DatagramOverhead, ib.DatagramOverhead, ipoib.SafeDatagramMTU)
}

func (e *UnconfirmedError) Unwrap() error { return e.Err }
