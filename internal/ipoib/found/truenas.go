package found

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// readMiddleware parses the answers of the middleware; nil on another host.
func readMiddleware(t *inventory.TrueNAS) *Middleware {
	if t == nil {
		return nil
	}
	m := &Middleware{Pending: t.PendingChanges, Waiting: t.CheckinWaiting, RulesDir: t.UdevRulesDirectory}
	m.Interfaces, m.InterfacesErr = midclt.ParseInterfaces(t.Interfaces)
	if m.Tunables, m.TunablesErr = midclt.ParseTunables(t.Tunables); m.TunablesErr != nil {
		m.Tunables = nil // what was read before the error says nothing
	}
	return m
}

// Middleware is that of the host; nil elsewhere.
func (l *Look) Middleware() *Middleware { return l.host.middleware() }

// NoRulesRead reports whether the directory of the rules of udev could not be read.
func (l *Look) NoRulesRead() bool { return l.host.snap.Denied[udevDir] }

// UdevDir is where the middleware and administrators put rules of udev.
const UdevDir = udevDir

// RollbackDue reports whether the middleware may undo by itself what the interfaces of the host
// have now: a commit waits for its check-in, or nothing shows that none does.
func (l *Look) RollbackDue() bool {
	m := l.Middleware()
	if m == nil {
		return false
	}
	waiting, known := m.Waiting.Get()
	return !known || waiting > 0
}

// OwnerMark is how a database row of the middleware says that it is ours.
func OwnerMark(port ib.GUID) string {
	return strings.TrimPrefix(platform.Owner, "# ") + " " + port.String()
}

// TunableStem names our udev tunable; the middleware makes a rules file of it.
func TunableStem(port ib.GUID) string { return "80-infiniband-" + port.Hex() }

// Tunable finds the udev tunable of a port.
func (m *Middleware) Tunable(port ib.GUID) (midclt.Tunable, bool) {
	for _, t := range m.Tunables {
		if t.Type == "UDEV" && t.Var == TunableStem(port) {
			return t, true
		}
	}
	return midclt.Tunable{}, false
}

// findStored finds the stored row of our interface: by our mark, so that it is
// found also after the interface got another name, or else by the name.
func findStored(all []midclt.Interface, port ib.GUID, name string) (row midclt.Interface, ours, ok bool) {
	for _, i := range all {
		if i.Description == OwnerMark(port) {
			return i, true, true
		}
	}
	for _, i := range all {
		if i.Name == name && name != "" {
			return i, false, true
		}
	}
	return midclt.Interface{}, false, false
}

// readStoredRow reads what the middleware stores. Answers that do not parse
// count as nothing stored; a check reports them.
func (l *Look) readStoredRow(m *Middleware) {
	p := &l.Persisted
	if t, ok := m.Tunable(l.PortGUID); ok {
		p.Found = true
		p.Sources = append(p.Sources, "udev tunable "+t.Var)
		if t.Enabled {
			p.Config.Mode = RuleMode(t.Value, l.PortGUID)
		}
	}
	row, ours, ok := findStored(m.Interfaces, l.PortGUID, l.Name)
	switch {
	case ok && ours:
		p.Found, p.Interface = true, row.Name
		p.Sources = append(p.Sources, "interface "+row.Name)
		p.Config.Addresses = ipconf.SortedAddresses(row.Addresses())
		if row.MTU != nil {
			p.Config.MTU = *row.MTU
		}
	case ok && !midclt.NothingStored(m.Interfaces):
		l.Unmanaged = describeStored(row)
	}
}

// describeStored says what someone else stored for an interface; nothing if
// the row holds nothing or there is none.
func describeStored(i midclt.Interface) []Unmanaged {
	var parts []string
	if i.Description != "" {
		parts = append(parts, fmt.Sprintf("description %q", i.Description))
	}
	if len(i.Addresses()) > 0 {
		parts = append(parts, "addresses "+ipconf.Join(i.Addresses()))
	}
	if i.MTU != nil {
		parts = append(parts, fmt.Sprintf("MTU %d", *i.MTU))
	}
	if i.DHCP {
		parts = append(parts, "DHCP")
	}
	if len(parts) == 0 {
		return nil
	}
	return []Unmanaged{{Line: "stored with " + strings.Join(parts, ", ")}}
}
