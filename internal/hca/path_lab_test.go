package hca

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// overCard moves address, default route and SSH sessions of the host to its
// card's first Ethernet port, and gives that a peer: an InfiniBand switch is none.
func (b *bench) overCard() {
	b.t.Helper()
	one, other := labsim.CardEnd(labs.Intel9, "0000:01:00.0", 1), labsim.CardEnd(labs.Xeon2zfs, "0000:04:00.0", 1)
	b.lab.Disconnect(one)
	b.lab.Disconnect(other)
	if err := b.lab.Connect(one, other); err != nil {
		b.t.Fatal(err)
	}
	var address netip.Prefix
	var gateway netip.Addr
	b.machine.UpdateNetdev("eno1", func(d *labsim.Netdev) {
		address, gateway = d.Addrs[0], d.Gateway
		d.Addrs, d.Gateway, d.SSH = nil, netip.Addr{}, false
	})
	if !b.machine.UpdateNetdev("enp1s0", func(d *labsim.Netdev) {
		d.Addrs, d.Gateway, d.Up, d.SSH = []netip.Prefix{address}, gateway, true, true
	}) {
		b.t.Fatal("the card has no Ethernet interface enp1s0")
	}
}

// TestAssess_over_the_cards_own_port asks, below sudo and over real SSH, for a
// burn on the card that the session and the default route use.
func TestAssess_over_the_cards_own_port(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	b.overCard()
	o, c := b.ops("alice"), b.card(ctx)
	ask := crossFlash(c, b.image(card.VPI()))
	a, err := o.AssessFirmware(ctx, ask)
	if err != nil {
		t.Fatal(explain(err))
	}
	if devs := a.Host.SSH.Devs.Or(nil); !slices.Equal(devs, []string{"enp1s0"}) ||
		!slices.Contains(a.Host.CardsBelow("enp1s0"), b.pci) {
		t.Errorf("session over %+v", a.Host.SSH)
	}
	i := slices.IndexFunc(a.Verdict.Findings, func(f finding.Finding) bool { return f.Rule == finding.SessionOverCard })
	if i < 0 || !a.Verdict.Blocked() {
		t.Fatalf("nothing is said of the session: %+v", a.Verdict.Findings)
	}
	if f := a.Verdict.Findings[i]; f.Severity != finding.NeedsConsent ||
		f.Consent != `management_path = ["enp1s0"]` {
		t.Errorf("%+v", f)
	}
	ask.Request.ManagementPath = []string{"enp1s0"}
	if a, err = o.AssessFirmware(ctx, ask); err != nil || a.Verdict.Blocked() {
		t.Errorf("with consent: %v, %+v", err, a.Verdict.Blockers())
	}
	// The session over another interface leaves the default route.
	b.machine.UpdateNetdev("enp1s0", func(d *labsim.Netdev) { d.SSH = false })
	b.machine.UpdateNetdev("eno1", func(d *labsim.Netdev) {
		d.Addrs, d.SSH = []netip.Prefix{netip.MustParsePrefix("198.51.100.7/24")}, true
	})
	ask.Request.ManagementPath, ask.Card = nil, b.card(ctx)
	a, err = o.AssessFirmware(ctx, ask)
	if err != nil || !a.Verdict.Has(finding.DefaultRouteOverCard) || a.Verdict.Has(finding.SessionOverCard) ||
		!a.Verdict.Blocked() {
		t.Errorf("default route: %v, %+v", err, a.Verdict.Findings)
	}
	b.clean()
}

