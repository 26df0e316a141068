package hca

import (
	"context"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

func TestApply_from_Ethernet_to_InfiniBand(t *testing.T) {
	for _, name := range []string{labs.Intel9, labs.Xeon2zfs} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			b := newBench(t, name, 0)
			o, c := b.ops("alice"), b.card(ctx)
			if _, err := o.ApplyFirmware(ctx, crossFlash(c, b.image(card.VPI()))); err != nil {
				t.Fatal(explain(err))
			}
			base := ib.MustParseMAC("e4:1d:2d:e4:4f:00")
			req, err := GUIDSpec{BaseMAC: &base}.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			req.Activation, req.Change = safety.ActivationReboot, fromFactory(req.Want)
			ids, err := o.ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: req})
			if err != nil {
				t.Fatal(explain(err))
			}
			if ids.InFlash.Node != 0xe41d2d0300e44f00 || ids.Effective.Node != ids.InFlash.Node || ids.InFlash.MAC2 != base+1 ||
				ids.Pending {
				t.Errorf("identity %+v", ids)
			}
			operations := b.device().Flash.Operations()
			if _, err = o.ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: req}); err != nil {
				t.Fatal(explain(err))
			}
			if b.device().Flash.Operations() != operations {
				t.Error("GUIDs that are there were written again")
			}
			want := map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}
			links, err := linktype.Apply(ctx, o.Session, linktype.Ask{Card: c, Request: safety.LinkTypeRequest{Ports: want}})
			if err != nil {
				t.Fatal(explain(err))
			}
			for port, w := range want {
				if got := links.Ports[port]; got.Effective != w || got.Persistent != w {
					t.Errorf("port %d: %+v", port, got)
				}
			}
			if links.Pending || links.StoredIn == "" {
				t.Errorf("links %+v", links)
			}
			t.Logf("place %s, did %q", links.StoredIn, links.Did)
			again, err := assessLinkTypes(ctx, o, linktype.Ask{Card: c, Request: safety.LinkTypeRequest{Ports: want}})
			if err != nil || again.Verdict.Action != safety.ActionNone {
				t.Errorf("second look: %v, %+v", err, again.Verdict)
			}
			b.clean()
		})
	}
}

// assessLinkTypes is the verdict on link types at a new look.
func assessLinkTypes(ctx context.Context, o *Ops, l linktype.Ask) (cards.Assessment, error) {
	look, err := linktype.Read(ctx, l.Card)
	if err != nil {
		return cards.Assessment{}, err
	}
	return linktype.Assess(ctx, o.Session, l, look)
}

func TestAssessLinkTypes_explains_Ethernet_only_firmware(t *testing.T) {
	for _, name := range []string{labs.Intel9, labs.Xeon2zfs} {
		ctx := context.Background()
		b := newBench(t, name, 0)
		ports := map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}
		a, err := assessLinkTypes(ctx, b.ops("alice"),
			linktype.Ask{Card: b.card(ctx), Request: safety.LinkTypeRequest{Ports: ports}})
		if err != nil {
			t.Fatal(explain(err))
		}
		if !a.Verdict.Has(finding.FirmwareEthernetOnly) {
			t.Errorf("%s: findings %+v", name, a.Verdict.Findings)
		}
	}
}

func TestApplyGUIDs_refuses_another_cards_values(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	mac := ib.MustParseMAC("e4:1d:2d:e4:4f:00")
	req, err := GUIDSpec{BaseMAC: &mac}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	lab := clash.Facts{Cards: []clash.Holder{{Host: labs.Xeon2zfs, PCI: b.pci, GUIDs: req.Want}}}
	_, err = b.ops("alice").ApplyGUIDs(ctx, GUIDs{Card: b.card(ctx), Request: req, Lab: lab})
	if err == nil || !strings.Contains(err.Error(), "GU006") || !strings.Contains(explain(err), labs.Xeon2zfs) {
		t.Errorf("apply: %v", err)
	}
	b.clean()
}

