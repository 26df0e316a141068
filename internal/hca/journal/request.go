package journal

import (
	"crypto/rand"
	"encoding/hex"
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

// purposeRestore marks the job of a burn that undoes another one.
const purposeRestore = "restore"

// Dir is where the journal of a job is on its host.
func Dir(id string) string { return inventory.StateDir + "/jobs/" + id }

// Unit is the unit of systemd that a job is.
func Unit(id string) string { return "infiniband-flash-" + id + ".service" }

// Request is one change of a flash, as it is stored on the host.
type Request struct {
	ID      string
	Argv    []string // the tool's command line
	Answers int      // how many of its questions are answered with yes
	lines   [][2]string
}

// NewRequest begins the request of a job. The job is named by its time, card and
// chance, so that names sort and two operators never meet in one.
func NewRequest(kind string, pci ib.PCIAddress, s *inventory.Snapshot, operator string, now time.Time) Request {
	id := fmt.Sprintf("%s-%s-%s", stamp(now, s), strings.NewReplacer(":", "-", ".", "-").Replace(pci.String()), suffix())
	r := Request{ID: id}
	r.set("version", inventory.JournalVersion)
	r.set("job", id)
	r.set("kind", kind)
	r.set("pci", pci.String())
	r.set("operator", operator)
	r.set("boot_id", s.BootID)
	r.set("unit", Unit(id))
	return r
}

const stampFormat = "20060102T150405Z"

// stamp is the time for a job's name, later than that of every job of the host:
// names sort by age, also after a clock was set back, here or on the machine of
// another operator.
func stamp(now time.Time, s *inventory.Snapshot) string {
	now = now.UTC().Truncate(time.Second)
	for i := range s.Jobs {
		head, _, _ := strings.Cut(s.Jobs[i].ID, "-")
		if last, err := time.Parse(stampFormat, head); err == nil && !now.After(last) {
			now = last.Add(time.Second)
		}
	}
	return now.Format(stampFormat)
}

func suffix() string {
	var b [2]byte
	// rand.Read never fails (Go 1.24 and later).
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// SetCard adds which card the job is for and what is in its flash. The job
// compares both before the first byte.
func (r *Request) SetCard(recorded ib.Identity, card *inventory.Card) {
	r.set("card_identity", recorded.Record().String())
	r.set("from_serial", card.Serial.Or(""))
	f := card.Flash
	if f == nil {
		return
	}
	r.set("from_psid", f.PSID.String())
	r.set("from_fw", f.FW.String())
	if !f.BlankGUIDs {
		r.set("from_guids", f.GUIDs.Words())
		r.set("from_macs", f.GUIDs.MAC1.Hex()+" "+f.GUIDs.MAC2.Hex())
	}
}

// SetImage adds the image of a burn, and what the flash holds afterwards.
func (r *Request) SetImage(path, sha256 string, after ib.Firmware, checksum string) {
	r.set("image_path", path)
	r.set("image_sha256", sha256)
	r.set("to_psid", after.PSID.String())
	r.set("to_fw", after.FW.String())
	r.set("to_checksum", checksum)
}

// SetGUIDs adds the GUIDs and MACs that the card is to have.
func (r *Request) SetGUIDs(set ib.GUIDSet) {
	r.set("to_guids", set.Words())
	r.set("to_macs", set.MAC1.Hex()+" "+set.MAC2.Hex())
}

// SetCommand sets the tool's command line and the questions that are answered
// with yes.
func (r *Request) SetCommand(argv []string, answers []safety.Question) {
	r.Argv, r.Answers = argv, len(answers)
	r.set("answers", strconv.Itoa(len(answers)))
	for _, q := range answers {
		r.set("answer", string(q))
	}
}

// SetBackup adds the directory with what the job replaces.
func (r *Request) SetBackup(dir string) { r.set("backup_path", dir) }

// SetOwner adds who watches the job.
func (r *Request) SetOwner(machine, process string) {
	r.set("owner_machine", machine)
	r.set("owner_process", process)
}

// SetRestore says that the job undoes another one.
func (r *Request) SetRestore() { r.set("purpose", purposeRestore) }

// set adds a line; a line break in a value would begin another.
func (r *Request) set(key, value string) {
	value = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == 0 {
			return ' '
		}
		return c
	}, value)
	r.lines = append(r.lines, [2]string{key, value})
}

// Text is the file of the request.
func (r *Request) Text() string {
	var b strings.Builder
	for _, kv := range r.lines {
		b.WriteString(kv[0] + "=" + kv[1] + "\n")
	}
	return b.String()
}
