package acctest

import (
	"fmt"
	"strings"
	"testing"
)

// faultPage is copied into docs by make generate.
const faultPage = "../../templates/guides/faults.md"

const faultIntro = `---
page_title: "What happens if…"
subcategory: ""
description: |-
  How card, backup and state end if something goes wrong in the middle of a burn.
---

<!-- Written by make faults from a run of the fault cases; do not edit. -->

# What happens if…

A lost connection, a killed provider, a power cut, a full disk or a tool that crashes can interrupt a burn at any moment.
The provider's tests cause each of these faults at each step of an apply, on the simulated lab. Then they look at the card, at the
backup and at the next apply. This page was written from such a run: %s.

These words name faults and steps:

* **operator**: the person who runs Terraform, and the machine on which it runs.
* **staging the image**: the image is copied to the host and verified there.
* **job**: the write of the flash. It is a unit of systemd on the host, so it goes on without a connection.
* **journal**: the files on the host in which the job notes what it is to do, how far it is and how it ended.
* **settling the job**: the card is read after the job, and the journal gets a note of what it holds.

After each case the tests check that

* the card boots the old image or the new one, with its old GUIDs and MACs or the new ones,
* the flash was not written before a backup was on the operator's disk,
* the backup verifies, records the identity of the card, and restores the old firmware when it is burned,
* a plan writes nothing; while the fault lasts, the plan or the apply names it,
* nothing in the state is tainted,
* the next apply succeeds and the plan after it is empty,
* the flash is not written twice, unless the fault came while it was being written.

| word | meaning |
|---|---|
| carried on | The same apply succeeded in spite of the fault. |
| next apply | The apply ended with an error that says what is known. The next apply succeeded without any work by hand. |
| after mending | Something had to be done by hand first, and the message said what: free space, give rights back, accept a host key, switch the machine off and on. Then the next apply succeeded. |

A simulated lab is not hardware. Does mstflint leave a bootable flash when it is killed or the power fails? That is tested with the real
program on an emulated card (` + "`make testbed`" +
	`). No program can show that the flash of a real card keeps what was written.
`

// about says what a fault is.
var about = map[string]string{
	"Connection lost before a command starts":         "The connection breaks when a command arrives at the host. The command does not run.",
	"Connection lost while a command runs":            "The connection breaks when a command has begun. The command runs to its end, and the provider does not hear of it.",
	answerLost:                                        "The connection breaks when a command has ended. Its output may have arrived, its exit status has not.",
	"Connection lost inside a transfer":               "The connection breaks after some bytes of a file. The file at the other end is complete or absent.",
	"Provider killed":                                 "The provider gets SIGKILL, or its machine dies. The job on the host goes on. The next apply finds the job's journal, waits for its end, reads the card and records the result.",
	"Power cut of the host":                           "The host loses power without warning and comes back. An erase or write of the flash stops in the middle.",
	"Host does not come back":                         "The host goes down for its restart and stays down until somebody switches it on.",
	"Host does not restart although it says so":       "The host accepts the restart and does not restart. Its boot id stays the same.",
	"Host comes back with another host key":           "The provider runs no command on a host that cannot prove who it is.",
	"Card keeps its old firmware over the restart":    "Some machines keep their cards powered during a restart. The provider does not restart the host again and again.",
	"Card is gone after the restart":                  "After the restart the card is not on the PCI bus.",
	"Disk of the host is full":                        "The file system that the step writes to has no free space.",
	"Disk of the operator is full":                    "The backup cannot be written to `backup_dir`, or cannot be flushed to the disk.",
	"sudo withdrawn":                                  "From this moment sudo says that the user is not in the sudoers file.",
	"mstflint killed (SIGKILL)":                       "Somebody kills mstflint, or the host runs out of memory. The flash semaphore of the card stays set. The next query fails and frees it. The query after that works.",
	"mstflint crashes (segmentation fault)":           "Releases from 4.30 on were reported to crash on ConnectX-3. In the middle of a write the flash semaphore stays set, until the next query fails and frees it.",
	"Flash does not take what is written":             "A part of the flash reads back with other bytes than were written. mstflint stops there.",
	"Output of mstflint is cut off":                   "The output of the tool ends in the middle, with status 0. The provider does not guess the rest.",
	"Host speaks German":                              "Sessions and units have LANG and LC_ALL of another language. The provider runs every program with LC_ALL=C, so nothing changes.",
	"mstflint speaks German, whatever it is told":     "The tool prints words that the provider does not know. The provider does not take them for success. It burns nothing, or reads back what was burned.",
	"mstflint says that it is done and did nothing":   "Exit status 0 proves nothing. The provider reads the card.",
	"mstflint says that it failed and did everything": "The provider reads the card. If the image is in flash, it is not burned again.",
	"mstflint does not end":                           "The provider does not kill a tool that hangs. Nobody can tell from outside how far it got.",
	"Journal of another version":                      "Another release of the provider left a job. This release cannot read that journal, so it stops and names the job.",
	"Clock set back ten years":                        "No decision depends on the time of day.",
	"Two applies at once":                             "Two operators, or two working directories, apply at the same time. One writes at a time; the other is told who holds the lock and since when. A second apply that begins after the first has ended judges the card as it is then. A restart loads only what was in flash when it was decided: if the other apply has written since, it is refused (HO019).",
	"Another card in the slot":                        "The power fails. When it is back, another card of the same kind is in the slot. Nothing is written to that card. The first card is put back before the next apply.",
	"Cards are renumbered":                            "The power fails. When it is back, a new device has moved the card to another PCI address. The plan names the new address. The device is removed before the next apply.",
	"Restart of the host by somebody else":            "Somebody restarts the host with a normal shutdown in the middle of the apply.",
	"Burn by hand":                                    "Somebody burns another version with mstflint on the host, without the lock of the provider's jobs.",
}

