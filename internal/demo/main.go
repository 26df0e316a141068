// Command demo runs the main job of examples/lab-crossflash on a simulated lab,
// step by step, and fails if any step does not hold. With -serve it only keeps
// the lab running. It is not part of the provider and must not import it: it
// does what a user does, with the built binary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const example = "lab-crossflash"

func main() {
	engine := flag.String("engine", "terraform", "Terraform or OpenTofu program")
	provider := flag.String("provider", "bin/terraform-provider-infiniband", "built provider")
	serve := flag.Bool("serve", false, "keep the lab running until interrupted")
	name := flag.String("lab", "crossflash", "lab to keep running with -serve: "+strings.Join(labs.Names(), ", ")+
		", or a recording, such as lab.tar.gz")
	oneSwitch := flag.Bool("one-switch", false, "all ports of a recording of which no cable is known are on one switch")
	images := flag.String("images", "", "files of firmware for the cards of a recording, with blanks between them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *engine, *provider, *serve, source{*name, strings.Fields(*images), *oneSwitch})
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, enginePath, provider string, serve bool, from source) (err error) {
	dir, err := os.MkdirTemp("", "infiniband-lab-")
	if err != nil {
		return err
	}
	// Keys and state of a lab that is gone are of no use to anybody.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	say := func(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
	rc, err := mirror(dir, provider)
	if err != nil {
		return err
	}
	if serve {
		return serveLab(ctx, filepath.Join(dir, "lab"), rc, from)
	}
	l, err := startLab(filepath.Join(dir, "lab"), say)
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	defer l.Close()
	e := &engine{path: enginePath, dir: filepath.Join(dir, "work", example), rc: rc, out: os.Stdout}
	if err = os.CopyFS(filepath.Dir(e.dir), os.DirFS("examples")); err != nil {
		return err
	}
	// Its own cards are those of the lab.
	if err = os.Rename(filepath.Join(e.dir, "terraform.tfvars.example"), filepath.Join(e.dir, "terraform.tfvars")); err != nil {
		return err
	}
	if err = copyFile(filepath.Join(l.Dir, control.VariablesFile), variablesFile(e.dir), 0o600); err != nil {
		return err
	}
	d := &demo{engine: e, lab: l, consent: fmt.Sprintf(`-var=allow={psid_change={from=%q,to=%q}}`, psidEN, psidVPI)}
	if err = d.play(ctx); err != nil {
		return err
	}
	if v := l.Violations(); len(v) > 0 {
		return fmt.Errorf("the hosts were asked what no real host understands: %q", v)
	}
	return nil
}

func serveLab(ctx context.Context, dir, rc string, from source) error {
	l, err := from.open(dir)
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	defer l.Close()
	return keep(ctx, l, from.name, rc)
}

// keep prints how to use the lab and waits.
func keep(ctx context.Context, l *labs.Lab, name, rc string) error {
	server, err := control.Serve(ctx, l)
	if err != nil {
		return err
	}
	defer server.Close()
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	fmt.Print(howTo(l, name, root, rc))
	<-ctx.Done()
	fmt.Println("\nThe lab has stopped.")
	return nil
}

// howTo says how to use a lab. Each line of it does something in this lab.
func howTo(l *labs.Lab, name, root, rc string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	config := filepath.Join(l.Dir, control.SSHConfigFile)
	say("The simulated lab runs. Stop it with Ctrl-C.\n\nLog in:")
	for _, m := range l.Machines() {
		say("  ssh -F %s %s", config, m.Name)
	}
	if strings.HasSuffix(name, ".tar.gz") {
		tellTwin(l, root, rc, say)
		return b.String()
	}
	first, manager := l.Machines()[0], labs.Managers[name]
	consent := ""
	if name == "crossflash" {
		consent = fmt.Sprintf(` -var 'allow={psid_change={from="%s",to="%s"}}'`, psidEN, psidVPI)
	}
	say(usage, filepath.Join(root, "examples"), "lab-"+name, rc,
		filepath.Join(l.Dir, control.VariablesFile), consent, config, first.Name, filepath.Join(root, "bin", "terraform-provider-infiniband"))

	say("Break things, from %s:", root)
	tell := func(verb, rest string) {
		say("  go run ./internal/labsim/cmd/labsim %-8s --dir %s%s", verb, l.Dir, rest)
	}
	tell("evidence", "")
	if name == "crossflash" { // the others burn nothing
		tell("fault", " "+first.Name+` '{"flash_slow":200000000}'   # 0.2 s a sector: time to kill terraform; `+
			"{} ends it, and an unknown name lists all")
	} else {
		tell("fault", " "+first.Name+` '{"refuse":true}'   # no SSH; {} ends it, and an unknown name lists all`)
	}
	slot := first.Name + " " + first.Config.Cards[0].BDF
	tell("power", " "+first.Name+" cut")
	tell("cable", " "+slot+" 1 out   # and in")
	if first.Cards()[0].HasFlash() { // nothing else tells two cards apart
		tell("slot", " "+slot+" exchange   # another card of the same kind; also renumber")
	}
	more := "also mtu INTERFACE MTU"
	if name == "crossflash" || name == "oem" { // cards whose driver takes a type
		more += ", and link-type PCI_ADDRESS PORT"
	}
	tell("drift", " "+manager+" opensm-stop   # "+more)
	tell("exec", " "+first.Name+" 'systemctl list-units'")
	if name == "crossflash" || name == "oem" {
		say("\nFirmware images to try (good, older, for another chip, not fail-safe, corrupt, cut): %s",
			filepath.Join(l.Dir, "images"))
	}
	return b.String()
}

const usage = `
Point the example at it, in another terminal:
  cp -r %[1]s labs && cd labs/%[2]s && cp terraform.tfvars.example terraform.tfvars
  export TF_CLI_CONFIG_FILE=%[3]s
  for c in plan apply destroy refresh import console; do export "TF_CLI_ARGS_$c=-var-file=%[4]s"; done
  terraform init
  terraform plan
  terraform apply%[5]s

Use that terminal for nothing else. Or take the settings back:
  unset TF_CLI_CONFIG_FILE; for c in plan apply destroy refresh import console; do unset "TF_CLI_ARGS_$c"; done

Point a configuration of your own at it, with TF_CLI_CONFIG_FILE as above and without TF_CLI_ARGS_…:
  provider "infiniband" {
    ssh   = { config_file = "%[6]s" }
    hosts = { %[7]s = { address = "%[7]s" } }
  }

Ask a host by the commands of the provider:
  %[8]s check -config-file %[6]s %[7]s
`
