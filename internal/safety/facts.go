package safety

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// CardFacts is what is known of one card: what was found on its host, and what follows
// from that or from an inspection of the card.
type CardFacts struct {
	inventory.Card
	Host     string
	Identity IdentityFacts
	// InUse are the other programs that came to the card during the inspection.
	InUse []string

	// What an inspection gives; without one it is not known.

	HWID fact.Of[ib.HWID] // the silicon's own id, from the vendor tool
	// UpdateMethod is who writes the flash in a burn, "Legacy" for mstflint itself
	// and "fw_ctrl" for the running firmware; empty: not asked. Not of FS2.
	UpdateMethod string
	Failsafe     FailsafeState
	Checksum     string // identity-free, as mstflint checksum prints it; empty: unknown
	ChecksumWhy  string // why it is not known although the tool was asked
	Verified     VerifyState
	VerifyError  string // what the tool said if it is not good

	// Running is what the card runs, by the driver or by the tool, which knows no PSID.
	Running fact.Of[ib.Firmware]
	// RunningAssumed says that no driver shows the PSID of what runs, and that
	// the one in flash is taken for it, because the tool sees no other version.
	RunningAssumed bool
	// StagedBy is the job that burned what is in flash since the host started.
	StagedBy string
	// StartedWith is the job of an earlier start of the host that burned what is in flash:
	// the card has loaded it since.
	StartedWith string
	// JobChecksum is the content that this job left in flash; empty: not known.
	JobChecksum string
	// GUIDsBy is the job that wrote the node GUID in flash since the host started.
	GUIDsBy string
	// Rollback is the declared image that goes back where no copy of the flash can be made; nil: none.
	Rollback *ImageFacts
	// Writes are what jobs of this provider made of the GUIDs and MACs of this card, at any time.
	Writes []IdentityWrite
}

// IdentityWrite is what one job found in flash and what it wrote. A burn writes nothing of its own.
type IdentityWrite struct{ Before, After ib.GUIDSet }

// started is StartedWith, if flash still has the content of that job: somebody may have burned
// another image of the same version since. Before the content was asked for, version and PSID
// decide.
func (c CardFacts) started() string {
	asked := c.Checksum != "" || c.ChecksumWhy != ""
	if asked && (c.Checksum == "" || c.Checksum != c.JobChecksum) {
		return ""
	}
	return c.StartedWith
}

// staged is StagedBy in the same way. A burn that leaves the boot ROM of a flash does not know
// the content beforehand: that tells nothing against an image that no start has loaded yet.
func (c CardFacts) staged() string {
	asked := c.Checksum != "" || c.ChecksumWhy != ""
	if asked && c.JobChecksum != "" && c.Checksum != c.JobChecksum {
		return ""
	}
	return c.StagedBy
}

// Identified reports whether the flash could be read and has a PSID.
func (c CardFacts) Identified() bool { return c.InFlash().PSID != "" }

// runningPSID is empty if it is not known.
func (c CardFacts) runningPSID() ib.PSID { return c.Running.Or(ib.Firmware{}).PSID }

// IdentityFacts are who a card was when its plan was made or when it was adopted,
// and who it is now. Without a recorded identity no card is the right one.
type IdentityFacts struct {
	Recorded, Now ib.Identity
	Unread        string // why the serial number does not tell the card from others; empty: it does
	// Elsewhere is the address at which the recorded card is now, with its host if
	// that is another one; empty: it was not found.
	Elsewhere string
	// Edit are the lines of configuration that follow a card that has moved.
	Edit string
}

// Same reports whether it is proven that the card is the recorded one.
func (f IdentityFacts) Same() bool {
	like, _ := ib.Compare(f.Recorded, f.Now)
	return like == ib.Same
}

// Other reports whether it is proven that the card is another one; with strict, also
// whether that cannot be excluded.
func (f IdentityFacts) Other(strictly bool) bool {
	like, _ := ib.Compare(f.Recorded, f.Now)
	return like == ib.Other || strictly && like != ib.Same
}