// resetFault is a fault at a moment of a reset by mstfwreset. The tests of such a reset hold how each case ends.
type resetFault struct {
	name, about string
	ends        []string // by the moments of resetMoments
}

// resetMoments are those at which the simulated tool can be disturbed, in their order.
var resetMoments = []string{"before the firmware is asked for the reset", "the driver is still bound",
	"the driver is unbound", "the PCI link is down", "the driver is not bound again", "the reset has ended"}

var (
	resetKilled = resetFault{"mstfwreset killed (SIGKILL)", "With `activation = \"least\"` a systemd unit on the host runs " +
		"mstfwreset. Somebody kills that process. The apply says that it was killed, and does not restart the host. No apply resets the " +
		"card again before the host has restarted. The next plan announces that restart, unless the reset had ended. If " +
		"the PCI link is down, the flash cannot be read: the plan is refused, and you must restart the host by hand " +
		"first. No image is lost: the flash was written and verified before.",
		[]string{nextApply, nextApply, nextApply, mended, nextApply, nextApply}}
	resetPowerCut = resetFault{"Power cut of the host during a reset", "The card loads the firmware from its flash when the host starts. " +
		"The apply says that the host has started anew. The next apply finds the card running what is in flash, and " +
		"restarts nothing.",
		[]string{nextApply, nextApply, nextApply, nextApply, nextApply, nextApply}}
	resetFaults = []resetFault{resetKilled, resetPowerCut}
)

// check holds how a case of the fault at a moment, from 1 on, has ended against what the page says.
func (r resetFault) check(t *testing.T, moment int, outcome string) {
	t.Helper()
	if want := r.ends[moment-1]; !t.Failed() && outcome != want {
		t.Errorf("%s, %s: %q, and the page says %q", r.name, resetMoments[moment-1], outcome, want)
	}
}

// section is what the page says of the fault.
func (r resetFault) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, faultHead, r.name, r.about)
	for i, outcome := range r.ends {
		n := map[string]int{outcome: 1}
		fmt.Fprintf(&b, "| %s | 1 | %s | %s | %s |\n", resetMoments[i], count(n[carriedOn]), count(n[nextApply]),
			count(n[mended]))
	}
	return b.String()
}

// faultHead begins the section of a fault.
const faultHead = "\n## %s\n\n%s\n\n| step | cases | carried on | next apply | after mending |\n|---|---:|---:|---:|---:|\n"

func (f *faultRecord) page() string {
	cells := cellOrder()
	total := map[string]int{}
	all := 0
	for _, points := range f.cells {
		for _, outcome := range points {
			total[outcome]++
			all++
		}
	}
	sweep := fmt.Sprintf("%d cases, of which %d carried on, %d ended right with the next apply, and %d after mending. "+
		"The full sweep (`make faults`) has %d cases; cases added since are not counted here. "+
		"`make test` runs some of them and fails if a case ends in another way than here",
		all, total[carriedOn], total[nextApply], total[mended], len(faultCases()))
	var b strings.Builder
	fmt.Fprintf(&b, faultIntro, sweep)
	last := ""
	for _, cell := range cells {
		if f.cells[cell] == nil {
			continue
		}
		if cell.fault != last {
			last = cell.fault
			fmt.Fprintf(&b, faultHead, cell.fault, about[cell.fault])
		}
		n := map[string]int{}
		for _, outcome := range f.cells[cell] {
			n[outcome]++
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", cell.step, len(f.cells[cell]), count(n[carriedOn]),
			count(n[nextApply]), count(n[mended]))
	}
	b.WriteString("\nThe next two tables come from tests of their own. They are not among the cases above.\n")
	for _, r := range resetFaults {
		b.WriteString(r.section())
	}
	return b.String()
}

// count leaves a cell empty where nothing is to be counted.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
