package ipoib

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// What became of an earlier change that is not put away, besides what the host wrote when it
// undid it.
const (
	undoWaits = "waiting"   // the host will undo it, unless it is confirmed
	undoRuns  = "undoing"   // the host undoes it now
	undoFails = "failed"    // the host could not put back every file
	undoNever = "confirmed" // it holds; what was saved for an undo is left
)

// checkUndone tells what became of an earlier change that is not put away.
func (c *checker) checkUndone() {
	switch c.observed.Undone {
	case "":
	case undoWaits:
		// An apply of this plan may have nothing to do for this resource. Core does not call the
		// provider then.
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: it is not undone yet. The host does that by itself, within two "+
			"minutes of that change or at its next start. An apply that changes this interface does it first.", c.s.Host).
			WithWayOut("Wait until the host has undone it, then plan again: this plan shows what it will take back. If " +
				"another apply is at work on this interface, wait for its end. Then find out what cut the connection, before " +
				"you apply the same change again."))
	case undoRuns:
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: the host undoes it now.", c.s.Host).WithWayOut(
			"Wait two minutes and plan again: this plan may show what the host takes back. Then find out what cut the " +
				"connection, before you apply the same change again."))
	case undoFails:
		g := netundo.Guard{ID: c.target().id()}
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: the host began to undo it and could not put back every file. What "+
			"they held is kept in %s/files.", c.s.Host, g.Dir()).WithWayOut(fmt.Sprintf("Find the reason in the journal of "+
			"the host (journalctl -u %s), such as a full disk, and remove it. Then apply: an apply that changes this "+
			"interface finishes the undo first. The host tries again at its next start, too.", g.Unit())))
	case undoNever:
		c.add(finding.ConfirmedChangeLeft.Find("%s: %s is still there.", c.s.Host,
			netundo.Guard{ID: c.target().id()}.Dir()))
	default:
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: it was undone %s. The next change puts away what is left of it.",
			c.s.Host, c.observed.Undone).WithWayOut("Find out what cut the connection before you apply the same change again."))
	}
}

// leftovers reports whether something is left of a change that holds. An apply puts it away
// before it does anything else. What is left of a change that was undone tells that it was, until
// the next change. The middleware of TrueNAS has its own.
func (o Observation) leftovers() bool {
	return o.Undone == undoNever && o.Stack != StackMiddleware
}

// OnlyPutsAway reports whether an apply of d would do no more than put away what is left of an
// earlier change, or see whether that holds.
func OnlyPutsAway(s *inventory.Snapshot, d Request) bool {
	o := Observe(s, d.PortGUID, d.PKey)
	return (o.leftovers() || rollbackDue(s)) && o.Satisfies(d.Config) && len(adoptedDefinitions(o, d)) == 0
}
