package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Look checks one host, as far as it gets. The snapshot is nil if the host was not read; the
// report then says why.
func Look(ctx context.Context, t *target.Target) (*Report, *inventory.Snapshot) {
	r := &Report{Name: t.Name}
	if t.Err != nil {
		r.add(Step{Step: "config", Status: Failed, Text: "The configuration of this host cannot be used",
			Detail: diagnostic.Sentence(strings.TrimPrefix(t.Err.Error(), "host "+t.Name+": "))})
		return r.conclude(), nil
	}
	r.Address = t.SSH.Address()
	stops := t.SSH.Route(ctx)
	for i, s := range stops {
		r.addConfig(s, i == len(stops)-1)
	}
	if err := t.SSH.Prove(ctx, stops); err != nil {
		r.addUnreached(err)
		return r.conclude(), nil
	}
	for i, s := range stops {
		at := stopLabel(s, i == len(stops)-1)
		r.ok("host key", at+s.HostKey, s.Vouched)
		r.ok("login", at+s.Login, "")
		for _, n := range s.Notes {
			r.add(Step{Step: "login", Status: Note, Text: at + n})
		}
	}
	snap, err := t.Host.Snapshot(ctx)
	if err != nil {
		r.addUnread(err)
		return r.conclude(), nil
	}
	r.root(t.SSH.Root(), snap.Sudo)
	r.transfer(t.SSH.ProveTransfer(ctx))
	r.facts(snap)
	return r.conclude(), snap
}

// transfer says whether an apply could move its files to the host.
func (r *Report) transfer(way string, err error) {
	var bad *host.TransferError
	switch {
	case err == nil:
		r.ok("transfer", way, "")
	case errors.As(err, &bad):
		r.add(Step{Step: "transfer", Status: Missing, Text: fmt.Sprintf("an apply could not move a file to the host: %v",
			bad.Err), Detail: diagnostic.Sentence(bad.Advice)})
	default:
		r.addUnreached(err)
	}
}

// stopLabel begins what is said of a jump host.
func stopLabel(s sshhost.Stop, last bool) string {
	if last {
		return ""
	}
	return "jump host " + s.Name + ": "
}

// addConfig says which settings are used to reach a machine, and where they come from.
func (r *Report) addConfig(s sshhost.Stop, last bool) {
	at := stopLabel(s, last)
	for _, o := range s.Origins {
		source := o.Source
		switch source {
		case sshconfig.SourceGiven:
			source = "command line"
		case sshconfig.SourceDefault:
			// Defaults are left out. The dialled address is always shown.
			if o.Setting != "HostName" && o.Setting != "User" {
				continue
			}
		}
		r.ok("config", at+o.Setting+" "+o.Value, source)
	}
	if s.Proxy != "" {
		r.add(Step{Step: "config", Status: Note, Text: at + "the ProxyCommand runs on this machine"})
	}
}

// failedAt is the step that a connection ended in.
var failedAt = map[string]string{
	host.OpConnect: "connection", host.OpVerify: "host key", host.OpKey: "login", host.OpOffer: "login",
	host.OpAuthenticate: "login",
}

// addUnreached says why a host was not reached.
func (r *Report) addUnreached(err error) {
	s := Step{Step: "connection", Status: Failed, Text: err.Error()}
	var gone *host.UnreachableError
	if errors.As(err, &gone) {
		s.Step = cmp.Or(failedAt[gone.Op], s.Step)
		s.Text, s.Detail = fmt.Sprintf("unable to %s: %v", gone.Op, gone.Err), target.Advice(gone)
	}
	r.add(s)
}

// addUnread says why a host that was reached gave no facts.
func (r *Report) addUnread(err error) {
	var (
		priv  *host.PrivilegeError
		gone  *host.UnreachableError
		other *hosts.NotLinuxError
	)
	switch {
	case errors.As(err, &priv):
		r.add(Step{Step: "root", Status: Missing,
			Text:   fmt.Sprintf("user %s cannot become root: %s", priv.User, priv.Reason),
			Detail: diagnostic.Sentence(priv.Advice)})
	case errors.As(err, &other):
		r.add(Step{Step: "system", Status: Missing, Text: other.System, Detail: diagnostic.Sentence(other.Error())})
	case errors.As(err, &gone):
		r.addUnreached(err)
	default:
		r.add(Step{Step: "facts", Status: Missing, Text: "the host's facts could not be read",
			Detail: diagnostic.Detail(err)})
	}
}
