package card

import (
	"errors"
	"sync"
)

// State is where an update stands, as the firmware numbers it (register MCC of mstflint
// 4.21 and of the kernel's mlxfw).
type State uint32

// The states of an update.
const (
	UpdateIdle       State = 0
	UpdateLocked     State = 1
	UpdateInitialize State = 2
	UpdateDownload   State = 3
)

// Instruction is what the owner of an update asks for.
type Instruction uint32

// The instructions of an update.
const (
	InstructionQuery    Instruction = 0
	InstructionLock     Instruction = 1
	InstructionRelease  Instruction = 2
	InstructionUpdate   Instruction = 3
	InstructionVerify   Instruction = 4
	InstructionActivate Instruction = 6
	InstructionCancel   Instruction = 8
	InstructionForce    Instruction = 10 // releases it, whoever has it
	// InstructionData is none: data are sent.
	InstructionData Instruction = 0x100
)

// Owner is who updates.
type Owner uint32

// The owners of an update.
const (
	OwnerNone   Owner = 0
	OwnerBMC    Owner = 3
	OwnerDriver Owner = 4 // by its command interface
	OwnerTool   Owner = 5 // by the command interface for tools
)

// Refusal is why the firmware does not take what it was sent.
type Refusal uint32

// Reasons of the firmware.
const (
	RefusalNone          Refusal = 0
	RefusalDigest        Refusal = 2
	RefusalNotApplicable Refusal = 3
	RefusalNotSigned     Refusal = 6
	RefusalPending       Refusal = 9
	RefusalErase         Refusal = 0x10
)

// Statuses of an access of the registers of an update.
const (
	AccessDone        = 0
	AccessBadValue    = 7
	AccessUnavailable = 8
	AccessGone        = 0x100 // none of the card's own: it is not on the bus
)

// What the table of components says of the last update.
const (
	UpdateNever    = 0
	UpdatePending  = 4 // active after a reset of the chip
	UpdateFailed   = 5
	UpdateCanceled = 6
)

// NoProgress is the progress of an update that shows none.
const NoProgress = 101

// Update is the way by which the firmware of a card writes its own flash: the sender
// takes a handle, sends the image, and the firmware verifies it and puts it beside the
// one that runs. What real firmware does in a state that no tool shows is a model.
// It is safe for concurrent use.
type Update struct {
	// RefuseSecond has an update over one that waits for a reset refused. Whether real
	// firmware does is not known.
	RefuseSecond bool
	// Refuse, if set, is the answer to the next verification.
	Refuse Refusal
	// Before, if set, runs before the firmware meets an instruction or takes data (InstructionData):
	// so that something happens just then. A status other than AccessDone is the answer.
	Before func(what Instruction) (status uint32)

	mu      sync.Mutex
	card    *Card
	state   State
	owner   Owner
	last    Owner // who changed the component last
	handle  uint32
	count   uint32
	refusal Refusal
	outcome uint32
	sent    []byte
	image   *Image
	raw     []byte
	staged  int
}

// View is what the firmware says of an update.
type View struct {
	State    State
	Owner    Owner
	Handle   uint32
	Refusal  Refusal
	Progress uint32
}

// View gives what is under way. Without an update the handle is that which the next
// sender may take; with one it is that of its owner, which the firmware tells everybody.
func (u *Update) View() View {
	u.mu.Lock()
	defer u.mu.Unlock()
	v := View{State: u.state, Owner: u.owner, Handle: u.handle, Refusal: u.refusal, Progress: NoProgress}
	if u.state == UpdateIdle {
		v.Handle = 0x100 + u.count + 1
	}
	if u.state == UpdateInitialize {
		u.state = UpdateDownload // a sender asks until it is
	}
	return v
}

// Outcome gives how the last update ended, and who made it.
func (u *Update) Outcome() (outcome uint32, by Owner) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.outcome, u.last
}

// Hold puts an update of another owner into a state, as if it was under way.
func (u *Update) Hold(by Owner, in State) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	u.state, u.owner, u.handle, u.sent = in, by, 0x100+u.count, make([]byte, SectorSize)
}

// Activations are how often it has put an image beside the running one.
func (u *Update) Activations() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.staged
}

