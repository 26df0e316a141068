package safety

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// machine gives the findings on the host that hold for every write of flash.
func machine(card CardFacts, host HostFacts, need int64) []finding.Finding {
	var found []finding.Finding
	if host.Observe {
		found = append(found, OnlyRead(host.Host))
	}
	found = append(found, lockdown(card, host)...)
	found = append(found, battery(host)...)
	found = append(found, missingTools(host)...)
	found = append(found, jobs(card, host)...)
	switch free, known := host.StateFree.Get(); {
	case !known:
		found = append(found, unread(finding.HostWithoutSpace, "How much space is free on "+host.Host, host.StateFree.Why()))
	case free < need:
		found = append(found, finding.HostWithoutSpace.Find("%d MiB are free, %d MiB are needed", free>>20, need>>20))
	}
	if host.BackupDir == "" {
		found = append(found, finding.BackupDirNotSet.Find("backup_dir is not set"))
	}
	if host.BackupProblem != "" {
		found = append(found, finding.BackupDirUnusable.Find("backup_dir is %s: %s", host.BackupDir, host.BackupProblem))
	}
	return append(found, managers(card, host)...)
}

// unread is the finding of a rule whose fact could not be read. It weighs as much as
// the bad answer, and says that the fact is not known.
func unread(rule *finding.Rule, what, why string) finding.Finding {
	f := rule.Find("%s is not known: %s", what, why)
	f.Summary = what + " could not be read"
	return f.WithWayOut("Fix what kept it from being read, then plan again. " + f.WayOut)
}

// jobPrograms are what a flash job runs besides the tool.
var jobPrograms = []string{"systemd-run", "systemd-inhibit", "flock", "sha256sum"}

func missingTools(host HostFacts) []finding.Finding {
	missing := host.Lacks(jobPrograms...)
	names, known := missing.Get()
	switch {
	case !known:
		return []finding.Finding{unread(finding.HostLacksPrograms, "Which of the needed programs "+host.Host+" has",
			missing.Why())}
	case len(names) > 0:
		return []finding.Finding{finding.HostLacksPrograms.Find("Not found on %s: %s", host.Host, strings.Join(names, ", "))}
	}
	return nil
}

// managers are the subnet managers that lose their port with the card, but for ports of
// which another finding says it.
func managers(card CardFacts, host HostFacts, but ...int) []finding.Finding {
	managed := host.Managers(card.PCI)
	ports, known := managed.Get()
	if !known {
		return []finding.Finding{unread(finding.SubnetManagerOnCard, "Whether a subnet manager runs on a port of the card",
			managed.Why())}
	}
	ports = slices.DeleteFunc(ports, func(n int) bool { return slices.Contains(but, n) })
	if len(ports) == 0 {
		return nil
	}
	return []finding.Finding{finding.SubnetManagerOnCard.Find("Ports with a subnet manager: %s", joinInts(ports))}
}

// lockdown is about a kernel that forbids direct access to PCI devices. mstflint's own
// module gets around it; if the flash could be read, that works.
func lockdown(card CardFacts, host HostFacts) []finding.Finding {
	mode, known := host.Lockdown.Get()
	if known && (mode == "" || mode == "none") {
		return nil
	}
	f := finding.KernelLockedDown.Find("/sys/kernel/security/lockdown of %s: %s", host.Host, mode)
	if !known {
		f = unread(finding.KernelLockedDown, "Whether the kernel of "+host.Host+" is locked down", host.Lockdown.Why())
	}
	if host.Modules["mstflint_access"] && card.FlashKnown() {
		f = f.AsGranted("Kernel is locked down; the module mstflint_access gives access to the card")
	}
	return []finding.Finding{f}
}

func jobs(card CardFacts, host HostFacts) []finding.Finding {
	var found []finding.Finding
	for i := range host.Jobs {
		j := &host.Jobs[i]
		what := j.What()
		// A job that does not say whose it is may be this card's.
		switch ours := j.PCI.Slot() == card.PCI.Slot() || !j.PCI.IsValid(); {
		case ours && (j.MayRun() || !j.Settled):
			found = append(found, ownJob(j, what))
		case j.MayRun():
			found = append(found, finding.FlashJobRunning.Find("%s", what))
		}
	}
	return found
}

// ownJob gives the finding on a job of this very card that is not over.
func ownJob(j *inventory.Job, what string) finding.Finding {
	switch {
	case j.Unreadable() != "" && !j.Settled:
		return finding.FlashJobUnreadable.Find("%s: %s", what, j.Unreadable()).WithWayOut(wayOutOfUnreadable(j))
	case j.Lost:
		return finding.FlashJobUnsettled.Find("%s is running, and somebody has removed its directory. The next apply waits "+
			"for its end and then reads the card.", what)
	case !j.Running.Known():
		return finding.FlashJobUnsettled.Find("%s may be running: %s. The next apply waits until that is known, and reads "+
			"the card afterwards.", what, j.Running.Why())
	case fact.Yes(j.Running):
		return finding.FlashJobUnsettled.Find("%s is running; the next apply waits for it and reads the card afterwards.",
			what)
	case j.Exit != "":
		return finding.FlashJobUnsettled.Find("%s has ended.", what)
	}
	return finding.FlashJobUnsettled.Find("%s was interrupted before it ended, by a power cut, a reset of the host, a "+
		"full disk, or a kill.", what)
}

