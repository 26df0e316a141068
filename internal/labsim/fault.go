package labsim

import (
	"sync"
	"time"
)

// CutWhen says at which moment of an exec a connection is cut.
type CutWhen string

// Moments of an exec.
const (
	CutBefore CutWhen = "before" // the program never starts
	CutDuring CutWhen = "during" // the program runs, its output is lost
	CutAfter  CutWhen = "after"  // the program ended, the exit status is lost
)

// FaultSpec is what may be injected into one machine. The zero value is a
// healthy host. Counters are of events from the moment it is set.
type FaultSpec struct {
	CutAtExec       int           `json:"cut_at_exec,omitempty"`        // k-th exec request, 1 is the next; 0 never
	CutWhen         CutWhen       `json:"cut_when,omitempty"`           // default before
	CutAtByteIn     int64         `json:"cut_at_byte_in,omitempty"`     // bytes received by the server on one connection
	CutAtByteOut    int64         `json:"cut_at_byte_out,omitempty"`    // bytes sent by the server on one connection
	CutUploadAt     int64         `json:"cut_upload_at,omitempty"`      // bytes written through SFTP
	Refuse          bool          `json:"refuse,omitempty"`             // new connections are closed at once
	Hang            bool          `json:"hang,omitempty"`               // connections are accepted and stay silent
	HangAtExec      int           `json:"hang_at_exec,omitempty"`       // k-th exec never answers
	ExitAtExec      int           `json:"exit_at_exec,omitempty"`       // k-th exec ends with ExitStatus without running
	ExitStatus      int           `json:"exit_status,omitempty"`        // for ExitAtExec
	SudoRefused     bool          `json:"sudo_refused,omitempty"`       // sudo says the user is not in sudoers
	SudoMissing     bool          `json:"sudo_missing,omitempty"`       // sudo is not installed
	WrongHostKey    bool          `json:"wrong_host_key,omitempty"`     // the server presents another key
	NewKeyAtReboot  bool          `json:"new_key_at_reboot,omitempty"`  // the host key changes at the next boot
	RebootNever     bool          `json:"reboot_never,omitempty"`       // the machine goes down and stays down
	RebootIgnored   bool          `json:"reboot_ignored,omitempty"`     // reboot says success and nothing happens
	Latency         time.Duration `json:"latency,omitempty"`            // one way, both directions
	FlashSlow       time.Duration `json:"flash_slow,omitempty"`         // real time per 4 KiB sector programmed
	FlashVerifyFail int           `json:"flash_verify_fail,omitempty"`  // n-th flash operation reads back wrong
	PowerCutAtFlash int           `json:"power_cut_at_flash,omitempty"` // n-th erase or program operation
}

// Faults holds the injected faults of a machine and counts events.
type Faults struct {
	mu    sync.Mutex
	spec  FaultSpec
	execs int
	flash int
}

// Set replaces the injected faults and restarts the counters.
func (f *Faults) Set(spec FaultSpec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spec, f.execs, f.flash = spec, 0, 0
}

// Update changes some faults and keeps the rest.
func (f *Faults) Update(change func(*FaultSpec)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.spec)
}

// Get returns the injected faults.
func (f *Faults) Get() FaultSpec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spec
}

// Clear makes the host healthy again.
func (f *Faults) Clear() { f.Set(FaultSpec{}) }

// ExecFault is what an exec request runs into.
type ExecFault struct {
	Cut    CutWhen // empty: none
	Hang   bool
	Exit   bool
	Status int
}

// NextExec counts an exec request and returns its fault. A fault at the k-th
// exec strikes once.
func (f *Faults) NextExec() ExecFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.execs++
	var e ExecFault
	if f.spec.CutAtExec == f.execs {
		if e.Cut = f.spec.CutWhen; e.Cut == "" {
			e.Cut = CutBefore
		}
	}
	e.Hang = f.spec.HangAtExec == f.execs
	if f.spec.ExitAtExec == f.execs {
		e.Exit, e.Status = true, f.spec.ExitStatus
	}
	return e
}

// NextFlash counts an erase or program operation on any of the machine's cards
// and returns what strikes it.
func (f *Faults) NextFlash() (powerCut, verifyFail bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flash++
	return f.spec.PowerCutAtFlash == f.flash, f.spec.FlashVerifyFail == f.flash
}
