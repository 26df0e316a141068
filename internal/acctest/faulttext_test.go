package acctest

import (
	"fmt"
	"strings"
)

// faultPage is copied into docs by make generate.
const faultPage = "../../templates/guides/faults.md"

const faultIntro = `---
page_title: "What happens if…"
subcategory: ""
description: |-
  What becomes of card, backup and state if something goes wrong in the middle of a burn.
---

<!-- Written by make faults from a run of the fault cases; do not edit. -->

# What happens if…

A firmware burn can be interrupted at any moment: by a lost connection, a killed provider, a power cut, a full disk, a tool that
crashes. The provider's tests make each of these happen on the simulated lab, step by step, and look at the card, the backup and the
next apply. This page is written from such a run: %s.

After each case the tests hold that

* the card boots one of its two images, the old or the new one, with the GUIDs and MACs that it had or was to get,
* no byte of the flash was written before a backup was on the operator's disk; that backup verifies, records the identity of the
  card, and burned back into a card gives what was there before,
* a plan writes nothing, and as long as the cause lasts it or the apply says so,
* nothing in the state is tainted,
* the next apply ends right and the plan after it is empty,
* the flash is not written a second time, unless the fault struck while it was being written.

| word | meaning |
|---|---|
| carried on | The apply in which it happened ended right all the same. |
| next apply | That apply ended with an error that says what is known. The next apply ended right; nothing had to be done by hand. |
| after mending | Something has to be done by hand first, and the message says what: give space or rights back, accept a host key, switch the machine off and on. The next apply then ended right. |

The lab is not the hardware. That mstflint itself leaves a bootable flash when it is killed or the power fails is tried with the real
program on an emulated card (` + "`make testbed`" + `); that a real card's flash keeps what was written cannot be shown by a program.
`

// about says what a fault is.
var about = map[string]string{
	"Connection lost before a command starts":         "The connection breaks when a command arrives at the host; the command does not run.",
	"Connection lost while a command runs":            "The connection breaks when a command has begun; it runs to its end, and nobody hears of it.",
	"Connection lost before the answer arrives":       "The connection breaks when a command has ended; its output may have arrived, its status has not.",
	"Connection lost inside a transfer":               "The connection breaks after so many bytes. What is staged or stored is whole or absent.",
	"Provider killed":                                 "SIGKILL of the provider, or of the machine that it runs on. The job on the host goes on; the next apply finds its journal, waits for it, reads the card and settles it.",
	"Power cut of the host":                           "The host goes down without warning and comes back. An erase or program operation under way is half done.",
	"Host does not come back":                         "The host goes down for its restart and stays down, until somebody switches it on.",
	"Host does not restart although it says so":       "The restart is accepted and does not happen: the boot id stays what it was.",
	"Host comes back with another host key":           "No command is given to a host that cannot prove who it is.",
	"Card keeps its old firmware over the restart":    "Some machines keep power on their cards while they restart. The host is not restarted again and again for it.",
	"Card is gone after the restart":                  "The bus does not find the card after the restart.",
	"Disk of the host is full":                        "No byte more can be written to the directory that the step writes to.",
	"Disk of the operator is full":                    "The backup cannot be written to `backup_dir`, or not brought to the disk.",
	"sudo withdrawn":                                  "From this moment on sudo says that the user is not in the sudoers file.",
	"mstflint killed (SIGKILL)":                       "By somebody, or for want of memory. The flash semaphore of the card stays set. The next query of the card fails, and frees it; the one after that works.",
	"mstflint crashes (segmentation fault)":           "As releases from 4.30 on do on ConnectX-3. In the middle of a write the flash semaphore stays set, until the next query fails and frees it.",
	"Flash does not take what is written":             "A piece reads back other than it was written; mstflint stops there.",
	"Output of mstflint is cut off":                   "What the tool prints ends after so many bytes, with status 0. What is missing is not guessed.",
	"Host speaks German":                              "Sessions and units have LANG and LC_ALL of another language. Every program is asked with LC_ALL=C, so that nothing changes.",
	"mstflint speaks German, whatever it is told":     "A tool whose words are not those that are known. What is not understood is not taken for good: nothing is burned, or what was burned is read back.",
	"mstflint says that it is done and did nothing":   "Status 0 alone is not believed: the card is read.",
	"mstflint says that it failed and did everything": "The card is read; what is in it is not burned again.",
	"mstflint does not end":                           "A hung tool is not killed by the provider: nobody can tell from outside where it is.",
	"Journal of another version":                      "A job that another release of the provider has left is named and neither waited for nor taken for settled.",
	"Clock set back ten years":                        "No decision rests on the time of day.",
	"Two applies at once":                             "From two working directories, or two operators. One burns; the other is told who holds the lock and since when.",
	"Another card in the slot":                        "The power fails, and when it is back another card of the same kind is at the address. Nothing is written to that one. The first card is put back before the next apply.",
	"Cards are renumbered":                            "The power fails, and when it is back a new device has moved the card to another PCI address. The plan names the new address. The device is taken out again before the next apply.",
	"Restart of the host by somebody else":            "The host is restarted in an orderly way in the middle of the apply.",
	"Burn by hand":                                    "Somebody burns another version with mstflint, on the host and without the lock of the provider's jobs.",
}

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
		"The full sweep (`make faults`) has %d cases; those that it has added since are not counted here. "+
		"`make test` runs a part of them and fails if an outcome is another than this page was written from",
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
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| step | cases | carried on | next apply | after mending |\n|---|---:|---:|---:|---:|\n", cell.fault, about[cell.fault])
		}
		n := map[string]int{}
		for _, outcome := range f.cells[cell] {
			n[outcome]++
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", cell.step, len(f.cells[cell]), count(n[carriedOn]), count(n[nextApply]), count(n[mended]))
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
