package labsim

import (
	"slices"
	"strings"
	"sync"
	"syscall"
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
	// the counters of exec requests see only commands whose text holds this
	ExecHolds string  `json:"exec_holds,omitempty"`
	CutAtExec int     `json:"cut_at_exec,omitempty"` // k-th exec request, 1 is the next; 0 never
	CutWhen   CutWhen `json:"cut_when,omitempty"`    // default before
	// of CutAtExec with ExecHolds: so many bytes of the command's text arrive
	CutInputAt int64 `json:"cut_input_at,omitempty"`
	// of CutAtExec: so many bytes of the command's output leave
	CutOutputAt  int64 `json:"cut_output_at,omitempty"`
	CutAtByteIn  int64 `json:"cut_at_byte_in,omitempty"`  // bytes received by the server on one connection
	CutAtByteOut int64 `json:"cut_at_byte_out,omitempty"` // bytes sent by the server on one connection
	CutUploadAt  int64 `json:"cut_upload_at,omitempty"`   // bytes written through SFTP
	Refuse       bool  `json:"refuse,omitempty"`          // new connections are closed at once
	Hang         bool  `json:"hang,omitempty"`            // connections are accepted and stay silent
	HangAtExec   int   `json:"hang_at_exec,omitempty"`    // k-th exec never answers
	ExitAtExec   int   `json:"exit_at_exec,omitempty"`    // k-th exec ends with ExitStatus without running
	ExitStatus   int   `json:"exit_status,omitempty"`     // for ExitAtExec
	SudoRefused  bool  `json:"sudo_refused,omitempty"`    // sudo says the user is not in sudoers
	SudoMissing  bool  `json:"sudo_missing,omitempty"`    // sudo is not installed
	WrongHostKey bool  `json:"wrong_host_key,omitempty"`  // the server presents another key
	// what a start-up file of the login shell prints in every session
	LoginPrints string `json:"login_prints,omitempty"`
	// the login shell says LoginPrints and ends with status 1, as nologin does
	NoLogin bool `json:"no_login,omitempty"`
	// LANG and LC_ALL of sessions, LANG of units; empty: as installed
	Locale         string `json:"locale,omitempty"`
	NewKeyAtReboot bool   `json:"new_key_at_reboot,omitempty"` // the host key changes at the next boot
	RebootNever    bool   `json:"reboot_never,omitempty"`      // the machine goes down and stays down
	RebootIgnored  bool   `json:"reboot_ignored,omitempty"`    // reboot says success and nothing happens
	// a restart does not reach the cards: they run what they ran
	CardKeepsPower bool `json:"card_keeps_power,omitempty"`
	CardGone       bool `json:"card_gone,omitempty"` // after a restart no card is on the bus
	// the program that does the n-th flash operation is killed
	KillAtFlash     int           `json:"kill_at_flash,omitempty"`
	KillSignal      int           `json:"kill_signal,omitempty"`        // of KillAtFlash; default SIGKILL
	Latency         time.Duration `json:"latency,omitempty"`            // one way, both directions
	FlashSlow       time.Duration `json:"flash_slow,omitempty"`         // real time per 4 KiB sector programmed
	FlashVerifyFail int           `json:"flash_verify_fail,omitempty"`  // n-th flash operation reads back wrong
	PowerCutAtFlash int           `json:"power_cut_at_flash,omitempty"` // n-th erase or program operation
	// before the n-th of the six steps of mstfwreset it is killed, or the power of the host fails
	KillAtReset     int  `json:"kill_at_reset,omitempty"`
	PowerCutAtReset int  `json:"power_cut_at_reset,omitempty"`
	ResetFails      bool `json:"reset_fails,omitempty"` // the link comes back, and the card was not reset
}

// ProgramFault is what happens to a program that starts on a machine.
type ProgramFault struct {
	Signal   syscall.Signal // it dies of this before it does anything
	Hang     bool           // it never ends by itself
	Truncate bool           // its output ends after Keep bytes; it notices nothing
	Keep     int
	Exit     bool // it ends with Status and does nothing
	Lie      bool // it does its work and ends with Status
	Status   int
	Do       func() // runs before the program does
	// Says changes each line that it prints, on either stream; see Proc.Locale.
	Says func(p *Proc, line string) string
}

// trap is a fault that waits for a program.
type trap struct {
	holds string
	left  int // strikes when it comes to 0; -1: every time
	fault ProgramFault
}

