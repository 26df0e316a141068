package rollout

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// engine runs Terraform or OpenTofu in a root module.
type engine struct {
	program, dir string
	plans        string   // a directory for saved plans, which may hold secrets
	vars         []string // -var and -var-file
	parallelism  int
	out          io.Writer // takes what an apply prints
}

// findEngine is the program of an engine: the one that is named, or else what is on PATH.
func findEngine(name string) (string, error) {
	if name != "" {
		return exec.LookPath(name)
	}
	for _, name = range []string{"terraform", "tofu"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", errors.New("neither terraform nor tofu is on PATH. Name the engine with -engine")
}

// plan makes a plan of some module instances, or of all, and saves it in file.
func (e *engine) plan(ctx context.Context, targets []string) (p *plan, file string, err error) {
	file = filepath.Join(e.plans, "plan")
	args := append([]string{"plan", "-no-color", "-input=false", "-out=" + file, e.limit()}, e.vars...)
	for _, target := range targets {
		args = append(args, "-target="+target)
	}
	said, err := e.run(ctx, nil, args...)
	if err != nil {
		return nil, "", err
	}
	p, err = e.show(ctx, file)
	if warned := notSeen.FindSubmatch(said); err == nil && warned != nil {
		p.unseen = strings.Split(string(warned[1]), ", ")
	}
	return p, file, err
}

// notSeen finds the provider's warning on hosts that do not answer in what an engine prints of a plan.
var notSeen = regexp.MustCompile(`Warning: Not seen: hosts? (.*)`)

// show reads a saved plan.
func (e *engine) show(ctx context.Context, file string) (*plan, error) {
	text, err := e.run(ctx, nil, "show", "-json", file)
	if err != nil {
		return nil, err
	}
	return readPlan(text)
}

// apply does what a saved plan says, and nothing else.
func (e *engine) apply(ctx context.Context, file string) error {
	_, err := e.run(ctx, e.out, "apply", "-no-color", "-input=false", e.limit(), file)
	return err
}

// limit lets all hosts of a wave go on at the same time; the engines' own limit is 10.
func (e *engine) limit() string { return "-parallelism=" + strconv.Itoa(max(10, e.parallelism)) }

// run runs the engine to its end: one that is killed leaves a lock, and hosts in the middle of a change.
// The end of the context only interrupts it, once; a second interrupt would end it at once. The error has
// what the engine printed, unless to has it already.
func (e *engine) run(ctx context.Context, to io.Writer, args ...string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, errInterrupted
	}
	cmd := exec.CommandContext(ctx, e.program, args...) //nolint:gosec // the operator's own engine
	isolate(cmd)
	cmd.Dir = e.dir
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1")
	for _, v := range e.vars {
		// An apply needs the ephemeral ones again, and takes a -var of no other one with a saved plan.
		if set, isVar := strings.CutPrefix(v, "-var="); isVar {
			cmd.Env = append(cmd.Env, "TF_VAR_"+set)
		}
	}
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), &all
	if to != nil {
		cmd.Stdout, cmd.Stderr = to, to
	}
	err := cmd.Run()
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, errInterrupted
	}
	return nil, fmt.Errorf("%s %s: %w%s", filepath.Base(e.program), args[0], err, cmp.Or("\n"+all.String(), ""))
}

var errInterrupted = errors.New("interrupted; the engine has ended what it had begun")
