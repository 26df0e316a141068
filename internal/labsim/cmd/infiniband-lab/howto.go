package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// hints are where things lie that what is printed names. What is empty is not there.
type hints struct {
	program  string // this one, as somebody types it
	provider string // a built provider that the engine shall use
	rc       string // CLI configuration file that makes it do so
	examples string // folder with the examples
}

// complete makes paths absolute, and finds the examples that lie beside the program in an archive of the release.
func (h *hints) complete() error {
	if h.program = os.Args[0]; !strings.Contains(h.program, "/") {
		h.program = "" // found on PATH
	}
	if self, err := os.Executable(); err == nil && h.examples == "" {
		if there, bad := os.Stat(filepath.Join(filepath.Dir(self), "examples")); bad == nil && there.IsDir() {
			h.examples = filepath.Join(filepath.Dir(self), "examples")
		}
	}
	for _, path := range []*string{&h.program, &h.provider, &h.examples} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	h.program = cmp.Or(h.program, "infiniband-lab")
	return nil
}

// howTo says how to use a lab. Each line of it does something in this lab.
func howTo(l *labs.Lab, from source, h hints) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	config := filepath.Join(l.Dir, control.SSHConfigFile)
	say("The simulated lab runs. Stop it with Ctrl-C.\n\nLog in:")
	for _, m := range l.Machines() {
		say("  ssh -F %s %s", config, m.Name)
	}
	if !from.isRecording() && h.examples != "" {
		tellExample(l, from.name, h, say)
	}
	say("\nPoint your configuration at it, in a copy of its folder and without its state, in another terminal:")
	if h.rc != "" {
		say("  export TF_CLI_CONFIG_FILE=%s", h.rc)
	}
	say("  provider \"infiniband\" {\n    ssh = { config_file = \"%s\" }\n    hosts = {", config)
	for _, m := range l.Machines() {
		say("      %[1]s = { address = \"%[1]s\" }", m.Name)
	}
	say("    }\n  }\n\nAsk a host by the commands of the provider:\n  %s check -config-file %s %s\n\nBreak things:",
		cmp.Or(h.provider, "terraform-provider-infiniband"), config, l.Machines()[0].Name)
	tell := func(line string) { // with -dir, because several labs may run
		verb, rest, _ := strings.Cut(line, " ")
		say("  %s", strings.TrimSpace(fmt.Sprintf("%s %s -dir %s %s", h.program, verb, l.Dir, rest)))
	}
	tell("evidence")
	if from.isRecording() {
		for _, m := range l.Machines() {
			tellBreaks(m, tell)
		}
		return b.String()
	}
	first := l.Machines()[0]
	if from.name == "crossflash" { // the others burn nothing
		tell("fault " + first.Name + ` '{"flash_slow":200000000}'   # 0.2 s a sector: time to kill terraform; ` +
			"{} ends it, and an unknown name lists all")
	} else {
		tell("fault " + first.Name + ` '{"refuse":true}'   # no SSH; {} ends it, and an unknown name lists all`)
	}
	tellBreaks(first, tell)
	more := "also mtu INTERFACE MTU"
	types := from.name == "crossflash" || from.name == "oem" // cards whose driver takes a type
	if types {
		more += ", and link-type PCI_ADDRESS PORT"
	}
	tell("drift " + labs.Managers[from.name] + " opensm-stop   # " + more)
	tell("exec " + first.Name + " 'systemctl list-units'")
	if types {
		say("\nFirmware images to try (good, older, for another chip, not fail-safe, corrupt, cut): %s",
			filepath.Join(l.Dir, "images"))
	}
	return b.String()
}

// tellBreaks says what can be done to a machine. Its one card needs no address.
func tellBreaks(m *labsim.Machine, tell func(string)) {
	tell("power-cut " + m.Name)
	cards := m.Cards()
	for _, c := range cards {
		at := " " + m.Name
		if len(cards) > 1 {
			at += " " + c.Config.BDF
		}
		tell("unplug" + at + " 1   # plug puts it back")
		if c.HasFlash() { // nothing else tells two cards apart
			tell("exchange-card" + at + "   # another card of the same kind; also renumber")
		}
	}
}

// tellExample says how to point the example of a lab at it.
func tellExample(l *labs.Lab, name string, h hints, say func(string, ...any)) {
	engine, back, consent := "", "", ""
	if h.rc != "" {
		engine, back = "  export TF_CLI_CONFIG_FILE="+h.rc+"\n", "unset TF_CLI_CONFIG_FILE; "
	}
	if name == "crossflash" {
		consent = fmt.Sprintf(` -var 'allow={psid_change={from="%s",to="%s"}}'`, card.PSIDEN, card.PSIDVPI)
	}
	say(example, h.examples, "lab-"+name, engine, filepath.Join(l.Dir, control.VariablesFile), consent, back)
}

const example = `
Point the example at it, in another terminal:
  cp -r %[1]s labs && cd labs/%[2]s && cp terraform.tfvars.example terraform.tfvars
%[3]s  for c in plan apply destroy refresh import console; do export "TF_CLI_ARGS_$c=-var-file=%[4]s"; done
  terraform init
  terraform plan
  terraform apply%[5]s

Use that terminal for nothing else. Or take the settings back:
  %[6]sfor c in plan apply destroy refresh import console; do unset "TF_CLI_ARGS_$c"; done`
