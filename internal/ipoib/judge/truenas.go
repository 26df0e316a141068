package judge

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// trueNAS checks what only the middleware knows.
func (c *checker) trueNAS() {
	if len(c.d.Config.Routes) > 0 {
		c.add(finding.TrueNASCannotKeep.Find("%s: routes %s.", c.look.Host, ipconf.Join(c.d.Config.Routes)))
	}
	if c.look.PKey != 0 {
		c.add(finding.TrueNASCannotKeep.Find("%s: pkey = \"0x%04x\".", c.look.Host, c.d.PKey).At("pkey"))
	}
	c.privateMTU()
	m := c.look.Middleware()
	if m == nil {
		return
	}
	c.checkPending(m)
	// Nothing is stored then, so that nothing of others is touched.
	if c.satisfied() {
		return
	}
	if err := m.InterfacesErr; err != nil {
		c.add(finding.IPoIBUnsupported.Find("%s: the middleware's list of interfaces is not understood: %v.",
			c.look.Host, err))
		return
	}
	// Without a row the middleware runs DHCP on every interface; with the first one it clears those without one.
	if midclt.NothingStored(m.Interfaces) {
		c.firstRow(m.Interfaces)
	} else if len(c.look.Unmanaged) > 0 {
		f := finding.InterfaceStoredByOthers.Find("%s of %s: %s. Its description is not the one that Terraform writes.",
			c.look.Name, c.look.Host, strings.Join(found.Lines(c.look.Unmanaged), "; "))
		c.addName(f, c.look.Name, c.d.Consent.AdoptInterface)
	}
	c.udevWipe(m)
}

// checkPending refuses while other changes wait in the middleware, and also if that is
// not known: they would be committed or rolled back together with ours.
func (c *checker) checkPending(m *found.Middleware) {
	waiting, known := m.Waiting.Get()
	switch {
	case !m.Pending.Known():
		c.pending("whether changes are pending is not known: %s.", m.Pending.Why())
	case !known:
		c.pending("whether a check-in is waited for is not known: %s.", m.Waiting.Why())
	case fact.Yes(m.Pending) || waiting > 0:
		c.pending("pending changes: %t, seconds left for a check-in: %d.", fact.Yes(m.Pending), waiting)
	}
}

// pending adds what is said of pending changes. If the interface is as asked, they may be what
// has made it so, and the middleware may undo them: an apply does not count on it. A plan of
// what the state has says it, and has the apply look again; see ToDo.
func (c *checker) pending(format string, args ...any) {
	f := finding.TrueNASChangePending.Find(c.look.Host+": "+format, args...)
	switch {
	case !c.satisfied():
	case !c.look.RollbackDue():
		f.Severity, f.Summary = finding.Warn, "Changes of the network of "+c.look.Host+" may be pending"
		f.Evidence += " The interface is as asked."
	default:
		f.Summary = "Refusing to count on a change that is not confirmed"
		if c.held {
			f.Severity, f.Summary = finding.Warn, "A change of the network of "+c.look.Host+" is not confirmed"
		}
		f.Evidence += " The interface is as asked now. Without the check-in the middleware goes back to what was stored " +
			"before the change, and the interface may go back with it."
		f.WayOut = "If another apply is at work on this host, wait for its end. An apply that ended too early needs " +
			"nothing: the middleware undoes its change within two minutes. Confirm or revert other changes in the TrueNAS " +
			"web interface (Network). Then plan again. An apply before that is refused."
	}
	c.add(f)
}

