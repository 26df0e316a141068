package opensm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/smpquery"
)

// sweepTime is how long a master may take to program the tables of a fabric
// after it read its partitions: a heavy sweep of 648 adapters takes 2 seconds.
const sweepTime = 20 * time.Second

// device is the port of this host by which the fabric is asked.
type device struct {
	name   string
	number int
	lid    uint16
}

// NotInForceError says that the master serves its port and the fabric does not
// have what its partitions say.
type NotInForceError struct {
	Host, Unit string
	Problem    string // one sentence
	Log        string // what opensm says about it; may be empty
}

func (e *NotInForceError) Error() string {
	text := fmt.Sprintf("%s: the partitions are configured and not in force: %s", e.Host, e.Problem)
	if e.Log != "" {
		text += " opensm says: " + e.Log
	}
	return text
}

// provePartitions waits until the P_Key table of the master's own port and the
// groups of the fabric are as configured. It returns the P_Keys that are
// missing in the end; a group that is not is *NotInForceError.
func provePartitions(ctx context.Context, h host.Host, at device, d Desired, o Options) ([]uint16, error) {
	want := opensm.KeysOf(d.Partitions, d.PortGUID.String(), "ALL", "ALL_CAS", "SELF")
	deadline := time.Now().Add(min(sweepTime, o.ProofTimeout))
	for {
		missing, err := missingKeys(ctx, h, at, want)
		if err != nil {
			return nil, err
		}
		problem := ""
		if len(missing) == 0 {
			if problem, err = groups(ctx, h, at, d); err != nil || problem == "" {
				return nil, err
			}
		}
		if time.Now().After(deadline) {
			if problem == "" {
				return missing, nil
			}
			e := &NotInForceError{Host: h.Name(), Unit: opensm.Unit(d.PortGUID), Problem: problem}
			log := opensm.ParseLog(answer(h.Run(ctx, opensm.Tail(d.PortGUID, logLines))))
			e.Log = log.Group + log.Partitions
			return nil, e
		}
		if !pause(ctx, o.Poll) {
			return nil, context.Cause(ctx)
		}
	}
}

// missingKeys are the keys of want that the port does not have, and those that
// it has in spite of them.
func missingKeys(ctx context.Context, h host.Host, at device, want []uint16) ([]uint16, error) {
	cmd := smpquery.PKeys(at.name, at.number, smpquery.Target{LID: at.lid}, at.number)
	out, err := ask(ctx, h, cmd)
	if err != nil {
		return nil, err
	}
	have, err := smpquery.ParsePKeys(out)
	if err != nil {
		return nil, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: out}
	}
	var missing []uint16
	for _, key := range want {
		if !slices.Contains(have, key) {
			missing = append(missing, key)
		}
	}
	return missing, nil
}

// groups says what is wrong with the broadcast groups; empty if nothing is.
func groups(ctx context.Context, h host.Host, at device, d Desired) (string, error) {
	if !slices.ContainsFunc(d.Partitions, func(p opensm.Partition) bool { return p.IPoIB }) {
		return "", nil
	}
	cmd := saquery.Groups(at.name, at.number)
	out, err := ask(ctx, h, cmd)
	if err != nil {
		return "", err
	}
	found, err := saquery.ParseGroups(out)
	if err = errors.Join(err, empty(out)); err != nil {
		return "", &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: out}
	}
	for _, p := range d.Partitions {
		if !p.IPoIB {
			continue
		}
		i := slices.IndexFunc(found, func(g saquery.Group) bool { return g.PKey == p.PKey|0x8000 && g.Broadcast() })
		mtu := p.MTU
		if mtu == 0 {
			mtu = 2048
		}
		switch {
		case i < 0:
			return fmt.Sprintf("partition %q (P_Key 0x%04x) has no broadcast group, so that no IPoIB interface of it comes up.", p.Name, p.PKey), nil
		case found[i].MTU != mtu:
			return fmt.Sprintf("the broadcast group of partition %q has MTU %d, not %d.", p.Name, found[i].MTU, mtu), nil
		}
	}
	return "", nil
}

func empty(out string) error {
	if out == "" {
		return errors.New("no output")
	}
	return nil
}
