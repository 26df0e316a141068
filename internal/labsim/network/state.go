// Package network is the network of a simulated host: iproute2, ping, and the services
// that configure interfaces: netplan, systemd-networkd, NetworkManager, ifupdown.
//
// It must not know cards beyond their ports, nor TrueNAS. A flag, file or form that it
// does not model is refused and recorded as a violation; it never succeeds with empty
// output.
package network

import (
	"net/netip"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// State is what the network services of one machine keep.
type State struct {
	m *labsim.Machine

	mu       sync.Mutex
	managed  map[string][]netip.Prefix
	networks []*network
	// What others have added with ip; networkd drops it.
	rules      []rule
	nexthops   []nexthop
	neighbours []neighbour

	nm        *nmState
	readyBoot int // number of the boot whose network service is up
	firewall  bool
}

// Of returns the network of a machine.
func Of(m *labsim.Machine) *State {
	s, _ := m.Value("network", func() any {
		return &State{m: m, nm: newNMState(), managed: map[string][]netip.Prefix{}}
	}).(*State)
	return s
}
