package journal

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Kinds of jobs.
const (
	Burn  = "burn"
	GUIDs = "guids"
)

const (
	// FullBelow is how many bytes a file system may have left to be called full: a
	// journal takes a few blocks.
	FullBelow = 64 << 10
	// EndCauses are the possible reasons for a job without a recorded end, if nothing
	// shows which one it was.
	EndCauses = "a power cut, a reset of the host, a full disk, or a kill"
)

// purposeRestore marks the job of a burn that undoes another one.
const purposeRestore = "restore"

// Dir is where the journal of a job is on its host.
func Dir(id string) string { return inventory.StateDir + "/jobs/" + id }

// Entry is one change of a flash: what a job was asked to do, and what the card must
// hold afterwards. Text writes it as the request of the job, and Read reads that again.
// What a request does not say, or is not understood, is zero.
type Entry struct {
	ID, Kind string
	PCI      ib.PCIAddress
	Operator string
	BootID   string
	Card     ib.Identity // that the job is for
	Serial   string      // as the card showed it
	// Before and After are what the flash held and is to hold.
	Before, After ib.Firmware
	// GUIDsBefore and GUIDsAfter are the same of GUIDs and MACs. A card that had no
	// identity is Blank; a burn leaves the one that was there.
	GUIDsBefore, GUIDsAfter ib.GUIDSet
	Blank                   bool
	Image                   Image  // of a burn
	Backup                  string // the directory with what the job replaces
	BackupSHA256            string // of its firmware, of which the host keeps a copy
	Restore                 bool   // it undoes another job
	// Package is what the driver of the card sends to its firmware, made of the image; empty: mstflint burns the image.
	Package Package
	// OwnerMachine and OwnerProcess name who watches the job.
	OwnerMachine, OwnerProcess string

	// Argv is the tool's command line, and Answers are those of its questions that are
	// answered with yes. They are not read again.
	Argv    []string
	Answers []safety.Question
	// Checksum is the one without an identity that the flash has afterwards; empty: it is not
	// known, and not compared.
	Checksum string
}

// Package is a file that is moved to where the kernel looks for it while a job runs.
type Package struct{ Path, SHA256, At string }

// Image is the file of a burn on its host.
type Image struct{ Path, SHA256, Checksum string }

const stampFormat = "20060102T150405Z"

// NewID names a job by its time, its card and a random part, so that names sort by age
// and two operators never get the same one. Its time is later than that of every job of
// the host, also after a clock was set back, here or on another operator's machine.
func NewID(now time.Time, s *inventory.Snapshot, pci ib.PCIAddress) string {
	now = now.UTC().Truncate(time.Second)
	for i := range s.Jobs {
		head, _, _ := strings.Cut(s.Jobs[i].ID, "-")
		if last, err := time.Parse(stampFormat, head); err == nil && !now.After(last) {
			now = last.Add(time.Second)
		}
	}
	var chance [2]byte
	_, _ = rand.Read(chance[:]) // never fails (Go 1.24 and later)
	place := strings.NewReplacer(":", "-", ".", "-").Replace(pci.String())
	return fmt.Sprintf("%s-%s-%x", now.Format(stampFormat), place, chance)
}

