package acctest

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// silicon is what nobody knows of real cards, as a lab can be told.
type silicon struct {
	name   string
	second bool // whether it takes an image over one that waits for a reset
	host   func() labs.Host
	config func(*Lab) Config
	to     [3]uint16
}

// silicons are both kinds: one takes a second image and lets tools read its flash, the other refuses
// both.
var silicons = []silicon{
	{"open", true, func() labs.Host { return controlled(cx4(), card.FlagControlled) }, func(w *Lab) Config {
		return w.laterConfig(controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), nil)
	}, [3]uint16{12, 28, 4706}},
	{"closed", false, func() labs.Host { return secureHost(card.ConnectX5) }, func(w *Lab) Config {
		to, back := secureImage(card.ConnectX5, secureNew, nil), secureImage(card.ConnectX5, secureOld, nil)
		return w.secureConfig(to, back, w.consentToNoCopy(to, back))
	}, secureNew},
}

// updateStep is where an update stands when something happens to it.
var updateSteps = []struct {
	name string
	at   card.Instruction
}{
	{"idle", card.InstructionLock}, {"locked", card.InstructionUpdate}, {"downloading", card.InstructionData},
	{"downloaded", card.InstructionVerify}, {"verified", card.InstructionActivate}, {"activated", card.InstructionRelease},
}

// updateFault is something that happens at a state of an update.
type updateFault struct {
	name string
	// strike gives the answer to the instruction that it meets.
	strike func(m *labsim.Machine, c *labsim.Card) uint32
	// says is part of what the next plan says of a card that was left in the middle; empty: nothing is left.
	says string
	// over ends what is left, as that plan says; nil: the next apply does.
	over func(w *Lab, host string)
}

func signalFlint(sig syscall.Signal) func(*labsim.Machine, *labsim.Card) uint32 {
	return func(m *labsim.Machine, _ *labsim.Card) uint32 {
		for _, p := range m.Processes() {
			if p.Name() == "mstflint" {
				p.Signal(sig)
			}
		}
		return card.AccessDone
	}
}

func refuseNext(why card.Refusal) func(*labsim.Machine, *labsim.Card) uint32 {
	return func(_ *labsim.Machine, c *labsim.Card) uint32 {
		c.Card.Update().Refuse = why
		return card.AccessDone
	}
}

var updateStrikes = []updateFault{
	{name: "TERM", strike: signalFlint(syscall.SIGTERM)},
	{name: "KILL", strike: signalFlint(syscall.SIGKILL), says: "by a tool", over: (*Lab).Restart},
	{name: "reset of the chip", strike: func(_ *labsim.Machine, c *labsim.Card) uint32 {
		c.Boot()
		return card.AccessDone
	}},
	{name: "power of the host", strike: func(m *labsim.Machine, _ *labsim.Card) uint32 {
		m.PowerCut()
		return card.AccessGone
	}},
	{name: "bus gone", strike: func(m *labsim.Machine, c *labsim.Card) uint32 {
		m.SetLink(c, false)
		return card.AccessGone
	}, says: "FW044", over: (*Lab).Restart},
	{name: "foreign owner", strike: func(_ *labsim.Machine, c *labsim.Card) uint32 {
		c.Card.Update().Hold(card.OwnerBMC, card.UpdateDownload)
		return card.AccessDone
	}, says: "state DOWNLOAD, by the BMC", over: func(w *Lab, host string) {
		_, _ = w.Card(host).Update().Do(card.InstructionForce, card.OwnerBMC, 0, 0)
	}},
	{name: "refused signature", strike: refuseNext(card.RefusalDigest)},
	{name: "an image of others pending", strike: refuseNext(card.RefusalPending)},
}

// TestUpdate_interrupted has each thing happen at each state of an update by the firmware, on both
// kinds of silicon. The firmware activates the image once and no more, the plan after it says how
// it stands, and the apply after that ends it.
func TestUpdate_interrupted(t *testing.T) {
	t.Parallel()
	for _, kind := range silicons {
		for i, fault := range updateStrikes {
			for j, step := range updateSteps {
				if !*allFaults && (kind.second != (j%2 == 0) || (i+j)%3 != 0) {
					continue // a part of all, with each fault and each state
				}
				t.Run(fmt.Sprintf("%s, %s, %s", kind.name, fault.name, step.name), func(t *testing.T) {
					t.Parallel()
					interruptUpdate(t, kind, fault, step.at)
				})
			}
		}
	}
}

func interruptUpdate(t *testing.T, kind silicon, fault updateFault, at card.Instruction) {
	w := startLaterChip(t, kind.host(), nil)
	name := w.Names()[0]
	ws, cfg, m := w.Workspace(), kind.config(w), w.Machine(name)
	dev := m.Card(w.PCI(name))
	update := dev.Update()
	update.RefuseSecond = !kind.second
	plan := cleanPlan(t, ws, cfg)
	var struck atomic.Int32
	update.Before = func(what card.Instruction) uint32 {
		if !m.HasLink(dev) {
			return card.AccessGone
		}
		if what == at && struck.Add(1) == 1 {
			return fault.strike(m, dev)
		}
		return card.AccessDone
	}
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil || struck.Load() == 0 {
		t.Fatalf("%v; struck %d times", err, struck.Load())
	}
	if n := update.Activations(); n > 1 {
		t.Errorf("%d activations in one apply", n)
	}
	next := mustPlan(t, ws, cfg)
	left := next.Diags.HasError()
	if left && (fault.says == "" || len(next.Diags.Errors().Find(fault.says)) == 0 || fault.over == nil) {
		t.Fatalf("the plan after the apply:\n%s\nthe apply:\n%s", next.Diags, diags.Errors())
	}
	if done := dev.Card.Running().Version == kind.to; !left && done == (len(next.Actions()) > 0) && !diags.HasError() {
		t.Errorf("done: %t; planned: %v\n%s", done, next.Actions(), next.Diags)
	}
	if left {
		fault.over(w, name)
	}
	mustApply(t, ws, cfg)
	if got, n := dev.Card.Running().Version, update.Activations(); got != kind.to || n != 1 {
		t.Errorf("runs %v after %d activations", got, n)
	}
	emptyPlan(t, ws, cfg)
}