// privateMTU asks consent for an MTU above the limit of the API.
func (c *checker) privateMTU() {
	mtu := c.d.Config.MTU
	if mtu <= ipoib.TrueNASMaxMTU || mtu > ib.ConnectedMaxMTU || c.d.Config.Mode != ib.ModeConnected {
		return
	}
	f := finding.MTUAboveTrueNAS.Find("mtu = %d is %d more than the %d that the API of %s takes.", mtu,
		mtu-ipoib.TrueNASMaxMTU,
		ipoib.TrueNASMaxMTU, c.look.Host)
	f = f.WithConsent(f.Rule.ConsentLine(strconv.Itoa(mtu)))
	switch c.d.Consent.PrivateMTU {
	case mtu:
		f.Severity = finding.Warn
		f.Summary = "The MTU is stored past the API of TrueNAS"
		f.WayOut = "Allowed by " + f.Rule.ConsentName() + "."
	case 0:
		f.WayOut = fmt.Sprintf("Use mtu = %d with mode = \"connected\": it is within the API and loses little. If you "+
			"accept the private method, write into the resource:", ipoib.TrueNASMaxMTU)
	default:
		f.Evidence += fmt.Sprintf(" %s names %d instead.", f.Rule.ConsentName(), c.d.Consent.PrivateMTU)
		f.WayOut = fmt.Sprintf("Use mtu = %d, or change the consent to:", ipoib.TrueNASMaxMTU)
	}
	c.add(f)
}

// firstRow handles a fresh TrueNAS: the first stored interface clears all others, so
// the interface that leads to the host must be stored with it.
func (c *checker) firstRow(all []midclt.Interface) {
	management := c.look.Management()
	if management == "" {
		c.add(finding.TrueNASOthersGoDown.Find("%s has no stored interface, and the one that leads to it is not known.",
			c.look.Host))
		return
	}
	var lost []string
	for _, i := range all {
		if i.Name != management && i.Name != c.look.Name && !c.mayBeOurs(i.Name) && len(i.State.Addresses()) > 0 {
			lost = append(lost, fmt.Sprintf("%s (%s)", i.Name, ipconf.Join(i.State.Addresses())))
		}
	}
	// Before the consent is asked for: it covers the one interface that leads here, and no other.
	if len(lost) > 0 {
		c.add(finding.TrueNASOthersGoDown.Find("%s has no stored interface, and besides %s these have addresses: %s.",
			c.look.Host, management, strings.Join(lost, ", ")))
		return
	}
	f := finding.TrueNASFirstInterface.Find("%s has no stored interface; %s leads to it.", c.look.Host, management)
	f.WayOut = fmt.Sprintf("Store %s in the TrueNAS web interface (Network, Interfaces, Edit, Save, Test), or have this "+
		"change store it with DHCP in the same transaction.", management)
	c.addName(f, management, c.d.Consent.KeepInterface)
}

// udevWipe finds the rules that the middleware would delete.
func (c *checker) udevWipe(m *found.Middleware) {
	if err := m.TunablesErr; err != nil {
		c.add(finding.IPoIBUnsupported.Find("%s: the middleware's list of tunables is not understood: %v.", c.look.Host, err))
		return
	}
	if slices.ContainsFunc(c.ports(), func(port ib.GUID) bool {
		t, ok := m.Tunable(port)
		return ok && t.Enabled && t.Value == found.UdevRule(c.d.Config.Mode, port)
	}) {
		return // stays as it is
	}
	if c.look.NoRulesRead() {
		c.add(finding.TrueNASDeletesUdevRules.Find("%s of %s cannot be read, so that it may hold others.", found.UdevDir,
			c.look.Host))
		return
	}
	var others []string
	for _, file := range m.RulesDir {
		stem, isRule := strings.CutSuffix(path.Base(file), ".rules")
		known := slices.ContainsFunc(m.Tunables, func(t midclt.Tunable) bool {
			return t.Type == "UDEV" && t.Enabled && t.Var == stem
		})
		if !isRule || !known {
			others = append(others, file)
		}
	}
	if len(others) > 0 {
		c.add(finding.TrueNASDeletesUdevRules.Find("%s of %s holds %s.", found.UdevDir, c.look.Host,
			strings.Join(others, ", ")))
	}
}
