package cards

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// BusyTries is how often a card is read, a second apart, while another program reads
// it. A backup by another apply reads the flash twice. A tool that failed may have left
// the semaphore set for good, so there is a limit.
const BusyTries = 60

// LockTries is how often a reader asks for the host's lock, a second apart. A reader
// waits only for the moment in which a job takes the lock.
const LockTries = 10

// writeTries is LockTries for a command that writes. It also waits for readers, also of
// other runs, which hold the lock for as long as a verification takes. Jobs wait as
// long.
const writeTries = 60

// lostTries is how often a command that only reads is sent again after the connection
// broke.
const lostTries = 3

// RunShared runs a command that reads a card. It takes the host's shared lock, which
// keeps off jobs of this provider. It refuses with *InUseError if another program uses
// the card, which the lock cannot keep off: two users of one card can make each other
// fail, and have stopped a burn (mstflint 4.21).
func (o *Session) RunShared(ctx context.Context, h host.Host, pci ib.PCIAddress,
	cmd shellcmd.Command) (host.Result, error) {
	return o.runLocked(ctx, h, cardusers.WithSharedLock(cmd, pci))
}

// Exclusive is RunShared for a command that writes the card outside a job; it takes the
// lock exclusively.
func (o *Session) Exclusive(ctx context.Context, h host.Host, pci ib.PCIAddress,
	cmd shellcmd.Command) (host.Result, error) {
	return o.runLocked(ctx, h, cardusers.Exclusive(cmd, pci))
}

// InUseError says that a card was not touched: other programs use it, or it is not
// known whether they do.
type InUseError struct {
	Users []string
	Why   string // why it could not be told; empty if there are users
}

func (e *InUseError) Error() string {
	if e.Why != "" {
		return "whether another program uses the card is not known: " + e.Why
	}
	return "busy: " + strings.Join(e.Users, "; ")
}

// Refusal refuses what was about to be done with the card.
func (e *InUseError) Refusal(what string) error {
	f := hostcheck.InUse(e.Users)
	if e.Why != "" {
		f = hostcheck.HiddenUsers(e.Why)
	}
	return &safety.RefusedError{What: what, Findings: []finding.Finding{f}}
}

// useError gives the *InUseError of a guarded command; nil if the command failed for
// another reason.
func useError(err error) error {
	status, exit := Exit(err)
	switch status {
	case cardusers.Unknown:
		return &InUseError{Why: strings.TrimSpace(exit.Stderr)}
	case cardusers.Busy:
		users, bad := cardusers.Parse(exit.Stderr)
		if bad != nil || len(users) == 0 {
			return &InUseError{Why: "the answer of the check was not understood: " + strings.TrimSpace(exit.Stderr)}
		}
		return &InUseError{Users: userTexts(users)}
	}
	return nil
}

func (o *Session) runLocked(ctx context.Context, h host.Host, cmd shellcmd.Command) (host.Result, error) {
	tries := LockTries
	if cmd.Changing() {
		tries = writeTries
	}
	for try := 1; ; try++ {
		r, err := o.turns.run(ctx, h, cmd)
		// Not tried again: who uses the card may burn it for minutes, and a person should know at once.
		if busy := useError(err); busy != nil {
			return r, busy
		}
		// A command that writes is not sent again after a broken connection: it may have run.
		again := isTaken(err) && try < tries || !cmd.Changing() && MayPass(err) && try < lostTries
		if !again {
			return r, err
		}
		if waitErr := poll.Pause(ctx, min(time.Second, o.Poll)); waitErr != nil {
			return r, waitErr
		}
	}
}

// isTaken reports whether a command failed because of another user of the card: a job
// that holds the lock, or a reader that holds the flash semaphore.
func isTaken(err error) bool {
	status, exit := Exit(err)
	return status == flock.Taken || exit != nil && mstflint.Diagnose(status, exit.Stdout, exit.Stderr).Kind.IsContention()
}

