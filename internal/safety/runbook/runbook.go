// Package runbook has the commands that a person runs by hand on a card whose flash does not
// start. The provider runs none of them: they are not failsafe.
//
// It must not judge.
package runbook

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Card is the card that a runbook is for.
type Card struct {
	PCI       ib.PCIAddress
	Host      string
	BackupDir string // on the operator's machine
	Later     bool   // newer than ConnectX-3
	Part      string // its part number; empty: not known
	Board     string // its board by the table of boards, with the PSIDs; empty: not known
}

// Recovery is for a card that shows its recovery id: what to prove, and the commands that bring it
// back. The burn takes the identity from the file, which is right for an empty flash and for the
// backup of this very card only.
func Recovery(c Card) string {
	return fmt.Sprintf("Nothing but a recovery by hand is allowed now:\n"+
		"1. Verify the flash: mstflint -d %[1]s v. If it verifies, write nothing: a jumper on the card holds it in this "+
		"mode. Switch the machine off, take the jumper off, switch it on. Else read part number and PSID off the card's "+
		"label, and look at what is left: mstflint -d %[1]s q.\n"+
		"2. Switch the machine off, wait half a minute, switch it on. A card that only missed its start is back.\n"+
		"3. If not, find this card's backup: %[2]s/%[3]s/CARD/TIME/ on the machine that runs Terraform. "+
		"card.json there holds PSID, GUIDs, MACs and serial number; compare them with the label. %[5]s\n"+
		"4. Burn it over the empty flash. %[4]s Never do so with the backup of another card.\n"+
		"5. Restart the host and plan again.", c.PCI, c.BackupDir, c.Host, WriteBack(c), withoutBackup(c))
}

// withoutBackup is the way of a card that nobody has a copy of. On ConnectX-4 and later GUIDs and
// MACs are written apart from the firmware (-ocr, because no firmware runs), so that an
// image of the vendor will do; the image of a ConnectX-3 needs the identity in the same burn.
func withoutBackup(c Card) string {
	if !c.Later {
		return "Without a backup, stop: the vendor's own recovery is left."
	}
	board := "whose PSID is on the label"
	switch {
	case c.Board != "":
		board = "for this card's part number " + c.Part + ": " + c.Board + "; the PSID on the label has to be that"
	case c.Part != "":
		board += " and that is for part number " + c.Part
	}
	return fmt.Sprintf("Without a backup, take the image of the board %[2]s. Prove it: mstflint -i FILE v, then "+
		"mstflint -i FILE q shows that PSID. Burn it as in step 4, with FILE as the file. Then write the GUID "+
		"and the MAC of the label: "+
		"mstflint -d %[1]s -ocr -guid GUID -mac MAC sg.", c.PCI, board)
}

// WriteBack is the command that writes the backup of a card over a flash without a valid image,
// from the copy that the host keeps. A failsafe burn is refused there (mstflint 4.21: "Can not
// extract GUIDs/MACs info from flash"), so that this one takes the identity from the file.
func WriteBack(c Card) string {
	identity := "-use_image_guids -use_image_ps"
	if c.Later {
		identity = "-ignore_dev_data" // there GUIDs are device data beside the firmware
	}
	return fmt.Sprintf("On the host, as root: mstflint -d %s -nofs %s -i %s b. FIRMWARE_SHA256 is firmware_sha256 of "+
		"card.json. If the host lacks this file, copy firmware.bin, which is beside card.json, to the host, and name that "+
		"copy. The command is not failsafe, and takes the GUIDs from the file.", c.PCI, identity,
		inventory.BackupFile("FIRMWARE_SHA256"))
}
