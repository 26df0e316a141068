package hosts

import (
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// TestHost_asks_for_link_types_only_if_somebody_wants_them counts what is run on a
// host whose mstconfig still knows the card.
func TestHost_asks_for_link_types_only_if_somebody_wants_them(t *testing.T) {
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, labs.TwoHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	nas := lab.Machine(labs.Xeon2zfs)
	asked := func() int {
		n := 0
		for _, e := range nas.Journal() {
			if path.Base(e.Args[0]) == "mstconfig" {
				n++
			}
		}
		return n
	}
	h, runs := labHost(t, lab, labs.Xeon2zfs)
	pci := ib.MustParsePCIAddress("0000:04:00.0")
	snapshot(t, h)
	if asked() != 0 || runs.Load() != 1 {
		t.Errorf("a collection runs mstconfig %d times in %d commands", asked(), runs.Load())
	}
	for range 2 {
		types, err := h.StoredLinkTypes(t.Context(), pci)
		if err != nil || !fact.Yes(types.Served) || !types.Types.Known() {
			t.Errorf("the card's configuration: %v, %s", err, types.Types.Why())
		}
	}
	if asked() != 1 || runs.Load() != 2 {
		t.Errorf("two questions run mstconfig %d times in %d commands", asked(), runs.Load())
	}
	h.Invalidate()
	if types, err := h.StoredLinkTypes(t.Context(), pci); err != nil || !types.Types.Known() || asked() != 2 {
		t.Errorf("after a change: %v, %s, asked %d times", err, types.Types.Why(), asked())
	}
	if types, err := h.StoredLinkTypes(t.Context(), ib.MustParsePCIAddress("0000:99:00.0")); err != nil ||
		types.Types.Known() || asked() != 2 {
		t.Errorf("a card that is not there: %v, %v, asked %d times", err, types.Types.Or(nil), asked())
	}
	for _, v := range lab.Violations() {
		t.Errorf("the lab was asked for what no real host would answer: %s", v)
	}
}

// TestStoredLinkTypes_unknown_is_not_none holds that only a table says which link
// types there are.
func TestStoredLinkTypes_unknown_is_not_none(t *testing.T) {
	const head = "\nDevice #1:\n----------\n\nDevice type:    ConnectX3Pro    \nDevice:         0000:01:00.0    \n\nConfigurations:                              Next Boot\n         SRIOV_EN                            True(1)         \n"
	const types = "         LINK_TYPE_P1                        IB(1)          \n         LINK_TYPE_P2                        VPI(3)          \n"
	const tooOld = "-E- Failed to open device: 0000:01:00.0. Unsupported FW (version 2.31.5000 or above required for CX3/PRO)"
	no := fact.Known(false)
	for name, tt := range map[string]struct {
		status  int
		out     string
		running ib.FWVersion // zero: 2.42.5000
		stderr  string
		want    map[int]ib.LinkType
		served  fact.Bool // with types it is yes
		why     string
	}{
		"types":          {out: head + types, want: map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeAuto}},
		"firmware of EN": {out: head, want: map[int]ib.LinkType{}},
		"half a table":   {status: 3, out: head, why: "mstconfig ended with status 3"},
		"recovery mode": {status: 3, out: "-E- Device in Livefish mode is not supported", served: no,
			why: "Device in Livefish mode is not supported"},
		"a later tool": {status: 3, out: "-E- Unsupported device", served: no, why: "Unsupported device"},
		"beside another": {status: 3, out: "-E- Unsupported device",
			stderr: "failed to perform lock operation.: Resource temporarily unavailable\n", why: "Unsupported device"},
		"killed":    {status: 137, out: "-E- Unsupported device", why: "Unsupported device"},
		"a crash":   {status: 139, why: "mstconfig crashed (status 139)"},
		"no access": {status: 3, out: "-E- Failed to open the device", why: "Failed to open the device"},
		"no driver": {status: 3,
			out: "-E- Failed to open device: 0000:01:00.0. Cannot perform operation, Driver might be down.",
			why: "Driver might be down"},
		"busy firmware": {status: 3, out: tooOld, why: "Unsupported FW"},
		"old firmware": {status: 3, out: tooOld, running: ib.MustParseFWVersion("2.30.8000"), served: no,
			why: "Unsupported FW"},
		"another's lock": {status: 3, out: "-E- Failed to open the device",
			stderr: "failed to perform lock operation.: Resource temporarily unavailable\n", why: "Failed to open the device"},
		"silent firmware": {status: timedOut, why: "mstconfig did not answer in time"},
		"a job of ours":   {status: 75, why: "another operation holds the lock of the cards on this host"},
		"a burn by hand": {status: cardusers.Busy, stderr: "4711 0 0000:01:00.0 root\tmstflint -d 01:00.0 b\n",
			why: "busy: mstflint -d 01:00.0 b, pid 4711, user root"},
		"hidden processes": {status: cardusers.Unknown, stderr: "the processes in /proc cannot be read\n",
			why: "whether another program uses the card: the processes in /proc cannot be read"},
		"nonsense":     {out: "Segmentation fault", why: "the output of mstconfig q was not understood"},
		"an odd value": {out: head + strings.ReplaceAll(types, "IB(1)", "FC(9)"), why: "LINK_TYPE_P1 is"},
	} {
		var exit *host.ExitError
		if tt.status != 0 {
			exit = &host.ExitError{Status: tt.status, Stdout: tt.out, Stderr: tt.stderr}
		}
		if tt.running.IsZero() {
			tt.running = ib.MustParseFWVersion("2.42.5000")
		}
		served := tt.served
		if tt.want != nil {
			served = fact.Known(true)
		}
		got := configOf(collect.Run{Status: tt.status, Output: tt.out}, exit, tt.running).linkTypes()
		types := got.Types
		if types.Known() != (tt.want != nil) || !maps.Equal(types.Or(nil), tt.want) ||
			!strings.Contains(types.Why(), tt.why) {
			t.Errorf("%s: %v, %q", name, types.Or(nil), types.Why())
		}
		if fact.Yes(got.Served) != fact.Yes(served) || fact.No(got.Served) != fact.No(served) {
			t.Errorf("%s: served %v, %q", name, got.Served.Or(false), got.Served.Why())
		}
	}
}