// wayOutOfUnreadable says how a job is brought to an end of which this version cannot read
// what it was.
func wayOutOfUnreadable(j *inventory.Job) string {
	text, pci := "Wait", "ADDRESS"
	if j.PCI.IsValid() {
		pci = j.PCI.String()
	}
	if j.Request["version"] != "" {
		text = "Apply once with the version of the provider that wrote it. It records the result of the job.\n" +
			"If there is none any more: wait"
	}
	return fmt.Sprintf(text+" until systemctl is-active infiniband-flash-%[2]s.service says inactive, look at "+
		"the card with mstflint -d %[1]s q and mstflint -d %[1]s v, "+
		"and if the image is bootable, write on the host: echo by hand "+
		">/var/lib/terraform-provider-infiniband/jobs/%[2]s/settled", pci, j.ID)
}

// waitVerdict is the verdict while a job of an earlier run changes the card. The job
// holds the lock, so the card cannot even be read. ok is false if no job runs.
func waitVerdict(card CardFacts, host HostFacts, known []finding.Finding) (v Verdict, ok bool) {
	for i := range host.Jobs {
		j := &host.Jobs[i]
		if j.MayRun() && j.Unreadable() == "" && j.PCI.Slot() == card.PCI.Slot() {
			return seal(Verdict{Action: ActionWait, Findings: append(known, jobs(card, host)...)}, card, false), true
		}
	}
	return Verdict{}, false
}

// battery is about a host on battery, which may go off during a write of flash or a
// restart.
func battery(host HostFacts) []finding.Finding {
	supplies, known := host.Battery.Get()
	if !known {
		return []finding.Finding{unread(finding.HostRunsOnBattery, "Whether "+host.Host+" runs on battery",
			host.Battery.Why())}
	}
	var found []finding.Finding
	for _, b := range supplies {
		found = append(found, finding.HostRunsOnBattery.Find("%s says %s", b.Name, b.Status))
	}
	return found
}

// Restart gives the findings that stop a restart of the host just before it: what has
// changed since the verdict.
func Restart(host HostFacts) []finding.Finding {
	found := append(battery(host), restart(host)...)
	found = append(found, anyInUse(host)...)
	for i := range host.Jobs {
		if j := &host.Jobs[i]; j.MayRun() {
			found = append(found, finding.FlashJobRunning.Find("Job %s (%s of %s), started by %s", j.ID, j.Kind, j.PCI,
				cmp.Or(j.Operator, "unknown")))
		}
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool { return !f.Severity.Blocks() })
}

// restart gives the findings on what else of the host a restart concerns.
func restart(host HostFacts) []finding.Finding {
	return slices.Concat(serverFindings(host), poolScans(host), kubernetes(host))
}

func serverFindings(host HostFacts) []finding.Finding {
	servers, known := host.Servers.Get()
	switch {
	case !known:
		return []finding.Finding{unread(finding.HostServesShares, "Which files and disks "+host.Host+" serves",
			host.Servers.Why())}
	case len(servers) == 0:
		return nil
	}
	list := make([]string, 0, len(servers))
	for _, s := range servers {
		list = append(list, fmt.Sprintf("%s (clients connected: %d)", s.Name, s.Clients))
	}
	return []finding.Finding{finding.HostServesShares.Find("%s serves %s", host.Host, strings.Join(list, ", "))}
}

func poolScans(host HostFacts) []finding.Finding {
	scans, known := host.Scans.Get()
	if !known {
		return []finding.Finding{unread(finding.HostScansPool,
			"Whether a ZFS pool of "+host.Host+" is scrubbed or resilvered", host.Scans.Why())}
	}
	var found []finding.Finding
	for _, p := range scans {
		found = append(found, finding.HostScansPool.Find("Pool %s of %s: %s in progress", p.Name, host.Host, p.Doing))
	}
	return found
}

// kubernetesUnits are the services of a node: those of Kubernetes and of the
// distributions that contain the kubelet.
var kubernetesUnits = []string{"kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service",
	"rke2-agent.service"}

func kubernetes(host HostFacts) []finding.Finding {
	active := host.Active(kubernetesUnits...)
	units, known := active.Get()
	switch {
	case !known:
		return []finding.Finding{unread(finding.HostInKubernetes, "Whether "+host.Host+" is a node of Kubernetes",
			active.Why())}
	case len(units) == 0:
		return nil
	}
	return []finding.Finding{finding.HostInKubernetes.Find("Running on %s: %s", host.Host, strings.Join(units, ", "))}
}