// TestConclude_restores_a_lost_identity has the card come out of a burn with
// another identity than it had before.
func TestConclude_restores_a_lost_identity(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o, c := b.ops("alice"), b.card(ctx)
	if _, err := o.ApplyFirmware(ctx, crossFlash(c, b.image(card.VPI()))); err != nil {
		t.Fatal(explain(err))
	}
	l, err := c.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := l.Jobs[0].Entry
	node := ib.GUID(0xe41d2d0300e44f00)
	want.GUIDsAfter = ib.GUIDSet{Node: node, Port1: node + 1, Port2: node + 2, SystemImage: node + 3, MAC1: 0xe41d2de44f00,
		MAC2: 0xe41d2de44f01}
	did, err := job.New(o.Session, c, want).Finish(ctx)
	if err != nil {
		t.Fatal(explain(err))
	}
	if flash, _ := b.flash(); flash.GUIDs[0] != uint64(node) || flash.MACs[1] != 0xe41d2de44f01 {
		t.Errorf("identity %+v, did %q", flash, did)
	}
	b.clean()
}

// TestReadFirmware_of_a_card_that_has_moved holds that the backup of the burn that the flash
// comes from is found when the card sits in another slot.
func TestReadFirmware_of_a_card_that_has_moved(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	state, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(b.card(ctx), b.image(card.VPI())))
	if err != nil {
		t.Fatal(explain(err))
	}
	if err = b.machine.Rebuild(func() error { return b.machine.Renumber(1) }); err != nil {
		t.Fatal(err)
	}
	b.pci = ib.MustParsePCIAddress("0000:02:00.0")
	l, err := b.card(ctx).Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	moved := ReadFirmware(l)
	if state.BackupPath == "" || moved.JobBackup != state.BackupPath {
		t.Errorf("backup %q, want %q", moved.JobBackup, state.BackupPath)
	}
	b.clean()
}

// GUIDs that somebody has written by hand, and that the card does not run with yet, are named
// before they are replaced. Those that our own job wrote are not somebody else's, nor are
// those that run.
func TestAssessGUIDs_names_those_staged_by_hand(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o, c := b.ops("alice"), b.card(ctx)
	if _, err := o.ApplyFirmware(ctx, crossFlash(c, b.image(card.VPI()))); err != nil {
		t.Fatal(explain(err))
	}
	req := someGUIDs(t)
	if _, err := o.ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: req}); err != nil {
		t.Fatal(explain(err))
	}
	later := req
	later.Want.Node += 0x100
	staged := func() (evidence string) {
		t.Helper()
		c.Host.Invalidate()
		a, err := o.AssessGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: later})
		if err != nil || a.Verdict.Blocked() || a.Verdict.Action != safety.ActionSetGUIDs {
			t.Fatalf("%v, %+v", explain(err), a.Verdict.Findings)
		}
		for _, f := range a.Verdict.Findings {
			if f.Rule == finding.GUIDsWouldChange && f.Severity == finding.Warn {
				evidence += f.Evidence
			}
		}
		return evidence
	}
	if said := staged(); said != "" {
		t.Errorf("they run: %s", said)
	}
	const node = 0xe41d2d0300770000
	b.program([4]uint64{node, node + 1, node + 2, node + 3}, [2]uint64{0xe41d2d770000, 0xe41d2d770001})
	consent := func(to ib.GUID) safety.GUIDChange {
		return safety.GUIDChange{From: []string{ib.GUID(node).String()}, To: []string{to.String()}}
	}
	later.Change = consent(later.Want.Node)
	if said := staged(); !strings.Contains(said, "node GUID 0xe41d2d0300770000, which no job has written") ||
		!strings.Contains(said, "runs with 0xe41d2d0300e44f00") {
		t.Errorf("by hand: %q", said)
	}
	later.Want.Node, req.Want.Node, req.Activation = req.Want.Node, req.Want.Node+0x200, safety.ActivationNone
	req.Change = consent(req.Want.Node)
	if _, err := o.ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: req}); err != nil {
		t.Fatal(explain(err))
	}
	if said := staged(); said != "" {
		t.Errorf("our own job: %s", said)
	}
	b.clean()
}
