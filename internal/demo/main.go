// Command demo runs the main job of examples/lab-crossflash on a simulated lab,
// step by step, and fails if any step does not hold. It is not part of the provider
// and must not import it: it does what a user does, with the built binary.
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

const example = "lab-crossflash"

func main() {
	engine := flag.String("engine", "terraform", "Terraform or OpenTofu program")
	provider := flag.String("provider", "bin/terraform-provider-infiniband", "built provider")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *engine, *provider)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, enginePath, provider string) (err error) {
	dir, err := os.MkdirTemp("", "infiniband-lab-")
	if err != nil {
		return err
	}
	// Keys and state of a lab that is gone are of no use to anybody.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	say := func(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
	rc, err := control.WriteMirror(dir, provider)
	if err != nil {
		return err
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