// VerifyState is the outcome of the tool's verification of the flash.
type VerifyState int

// The outcomes.
const (
	VerifyUnknown VerifyState = iota // not asked yet
	VerifyGood
	VerifyBad
	VerifyBlank // good but for GUIDs that were never set
)

// FailsafeState says whether flash or image is in the two-slot layout.
type FailsafeState int

// The layouts.
const (
	FailsafeUnknown FailsafeState = iota
	FailsafeYes
	FailsafeNo
)

// ImageProblem says why a file is not a usable image.
type ImageProblem string

// The problems; ImageOK means none.
const (
	ImageOK          ImageProblem = ""
	ImageUnreadable  ImageProblem = "unreadable"
	ImageTruncated   ImageProblem = "truncated"
	ImageCRC         ImageProblem = "crc"
	ImageContainer   ImageProblem = "container"
	ImageRawDump     ImageProblem = "raw dump"
	ImageUnsupported ImageProblem = "unsupported format"
	ImageMalformed   ImageProblem = "malformed"
	ImageNoHardware  ImageProblem = "no hardware ids"
	ImageEncrypted   ImageProblem = "encrypted"
)

// ImageFacts is what is known of one firmware file.
type ImageFacts struct {
	Name    string // what the user calls it, a path or an image id
	Problem ImageProblem
	Kind    string // of ImageContainer: "MFA2 archive", "zip archive", …
	Detail  string // of a problem: offsets, sections
	Advice  string // of a problem: what to do; empty: the usual

	SHA256   string // of the content
	Declared string // what the configuration says; empty: nothing

	Format   string
	Failsafe bool
	ib.Firmware
	HWIDs   []ib.HWID
	ROM     []string // each as mstflint prints it
	Product string
	Release string // release date, "2017-09-05"; empty: none
	PRSName string // name of the board definition it was made from; may be empty
	// PartNumber is the board's, in images of later chips.
	PartNumber string
	Security   uint32 // security version; zero if none is stated
	Controlled bool   // what firmware that writes its own flash wants is there: a flag, a signature, keys
	Checksum   string
	Size       int64
	Remarks    []string // sentences on what is unusual
	FlashLayout
}

// FlashLayout is how an image of ConnectX-4 or later divides the flash. Where image
// and card differ in it, the vendor tool rearranges the flash first.
type FlashLayout struct {
	Slot    int64 // bytes
	Version uint8
}

// HostFacts is what is known of the card's host: what was found on it, and what the
// configuration and the operator's machine say.
type HostFacts struct {
	inventory.Snapshot
	Support                Support
	Observe, RebootAllowed bool
	Interrupts             []string // the services whose clients may wait for a restart
	BackupDir              string   // on the operator's machine; empty: not configured
	BackupProblem          string   // why nothing can be stored in BackupDir; empty if it can
}

// Support is what is known of a host's distribution that matters for a card.
type Support struct {
	Mstflint string // which package of mstflint suits the card, as a sentence
	NoDriver string // why kernels of the host have no driver for the card; empty if nothing is known against them
}

// mstflint says which package to install for a card.
func (s Support) mstflint(card CardFacts) string {
	if card.Chip.Format == "FS2" {
		return "For ConnectX-3 and ConnectX-3 Pro mstflint 4.25 or older is best. " + s.Mstflint
	}
	return s.Mstflint
}

// BackupFacts is what the backup of this card proves.
type BackupFacts struct {
	Path          string // on the operator's machine
	SHA256        string
	TwoReadsEqual bool // two reads of the flash gave the same bytes
	ToolVerified  bool // the vendor tool verified the file
	Parsed        bool // our own parser verified the copy on the operator's disk
	ib.Firmware
	GUIDs  ib.GUIDSet
	Layout FlashLayout // of the card's flash; not of FS2
}
