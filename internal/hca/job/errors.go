package job

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// request is what a job is asked for, and of which card.
type request struct {
	c    cards.Card
	want journal.Entry
}

func (r request) notStarted(what string, err error) *cards.Error {
	return &cards.Error{
		Summary: "Unable to start the flash job of card " + r.c.ID(),
		What:    what,
		Means:   "Nothing was written to the card.",
		Facts:   r.place(),
		Err:     err,
	}
}

func (r request) goesOn(why string, err error) error {
	return &cards.Error{
		Summary: "Unable to follow job " + r.want.ID + " on card " + r.c.ID(),
		Heading: r.unknownEnd(),
		What:    "The change of the flash was started as a job of the host, and " + why + ".",
		Means:   "The job was not stopped and goes on. Do not restart the host or unplug the card before it has ended.",
		Check: "Apply again. It finds the job, waits for its end, reads the card and records the result. To look by hand: " +
			"systemctl status " + r.unit(),
		Facts: append(r.place(), cards.Fact{"Unit", r.unit()}),
		Err:   err,
	}
}

// vanishedError is the error about a job whose directory was removed before its end was read.
func (r request) vanishedError(out outcome) error {
	return &cards.Error{
		Summary: "Unable to follow job " + r.want.ID + " on card " + r.c.ID(),
		What: "Somebody removed the directory of the job while it ran, and with it the record of how it ended. The job " +
			"has ended since: " + out.evidence() + ".",
		Means: "The flash may have been written. Whether it was written to the end is not known.",
		Check: "Do not restart the host before the flash verifies: mstflint -d " + r.c.PCI.String() +
			" v, then mstflint -d " + r.c.PCI.String() + " q. " +
			"If it does, run the same command again. If it does not, burn the backup " + r.writeBack(out),
		Facts: append(r.place(), cards.Fact{"Unit", r.unit()}),
	}
}

// startedAnew reports whether the host has started anew since the job began, and the card from
// its flash with it.
func (r request) startedAnew(out outcome) fact.Bool {
	if out.bootID == "" || r.want.BootID == "" {
		return fact.Unknown[bool]("a boot id is missing")
	}
	return fact.Known(out.bootID != r.want.BootID)
}

// hostText says whether the host has started anew. The job itself asks for no restart.
func (r request) hostText(out outcome) string {
	switch anew := r.startedAnew(out); {
	case fact.Yes(anew):
		return "The host has started anew since the job began, and the provider had not asked for that."
	case fact.No(anew):
		return "The host was not restarted."
	}
	return "The provider has not asked for a restart of the host."
}

// runsText says what the card runs whose flash may not start, and what must not be done.
func (r request) runsText(out outcome) string {
	// A running card has its firmware in memory, and takes a burn. One that starts from a bad flash may not.
	const keep = "Do not restart the host and do not switch it off"
	switch anew := r.startedAnew(out); {
	case fact.Yes(anew):
		return "The host has started anew since the job began. A card starts from its flash then."
	case fact.No(anew):
		return keep + ": the card still runs its old firmware from memory."
	}
	return keep + "."
}

// unknownEnd is the title of an error that says nothing against the card.
func (r request) unknownEnd() string {
	return "Unable to say yet how the write to card " + r.c.ID() + " ended"
}

// refusalError is the refusal of a job that found a reason against its write, as the
// catalogue has it; nil if it ended for another reason.
func (r request) refusalError(out outcome) error {
	var f finding.Finding
	switch {
	// By whom is in the journal. A lock without a name is somebody else's program, and has another text.
	case out.Exit == exitLocked && len(out.Held) > 0:
		f = finding.FlashJobRunning.Find("Another job holds the lock of the host: %s of card %s, started by %s, since %s.",
			out.Held["job"], out.Held["pci"], out.Held["operator"], out.Held["since"])
	case out.Exit == exitOther:
		f = finding.CardExchanged.Find("The job on the host found another card than the one it was for: %s.",
			orNothing(out.Reason))
	case out.Exit == exitInUse:
		f = finding.CardInUse.Find("Before it wrote anything, the job on the host checked whether another program uses the "+
			"card: %s.", orNothing(out.Reason))
	default:
		return nil
	}
	f.Evidence += out.classText() + " Job directory: " + journal.Dir(r.want.ID) + "."
	return &safety.RefusedError{What: "write the flash of card " + r.c.ID(), Findings: []finding.Finding{f}}
}

