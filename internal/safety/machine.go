package safety

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// spaceReserve is how many bytes must stay free on the host beside the files: for the
// journal, the tool's output and the system.
const spaceReserve = 16 << 20

// machine gives the findings on the host that hold for every write of flash.
func machine(card CardFacts, host HostFacts, need int64) []finding.Finding {
	var found []finding.Finding
	if host.Observe {
		found = append(found, hostcheck.OnlyRead(host.Host))
	}
	for _, f := range hostcheck.Lockdown(&host.Snapshot, card.ReadFlash() != nil) {
		found = append(found, card.byDriver(f))
	}
	found = append(found, hostcheck.Battery(&host.Snapshot)...)
	found = append(found, hostcheck.Programs(&host.Snapshot)...)
	found = append(found, hostcheck.Jobs(&host.Snapshot, card.PCI)...)
	switch free, known := host.StateFree.Get(); {
	case !known:
		found = append(found, finding.HostWithoutSpace.Unread("How much space is free on "+host.Host, host.StateFree.Why()))
	case free < need:
		found = append(found, finding.HostWithoutSpace.Find("%d MiB are free, %d MiB are needed", free>>20, need>>20))
	}
	if host.BackupDir == "" {
		found = append(found, finding.BackupDirNotSet.Find("backup_dir is not set"))
	}
	if host.BackupProblem != "" {
		found = append(found, finding.BackupDirUnusable.Find("backup_dir is %s: %s", host.BackupDir, host.BackupProblem))
	}
	return append(found, hostcheck.Managers(&host.Snapshot, card.PCI)...)
}

// waitVerdict is the verdict while a job of an earlier run changes the card. The job
// holds the lock, so the card cannot even be read. ok is false if no job runs.
func waitVerdict(card CardFacts, host HostFacts, known []finding.Finding) (v Verdict, ok bool) {
	for i := range host.Jobs {
		j := &host.Jobs[i]
		if j.MayRun() && j.Unreadable() == "" && j.PCI.Slot() == card.PCI.Slot() {
			found := slices.Concat(known, hostcheck.Jobs(&host.Snapshot, card.PCI))
			return seal(Verdict{Action: ActionWait, Findings: found}, card, false), true
		}
	}
	return Verdict{}, false
}

// Restart gives the findings that stop a restart of the host just before it: what has
// changed since the verdict.
func Restart(host HostFacts) []finding.Finding {
	found := append(hostcheck.Battery(&host.Snapshot), hostcheck.Restart(&host.Snapshot, host.Interrupts)...)
	found = append(found, hostcheck.AnyUsers(&host.Snapshot)...)
	for i := range host.Jobs {
		if j := &host.Jobs[i]; j.MayRun() {
			found = append(found, finding.FlashJobRunning.Find("Job %s (%s of %s), started by %s", j.ID, j.Kind, j.PCI,
				cmp.Or(j.Operator, "unknown")))
		}
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool { return !f.Severity.Blocks() })
}

// activation gives the activation and the findings on it.
func activation(card CardFacts, host HostFacts, want Activation) (Activation, []finding.Finding) {
	if want != ActivationReboot {
		chip := cmp.Or(card.Chip.Name, "chip that is not known")
		return ActivationNone, []finding.Finding{hostcheck.NoRestart(cmp.Or(string(want), "none"), chip)}
	}
	if !host.RebootAllowed {
		return ActivationReboot, []finding.Finding{finding.RebootNotAllowed.Find("The provider does not allow a "+
			"restart of %s", host.Host)}
	}
	return ActivationReboot, append(hostcheck.Restart(&host.Snapshot, host.Interrupts), othersLoad(card, host)...)
}

// restartAfter gives the activation of a write. Where the write is refused for a flash that may not start, the restart
// that was to follow is refused by name: somebody may do by hand what is left of the plan.
func restartAfter(card CardFacts, host HostFacts, want Activation) (Activation, []finding.Finding) {
	if want == ActivationHost {
		return ActivationNone, nil
	}
	act, found := activation(card, host, want)
	if act == ActivationReboot && mayNotStart(card) {
		found = append(found, bootable(card)...)
	}
	return act, found
}

