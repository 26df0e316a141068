package benchmark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
)

// sweep is how long a subnet manager may take to set up a port that has a link: one that
// rules sweeps within seconds, and a standby takes over after at most a minute.
// With opensm's defaults (3.3.23) it sweeps each 10 s (sweep_interval), and a standby has waited for
// (polling_retry_number 4 + 2) × sminfo_polling_timeout 10 s before it takes over.
const sweep = 75 * time.Second

// choose finds the two ends. A port whose link has just come up carries nothing before a
// subnet manager has set it up: that is waited for.
func choose(ctx context.Context, server, client *hosts.Host, d Request, progress func(string)) (Result, error) {
	r, idle, err := d.ends(ctx, server, client)
	var none *NoWayError
	if len(idle) == 0 || !errors.As(err, &none) {
		return r, err
	}
	for _, p := range idle {
		progress("waiting until a subnet manager has set up " + p.String())
	}
	look := func(ctx context.Context) error {
		server.Invalidate()
		client.Invalidate()
		r, _, err = d.ends(ctx, server, client)
		return err
	}
	return r, awaitSweep(ctx, none, idle, look)
}

// awaitSweep looks at the ports until none is idle, and then at the way between the hosts,
// which the interfaces need a moment more to join. none is what is said if the time is
// over before.
func awaitSweep(ctx context.Context, none *NoWayError, idle []idlePort, look func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, sweep)
	defer cancel()
	begin := time.Now()
	// Each port by itself first: that is one small command, where a look at the way reads all facts of
	// both hosts.
	for _, p := range idle {
		if err := poll.Until(limited, time.Second, 5*time.Second, p.ready); err != nil {
			return notSwept(ctx, limited, none, begin, err)
		}
	}
	err := poll.Until(limited, time.Second, 5*time.Second, func(ctx context.Context) (bool, error) {
		err := look(ctx)
		// The newest reason is the one to name: what was wrong at first may be mended now.
		if now := (*NoWayError)(nil); errors.As(err, &now) {
			none = now
			return false, nil
		}
		return true, err
	})
	return notSwept(ctx, limited, none, begin, err)
}

// notSwept names the cause if the time is over; ctx is that of the whole operation.
func notSwept(ctx, limited context.Context, none *NoWayError, begin time.Time, err error) error {
	if err == nil || !errors.Is(limited.Err(), context.DeadlineExceeded) {
		return err
	}
	after := "This did not change within " + time.Since(begin).Round(time.Second).String()
	// limited inherits the end of ctx, so that the same error may be the user's timeout or the sweep's.
	if over := context.Cause(ctx); over != nil {
		after = "This did not change until " + over.Error()
	}
	return &NoWayError{none.Server, none.Client, none.Reason + ". " + after}
}

// idlePort is a port with a link that no subnet manager has set up.
type idlePort struct {
	host   host.Host
	device string
	number int
}

func (p idlePort) String() string {
	return fmt.Sprintf("port %d of %s in %s", p.number, p.device, p.host.Name())
}

// ready looks at the port alone: a poll must not collect all facts of a host.
func (p idlePort) ready(ctx context.Context) (bool, error) {
	cmd := sysfs.ReadPort(p.device, p.number)
	r, err := p.host.Run(ctx, cmd)
	if err != nil {
		return false, err
	}
	now, err := sysfs.ParsePort(r.Stdout)
	if err != nil {
		return false, &host.OutputError{Host: p.host.Name(), Command: cmd.String(), Problem: err.Error(),
			Output: string(r.Stdout)}
	}
	// In the words of sysfs, which the inventory rewrites. A port whose link is gone will not be set
	// up: no reason to wait on.
	return now.State == "ACTIVE" || now.Physical != "LinkUp", nil
}

// idle reports whether a port has a link and waits for a subnet manager.
// Initializing and Armed are good cables that no subnet manager has activated; Down waits for a peer.
func idle(c *inventory.Card, p *inventory.Port) bool {
	return c != nil && p != nil && c.RDMADevice != "" && p.LinkLayer == "InfiniBand" && p.Physical == "LinkUp" &&
		(p.State == "Initializing" || p.State == "Armed")
}

// ends finds the two ends, and the ports of them that wait for a subnet manager.
func (d Request) ends(ctx context.Context, server, client *hosts.Host) (r Result, waiting []idlePort, err error) {
	from, err := client.Snapshot(ctx)
	if err != nil {
		return r, nil, err
	}
	to, err := server.Snapshot(ctx)
	if err != nil {
		return r, nil, err
	}
	r.Pair = connectivity.Choose(from, to, connectivity.Request{Address: d.Address})
	if d.Test.RDMA {
		r.ClientRDMA, r.ServerRDMA = rdmaPort(from, r.Pair.From), rdmaPort(to, r.Pair.To)
	}
	for _, end := range []struct {
		host *hosts.Host
		end  connectivity.End
	}{{client, r.Pair.From}, {server, r.Pair.To}} {
		if c, p := end.end.Card, end.end.Port; idle(c, p) {
			waiting = append(waiting, idlePort{end.host, c.RDMADevice, p.Number})
		}
	}
	return r, waiting, d.noWay(server.Name(), client.Name(), r)
}

// noWay says why nothing can be measured between two ends; nil if something can.
func (d Request) noWay(server, client string, r Result) error {
	if problems := connectivity.Judge(r.Pair, nil).Blockers(); len(problems) > 0 {
		return &NoWayError{server, client, strings.TrimSuffix(strings.Join(problems, " "), ".")}
	}
	if !d.Test.RDMA {
		return nil
	}
	switch {
	case r.ClientRDMA.Device == "":
		return &NoWayError{server, client, client + " has no RDMA port that is Active"}
	case r.ServerRDMA.Device == "":
		return &NoWayError{server, client, server + " has no RDMA port that is Active"}
	}
	return nil
}

// rdmaPort is that of the chosen interface, else the first that is Active.
func rdmaPort(s *inventory.Snapshot, e connectivity.End) RDMAPort {
	if e.Card != nil && e.Port != nil && e.Port.State == "Active" {
		return RDMAPort{e.Card.RDMADevice, e.Port.Number}
	}
	// perftest goes from port to port, so it needs no interface on the port that it uses.
	for _, c := range s.Cards {
		for _, p := range c.Ports {
			if p.State == "Active" && c.RDMADevice != "" {
				return RDMAPort{c.RDMADevice, p.Number}
			}
		}
	}
	return RDMAPort{}
}
