package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/smpquery"
)

// sweepTime is how long a master may take to program the tables of a fabric
// after it read its partitions: a heavy sweep of 648 adapters takes 2 seconds.
const sweepTime = 20 * time.Second

// inForce is the result of one comparison of the fabric with the partitions.
type inForce struct {
	wrong   []Mismatch
	problem string // with a broadcast group, one sentence
	notes   []string
}

// complete reports whether nothing is left to wait for.
func (f inForce) complete() bool { return len(f.wrong) == 0 && f.problem == "" }

// provePartitions waits until the P_Key tables of the adapters and the broadcast groups
// are as configured. It returns the ports that still differ at the end, and what could
// not be compared. A wrong broadcast group is an error.
func provePartitions(ctx context.Context, h host.Host, at device, d opensm.Request,
	o Options) ([]Mismatch, []string, error) {
	deadline := proofEnd(ctx, min(sweepTime, o.ProofTimeout))
	p := prover{h: h, at: at, d: d, known: o.Lab.Known}
	for {
		found, err := p.look(ctx)
		if err != nil || found.complete() {
			return nil, found.notes, err
		}
		if time.Now().After(deadline) {
			if len(found.wrong) > 0 {
				return found.wrong, found.notes, nil
			}
			problem := found.problem
			log := tool.ParseLog(outputOf(h.Run(ctx, tool.Tail(d.PortGUID, logLines))))
			if said := log.Group + log.Partitions; said != "" {
				problem += " opensm says: " + said
			}
			return nil, nil, fmt.Errorf("%s: the partitions are configured and not in force: %s", h.Name(), problem)
		}
		if err := poll.Pause(ctx, o.Poll); err != nil {
			return nil, nil, err
		}
	}
}

// prover compares repeatedly; it walks the fabric once.
type prover struct {
	h       host.Host
	at      device
	d       opensm.Request
	known   map[ib.GUID]string
	members *members
}

// look compares the master's own port first, because its table is written last, then
// the others.
func (p *prover) look(ctx context.Context) (found inForce, err error) {
	have, err := ownKeys(ctx, p.h, p.at)
	if err != nil {
		return found, err
	}
	if bad := compare(p.d.Partitions, have, p.d.PortGUID, "ALL", "ALL_CAS", "SELF"); len(bad) > 0 {
		found.wrong = []Mismatch{{Port: p.d.PortGUID, Where: p.known[p.d.PortGUID], Wrong: bad, Have: have}}
		return found, nil
	}
	if found.problem, err = groups(ctx, p.h, p.at, p.d); err != nil || found.problem != "" {
		return found, err
	}
	// Once: who is on the fabric does not change in the seconds of this wait.
	if p.members == nil {
		m, walkErr := findMembers(ctx, p.h, p.at, p.d, p.known)
		if walkErr != nil {
			return found, walkErr
		}
		p.members = &m
	}
	wrong, silent, err := p.members.differ(ctx, p.h, p.at, p.d, p.known)
	found.wrong, found.notes = wrong, slices.Clone(p.members.notes)
	if len(silent) > 0 {
		guids := map[ib.GUID]bool{}
		for _, s := range silent {
			guids[s.GUID] = true
		}
		found.notes = append(found.notes,
			"Did not answer, so that their P_Key tables were not compared: "+labels(guids, p.known)+".")
	}
	return found, err
}

// ownKeys is the P_Key table of the master's own port.
func ownKeys(ctx context.Context, h host.Host, at device) ([]uint16, error) {
	cmd := smpquery.PKeys(at.name, at.number, smpquery.Target{LID: at.lid}, at.number)
	_, out, err := ask(ctx, h, cmd)
	if err != nil {
		return nil, err
	}
	have, err := smpquery.ParsePKeys(out)
	if err != nil {
		return nil, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: out}
	}
	return have, nil
}

// groups says what is wrong with the broadcast groups; empty if nothing is.
func groups(ctx context.Context, h host.Host, at device, d opensm.Request) (string, error) {
	if !slices.ContainsFunc(d.Partitions, func(p opensm.Partition) bool { return p.IPoIB }) {
		return "", nil
	}
	cmd := saquery.Groups(at.name, at.number)
	status, out, err := ask(ctx, h, cmd)
	switch {
	case err != nil:
		return "", err
	case status != 0:
		return "the broadcast groups are not known: " + describeFailure("saquery -g", status, out) + ".", nil
	}
	found, err := saquery.ParseGroups(out)
	if err = errors.Join(err, empty(out)); err != nil {
		return "", &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: out}
	}
	for _, p := range d.Partitions {
		if !p.IPoIB {
			continue
		}
		// opensm makes no group of values that it cannot realize, and says so in its log only (ERR 1B26).
		i := slices.IndexFunc(found, func(g saquery.Group) bool { return g.PKey == p.PKey|0x8000 && g.Broadcast() })
		mtu := cmp.Or(p.MTU, opensm.DefaultGroupMTU)
		switch {
		case i < 0:
			return fmt.Sprintf("partition %q (P_Key 0x%04x) has no broadcast group, so that no IPoIB interface of it comes up.",
				p.Name, p.PKey), nil
		case found[i].MTU != mtu:
			return fmt.Sprintf("the broadcast group of partition %q has MTU %d, not %d.", p.Name, found[i].MTU, mtu), nil
		}
	}
	return "", nil
}

// empty is the error of a program that ended well and printed nothing. A fabric has one group at least.
func empty(out string) error {
	if out == "" {
		return errors.New("no output")
	}
	return nil
}