// endedEarly is the error of a job that wrote nothing and named no rule.
func (r request) endedEarly(out outcome) error {
	e := &cards.Error{
		Summary: "Unable to write the flash of card " + r.c.ID(),
		What:    "The job on the host ended before it wrote anything: " + orNothing(out.Reason) + ".",
		Means:   "Nothing was written to the card.",
		Check:   "Plan again: the facts that the plan was made on have changed.",
		Facts:   r.evidence(out),
	}
	switch {
	case out.Exit == exitStart:
		e.Check = "Look at the host's log with journalctl -u " + r.unit() + "."
	case !out.Ended:
		e.What = "The job on the host ended or was interrupted before it wrote anything, and left no reason."
		e.Check = "Run the same command again. If it happens again, look at the host's log with journalctl -u " + r.unit() +
			": systemd-inhibit needs systemd-logind to run."
	}
	return e
}

// writeError is the error of a write that went wrong, with the runbook.
func (r request) writeError(out outcome, what string) *cards.Error {
	while := ""
	if fact.No(r.startedAnew(out)) {
		while = "while the card still runs, "
	}
	summary := "Unable to write the flash of card " + r.c.ID()
	// By the driver (devlink) nobody wrote a flash: no runbook of mstflint helps.
	if r.want.Package.Path != "" {
		return &cards.Error{Summary: summary, What: what,
			Means: "The firmware of the card keeps the image that runs, and verifies another one before it puts that beside " +
				"it. After an update that failed it does not tell its versions before its next reset.",
			Check: "Restart the host, then run the same command again: it reads what the card has, and records that.",
			Facts: r.evidence(out)}
	}
	return &cards.Error{
		Summary: summary,
		What:    what,
		Means:   "What is in the flash is not proven. " + r.runsText(out),
		Check: "1. Look at the card: mstflint -d " + r.c.PCI.String() + " q, then the same with v.\n" +
			"2. If v says that the image is bootable, run the same command again.\n" +
			"3. If not, burn the backup " + while + r.writeBack(out) + "\n" +
			"4. If mstflint says that the flash semaphore is taken, make sure that no other program uses the card (pgrep -a " +
			"'mst|flint|fwupd'), then ask again: " +
			"a query that fails frees what a killed tool left behind. If it still fails, clear it: " +
			"mstflint -clear_semaphore -d " + r.c.PCI.String(),
		Facts: r.evidence(out),
	}
}

// writeBack is the command that burns what the job replaced, from the copy that its host keeps.
// A card that has started and found no firmware in its flash takes no such burn.
func (r request) writeBack(out outcome) string {
	kept := cmp.Or(r.want.Backup, "backup_dir")
	// -allow_psid_change, because the burn may have changed the PSID, and the tool refuses to go back without it.
	text := "on the host, as root: mstflint -d " + r.c.PCI.String() + " -allow_psid_change -i " +
		inventory.BackupFile(cmp.Or(r.want.BackupSHA256, "FIRMWARE_SHA256")) + " b."
	if r.want.BackupSHA256 == "" {
		text += " FIRMWARE_SHA256 is firmware_sha256 of card.json in " + kept + " on the machine that ran Terraform."
	}
	text += " If the host lacks this file, copy firmware.bin from " + kept +
		" on the machine that ran Terraform to the host, and name that copy."
	if fact.Yes(r.startedAnew(out)) {
		text += " If the card shows its recovery id, this command fails. Plan again: the plan has the steps (" +
			finding.CardInRecovery.Code + ")."
	}
	return text
}

func (r request) unread(out outcome, err error) error {
	e := r.writeError(out, "The tool has ended, and the card could not be read afterwards.")
	e.Check = "Run the same command again when the host answers: it reads the card and records the result."
	e.Err = err
	var refused *safety.RefusedError
	if errors.As(err, &refused) {
		e.What = "The tool has ended, and what is in the slot now is not the card that it was for."
		e.Means = "Nothing was written to the card that is there now. What is in the flash of the right one is not proven."
		e.Check = "Run the same command again when the right card is back: it reads the card and records the result."
	}
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		e.Heading = r.unknownEnd()
		e.What = "The write was started and its tool has ended. The connection broke before the card was read."
		e.Means = "Whether the flash holds the new content is not known yet. Do not switch the host off and do not " +
			"restart it."
	}
	return e
}

func (r request) evidence(out outcome) []cards.Fact {
	facts := append(r.place(), cards.Fact{"Last state", out.last()})
	if out.Ended {
		facts = append(facts, cards.Fact{"Exit status", strconv.Itoa(out.Exit)})
	}
	return append(facts, cards.Fact{"Output", cards.Tail(out.display(), 2000)})
}

func (r request) place() []cards.Fact {
	return []cards.Fact{{"Host", r.c.Host.Name()}, {"Card", r.c.PCI.String()}, {"Job directory", journal.Dir(r.want.ID)}}
}

func (r request) unit() string { return inventory.JobUnit(r.want.ID) }

func orNothing(s string) string {
	if strings.TrimSpace(s) == "" {
		return "it left no reason"
	}
	return strings.TrimSpace(s)
}

// both adds a second error, if there is one, to the one that matters.
func both(e, second error) error {
	if second == nil {
		return e
	}
	return errors.Join(e, second)
}
