package hosts

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
)

// sshPath finds the interfaces of the session at both its ends. Answers may leave by
// another interface than requests arrive by, and the loss of either cuts the session.
func sshPath(s *inventory.Snapshot, a *collect.Answer) inventory.SSHPath {
	p := inventory.SSHPath{Client: a.Client, Server: a.Server}
	var devs, why []string
	// The server's address tells more than the client's, for which ip may have no answer (link-local).
	for _, end := range append(arrivals(s, a.Server), wayTo(s, a, a.Client, "ip-ssh")) {
		reason, dev := carrier(s, end), end.Or("")
		switch {
		case reason != "":
			why = append(why, reason)
		case !slices.Contains(devs, dev):
			devs = append(devs, dev)
		}
	}
	if len(why) == 0 {
		p.Devs = fact.Known(devs)
		return p
	}
	slices.Sort(why)
	text := strings.Join(slices.Compact(why), "; ")
	if len(devs) > 0 {
		text += "; what is known is " + strings.Join(devs, ", ")
	}
	// One end that is not known makes all of it unknown: a list that may lack an interface would allow its loss.
	p.Devs = fact.Unknown[[]string](text)
	return p
}

// arrivals are the interfaces that have an address of the host. Where several have it, the
// session may come in by each.
func arrivals(s *inventory.Snapshot, server string) []fact.Of[string] {
	address, err := netip.ParseAddr(server)
	if err != nil {
		return []fact.Of[string]{fact.Unknown[string]("SSH_CONNECTION is not in the environment of the session")}
	}
	if dev, ok := scope(s, address); ok {
		return []fact.Of[string]{dev}
	}
	var devs []fact.Of[string]
	for _, dev := range holders(s, address) {
		devs = append(devs, fact.Known(dev))
	}
	if len(devs) == 0 {
		return []fact.Of[string]{
			fact.Unknown[string]("no interface has the address " + address.Unmap().String() + ", which the session came to")}
	}
	return devs
}

// holders are the interfaces that have an address.
func holders(s *inventory.Snapshot, address netip.Addr) (devs []string) {
	for _, n := range s.Netdevs {
		if slices.ContainsFunc(n.Addresses, func(p netip.Prefix) bool { return p.Addr() == address.Unmap().WithZone("") }) {
			devs = append(devs, n.Name)
		}
	}
	return devs
}

// wayTo is the interface to an address of another machine, by the answer of
// "ip route get". No way at all is an answer too.
func wayTo(s *inventory.Snapshot, a *collect.Answer, to, run string) fact.Of[string] {
	address, err := netip.ParseAddr(to)
	if err != nil {
		return fact.Unknown[string](fmt.Sprintf("%q is not an address", to))
	}
	if dev, ok := scope(s, address); ok {
		return dev
	}
	answer, ok := a.Runs[run]
	if !ok {
		return fact.Unknown[string]("ip was not asked for the way to " + to)
	}
	if answer.Status != 0 {
		return fact.Unknown[string](fmt.Sprintf("ip route get %s ended with status %d: %s", to, answer.Status,
			firstLine(answer.Output)))
	}
	dev, err := iproute.ParseRouteGet(answer.Output)
	if err != nil {
		return fact.Unknown[string](fmt.Sprintf("the answer of ip route get %s is not understood: %v", to, err))
	}
	return fact.Known(dev)
}

// scope is the interface of a link-local address with its zone, which ip does
// not take behind an address; ok is false if it has none.
func scope(s *inventory.Snapshot, address netip.Addr) (dev fact.Of[string], ok bool) {
	zone := address.Zone()
	if zone == "" {
		return dev, false
	}
	index, err := strconv.Atoi(zone)
	for _, n := range s.Netdevs {
		if n.Name == zone || err == nil && n.Index == index {
			return fact.Known(n.Name), true
		}
	}
	return fact.Unknown[string]("no interface is called " + zone + ", as in " + address.String()), true
}

// carrier gives why it is not known what an interface of a session runs over; empty if it
// is. A session from the host itself is the end of a forwarded one.
func carrier(s *inventory.Snapshot, end fact.Of[string]) string {
	dev, known := end.Get()
	switch {
	case !known:
		return end.Why()
	case dev == "lo":
		return "the session comes from the host itself, as a forwarded session does"
	}
	return s.HiddenBelow(dev)
}