// Inspect adds to facts what takes long to read: the silicon's own id, the verification
// of the whole flash, and its checksum. Each is read by itself. What cannot be read
// stays unknown with its reason. The only error is a host that does not answer.
func (o *Session) Inspect(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	if facts.ByDriver() {
		return nil
	}
	// The short questions first, so that a card that is in use is left alone before the long ones.
	steps := []func(context.Context, host.Host,
		*safety.CardFacts) error{o.readHardware, o.readMethod, o.VerifyFlash, o.readChecksum}
	for _, step := range steps {
		if err := noteInUse(facts, step(ctx, h, facts)); err != nil || len(facts.InUse) > 0 {
			return err
		}
	}
	return nil
}

// withInspection copies the result of an earlier inspection of the same card into
// facts.
func withInspection(facts, earlier safety.CardFacts) safety.CardFacts {
	facts.HWID = earlier.HWID
	facts.UpdateMethod, facts.Failsafe = earlier.UpdateMethod, earlier.Failsafe
	facts.Checksum, facts.ChecksumWhy = earlier.Checksum, earlier.ChecksumWhy
	facts.Verified, facts.VerifyError = earlier.Verified, earlier.VerifyError
	facts.Rollback = earlier.Rollback
	return facts
}

// noteInUse records that another program came while the card was inspected. This is a
// finding and no error: what was read meanwhile may be wrong.
func noteInUse(facts *safety.CardFacts, err error) error {
	var busy *InUseError
	if !errors.As(err, &busy) {
		return err
	}
	// The flash too: a query beside another tool gives old and new mixed (4.21).
	facts.InUse, facts.Flash, facts.FlashError = busy.Users, nil, busy.Error()
	facts.Verified, facts.Failsafe, facts.HWID = safety.VerifyUnknown, safety.FailsafeUnknown,
		fact.Unknown[ib.HWID](busy.Error())
	return nil
}

func (o *Session) readHardware(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	out, reason, err := o.ask(ctx, h, facts.PCI, mstflint.HWQuery(facts.PCI))
	if err != nil {
		return err
	}
	if reason != "" {
		facts.HWID = fact.Unknown[ib.HWID](reason)
		return nil
	}
	id, parseErr := mstflint.ParseHWQuery(out)
	if parseErr != nil {
		facts.HWID = fact.Unknown[ib.HWID]("mstflint hw query: " + parseErr.Error())
		return nil //nolint:nilerr // an id that is not known is a finding, and a refusal
	}
	facts.HWID = fact.Known(id)
	return nil
}

// readMethod asks who writes the flash in a burn. Only the full query tells, and whether the
// tool reaches that firmware, only the way that it takes. ConnectX-3 has one way only.
func (o *Session) readMethod(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	if facts.InFlash().ImageType == "FS2" {
		return nil
	}
	out, reason, err := o.ask(ctx, h, facts.PCI, mstflint.Query(facts.PCI, true))
	if err != nil || reason != "" {
		return err
	}
	if img, parseErr := mstflint.ParseQuery(out); parseErr == nil {
		facts.UpdateMethod = img.UpdateMethod
	}
	if !strings.EqualFold(facts.UpdateMethod, safety.ByFirmware) {
		return nil
	}
	if out, reason, err = o.ask(ctx, h, facts.PCI, mstflint.Way(facts.PCI)); err != nil {
		return err
	}
	if reason != "" || !mstflint.ThroughFirmware(out) {
		facts.UpdateMethod += ", but mstflint does not reach the running firmware"
	}
	return nil
}

// Loaded gives the cards of a host that a restart has load their flash anew, each with
// its flash verified now.
func (o *Session) Loaded(ctx context.Context, h host.Host, s *inventory.Snapshot) ([]safety.CardFacts, error) {
	var all []safety.CardFacts
	for i := range s.Cards {
		if !safety.LoadsAtRestart(&s.Cards[i]) {
			continue
		}
		look, err := LookAt(s, s.Cards[i].PCI)
		if err != nil {
			return nil, err
		}
		facts := look.Facts
		if facts.FlashKnown() {
			if err = o.VerifyFlash(ctx, h, &facts); err != nil {
				return nil, err
			}
		}
		all = append(all, facts)
	}
	return all, nil
}

