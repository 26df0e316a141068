package hosts

import (
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// notUnderstood marks a query that succeeded and could not be read.
const notUnderstood = "output not understood"

// readFlash reads the tool's view of the card's flash, or why there is none.
func readFlash(c *inventory.Card, s *inventory.Snapshot, a *collect.Answer) {
	run, asked := a.Runs["flash "+c.PCI.String()]
	switch {
	case c.Virtual:
		c.FlashError = "a virtual function has no flash of its own"
		return
	case fixed(c) != "":
		c.FlashError = "the firmware of this card is left alone: " + fixed(c)
		return
	case c.VendorID != ib.MellanoxVendor:
		c.FlashError = fmt.Sprintf("the firmware of vendor %#04x is not handled by mstflint", c.VendorID)
		return
	case !asked && !s.MSTFlint.Present:
		c.FlashFailure, c.FlashError = string(mstflint.FailureToolMissing), "mstflint is not installed"
		return
	}
	if kind, text := inUse(c, s, asked && run.Status == 0); kind != "" {
		c.FlashFailure, c.FlashError = kind, text
		return
	}
	if run.Status != 0 {
		c.FlashFailure, c.FlashError = explain(run)
		return
	}
	img, err := mstflint.ParseQuery(run.Output)
	if err != nil {
		if f := mstflint.Diagnose(run.Status, run.Output, ""); f.Kind != mstflint.FailureNone {
			c.FlashFailure, c.FlashError = explain(run)
			return
		}
		c.FlashFailure, c.FlashError = notUnderstood, "the output of mstflint q was not understood: "+err.Error()
		return
	}
	c.Flash = flash(img)
}

// inUse says why a card was not asked, or why its failure to answer says nothing:
// somebody else was at it. A query that succeeded is good whoever came afterwards.
func inUse(c *inventory.Card, s *inventory.Snapshot, answered bool) (kind, text string) {
	if answered {
		return "", ""
	}
	if !s.Users.Known() {
		return inventory.FlashUsersUnknown, "not read, because it is not known whether another program uses the card: " + s.Users.Why()
	}
	if users := s.UsersOf(c.PCI); len(users) > 0 {
		return inventory.FlashBusy, "busy: " + inventory.UsersText(users)
	}
	return "", ""
}

// fixed says why nobody can read or burn the firmware of a card; empty if somebody can.
func fixed(c *inventory.Card) string {
	a, _ := c.Adapter()
	return a.Firmware
}

// timedOut is the status of timeout of coreutils.
const timedOut = 124

func explain(run collect.Run) (kind, text string) {
	if run.Status == timedOut {
		return "timeout", "mstflint did not answer in time"
	}
	f := mstflint.Diagnose(run.Status, run.Output, "")
	switch {
	case f.Kind == mstflint.FailureLocked:
		return string(f.Kind), "another operation holds the lock of the cards on this host"
	case f.Kind == mstflint.FailureCrashed:
		return string(f.Kind), fmt.Sprintf("mstflint crashed (status %d)", run.Status)
	case f.Line == "":
		return string(f.Kind), fmt.Sprintf("mstflint ended with status %d", run.Status)
	}
	return string(f.Kind), f.Line
}

func flash(img mstflint.Image) *inventory.Flash {
	f := &inventory.Flash{
		ImageType: img.Type, FW: img.FW, RunningFW: img.RunningFW, ReleaseDate: img.ReleaseDate, ProductVersion: img.ProductVersion,
		DeviceID: img.DeviceID, PSID: string(img.PSID), GUIDs: img.GUIDs, BlankGUIDs: img.BlankGUIDs, VSD: img.VSD, SecurityAttrs: img.SecurityAttrs,
	}
	if img.Type != "FS2" {
		// Later formats keep a base from which the firmware counts.
		f.GUIDs = ib.GUIDSet{Node: img.BaseGUID, Port1: img.BaseGUID, SystemImage: img.BaseGUID, MAC1: img.BaseMAC}
		f.VSD = img.DeviceVSD
	}
	for _, r := range img.ROMs {
		f.ROM = append(f.ROM, r.String())
	}
	return f
}

// whyNoConfig says why mstconfig was not asked; empty for a card that has nothing to ask for.
func whyNoConfig(c *inventory.Card, s *inventory.Snapshot) string {
	switch _, text := inUse(c, s, false); {
	case c.VendorID != ib.MellanoxVendor || c.Virtual:
		return ""
	case !s.Commands["mstconfig"]:
		return "mstconfig is not installed"
	case text != "":
		return text
	}
	return "mstconfig was not asked, because mstflint did not get an answer: " + c.FlashError
}

// readConfig reads the non-volatile configuration, or why there is none.
func readConfig(c *inventory.Card, s *inventory.Snapshot, a *collect.Answer) {
	run, asked := a.Runs["config "+c.PCI.String()]
	if !asked {
		c.ConfigErr = whyNoConfig(c, s)
		return
	}
	table, err := mstconfig.ParseQuery(run.Output)
	var said *mstconfig.ToolError
	switch {
	case errors.As(err, &said):
		c.ConfigErr = said.Text
		return
	case run.Status == timedOut:
		c.ConfigErr = "mstconfig did not answer in time"
		return
	case run.Status != 0:
		// A query that failed in part still prints its table; what is missing
		// cannot be told from what the firmware does not have.
		_, c.ConfigErr = explain(run)
		return
	case err != nil:
		c.ConfigErr = "the output of mstconfig q was not understood: " + err.Error()
		return
	}
	types, err := table.LinkTypes()
	if err != nil {
		c.ConfigErr = "the output of mstconfig q was not understood: " + err.Error()
		return
	}
	c.Config = &inventory.Config{LinkTypeNext: map[int]string{}}
	for port, t := range types {
		c.Config.LinkTypeNext[port] = t.String()
	}
}
