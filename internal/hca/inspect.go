package hca

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// lockTries bounds how often a reader asks for the host's lock, a second apart.
// A reader only ever waits for the moment in which a job takes the lock.
const lockTries = 10

// lostTries bounds how often a command that only reads is given to a host whose
// connection broke.
const lostTries = 3

// shared runs a command that reads the card under the host's shared lock, so
// that it never meets a burn: two users of one card can make each other fail,
// and have stopped a burn (mstflint 4.21).
func (o *Ops) shared(ctx context.Context, h host.Host, cmd shellcmd.Command) (host.Result, error) {
	return o.locked(ctx, h, flock.Shared(cmd))
}

// exclusive is shared for a command that writes the card without a job.
func (o *Ops) exclusive(ctx context.Context, h host.Host, cmd shellcmd.Command) (host.Result, error) {
	return o.locked(ctx, h, flock.Exclusive(cmd))
}

func (o *Ops) locked(ctx context.Context, h host.Host, cmd shellcmd.Command) (host.Result, error) {
	for try := 1; ; try++ {
		r, err := h.Run(ctx, cmd)
		again := taken(err) && try < lockTries || !cmd.Changing() && passing(err) && try < lostTries
		if !again {
			return r, err
		}
		if waitErr := sleep(ctx, min(time.Second, o.cfg.Poll)); waitErr != nil {
			return r, waitErr
		}
	}
}

// taken reports whether somebody else was at the card: a job that holds the lock,
// or another reader, which holds the flash semaphore for as long as it reads.
func taken(err error) bool {
	status, exit := exitOf(err)
	return status == flock.Taken || exit != nil && mstflint.Diagnose(status, exit.Stdout, exit.Stderr).Kind == mstflint.FailureSemaphore
}

// exitOf gives the status of a command that ran and failed.
func exitOf(err error) (int, *host.ExitError) {
	var exit *host.ExitError
	if errors.As(err, &exit) {
		return exit.Status, exit
	}
	return 0, nil
}

// inspect adds to facts what only a long look at the card gives: the silicon's
// own id, the verification of the whole flash, and its checksum. Each is read
// apart; what cannot be read stays unknown with its reason, for the verdict to
// judge. Only a host that does not answer is an error.
func (o *Ops) inspect(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	steps := []func(context.Context, host.Host, *safety.CardFacts) error{o.readHardware, o.readMethod, o.verifyFlash, o.readChecksum}
	for _, step := range steps {
		if err := step(ctx, h, facts); err != nil {
			return err
		}
	}
	return nil
}

// inspectedAs gives facts what an inspection has added to those of an earlier look
// at the same card.
func inspectedAs(facts, earlier safety.CardFacts) safety.CardFacts {
	facts.HWID, facts.HWKnown, facts.HWIDErr = earlier.HWID, earlier.HWKnown, earlier.HWIDErr
	facts.UpdateMethod, facts.Failsafe, facts.Checksum = earlier.UpdateMethod, earlier.Failsafe, earlier.Checksum
	facts.Verified, facts.VerifyError = earlier.Verified, earlier.VerifyError
	return facts
}

func (o *Ops) readHardware(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	out, reason, err := o.ask(ctx, h, mstflint.HWQuery(facts.PCI))
	if err != nil {
		return err
	}
	if reason != "" {
		facts.HWIDErr = reason
		return nil
	}
	hw, parseErr := mstflint.ParseHWQuery(out)
	if parseErr != nil {
		facts.HWIDErr = "mstflint hw query: " + parseErr.Error()
		return nil //nolint:nilerr // an id that is not known is a finding, and a refusal
	}
	facts.HWID, facts.HWKnown = hw.ID, true
	return nil
}

// readMethod asks who writes the flash in a burn; only the full query tells, and
// ConnectX-3 has one way only.
func (o *Ops) readMethod(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	if facts.Format == "FS2" {
		return nil
	}
	out, reason, err := o.ask(ctx, h, mstflint.Query(facts.PCI, true))
	if err != nil || reason != "" {
		return err
	}
	if img, parseErr := mstflint.ParseQuery(out); parseErr == nil {
		facts.UpdateMethod = img.UpdateMethod
	}
	return nil
}

func (o *Ops) verifyFlash(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	r, err := o.shared(ctx, h, mstflint.Verify(facts.PCI))
	status, exit := exitOf(err)
	if err != nil && exit == nil {
		return err
	}
	stdout := string(r.Stdout)
	if exit != nil {
		stdout = exit.Stdout
	}
	v, parseErr := mstflint.ParseVerify(stdout)
	if parseErr != nil {
		facts.Verified, facts.VerifyError = safety.VerifyUnknown, "mstflint verify: "+parseErr.Error()
		if exit != nil {
			facts.VerifyError = failureText(exit)
		}
		return nil // a flash that is not verified is a finding, and a refusal
	}
	facts.Failsafe = safety.FailsafeNo
	if v.Failsafe {
		facts.Failsafe = safety.FailsafeYes
	}
	switch {
	case v.OK && status == 0:
		facts.Verified = safety.VerifyGood
	case facts.BlankGUIDs && onlyBlank(v):
		facts.Verified = safety.VerifyBlank
	default:
		facts.Verified, facts.VerifyError = safety.VerifyBad, v.Problem
	}
	return nil
}

// onlyBlank reports whether the GUID section that was never set is the one
// thing that the tool complains about.
func onlyBlank(v mstflint.Verification) bool {
	for _, s := range v.Sections {
		if s.Result != "OK" && s.Result != "CRC IGNORED" && !strings.Contains(s.Result, "BLANK") {
			return false
		}
	}
	return len(v.Sections) > 0
}

func (o *Ops) readChecksum(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	out, reason, err := o.ask(ctx, h, mstflint.Checksum(facts.PCI))
	if err != nil || reason != "" {
		return err
	}
	if sum, parseErr := mstflint.ParseChecksum(out); parseErr == nil {
		facts.Checksum = sum
	}
	return nil
}

// ask runs a reading command of the tool. A run that failed gives the reason; a
// host that did not answer gives an error.
func (o *Ops) ask(ctx context.Context, h host.Host, cmd shellcmd.Command) (stdout, reason string, err error) {
	r, err := o.shared(ctx, h, cmd)
	if _, exit := exitOf(err); exit != nil {
		return "", failureText(exit), nil
	}
	return string(r.Stdout), "", err
}

func failureText(exit *host.ExitError) string {
	d := mstflint.Diagnose(exit.Status, exit.Stdout, exit.Stderr)
	text := string(d.Kind)
	if d.Line != "" {
		text += ": " + d.Line
	}
	if d.Kind == mstflint.FailureCrashed {
		text += " (releases from 4.30 on are known to crash on ConnectX-3)"
	}
	return text
}
