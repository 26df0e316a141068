// Package infiniband holds opensm and the tools of infiniband-diags of a simulated host.
//
// It must not hold a fabric: that is the lab's, which it asks. A flag, file or form that
// it does not model is refused and recorded as a violation; it never succeeds with empty
// output.
package infiniband

import (
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// state is what the subnet managers of one machine share.
type state struct {
	m *labsim.Machine

	mu      sync.Mutex
	smPorts map[*labsim.Port]int // PID of the opensm on a port
}

// modern says whether infiniband-diags and its libraries are those of rdma-core 55 or
// later; the rest is as 44 has it.
func (s *state) modern() bool { return s.m.OS.System().Systemd >= 257 }

func stateOf(m *labsim.Machine) *state {
	s, _ := m.Value("infiniband", func() any { return &state{m: m, smPorts: map[*labsim.Port]int{}} }).(*state)
	return s
}