// Text is the file of the request. The job compares the card with it before the first
// byte.
func (e Entry) Text() string {
	var b strings.Builder
	line := func(key, value string) { b.WriteString(key + "=" + oneLine.Replace(value) + "\n") }
	identity := func(key string, set ib.GUIDSet) {
		line(key+"_guids", set.Words())
		line(key+"_macs", set.MAC1.Hex()+" "+set.MAC2.Hex())
	}
	line("version", inventory.JournalVersion)
	line("job", e.ID)
	line("kind", e.Kind)
	line("pci", e.PCI.String())
	line("operator", e.Operator)
	line("boot_id", e.BootID)
	line("unit", inventory.JobUnit(e.ID))
	line("card_identity", e.Card.String())
	line("from_serial", e.Serial)
	line("from_psid", e.Before.PSID.String())
	line("from_fw", e.Before.FW.String())
	if !e.Blank {
		identity("from", e.GUIDsBefore)
	}
	if e.Kind == GUIDs {
		identity("to", e.GUIDsAfter)
	} else {
		line("image_path", e.Image.Path)
		line("image_sha256", e.Image.SHA256)
		line("to_psid", e.After.PSID.String())
		line("to_fw", e.After.FW.String())
		line("to_checksum", e.Image.Checksum)
		line("flash_checksum", e.Checksum)
	}
	if e.Package.Path != "" {
		line("package_path", e.Package.Path)
		line("package_sha256", e.Package.SHA256)
		line("package_at", e.Package.At)
	}
	line("answers", strconv.Itoa(len(e.Answers)))
	for _, q := range e.Answers {
		line("answer", string(q))
	}
	line("backup_path", e.Backup)
	line("backup_sha256", e.BackupSHA256)
	if e.Restore {
		line("purpose", purposeRestore)
	}
	line("owner_machine", e.OwnerMachine)
	line("owner_process", e.OwnerProcess)
	return b.String()
}

// oneLine: a line break in a value would begin another.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ")

// Read reads the request of a job.
func Read(j *inventory.Job) Entry {
	e := Entry{
		ID: j.ID, Kind: j.Kind, PCI: j.PCI, Operator: j.Operator, BootID: j.BootID,
		Before: flashFrom(j, "from_psid", "from_fw"), Backup: j.Request["backup_path"],
		BackupSHA256: j.Request["backup_sha256"], Restore: j.Request["purpose"] == purposeRestore,
		OwnerMachine: j.Request["owner_machine"], OwnerProcess: j.Request["owner_process"],
	}
	if id, err := ib.ParseIdentity(j.Request["card_identity"]); err == nil {
		e.Card = id
	}
	from, known := identityFrom(j.Request["from_guids"], j.Request["from_macs"])
	e.GUIDsBefore, e.Blank = from, !known
	if j.Kind == GUIDs {
		e.After = e.Before
		e.GUIDsAfter, _ = identityFrom(j.Request["to_guids"], j.Request["to_macs"])
		return e
	}
	e.After, e.GUIDsAfter, e.Checksum = flashFrom(j, "to_psid", "to_fw"), from, j.Request["flash_checksum"]
	e.Image = Image{j.Request["image_path"], j.Request["image_sha256"], j.Request["to_checksum"]}
	e.Package = Package{j.Request["package_path"], j.Request["package_sha256"], j.Request["package_at"]}
	return e
}

// Undecided says why what a card holds says nothing about the job, which may have written: it
// may have been for another card. It is empty if it was for this one, or if it can have taken
// nothing that its own card would have to get back.
func (e Entry) Undecided(wrote bool, now ib.Identity) string {
	like, why := ib.Compare(e.Card, now)
	if !wrote || like == ib.Same || like == ib.Other && e.Blank {
		return ""
	}
	return why
}

func flashFrom(j *inventory.Job, psid, fw string) ib.Firmware {
	f := ib.Firmware{PSID: ib.PSID(j.Request[psid])}
	if v, err := ib.ParseFWVersion(j.Request[fw]); err == nil {
		f.FW = v
	}
	return f
}

func identityFrom(guids, macs string) (ib.GUIDSet, bool) {
	g, m := strings.Fields(guids), strings.Fields(macs)
	if len(g) != 4 || len(m) != 2 {
		return ib.GUIDSet{}, false
	}
	var set ib.GUIDSet
	for i, to := range []*ib.GUID{&set.Node, &set.Port1, &set.Port2, &set.SystemImage} {
		v, err := ib.ParseGUID(g[i])
		if err != nil {
			return ib.GUIDSet{}, false
		}
		*to = v
	}
	for i, to := range []*ib.MAC{&set.MAC1, &set.MAC2} {
		v, err := ib.ParseMAC(m[i])
		if err != nil {
			return ib.GUIDSet{}, false
		}
		*to = v
	}
	return set, true
}