// VerifyFlash has the tool verify the whole flash, as Inspect does. A flash is called damaged only if
// the tool says so twice: what it reads beside another program looks like damage.
func (o *Session) VerifyFlash(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	if facts.ByDriver() {
		return nil
	}
	if err := o.verifyOnce(ctx, h, facts); err != nil || facts.Verified != safety.VerifyBad {
		return noteInUse(facts, err)
	}
	// To call a good flash bad is as dangerous: a person would burn a card that needs none.
	first := facts.VerifyError
	if err := o.verifyOnce(ctx, h, facts); err != nil || facts.Verified == safety.VerifyBad {
		return noteInUse(facts, err)
	}
	facts.Verified, facts.Failsafe = safety.VerifyUnknown, safety.FailsafeUnknown
	facts.VerifyError = "two runs of mstflint verify gave different answers (" + first +
		"), as when another program uses the card"
	return nil
}

func (o *Session) verifyOnce(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	facts.Verified, facts.VerifyError, facts.Failsafe = safety.VerifyUnknown, "", safety.FailsafeUnknown
	r, err := o.RunShared(ctx, h, facts.PCI, mstflint.Verify(facts.PCI))
	status, exit := Exit(err)
	if err != nil && exit == nil {
		return err
	}
	stdout := string(r.Stdout)
	if exit != nil {
		stdout = exit.Stdout
	}
	v, parseErr := mstflint.ParseVerify(stdout)
	kind := mstflint.Diagnose(status, stdout, "").Kind
	switch {
	case parseErr != nil:
		facts.VerifyError = "mstflint verify: " + parseErr.Error()
	case kind.IsContention() || v.Format == "" && (kind != mstflint.FailureBadImage || facts.GuardsItself()):
		// mstflint found no image, or another program disturbed it. Where the firmware lets it see
		// none, it says "Failed to read boot image. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE" (4.21).
		facts.VerifyError = "mstflint verify: " + v.Problem
	default:
		noteVerification(facts, v, status)
		return nil
	}
	if exit != nil {
		facts.VerifyError = failureText(exit)
	}
	return nil // a flash that is not verified is a finding, and a refusal
}

// noteVerification records what the tool says of an image that it found.
func noteVerification(facts *safety.CardFacts, v mstflint.Verification, status int) {
	switch {
	case v.Failsafe:
		facts.Failsafe = safety.FailsafeYes
	case v.Format != "":
		facts.Failsafe = safety.FailsafeNo
	}
	switch {
	case v.OK && status == 0:
		facts.Verified = safety.VerifyGood
	// v ends with status 1 for such an image, whose other sections are all good (4.21).
	case facts.InFlash().BlankGUIDs && v.OnlyBlankGUIDs():
		facts.Verified = safety.VerifyBlank
	default:
		facts.Verified, facts.VerifyError = safety.VerifyBad, v.Problem
	}
}

func (o *Session) readChecksum(ctx context.Context, h host.Host, facts *safety.CardFacts) error {
	facts.Checksum, facts.ChecksumWhy = "", ""
	out, reason, err := o.ask(ctx, h, facts.PCI, mstflint.Checksum(facts.PCI))
	if err != nil {
		return err
	}
	if reason != "" {
		facts.ChecksumWhy = "mstflint checksum: " + reason
		return nil
	}
	sum, parseErr := mstflint.ParseChecksum(out)
	if parseErr != nil {
		facts.ChecksumWhy = "mstflint checksum: " + parseErr.Error()
		return nil //nolint:nilerr // a content that is not known is a finding
	}
	facts.Checksum = sum
	return nil
}

// ask runs a reading command of the tool. A run that failed gives the reason; a
// host that did not answer gives an error.
func (o *Session) ask(ctx context.Context, h host.Host, pci ib.PCIAddress,
	cmd shellcmd.Command) (stdout, reason string, err error) {
	r, err := o.RunShared(ctx, h, pci, cmd)
	if _, exit := Exit(err); exit != nil {
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

func userTexts(users []inventory.CardUser) []string {
	texts := make([]string, len(users))
	for i, u := range users {
		texts[i] = u.String()
	}
	return texts
}
