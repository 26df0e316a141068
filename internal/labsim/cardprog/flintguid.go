package cardprog

import (
	"io/fs"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// setGUIDs is sg. On FS2 a card with an identity gets its whole image re-burned;
// a blank one is patched in place without a question.
func (f *flint) setGUIDs() int {
	if status := f.openForGUIDs(); status != 0 {
		return status
	}
	if f.gen5() {
		return f.setUID()
	}
	// "nocrc" changes nothing for a card that has an identity.
	if len(f.call.params) > 0 && f.call.params[0] != "nocrc" {
		return f.p.Unknown("sg " + f.call.params[0])
	}
	img, status := f.guidSubject()
	if status != 0 {
		return status
	}
	if img.TOC != nil {
		return f.setUID()
	}
	if f.call.has("uid") {
		return f.refuseUID(img)
	}
	if img.Blank && len(f.call.params) > 0 {
		return f.p.Unknown("sg nocrc of a blank card")
	}
	now := identity{img.GUIDs, img.MACs}
	ids := f.overlay(now, img.Blank)
	if img.Blank {
		return f.patchBlank(img, ids)
	}
	f.p.Printf("-W- GUIDs are already set, re-burning image with the new GUIDs ...\n")
	f.guidTable(ids, now)
	if status := f.ask(1); status != 0 {
		return status
	}
	for _, mac := range ids.macs {
		if problem := macProblem(mac); problem != "" {
			return f.fail("Cannot set GUIDs: Bad mac (%012x) given: %s Please re-burn with a valid -mac flag value.",
				mac, problem)
		}
	}
	if err := img.Verify(); err != nil {
		// Only here does the tool notice that the code in flash is damaged.
		return f.fail("Cannot set GUIDs: Internal error: The prepared image After modifying the GUIDs is corrupted: %s\n",
			errorText(err))
	}
	data := img.WithIdentity(ids.guids, ids.macs, img.VSD)
	if f.card == nil {
		return f.rewriteFile(data)
	}
	return f.write(data)
}

// guidSubject opens what sg is about.
func (f *flint) guidSubject() (*card.Image, int) {
	if f.call.has("image") {
		return f.subject("query")
	}
	img, err := f.card.Flash.Active()
	if err != nil {
		return nil, f.fail("Cannot set GUIDs: %s", errorText(err))
	}
	return img, 0
}

// openForGUIDs opens the card of sg; of an image there is none.
func (f *flint) openForGUIDs() int {
	if f.call.has("image") {
		return 0
	}
	return f.openDevice()
}

// refuseUID ends sg with an option that is for later chips.
func (f *flint) refuseUID(img *card.Image) int {
	families := "FS3/FS4"
	if f.version.atLeast(31) {
		families = "FS3/FS4/FS5"
	}
	if f.card != nil && !img.Blank {
		f.p.Printf("-W- GUIDs are already set, re-burning image with the new GUIDs ...\n")
	}
	return f.fail("-uid flag is applicable only for %s FW Only.", families)
}

func (f *flint) patchBlank(img *card.Image, ids identity) int {
	if f.card == nil {
		return f.fail("Cannot set GUIDs: Image file is not supported.")
	}
	if err := f.card.PatchBlank(img, ids.guids, ids.macs); err != nil {
		return f.fail("Cannot set GUIDs: flash write error (%s)", flashText(err))
	}
	f.p.Printf("\r%sOK\n", signatureLabel)
	return 0
}

// rewriteFile stores an image file with its new identity.
func (f *flint) rewriteFile(data []byte) int {
	name := f.call.options["image"]
	if f.p.Machine.FS.Access(f.p.Cred(), f.p.Abs(name), fs.FileMode(2)) != nil {
		return f.fail("Cannot set GUIDs: cannot write %s", name)
	}
	if err := f.p.WriteFile(name, data); err != nil {
		return f.fail("Cannot set GUIDs: %s", capital(err))
	}
	f.p.Printf("\r%sOK  \n%sOK\n", burnLabel, signatureLabel)
	return 0
}
