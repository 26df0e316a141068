// Package systemd is the service manager of a simulated host: systemctl, systemd-run,
// unit files, the journal, inhibitor locks, udev and the programs that restart.
//
// It must not know what the units run, cards or networks. A flag, setting or rule
// that it does not model is refused and recorded as a violation; it never succeeds
// with empty output.
package systemd

import (
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Manager is the systemd of one machine.
type Manager struct {
	m *labsim.Machine

	mu         sync.Mutex
	units      map[string]*unit
	builtin    []string // units that every boot starts
	lines      []logLine
	inhibitors map[int]Inhibitor
	hup        map[int]func() // by PID: programs that re-read their configuration
	bootDone   int            // number of the boot that has started everything
}

// Of returns the systemd of a machine.
func Of(m *labsim.Machine) *Manager {
	s, _ := m.Value("systemd", func() any {
		return &Manager{m: m, units: map[string]*unit{}, inhibitors: map[int]Inhibitor{}, hup: map[int]func(){}}
	}).(*Manager)
	return s
}
