package ipoib

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// trueNAS checks what only the middleware knows.
func (c *checker) trueNAS() {
	if len(c.d.Config.Routes) > 0 {
		c.add(finding.TrueNASRoutes.Find("%s: routes %s.", c.s.Host, joinRoutes(c.d.Config.Routes)))
	}
	if c.target().pkey != 0 {
		c.add(finding.TrueNASPKey.Find("%s: pkey = \"0x%04x\".", c.s.Host, c.d.PKey))
	}
	c.privateMTU()
	t := c.s.TrueNAS
	if t == nil {
		return
	}
	c.checkPending(t)
	if c.satisfied() {
		return
	}
	all, err := midclt.ParseInterfaces(t.Interfaces)
	if err != nil {
		c.add(finding.IPoIBUnsupported.Find("%s: the middleware's list of interfaces is not understood: %v.", c.s.Host, err))
		return
	}
	if midclt.NothingStored(all) {
		c.firstRow(all)
	} else if len(c.observed.Unmanaged) > 0 {
		f := finding.InterfaceStoredByOthers.Find("%s of %s: %s. Its description is not the one that Terraform writes.",
			c.observed.Name, c.s.Host, strings.Join(lines(c.observed.Unmanaged), "; "))
		c.addName(f, c.observed.Name, c.d.Consent.AdoptInterface)
	}
	c.udevWipe()
}

// checkPending refuses while other changes wait in the middleware, and also if that is
// not known: they would be committed or rolled back together with ours.
func (c *checker) checkPending(t *inventory.TrueNAS) {
	waiting, known := t.CheckinWaiting.Get()
	switch {
	case !t.PendingChanges.Known():
		c.pending("whether changes are pending is not known: %s.", t.PendingChanges.Why())
	case !known:
		c.pending("whether a check-in is waited for is not known: %s.", t.CheckinWaiting.Why())
	case fact.Yes(t.PendingChanges) || waiting > 0:
		c.pending("pending changes: %t, seconds left for a check-in: %d.", fact.Yes(t.PendingChanges), waiting)
	}
}

// pending adds what is said of pending changes. If the interface is as asked, they may be what
// has made it so, and the middleware may undo them: an apply does not count on it. A plan of
// what the state has says it, and has the apply look again; see ToDo.
func (c *checker) pending(format string, args ...any) {
	f := finding.TrueNASChangePending.Find(c.s.Host+": "+format, args...)
	switch {
	case !c.satisfied():
	case !rollbackDue(c.s):
		f.Severity, f.Summary = finding.Warn, "Changes of the network of "+c.s.Host+" may be pending"
		f.Evidence += " The interface is as asked."
	default:
		f.Summary = "Refusing to count on a change that is not confirmed"
		if c.held {
			f.Severity, f.Summary = finding.Warn, "A change of the network of "+c.s.Host+" is not confirmed"
		}
		f.Evidence += " The interface is as asked now. Without the check-in the middleware goes back to what was stored " +
			"before the change, and the interface may go back with it."
		f.WayOut = "If another apply is at work on this host, wait for its end. An apply that ended too early needs " +
			"nothing: the middleware undoes its change within two minutes. Confirm or revert other changes in the TrueNAS " +
			"web interface (Network). Then plan again. An apply before that is refused."
	}
	c.add(f)
}

// rollbackDue reports whether the middleware may undo by itself what the interfaces of the host
// have now: a commit waits for its check-in, or nothing shows that none does.
func rollbackDue(s *inventory.Snapshot) bool {
	if s.TrueNAS == nil {
		return false
	}
	waiting, known := s.TrueNAS.CheckinWaiting.Get()
	return !known || waiting > 0
}