// TestHost_asks_no_card_that_did_not_answer holds that the reason is that of the
// first silence, and that no second command is run.
func TestHost_asks_no_card_that_did_not_answer(t *testing.T) {
	no := fact.Known(false)
	for name, tt := range map[string]struct {
		change func(c *inventory.Card, s *inventory.Snapshot)
		served fact.Bool
		why    string
	}{
		"no tool": {func(_ *inventory.Card, s *inventory.Snapshot) { delete(s.Commands, "mstconfig") },
			no, "mstconfig is not installed"},
		"another one": {func(c *inventory.Card, _ *inventory.Snapshot) { c.VendorID = 0x1077 },
			no, "the card has no configuration that mstconfig reads"},
		"a virtual function": {func(c *inventory.Card, _ *inventory.Snapshot) { c.Virtual = true }, no,
			"the card has no configuration that mstconfig reads"},
		"no flash": {func(c *inventory.Card, _ *inventory.Snapshot) { c.Flash, c.FlashError = nil, "left alone" },
			no, "left alone"},
		"silence": {func(c *inventory.Card, _ *inventory.Snapshot) {
			c.Flash, c.FlashFailure, c.FlashError = nil, "timeout", "Cannot open Device"
		}, fact.Bool{}, "mstconfig was not asked, because mstflint did not get an answer: Cannot open Device"},
		"lockdown": {func(c *inventory.Card, s *inventory.Snapshot) {
			c.Flash, c.FlashFailure, c.FlashError = nil, "not permitted", "Cannot open Device"
			s.Lockdown = fact.Known("integrity")
		}, no, "the kernel is locked down (integrity): mstconfig cannot reach the card"},
		"lockdown with the module for it": {func(c *inventory.Card, s *inventory.Snapshot) {
			c.Flash, c.FlashFailure, c.FlashError = nil, "not permitted", "Cannot open Device"
			s.Lockdown, s.Modules = fact.Known("integrity"), map[string]bool{"mstflint_access": true}
		}, fact.Bool{}, "mstconfig was not asked, because mstflint did not get an answer: Cannot open Device"},
		"lockdown not known": {func(c *inventory.Card, s *inventory.Snapshot) {
			c.Flash, c.FlashFailure, c.FlashError = nil, "not permitted", "Cannot open Device"
			s.Lockdown = fact.Unknown[string]("it could not be read")
		}, fact.Bool{}, "mstconfig was not asked, because mstflint did not get an answer: Cannot open Device"},
	} {
		f := &fakeHost{answer: bare}
		h := New(f)
		s := snapshot(t, h)
		pci := ib.MustParsePCIAddress("0000:01:00.0")
		s.Commands = map[string]bool{"mstconfig": true}
		s.Cards = []inventory.Card{{PCI: pci, VendorID: ib.MellanoxVendor, Flash: &inventory.Flash{}}}
		tt.change(&s.Cards[0], s)
		got, err := h.StoredLinkTypes(t.Context(), pci)
		if err != nil || got.Types.Known() || got.Types.Why() != tt.why || got.Served.Known() != tt.served.Known() ||
			f.runs.Load() != 1 {
			t.Errorf("%s: %v, %q after %d commands", name, err, got.Types.Why(), f.runs.Load())
		}
	}
	f := &fakeHost{answer: bare}
	h := New(f)
	s := snapshot(t, h)
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	s.Commands, s.Cards = map[string]bool{"mstconfig": true}, []inventory.Card{{PCI: pci, VendorID: ib.MellanoxVendor,
		Flash: &inventory.Flash{}}}
	f.fail(errRefused)
	if _, err := h.StoredLinkTypes(t.Context(), pci); err == nil {
		t.Error("a host that is out of reach is no error")
	}
	f.fail(nil)
	if _, err := h.StoredLinkTypes(t.Context(), pci); err != nil || f.runs.Load() != 3 {
		t.Errorf("the failure was remembered: %v, %d commands", err, f.runs.Load())
	}
	if _, err := h.Run(t.Context(), shellcmd.New("mstconfig", "set").Changes()); err != nil || len(h.stored) != 0 {
		t.Errorf("what the card said outlived a change: %v, %v", err, h.stored)
	}
}
