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
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
)

const example = "examples/lab-crossflash"

func main() {
	engine := flag.String("engine", "terraform", "Terraform or OpenTofu program")
	provider := flag.String("provider", "bin/terraform-provider-infiniband", "built provider")
	serve := flag.Bool("serve", false, "keep the lab running until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *engine, *provider, *serve)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, enginePath, provider string, serve bool) (err error) {
	dir, err := os.MkdirTemp("", "infiniband-lab-")
	if err != nil {
		return err
	}
	// Keys and state of a lab that is gone are of no use to anybody.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	say := func(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
	l, err := startLab(filepath.Join(dir, "lab"), say)
	if err != nil {
		return fmt.Errorf("start the lab: %w", err)
	}
	defer l.Close()
	rc, err := mirror(dir, provider)
	if err != nil {
		return err
	}
	if serve {
		return keep(ctx, l, rc)
	}
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

// keep prints how to use the lab and waits.
func keep(ctx context.Context, l *lab, rc string) error {
	server, err := control.Serve(ctx, l.Lab)
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
		fmt.Printf("  ssh -i %s -o UserKnownHostsFile=%s -p %d %s@%s   # %s\n", l.KeyFile(), l.KnownHostsFile(), s.Addr.Port, l.User(m.Name), s.Addr.IP, m.Name)
	}
	fmt.Printf(usage, filepath.Join(root, example), rc, filepath.Join(l.Dir, control.VariablesFile), psidEN, psidVPI, root, l.Dir, filepath.Join(l.Dir, "images"))
	<-ctx.Done()
	fmt.Println("\nThe lab has stopped.")
	return nil
}

const usage = `
Point the example at it, in another terminal:
  cp -r %[1]s lab-crossflash && cd lab-crossflash
  export TF_CLI_CONFIG_FILE=%[2]s
  export TF_CLI_ARGS_plan='-var-file=%[3]s' TF_CLI_ARGS_apply='-var-file=%[3]s' TF_CLI_ARGS_destroy='-var-file=%[3]s'
  terraform init
  terraform plan
  terraform apply -var 'allow_psid_change={from="%[4]s",to="%[5]s"}'

Break things, from %[6]s:
  go run ./internal/labsim/cmd/labsim evidence --dir %[7]s
  go run ./internal/labsim/cmd/labsim fault    --dir %[7]s intel9 '{"flash_slow":200000000}'   # 0.2 s a sector: time to kill terraform
  go run ./internal/labsim/cmd/labsim power    --dir %[7]s intel9 cut
  go run ./internal/labsim/cmd/labsim exec     --dir %[7]s intel9 'systemctl list-units'

Firmware images to try (good, older, for another chip, not fail-safe, corrupt, cut): %[8]s
`
