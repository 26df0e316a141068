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

const example = "examples/lab-crossflash"

func main() {
	engine := flag.String("engine", "terraform", "Terraform or OpenTofu program")
	provider := flag.String("provider", "bin/terraform-provider-infiniband", "built provider")
	serve := flag.Bool("serve", false, "keep the lab running until interrupted")
	name := flag.String("lab", "crossflash", "lab to keep running with -serve: "+strings.Join(labs.Names(), ", "))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *engine, *provider, *serve, *name)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, enginePath, provider string, serve bool, name string) (err error) {
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
		return serveLab(ctx, filepath.Join(dir, "lab"), name, rc)
	}
	l, err := startLab(filepath.Join(dir, "lab"), say)
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	defer l.Close()
	e := &engine{path: enginePath, dir: filepath.Join(dir, "work"), rc: rc, out: os.Stdout}
	if err = copyConfiguration(example, e.dir); err != nil {
		return err
	}
	if err = copyFile(filepath.Join(l.Dir, control.VariablesFile), variablesFile(e.dir), 0o600); err != nil {
		return err
	}
	d := &demo{engine: e, lab: l, consent: fmt.Sprintf(`-var=allow_psid_change={from=%q,to=%q}`, psidEN, psidVPI)}
	if err = d.play(ctx); err != nil {
		return err
	}
	if v := l.Violations(); len(v) > 0 {
		return fmt.Errorf("the hosts were asked what no real host understands: %q", v)
	}
	return nil
}

func serveLab(ctx context.Context, dir, name, rc string) error {
	l, err := open(dir, name)
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	defer l.Close()
	return keep(ctx, l, name, rc)
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
	fmt.Printf("The simulated lab runs. Stop it with Ctrl-C.\n\nLog in:\n")
	for _, m := range l.Machines() {
		s := l.Servers[m.Name]
		fmt.Printf("  ssh -i %s -o UserKnownHostsFile=%s -p %d %s@%s   # %s\n", l.KeyFile(), l.KnownHostsFile(), s.Addr.Port,
			l.User(m.Name), s.Addr.IP, m.Name)
	}
	consent := ""
	if name == "crossflash" {
		consent = fmt.Sprintf(` -var 'allow_psid_change={from="%s",to="%s"}'`, psidEN, psidVPI)
	}
	fmt.Printf(usage, filepath.Join(root, "examples", "lab-"+name), rc, filepath.Join(l.Dir, control.VariablesFile),
		consent, l.Machines()[0].Name, root, l.Dir,
		filepath.Join(l.Dir, "images"), "lab-"+name, l.Machines()[0].Config.Cards[0].BDF)
	<-ctx.Done()
	fmt.Println("\nThe lab has stopped.")
	return nil
}

const usage = `
Point the example at it, in another terminal:
  cp -r %[1]s %[9]s && cd %[9]s
  export TF_CLI_CONFIG_FILE=%[2]s
  for c in plan apply destroy refresh import console; do export "TF_CLI_ARGS_$c=-var-file=%[3]s"; done
  terraform init
  terraform plan
  terraform apply%[4]s

Break things, from %[6]s:
  go run ./internal/labsim/cmd/labsim evidence --dir %[7]s
  go run ./internal/labsim/cmd/labsim fault    --dir %[7]s %[5]s '{"flash_slow":200000000}'   # 0.2 s a sector: time to kill terraform; {} ends it, and an unknown name lists all
  go run ./internal/labsim/cmd/labsim power    --dir %[7]s %[5]s cut
  go run ./internal/labsim/cmd/labsim cable    --dir %[7]s %[5]s %[10]s 1 out   # and in
  go run ./internal/labsim/cmd/labsim slot     --dir %[7]s %[5]s %[10]s exchange   # another card of the same kind; also renumber
  go run ./internal/labsim/cmd/labsim drift    --dir %[7]s %[5]s opensm-stop   # also link-type PCI_ADDRESS PORT, and mtu INTERFACE MTU
  go run ./internal/labsim/cmd/labsim exec     --dir %[7]s %[5]s 'systemctl list-units'

Firmware images to try (good, older, for another chip, not fail-safe, corrupt, cut): %[8]s
`
