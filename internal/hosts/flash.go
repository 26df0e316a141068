package hosts

import (
	"errors"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/devlink"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// notUnderstood marks a query that succeeded and could not be read.
const notUnderstood = "output not understood"

// readFlash reads the tool's view of the card's flash, or why there is none. Of a card that no tool can reach,
// because the kernel is locked down or there is no mstflint, the driver tells the firmware.
func readFlash(c *inventory.Card, s *inventory.Snapshot, a *collect.Answer) {
	askedTool(c, s, a)
	run, asked := a.Runs["devlink "+c.PCI.String()]
	// The driver's word only where no tool can have one: it knows neither GUIDs nor checksums.
	if !asked || c.Flash != nil || c.FlashFailure != inventory.FlashToolMissing && !lockedOut(c, s) {
		return
	}
	told, err := devlink.ParseInfo(run.Output)
	if run.Status != 0 {
		err = errors.New(firstLine(run.Output))
	}
	if err != nil {
		c.FlashError += fmt.Sprintf(". The driver does not tell the firmware either (devlink dev info, status %d: %v)",
			run.Status, err)
		return
	}
	c.Flash = &inventory.Flash{ImageType: c.Chip.Format, Firmware: ib.Firmware{PSID: told.PSID, FW: told.Stored},
		ByDriver: true}
	// As mstflint tells it: only a version that differs is one that waits.
	if told.Running != told.Stored {
		c.Flash.RunningFW = told.Running
	}
}

// askedTool reads the answer of the tool.
func askedTool(c *inventory.Card, s *inventory.Snapshot, a *collect.Answer) {
	run, asked := a.Runs["flash "+c.PCI.String()]
	unread := func(kind, why string) {
		c.FlashFailure, c.FlashError = kind, why
		c.FlashTaken = kind == inventory.FlashBusy || mstflint.FailureKind(kind).IsContention()
	}
	switch {
	case c.Virtual:
		c.FlashError = "a virtual function has no flash of its own"
		return
	case whyClosed(c) != "":
		c.FlashError = "the firmware of this card is left alone: " + whyClosed(c)
		return
	// The tool itself looks at the device id alone, and takes a card of another vendor for one of its own.
	case c.VendorID != ib.MellanoxVendor:
		c.FlashError = fmt.Sprintf("the firmware of vendor %#04x is not handled by mstflint", c.VendorID)
		return
	case !asked && !s.MSTFlint.Present:
		unread(inventory.FlashToolMissing, "mstflint is not installed")
		return
	}
	// Before the failure is read: beside another tool its words mean nothing (MFE_BAD_PARAMS and the like, 4.21).
	if kind, text := inUse(c, s, asked && run.Status == 0); kind != "" {
		unread(kind, text)
		return
	}
	if run.Status != 0 {
		unread(explain("mstflint", run))
		return
	}
	img, err := mstflint.ParseQuery(run.Output)
	if err != nil {
		if f := mstflint.Diagnose(run.Status, run.Output, ""); f.Kind != mstflint.FailureNone {
			unread(explain("mstflint", run))
			return
		}
		unread(notUnderstood, "the output of mstflint q was not understood: "+err.Error())
		return
	}
	c.Flash = flash(img, c.PCI)
}

// usersUnknown begins the reason for not asking a card.
const usersUnknown = "not read, because it is not known whether another program uses the card: "

// inUse says why a card was not asked, or why its failed answer means nothing: another
// program used it. A query that succeeded counts in any case.
func inUse(c *inventory.Card, s *inventory.Snapshot, answered bool) (kind, text string) {
	if answered {
		return "", ""
	}
	if !s.Users.Known() {
		return inventory.FlashUsersUnknown, usersUnknown + s.Users.Why()
	}
	if users := s.UsersOf(c.PCI); len(users) > 0 {
		return inventory.FlashBusy, "busy: " + inventory.UsersText(users)
	}
	return "", ""
}

// whyClosed says why nobody can read or burn the firmware of a card; empty if somebody can.
func whyClosed(c *inventory.Card) string {
	a, _ := c.Adapter()
	return a.Firmware
}

// timedOut is the status of timeout of coreutils.
// The script runs each question under it: one card that hangs must not hold the facts of a whole host.
const timedOut = 124

// explain gives the kind of a failure of a tool and a line that says it.
func explain(program string, run collect.Run) (kind, text string) {
	if run.Status == timedOut {
		return "timeout", program + " did not answer in time"
	}
	f := mstflint.Diagnose(run.Status, run.Output, "")
	switch {
	case f.Kind == mstflint.FailureLocked:
		return string(f.Kind), "another operation holds the lock of the cards on this host"
	case f.Kind == mstflint.FailureCrashed:
		return string(f.Kind), fmt.Sprintf("%s crashed (status %d)", program, run.Status)
	case f.Line == "":
		return string(f.Kind), fmt.Sprintf("%s ended with status %d", program, run.Status)
	}
	return string(f.Kind), f.Line
}

func flash(img mstflint.Image, pci ib.PCIAddress) *inventory.Flash {
	f := &inventory.Flash{
		ImageType: img.Type, Firmware: ib.Firmware{PSID: img.PSID,
			FW: img.FW}, RunningFW: img.RunningFW, ReleaseDate: isoDate(img.ReleaseDate), ProductVersion: img.ProductVersion,
		GUIDs: img.GUIDs, BlankGUIDs: img.BlankGUIDs, VSD: img.VSD, SecurityAttrs: img.SecurityAttrs,
	}
	if img.Type != "FS2" {
		// Later formats keep a base from which the firmware counts.
		// One form for all formats: what compares identities must not know which one it has.
		f.GUIDs = ib.GUIDSet{Node: img.BaseGUID, Port1: img.BaseGUID, SystemImage: img.BaseGUID, MAC1: img.BaseMAC}
		if pci.Function() != 0 {
			f.GUIDs.Port1 = 0 // the base is the GUID of the first function
		}
		f.VSD = img.DeviceVSD
	}
	for _, r := range img.ROMs {
		f.ROM = append(f.ROM, r.String())
	}
	return f
}

// isoDate reads the date of mstflint's query, day.month.year; empty if it is none.
func isoDate(printed string) string {
	date, err := time.Parse("2.1.2006", printed)
	if err != nil {
		return ""
	}
	return date.Format(time.DateOnly)
}