// TestAssess_without_RDMA_device is about an Ethernet-only card whose mlx4_ib is
// not loaded: mstflint says that nothing else runs, so that there is no warning.
func TestAssess_without_RDMA_device(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	for _, module := range []string{"ib_ipoib", "ib_umad", "mlx4_ib"} {
		if b.machine.ModuleLoaded(module) {
			if err := b.machine.UnloadModule(module); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, err := b.ops("alice").AssessFirmware(ctx, crossFlash(b.card(ctx), b.image(card.VPI())))
	if err != nil {
		t.Fatal(explain(err))
	}
	i := slices.IndexFunc(a.Verdict.Findings, func(f finding.Finding) bool { return f.Rule == finding.RunningUnknown })
	if i < 0 || a.Verdict.Findings[i].Severity != finding.Note ||
		!strings.Contains(a.Verdict.Findings[i].Evidence, "2.40.5032") {
		t.Errorf("%+v", a.Verdict.Findings)
	}
	if a.Verdict.Action != safety.ActionBurn || a.Card.Running.Or(ib.Firmware{}).PSID != card.PSIDEN {
		t.Errorf("action %s, running %s", a.Verdict.Action, a.Card.Running.Or(ib.Firmware{}).PSID)
	}
	b.clean()
}

// TestApplyFirmware_without_a_driver: the first burn needs the consent that names what is in
// flash. After the restart the journal says that the card has loaded it, and the next burn
// needs none. What somebody burns by hand is refused while the card runs something else,
// and asks again when nothing shows that any more.
func TestApplyFirmware_without_a_driver(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o := b.ops("alice")
	unload := func() {
		for _, module := range []string{"ib_ipoib", "ib_umad", "mlx4_ib", "mlx4_en", "mlx4_core"} {
			if b.machine.ModuleLoaded(module) {
				if err := b.machine.UnloadModule(module); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	restart := func() {
		if err := b.machine.Rebuild(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		unload()
	}
	unload()
	f := crossFlash(b.card(ctx), b.image(card.VPI()))
	f.Request.Activation = safety.ActivationNone
	_, err := o.ApplyFirmware(ctx, f)
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || !slices.ContainsFunc(refused.Findings, func(f finding.Finding) bool {
		return f.Rule == finding.RunningUnknown && f.Consent == `unproven_flash = "2.40.5032"`
	}) || b.device().Flash.Operations() != 0 {
		t.Fatalf("without consent: %v, %d operations", explain(err), b.device().Flash.Operations())
	}
	f.Request.UnprovenFlash = "2.40.5032"
	state, err := o.ApplyFirmware(ctx, f)
	if err != nil || !state.Pending {
		t.Fatalf("burned, and not restarted: %v, %+v", explain(err), state)
	}
	f.Request.Activation, f.Card = safety.ActivationReboot, b.card(ctx)
	a, err := o.AssessFirmware(ctx, f)
	if err != nil || a.Verdict.Blocked() || a.Verdict.Action != safety.ActionNone ||
		a.Verdict.Activation != safety.ActivationReboot {
		t.Errorf("a restart that is left to do: %v, %+v", err, a.Verdict)
	}
	restart()
	f.Card = b.card(ctx)
	if a, err = o.AssessFirmware(ctx, f); err != nil || a.Verdict.Activation != safety.ActivationNone {
		t.Errorf("a restart that was done: %v, %+v", err, a.Verdict)
	}
	back := crossFlash(b.card(ctx), b.image(card.OldVPI()))
	back.Request.Downgrade = &safety.Change[ib.FWVersion]{From: vpiVersion, To: ib.MustParseFWVersion("2.36.5000")}
	a, err = o.AssessFirmware(ctx, back)
	if err != nil || a.Verdict.Blocked() || a.Card.StartedWith == "" || a.Card.Running.Known() {
		t.Errorf("after the restart: %v, %+v", err, a.Verdict.Findings)
	}
	if err = b.device().Write(card.EN(), func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	back.Request.PSIDChange, back.Request.Downgrade = &safety.Change[ib.PSID]{From: card.PSIDEN, To: card.PSIDVPI}, nil
	for _, rule := range []*finding.Rule{finding.FlashNotRunning, finding.RunningUnknown} {
		back.Card = b.card(ctx)
		if a, err = o.AssessFirmware(ctx, back); err != nil || !slices.ContainsFunc(a.Verdict.Blockers(),
			func(f finding.Finding) bool { return f.Rule == rule }) {
			t.Errorf("burned by hand: %s is missing: %v, %+v", rule, err, a.Verdict.Findings)
		}
		restart()
	}
	b.clean()
}
