package acctest

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// replacing is the consent to give a card what follows from one base MAC instead of what follows
// from another.
func replacing(from, to string) map[string]any {
	was, becomes := fromMAC(from).Texts(), fromMAC(to).Texts()
	return map[string]any{"from": anySlice(was[:]), "to": anySlice(becomes[:])}
}

// replacingGUIDs is the same of the GUIDs from a base GUID.
func replacingGUIDs(from, to uint64) map[string]any {
	was, becomes := fromGUID(from).Texts(), fromGUID(to).Texts()
	return map[string]any{"from": anySlice(was[:4]), "to": anySlice(becomes[:4])}
}

// both joins two of them.
func both(one, other map[string]any) map[string]any {
	joined := map[string]any{}
	for key, values := range one {
		joined[key] = slices.Concat(values.([]any), other[key].([]any))
	}
	return joined
}

// fromTwin is the consent to replace the values of the card that exchange puts into a slot.
func fromTwin(mac string) map[string]any {
	was, becomes := fromGUID(0xe41d2d0300e49000), fromMAC(mac).Texts()
	was.MAC1, was.MAC2 = 0xe41d2de48710, 0xe41d2de48711
	texts := was.Texts()
	return map[string]any{"from": anySlice(texts[:]), "to": anySlice(becomes[:])}
}

func fromGUID(base uint64) ib.GUIDSet {
	b := ib.GUID(base)
	return ib.GUIDSet{Node: b, Port1: b + 1, Port2: b + 2, SystemImage: b + 3}
}

func fromMAC(base string) ib.GUIDSet {
	mac := ib.MustParseMAC(base)
	set := fromGUID(uint64(ib.GUIDFromMAC(mac)))
	set.MAC1, set.MAC2 = mac, mac+1
	return set
}

// One wrong digit of base_mac does not give a healthy card another identity. The consent names
// what is in flash and what it becomes. It holds for no other card, and for no other values.
func TestGUIDs_of_a_healthy_card_are_replaced_with_consent_only(t *testing.T) {
	t.Parallel()
	const factory, other = "e4:1d:2d:e4:4e:d0", "e4:1d:2d:e4:4f:d0"
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	ws := w.Workspace()
	wants := func(mac string, consent any) Config {
		return w.guids(host, map[string]any{"base_mac": mac, "allow": map[string]any{"guid_change": consent}, "activation": "none"})
	}
	operations := w.Card(host).Flash.Operations()
	said := mustPlan(t, ws, wants(other, nil)).Diags.Errors()
	const line = `guid_change = { from = ["0xe41d2d0300e44ed0", "0xe41d2d0300e44ed1", "0xe41d2d0300e44ed2", ` +
		`"0xe41d2d0300e44ed3", "e4:1d:2d:e4:4e:d0", "e4:1d:2d:e4:4e:d1"], to = ["0xe41d2d0300e44fd0", ` +
		`"0xe41d2d0300e44fd1", "0xe41d2d0300e44fd2", "0xe41d2d0300e44fd3", "e4:1d:2d:e4:4f:d0", "e4:1d:2d:e4:4f:d1"] }`
	if len(said) != 1 || len(said.Find("GU011", "0xe41d2d0300e44ed0 becomes 0xe41d2d0300e44fd0", line)) != 1 {
		t.Fatalf("without a consent:\n%s", said)
	}
	allowed := replacing(factory, other)
	for name, refused := range map[string]Config{
		"of one value":     wants(other, map[string]any{"from": []any{"0xe41d2d0300e44ed0"}, "to": []any{"0xe41d2d0300e44fd0"}}),
		"from others":      wants(other, replacing("e4:1d:2d:e4:4e:c0", other)),
		"to others":        wants(other, replacing(factory, "e4:1d:2d:e4:4f:c0")),
		"for other values": wants("e4:1d:2d:e4:4f:c0", allowed),
	} {
		if said := mustPlan(t, ws, refused).Diags.Errors(); len(said.Find("GU011", "allow.guid_change names other values")) != 1 {
			t.Errorf("with a consent %s:\n%s", name, said)
		}
	}

	// The plan shows both. Somebody changes the flash before the apply: the consent is not for that.
	plan := cleanPlan(t, ws, wants(other, allowed))
	change, _ := field(t, Decode(plan.Changes[0].Planned), "change").(string)
	if !strings.Contains(change, "0xe41d2d0300e44ed0 -> 0xe41d2d0300e44fd0") ||
		!strings.Contains(change, "e4:1d:2d:e4:4e:d1 -> e4:1d:2d:e4:4f:d1") {
		t.Errorf("the plan of a new resource shows the change as %q", change)
	}
	byHand := func(guid, mac string) { w.Run(host, "mstflint -y -d "+w.PCI(host)+" -guid "+guid+" -mac "+mac+" sg") }
	byHand("0xe41d2d0300777700", "0xe41d2d777700")
	written := w.Card(host).Flash.Operations()
	applyStep(t, ws, plan, "GU011")
	if w.Card(host).Flash.Operations() != written || written == operations {
		t.Error("what somebody wrote after the plan was overwritten")
	}
	byHand("0xe41d2d0300e44ed0", "0xe41d2de44ed0")
	applyStep(t, ws, cleanPlan(t, ws, wants(other, allowed)), "")
	emptyPlan(t, ws, wants(other, nil)) // without the consent, too

	// What this provider wrote is nobody's loss, and what the factory wrote is put back.
	mustApply(t, ws, wants("e4:1d:2d:e4:4f:e0", nil))
	plan = cleanPlan(t, ws, wants(factory, nil))
	if change, _ := field(t, Decode(plan.Changes[0].Planned), "change").(string); !strings.Contains(change,
		"0xe41d2d0300e44fe0 -> 0xe41d2d0300e44ed0") {
		t.Errorf("the plan of an update shows the change as %q", change)
	}
	applyStep(t, ws, plan, "")
}

// Without values the GUIDs follow from the MAC of the card. That fills what is empty, and replaces
// nothing that is valid.
func TestGUIDs_that_follow_from_the_MAC(t *testing.T) {
	t.Parallel()
	host, other := labs.Intel9, labs.Xeon2zfs
	none := ^uint64(0)
	hosts := vpi()
	hosts[0].Cards[0].GUIDs = [4]uint64{none, none, none, none}
	hosts[1].Cards[0].MACs = [2]uint64{0xe41d2de55550, 0xe41d2de55551}
	w := Start(t, Options{Hosts: hosts})
	ws := w.Workspace()
	cfg := w.guids(host, map[string]any{"activation": "none"})
	plan := cleanPlan(t, ws, cfg)
	if got := field(t, Decode(plan.Changes[0].Planned), "port_guids", "1"); got != "0xe41d2d0300e44ed1" {
		t.Errorf("the plan shows port GUID %v", got)
	}
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, cfg)
	if got := w.Flash(host).GUIDs; got[0] != 0xe41d2d0300e44ed0 {
		t.Errorf("flash has %v", got)
	}
	said := mustPlan(t, w.Workspace(), w.guids(other, nil)).Diags.Errors()
	if len(said.Find("GU011", "0xe41d2d0300e44ee0 becomes 0xe41d2d0300e55550")) != 1 {
		t.Errorf("GUIDs that do not follow from the MAC:\n%s", said)
	}
}