// Faults holds the injected faults of a machine and counts events.
type Faults struct {
	mu     sync.Mutex
	spec   FaultSpec
	execs  int
	flash  int
	resets int // steps of mstfwreset
	struck int
	traps  []*trap
}

// Set replaces the injected faults, drops the traps and restarts the counters.
func (f *Faults) Set(spec FaultSpec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spec, f.execs, f.flash, f.resets, f.traps = spec, 0, 0, 0, nil
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

// Struck counts the counted faults and traps that have struck since the lab was
// made: whoever injects one can tell whether it came to it.
func (f *Faults) Struck() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.struck
}

// Trap lets a fault strike the n-th program from now on whose command line holds
// text; 0 strikes each of them.
func (f *Faults) Trap(text string, n int, fault ProgramFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n == 0 {
		n = -1
	}
	f.traps = append(f.traps, &trap{holds: text, left: n, fault: fault})
}

// nextProgram returns what strikes a program that starts.
func (f *Faults) nextProgram(args []string) ProgramFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out ProgramFault
	line := strings.Join(args, " ")
	for _, t := range slices.Clone(f.traps) {
		if !strings.Contains(line, t.holds) {
			continue
		}
		if t.left > 0 {
			t.left--
			if t.left > 0 {
				continue
			}
			f.traps = slices.DeleteFunc(f.traps, func(u *trap) bool { return u == t })
		}
		f.struck++
		out = out.and(t.fault)
	}
	return out
}

// and joins two faults of one program: what either does before it starts is done,
// and of two behaviours the first holds.
func (f ProgramFault) and(g ProgramFault) ProgramFault {
	one, two := f.Do, g.Do
	if !f.Hang && !f.Exit && !f.Lie && !f.Truncate && f.Says == nil && f.Signal == 0 {
		f = g
	}
	f.Do = one
	if one == nil {
		f.Do = two
	} else if two != nil {
		f.Do = func() { one(); two() }
	}
	return f
}

// ExecFault is what an exec request runs into.
type ExecFault struct {
	Cut    CutWhen // empty: none
	Hang   bool
	Exit   bool
	Status int
	Input  int64 // bytes of the command's text that arrive; 0: all
	Output int64 // bytes of its output that leave before the connection is cut; 0: all
}

// NextExec counts an exec request and returns its fault. text is the command
// with what it reads from its standard input, if the machine waits for a certain
// one. A fault at the k-th exec strikes once.
func (f *Faults) NextExec(text string) ExecFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.Contains(text, f.spec.ExecHolds) {
		return ExecFault{}
	}
	f.execs++
	var e ExecFault
	if f.spec.CutAtExec == f.execs {
		e.Input, e.Output = f.spec.CutInputAt, f.spec.CutOutputAt
		if e.Cut = f.spec.CutWhen; e.Cut == "" && e.Input == 0 && e.Output == 0 {
			e.Cut = CutBefore
		}
		f.struck++
	}
	if f.spec.HangAtExec == f.execs {
		e.Hang = true
		f.struck++
	}
	if f.spec.ExitAtExec == f.execs {
		e.Exit, e.Status = true, f.spec.ExitStatus
		f.struck++
	}
	return e
}

// flashFault is what an erase or program operation runs into.
type flashFault struct {
	powerCut, verifyFail bool
	kill                 syscall.Signal
}

// StrikeReset counts a step of mstfwreset, which p is, and does what strikes there.
func (f *Faults) StrikeReset(p *Proc) {
	f.mu.Lock()
	f.resets++
	kill, power := f.spec.KillAtReset == f.resets, f.spec.PowerCutAtReset == f.resets
	if kill || power {
		f.struck++
	}
	f.mu.Unlock()
	if kill {
		p.Signal(syscall.SIGKILL)
	}
	if power {
		p.Machine.PowerCut()
	}
}

// nextFlash counts an erase or program operation on any of the machine's cards
// and returns what strikes it.
func (f *Faults) nextFlash() flashFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flash++
	out := flashFault{powerCut: f.spec.PowerCutAtFlash == f.flash, verifyFail: f.spec.FlashVerifyFail == f.flash}
	if f.spec.KillAtFlash == f.flash {
		if out.kill = syscall.Signal(f.spec.KillSignal); out.kill == 0 {
			out.kill = syscall.SIGKILL
		}
	}
	if out != (flashFault{}) {
		f.struck++
	}
	return out
}