func (c *checker) privateMTU() {
	mtu := c.d.Config.MTU
	if mtu <= trueNASMaxMTU || mtu > ib.ConnectedMaxMTU || c.d.Config.Mode != ib.ModeConnected {
		return
	}
	f := finding.MTUAboveTrueNAS.Find("mtu = %d is %d more than the %d that the API of %s takes.", mtu, mtu-trueNASMaxMTU,
		trueNASMaxMTU, c.s.Host)
	switch c.d.Consent.PrivateMTU {
	case mtu:
		f.Severity = finding.Warn
		f.Summary = "The MTU is stored past the API of TrueNAS"
		f.WayOut = "Allowed by " + f.Rule.ConsentAttribute + "."
	case 0:
		f.WayOut = fmt.Sprintf("Use mtu = %d with mode = \"connected\": it is within the API and loses little. If you "+
			"accept the private method, add:", trueNASMaxMTU)
		f.Consent = f.Rule.ConsentLine(strconv.Itoa(mtu))
	default:
		f.Evidence += fmt.Sprintf(" %s names %d instead.", f.Rule.ConsentAttribute, c.d.Consent.PrivateMTU)
		f.WayOut = fmt.Sprintf("Use mtu = %d, or change the consent to:", trueNASMaxMTU)
		f.Consent = f.Rule.ConsentLine(strconv.Itoa(mtu))
	}
	c.add(f)
}

// firstRow handles a fresh TrueNAS: the first stored interface clears all others, so
// the interface that leads to the host must be stored with it.
func (c *checker) firstRow(all []midclt.Interface) {
	management := managementInterface(c.s)
	if management == "" {
		c.add(finding.TrueNASOthersGoDown.Find("%s has no stored interface, and the one that leads to it is not known.",
			c.s.Host))
		return
	}
	var lost []string
	for _, i := range all {
		if i.Name != management && i.Name != c.observed.Name && !c.mayBeOurs(i.Name) && len(i.State.Addresses()) > 0 {
			lost = append(lost, fmt.Sprintf("%s (%s)", i.Name, joinPrefixes(i.State.Addresses())))
		}
	}
	if len(lost) > 0 {
		c.add(finding.TrueNASOthersGoDown.Find("%s has no stored interface, and besides %s these have addresses: %s.",
			c.s.Host, management, strings.Join(lost, ", ")))
		return
	}
	f := finding.TrueNASFirstInterface.Find("%s has no stored interface; %s leads to it.", c.s.Host, management)
	f.WayOut = fmt.Sprintf("Store %s in the TrueNAS web interface (Network, Interfaces, Edit, Save, Test), or have this "+
		"change store it with DHCP in the same transaction.", management)
	c.addName(f, management, c.d.Consent.KeepInterface)
}

// udevWipe finds the rules that the middleware would delete.
func (c *checker) udevWipe() {
	tunables, err := midclt.ParseTunables(c.s.TrueNAS.Tunables)
	if err != nil {
		c.add(finding.IPoIBUnsupported.Find("%s: the middleware's list of tunables is not understood: %v.", c.s.Host, err))
		return
	}
	if slices.ContainsFunc(c.ports(), func(port ib.GUID) bool {
		t, ok := findTunable(tunables, port)
		return ok && t.Enabled && t.Value == udevRule(port, c.d.Config.Mode)
	}) {
		return // stays as it is
	}
	if c.s.Denied[udevDir] {
		c.add(finding.TrueNASDeletesUdevRules.Find("%s of %s cannot be read, so that it may hold others.", udevDir, c.s.Host))
		return
	}
	var others []string
	for _, file := range c.s.TrueNAS.UdevRulesDirectory {
		stem, isRule := strings.CutSuffix(path.Base(file), ".rules")
		known := slices.ContainsFunc(tunables, func(t midclt.Tunable) bool {
			return t.Type == "UDEV" && t.Enabled && t.Var == stem
		})
		if !isRule || !known {
			others = append(others, file)
		}
	}
	if len(others) > 0 {
		c.add(finding.TrueNASDeletesUdevRules.Find("%s of %s holds %s.", udevDir, c.s.Host, strings.Join(others, ", ")))
	}
}
