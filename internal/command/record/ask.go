package record

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	changes "github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// reply is what one command was answered.
type reply struct {
	command, problem    string
	status              int
	output, errorOutput string
}

// asked is one host with all that it was asked.
type asked struct {
	name     string // of the command line
	names    []string
	problem  string
	replies  []reply
	flashes  []flash
	hostname string
}

// listener is a host that notes what it is asked and what it answers.
type listener struct {
	host.Host

	mu  sync.Mutex
	all []reply
}

// Run implements host.Host.
func (l *listener) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	r, err := l.Host.Run(ctx, cmd)
	a := reply{command: cmd.String(), output: string(r.Stdout), errorOutput: string(r.Stderr)}
	var exit *host.ExitError
	var odd *host.OutputError
	switch {
	case errors.As(err, &exit):
		a.status, a.output, a.errorOutput = exit.Status, exit.Stdout, exit.Stderr
	case errors.As(err, &odd):
		a.status, a.output, a.problem = -1, odd.Output, err.Error()
	case err != nil:
		a.status, a.problem = -1, err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, a)
	return r, err
}

// ask puts to a host the questions that a plan may have. What cannot be asked, because a tool is missing
// or an answer was not understood, ends no other question: such hosts are those that people record.
func ask(ctx context.Context, t *target.Target, backups string) asked {
	a := asked{name: t.Name, names: []string{t.Name, t.Config.Address}}
	if t.Err != nil {
		a.problem = t.Err.Error()
		return a
	}
	l := &listener{Host: t.SSH}
	h := hosts.New(l)
	err := questions(ctx, h, &a)
	if s, bad := h.Snapshot(ctx); backups != "" && bad == nil {
		a.flashes, bad = flashes(s, backups)
		err = errors.Join(err, bad)
	}
	if err != nil {
		a.problem = diagnostic.Line(err.Error())
	}
	a.replies = l.all
	return a
}

// questions returns the first error of all, and asks on unless the host is down.
func questions(ctx context.Context, h *hosts.Host, a *asked) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	a.hostname = s.Hostname
	var all []error
	for _, c := range s.Cards {
		if c.Virtual {
			continue
		}
		_, err = h.StoredLinkTypes(ctx, c.PCI)
		all = append(all, err)
		_, err = h.CardSettings(ctx, c.PCI)
		all = append(all, err)
	}
	if _, err = changes.Read(ctx, h); err != nil {
		all = append(all, err)
	}
	if !fabric.CanLook(s) {
		return errors.Join(all...)
	}
	for _, p := range fabric.LinkedPorts(s) {
		if _, err = fabric.Observe(ctx, h, p.Through, true); err != nil {
			all = append(all, fmt.Errorf("the fabric at %s/%d: %w", p.Device, p.Port, err))
		}
	}
	return errors.Join(all...)
}
