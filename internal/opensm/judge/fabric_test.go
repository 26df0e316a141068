package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
)

func TestCheckFabric(t *testing.T) {
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 5}
	view := found.View{Ruled: fact.Known(true), Listed: fact.Known(true), Duplicate: fact.Known[[]ib.GUID](nil),
		Managers: []saquery.Manager{{LID: 1, GUID: testPort, Priority: 5, State: 3}, {LID: 2, GUID: 1, Priority: 5, State: 2},
			{LID: 3, GUID: 2, Priority: 1, State: 2}, {LID: 4, GUID: 3, Priority: 9, State: 2}}}
	all := CheckFabric(d, view, found.Lab{Known: map[ib.GUID]string{2: "pve1 port 1", 3: "pve2 port 1"},
		Ours: map[ib.GUID]bool{2: true}})
	if len(all) != 2 || all[0].Rule != finding.SubnetManagerCompetes ||
		!strings.Contains(all[0].Evidence, "the other one rules by its lower GUID") {
		t.Errorf("findings: %+v", all)
	}
	// Somebody started it by hand on a managed host.
	if want := "The subnet manager on port 0x0000000000000003 (pve2 port 1, LID 4) has priority 9 and is standby; this one has 5: the other one rules."; all[1].Evidence != want {
		t.Errorf("got %s\nwant %s", all[1].Evidence, want)
	}
	// A host that did not answer may have it, and Terraform may manage it.
	all = CheckFabric(d, view, found.Lab{Known: map[ib.GUID]string{2: "pve1 port 1", 3: "pve2 port 1"}, Unseen: "host pve9"})
	if len(all) != 3 || !strings.HasPrefix(all[0].Summary, "Another subnet manager competes") ||
		!strings.Contains(all[0].Evidence, "Not seen now: host pve9") || strings.Contains(all[1].Evidence, "pve9") {
		t.Errorf("a host that was not seen: %+v", all)
	}
	all = CheckFabric(d, found.View{Ruled: fact.Known(false), Listed: fact.Known(true), Duplicate: fact.Known([]ib.GUID{3})},
		found.Lab{})
	if len(all) != 1 || all[0].Rule != finding.FabricGUIDTwice || !all[0].Severity.Blocks() {
		t.Errorf("findings: %+v", all)
	}
}

// Two of one priority on one fabric are asked about where the other one is seen to rule it.
func TestCheckFabric_equalMaster(t *testing.T) {
	for name, c := range map[string]struct {
		priority, state int
		consent, ours   bool
		own             int // priority with which this one runs already
		asks            bool
	}{
		"a master of ours":         {5, 3, false, true, 0, true},
		"this one runs with less":  {5, 3, false, true, 4, true},
		"this one runs like that":  {5, 3, false, true, 5, false},
		"with the consent":         {5, 3, true, true, 0, false},
		"a standby":                {5, 2, false, true, 0, false},
		"another priority":         {4, 3, false, true, 0, false},
		"one that is none of ours": {5, 3, false, false, 0, false},
	} {
		d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 5, EqualPriority: c.consent}
		all := CheckFabric(d, found.View{Ruled: fact.Known(true), Listed: fact.Known(true), Duplicate: fact.Known[[]ib.GUID](nil),
			Managers: []saquery.Manager{{LID: 2, GUID: 1, Priority: c.priority, State: c.state},
				{LID: 3, GUID: testPort, Priority: c.own, State: 2}}},
			found.Lab{Ours: map[ib.GUID]bool{1: c.ours}})
		asks := len(all) == 1 && all[0].Rule == finding.OpensmPriorityEqual && all[0].Asks() &&
			all[0].Consent == "equal_priority = 5" && strings.Contains(all[0].Evidence, "the other one rules by its lower GUID")
		if asks != c.asks || !c.asks && c.ours && len(all) > 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// Only a master hands a fabric over.
func TestCheckFabric_lowerPriority(t *testing.T) {
	for state, want := range map[int]string{2: "is standby; this one has 5: this one rules.",
		3: "is master; this one has 5: this one takes over from it."} {
		all := CheckFabric(opensm.Request{PortGUID: testPort, Priority: 5}, found.View{Ruled: fact.Known(true), Listed: fact.Known(true),
			Duplicate: fact.Known[[]ib.GUID](nil), Managers: []saquery.Manager{{LID: 2, GUID: 1, Priority: 1, State: state}}}, found.Lab{})
		if len(all) != 1 || !strings.HasSuffix(all[0].Evidence, want) {
			t.Errorf("got %+v, want %q", all, want)
		}
	}
}

// What could not be asked is said, as loud as the answer would have been.
func TestCheckFabric_unknown(t *testing.T) {
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 5}
	none, yes := fact.Known(false), fact.Known(true)
	no := fact.Known[[]ib.GUID](nil)
	for name, c := range map[string]struct {
		v          found.View
		code, text string
		severity   finding.Severity
	}{
		"whether one rules": {found.View{Ruled: fact.Unknown[bool]("sminfo ended with status 1: sudo: a password is required"),
			Listed: yes, Duplicate: no},
			"SM028", "sudo: a password is required", finding.Warn},
		"which others there are": {found.View{Ruled: yes, Master: saquery.Manager{GUID: testPort, State: 3},
			Listed: fact.Unknown[bool]("saquery SMIR ended with status 255: timeout"), Duplicate: no},
			"SM028", "saquery SMIR ended with status 255: timeout", finding.Warn},
		"whether a GUID is there twice": {found.View{Ruled: none, Listed: yes,
			Duplicate: fact.Unknown[[]ib.GUID]("ibnetdiscover ended with status 255: discover failed")},
			"SM019", "ibnetdiscover ended with status 255: discover failed", finding.Refuse},
	} {
		all := CheckFabric(d, c.v, found.Lab{})
		if len(all) != 1 || all[0].Rule.Code != c.code || all[0].Severity != c.severity ||
			!strings.Contains(all[0].Evidence, c.text) {
			t.Errorf("%s: %+v", name, all)
		}
	}
	if all := CheckFabric(d, found.View{}, found.Lab{}); len(all) == 0 || !all[0].Severity.Blocks() {
		t.Errorf("a view that nobody filled: %+v", all)
	}
}