// restartOnly adds to a verdict that writes nothing what is to be said of the
// activation: the card loads at the restart what is in flash now.
func restartOnly(v Verdict, card CardFacts, host HostFacts, want Activation, consent []string) Verdict {
	act, found := activation(card, host, want)
	v.Activation, v.Findings = act, append(v.Findings, found...)
	if act != ActivationReboot {
		return v
	}
	v.Findings = append(v.Findings, bootable(card)...)
	v.Findings = append(v.Findings, hostcheck.Path(&host.Snapshot, card.PCI, consent)...)
	v.Findings = append(v.Findings, hostcheck.Battery(&host.Snapshot)...)
	if host.Observe {
		v.Findings = append(v.Findings,
			hostcheck.OnlyRead(host.Host, "it has to restart, so that the card runs what is in flash"))
	}
	return v
}

// HostRestart gives the verdict on a restart of the host for what waits in a card. It writes nothing.
func HostRestart(card CardFacts, host HostFacts, consent []string) Verdict {
	return seal(restartOnly(Verdict{Action: ActionNone}, card, host, ActivationReboot, consent), card, false)
}

// LoadsAtRestart reports whether a restart of the host has the card load what is in its
// flash. One in recovery mode has nothing to lose; what is no chip of ours cannot be read.
func LoadsAtRestart(c *inventory.Card) bool {
	return c.VendorID == ib.MellanoxVendor && c.Chip.Name != "" && c.PCI.Function() == 0 && !c.Virtual && !c.Livefish
}

// Loads gives the findings that stop a restart in the moment before it, for the sake of the
// cards that load their flash then.
func Loads(cards []CardFacts) []finding.Finding {
	var found []finding.Finding
	for _, c := range cards {
		found = append(found, bootable(c)...)
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool { return !f.Severity.Blocks() })
}

// othersLoad refuses a restart for one card while nobody can read the flash of another one: a restart is one of the
// whole host. Whether those that can be read are whole is asked in the moment before it.
func othersLoad(card CardFacts, host HostFacts) []finding.Finding {
	var found []finding.Finding
	for i := range host.Cards {
		c := &host.Cards[i]
		// One that is busy is asked again in the moment of the restart.
		busy := c.FlashFailure == inventory.FlashBusy || c.FlashFailure == inventory.FlashLocked
		if c.PCI.Slot() == card.PCI.Slot() || !LoadsAtRestart(c) || c.Flash != nil || busy || host.AnyJobMayRun() {
			continue
		}
		found = append(found, bootable(CardFacts{Card: *c})...)
	}
	return found
}

// backup gives the findings on the backup; nil means that none was taken yet.
func backup(card CardFacts, b *BackupFacts) []finding.Finding {
	if b == nil {
		return nil
	}
	if !b.TwoReadsEqual {
		return []finding.Finding{finding.BackupUnproven.Find("Two reads of the flash differ, so that no copy was kept.")}
	}
	doubts := BackupDoubts(card, b)
	if len(doubts) == 0 && (b.Path == "" || b.SHA256 == "") {
		doubts = []string{"it is not on the operator's machine"}
	}
	if len(doubts) == 0 {
		return nil
	}
	kept := "Backup " + b.Path
	if b.Path == "" {
		kept = "The copy of the flash was not kept"
	}
	return []finding.Finding{finding.BackupUnproven.Find("%s: %s", kept, strings.Join(doubts, "; "))}
}

// BackupDoubts says why a copy of the flash is not proven to be the firmware of the card.
func BackupDoubts(card CardFacts, b *BackupFacts) (doubts []string) {
	for _, c := range []struct {
		ok   bool
		what string
	}{
		{b.ToolVerified || card.ByDriver(), "mstflint does not verify it"},
		{b.Parsed, "the copy on the operator's machine does not verify"},
		{b.PSID == card.InFlash().PSID, fmt.Sprintf("it holds PSID %q, the card has %q", b.PSID, card.InFlash().PSID)},
		{b.FW == card.InFlash().FW, fmt.Sprintf("it holds version %s, the card has %s", b.FW, card.InFlash().FW)},
		{card.Rollback == nil || b.SHA256 == card.Rollback.SHA256, "it is not the rollback image"},
		{b.GUIDs == card.InFlash().GUIDs || card.InFlash().BlankGUIDs || card.Rollback != nil, "its GUIDs or MACs differ"},
	} {
		if !c.ok {
			doubts = append(doubts, c.what)
		}
	}
	return doubts
}