// Do carries out an instruction of a sender, and gives the status of the access. Its only
// error is ErrPowerLost.
func (u *Update) Do(what Instruction, by Owner, handle, size uint32) (status uint32, err error) {
	if status = u.before(what); status != AccessDone {
		return status, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if what == InstructionForce {
		u.end()
		return AccessDone, nil
	}
	if what == InstructionLock {
		return u.lock(by, handle), nil
	}
	if u.state == UpdateIdle || handle != u.handle {
		return AccessBadValue, nil
	}
	if what == InstructionVerify && u.state == UpdateLocked && u.refusal != RefusalNone {
		return AccessBadValue, nil // a tool sends what has failed twice
	}
	u.refusal = RefusalNone
	switch what {
	case InstructionRelease:
		u.end()
	case InstructionCancel:
		u.state, u.outcome, u.last, u.image = UpdateLocked, UpdateCanceled, u.owner, nil
	case InstructionUpdate:
		return u.begin(size), nil
	case InstructionVerify:
		return u.verify(), nil
	case InstructionActivate:
		return u.activate()
	default:
		return AccessBadValue, nil
	}
	return AccessDone, nil
}

// before has happen what was to happen just then. Whoever sets it does so while nobody updates.
func (u *Update) before(what Instruction) uint32 {
	if u.Before == nil {
		return AccessDone
	}
	return u.Before(what)
}

func (u *Update) lock(by Owner, handle uint32) uint32 {
	if u.state != UpdateIdle {
		return AccessUnavailable
	}
	if handle != 0x100+u.count+1 {
		return AccessBadValue
	}
	u.count++
	u.state, u.owner, u.handle, u.refusal = UpdateLocked, by, handle, RefusalNone
	return AccessDone
}

func (u *Update) end() {
	u.state, u.owner, u.handle, u.sent, u.image = UpdateIdle, OwnerNone, 0, nil, nil
}

// maxComponent is the largest image that is taken: what half of the flash holds.
const maxComponent = FlashSize / 2

func (u *Update) begin(size uint32) uint32 {
	if u.state != UpdateLocked || size == 0 || size > maxComponent {
		return AccessBadValue
	}
	if u.RefuseSecond && u.card.staged() != nil {
		u.refusal = RefusalPending
		return AccessBadValue
	}
	u.state, u.sent, u.outcome = UpdateInitialize, make([]byte, size), UpdateNever
	return AccessDone
}

// Send takes a part of the image.
func (u *Update) Send(handle, at uint32, data []byte) (status uint32) {
	if status = u.before(InstructionData); status != AccessDone {
		return status
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.state != UpdateDownload || handle != u.handle || uint64(at)+uint64(len(data)) > uint64(len(u.sent)) {
		return AccessBadValue
	}
	copy(u.sent[at:], data)
	return AccessDone
}

func (u *Update) verify() uint32 {
	if u.state != UpdateDownload {
		return AccessBadValue
	}
	u.state = UpdateLocked // the answer itself says so
	u.refusal = u.judge()
	if u.refusal == RefusalNone {
		return AccessDone
	}
	u.outcome, u.last = UpdateFailed, u.owner
	if u.owner == OwnerDriver {
		return AccessDone // it asks for the reason
	}
	return AccessBadValue
}

// judge reads what was sent as the firmware does: of this board and chip, signed, whole.
func (u *Update) judge() Refusal {
	if refusal := u.Refuse; refusal != RefusalNone {
		u.Refuse = RefusalNone
		return refusal
	}
	running := u.card.booted()
	img, raw, err := u.card.imageOf(u.sent, running)
	if err != nil || img.Verify() != nil {
		return RefusalDigest
	}
	if _, controlled := img.Security(); !controlled {
		return RefusalNotSigned
	}
	if img.PSID != running.PSID || !u.card.FitsChip(img) {
		return RefusalNotApplicable
	}
	u.image, u.raw = img, raw
	return RefusalNone
}

// activate writes the image beside the one that runs. A reset of the chip loads it.
func (u *Update) activate() (uint32, error) {
	if u.state != UpdateLocked || u.image == nil {
		return AccessBadValue, nil
	}
	u.last = u.owner
	if err := u.card.stage(u.image, u.raw); err != nil {
		u.refusal, u.outcome = RefusalErase, UpdateFailed
		if !errors.Is(err, ErrPowerLost) {
			err = nil // the sender is told why, see refusal
		}
		return AccessBadValue, err
	}
	u.outcome, u.image = UpdatePending, nil
	u.staged++
	return AccessDone, nil
}

// reset is what a reset of the chip does.
func (u *Update) reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.end()
	u.refusal, u.outcome, u.last = RefusalNone, UpdateNever, OwnerNone
}

// Update gives the way of the running firmware; nil if it has none.
func (c *Card) Update() *Update {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.image == nil {
		return nil
	}
	if _, controlled := c.image.Security(); !controlled {
		return nil
	}
	return &c.update
}

// Booted gives the image that runs, of FS3 and FS4; nil in recovery mode. Nobody may change it.
func (c *Card) Booted() *Image { return c.booted() }

// Staged gives the image that the firmware has put beside the running one and that a reset
// loads; nil if there is none.
func (c *Card) Staged() *Image { return c.staged() }

func (c *Card) booted() *Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.image
}

func (c *Card) staged() *Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending
}
