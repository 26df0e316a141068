package sshhost

import (
	"context"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Stop is one machine on the way to a host, with what is used there, for a person
// who wants to know. The host itself is the last stop.
type Stop struct {
	Name    string // as it was asked for
	Address string // host:port as dialled
	User    string
	Proxy   string             // the program of a ProxyCommand; empty for none
	Origins []sshconfig.Origin // of its settings

	// What the connection has shown; empty before.
	HostKey string // kind and fingerprint
	Vouched string // what makes it known: a line of a file, host_keys, or a record that was just made
	Login   string // the key or password that was accepted
	Notes   []string
}

// Route is the way to the host as it is configured, without a connection. ssh is asked
// once more for each machine: where its settings stand.
func (h *Host) Route(ctx context.Context) []Stop {
	stops := make([]Stop, 0, len(h.chain))
	for _, hop := range h.chain {
		stops = append(stops, Stop{Name: hop.Alias, Address: hop.Address(), User: hop.User, Proxy: hop.Proxy,
			Origins: hop.Origins(ctx), Notes: slices.Clone(hop.Keys.Notes)})
	}
	return stops
}

// Prove connects, if the host is not connected yet, and adds to a route what the
// machines have shown. Without an error the list is as long as the route.
func (h *Host) Prove(ctx context.Context, stops []Stop) error {
	l, err := h.connect(ctx)
	if err != nil {
		return err
	}
	for i, p := range l.Proofs {
		stops[i].HostKey, stops[i].Vouched, stops[i].Login = p.HostKey, p.Vouched, p.Login
	}
	return nil
}

// Root says how commands get root: "logged in as root", "sudo, without a password", or "sudo, with the password". It is
// empty before the first command that needs it.
func (h *Host) Root() string {
	switch h.knownWay() {
	case shellcmd.WayRoot:
		return "logged in as root"
	case shellcmd.WaySudo:
		return "sudo, without a password"
	case shellcmd.WayPassword:
		return "sudo, with the password"
	case shellcmd.WayUnknown:
	}
	return ""
}