// activation gives the activation and the findings on it.
func activation(card CardFacts, host HostFacts, want Activation) (Activation, []finding.Finding) {
	if want != ActivationReboot {
		return ActivationNone, []finding.Finding{finding.RestartNeeded.Find("activation = %q; the card is a %s",
			cmp.Or(string(want), "none"), cmp.Or(card.Chip.Name, "chip that is not known"))}
	}
	if !host.RebootAllowed {
		return ActivationReboot, []finding.Finding{finding.RebootNotAllowed.Find("activation = \"reboot\", and the provider "+
			"does not allow a restart of %s", host.Host)}
	}
	return ActivationReboot, append(restart(host), othersLoad(card, host)...)
}

// restartAfter gives the activation of a write. Where the write is refused for a flash that
// may not start, the restart that was to follow is refused by name: somebody may do by
// hand what is left of the plan.
func restartAfter(card CardFacts, host HostFacts, want Activation) (Activation, []finding.Finding) {
	act, found := activation(card, host, want)
	if act == ActivationReboot && mayNotStart(card) {
		found = append(found, bootable(card)...)
	}
	return act, found
}

// mayNotStart reports whether what was read of a flash speaks against a restart. One that
// could not be asked says nothing.
func mayNotStart(card CardFacts) bool {
	if card.FlashKnown() {
		return card.Verified == VerifyBad
	}
	return !card.FlashTaken && card.FlashFailure != inventory.FlashUsersUnknown && !notPermitted(card)
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
	v.Findings = append(append(v.Findings, path(card, host, consent)...), battery(host)...)
	if host.Observe {
		v.Findings = append(v.Findings, OnlyRead(host.Host, "it has to restart, so that the card runs what is in flash"))
	}
	return v
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

// othersLoad refuses a restart for one card while nobody can read the flash of another one:
// a restart is one of the whole host. Whether those that can be read are whole is asked
// in the moment before it.
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

// bootable refuses a restart unless the flash holds an image that is known to be whole.
func bootable(card CardFacts) []finding.Finding {
	var f finding.Finding
	switch {
	case !card.FlashKnown():
		f = finding.RestartIntoDamagedFlash.Find("The flash of card %s cannot be read: %s", card.PCI,
			cmp.Or(card.FlashError, "the query gave no answer"))
		if card.FlashFailure == inventory.FlashLocked {
			f = f.WithWayOut(waitForLock)
		}
	case card.Verified == VerifyGood || card.Verified == VerifyBlank:
		return nil
	default:
		f = finding.RestartIntoDamagedFlash.Find("mstflint verify of card %s: %s", card.PCI,
			cmp.Or(card.VerifyError, "no answer"))
		if card.Verified == VerifyUnknown && guardsItself(card) {
			f.Severity = finding.Warn
			f.Summary = "The flash of card " + card.PCI.String() + " cannot be verified before the restart"
			f = f.WithWayOut("The provider never writes to this card. Its firmware writes the flash itself, and keeps the old " +
				"image until the new one is whole.")
		}
	}
	return withAddress([]finding.Finding{f}, card.PCI) // it may be another card than the request's
}

// guardsItself reports whether the firmware of a card keeps mstflint from its flash, so
// that no tool can verify it from outside. Such a card is not written to (FW042, FW061).
func guardsItself(card CardFacts) bool {
	return securityAttributes(card.InFlash().SecurityAttrs) != "" || Unproven(card.Chip) != ""
}

func joinInts(ns []int) string {
	ns = slices.Clone(ns)
	slices.Sort(ns)
	out := make([]string, 0, len(ns))
	for _, n := range ns {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}

// backup gives the findings on the backup; nil means that none was taken yet.
func backup(card CardFacts, b *BackupFacts) []finding.Finding {
	if b == nil {
		return nil
	}
	if !b.TwoReadsEqual {
		return []finding.Finding{finding.BackupUnproven.Find("Two reads of the flash differ, so that no copy was kept.")}
	}
	var missing []string
	for _, c := range []struct {
		ok   bool
		what string
	}{
		{b.Path != "" && b.SHA256 != "", "it is not on the operator's machine"},
		{b.ToolVerified, "mstflint does not verify it"},
		{b.Parsed, "the copy on the operator's machine does not verify"},
		{b.PSID == card.InFlash().PSID, fmt.Sprintf("it holds PSID %q, the card has %q", b.PSID, card.InFlash().PSID)},
		{b.FW == card.InFlash().FW, fmt.Sprintf("it holds version %s, the card has %s", b.FW, card.InFlash().FW)},
		{b.GUIDs == card.InFlash().GUIDs || card.InFlash().BlankGUIDs, "its GUIDs or MACs are not those of the card"},
	} {
		if !c.ok {
			missing = append(missing, c.what)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []finding.Finding{finding.BackupUnproven.Find("Backup %s: %s", cmp.Or(b.Path, "(none)"),
		strings.Join(missing, "; "))}
}
