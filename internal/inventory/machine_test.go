package inventory

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func TestSameMachine(t *testing.T) {
	t.Parallel()
	id1, id2, none := fact.Known(strings.Repeat("1", 32)), fact.Known(strings.Repeat("2", 32)),
		fact.Unknown[string]("there is no /etc/machine-id")
	at := func(id fact.Of[string], boot, serial string) *Snapshot {
		card := Card{PCI: ib.MustParsePCIAddress("0000:01:00.0")}
		if serial != "" {
			card.Serial = fact.Known(serial)
		}
		return &Snapshot{MachineID: id, BootID: boot, Cards: []Card{card}}
	}
	yes, no, open := fact.Known(true), fact.Known(false), fact.Unknown[bool]("")
	for _, tt := range []struct {
		name string
		a, b *Snapshot
		want fact.Bool
	}{
		{"two names of one machine", at(id1, "b1", "S1"), at(id1, "b1", "S1"), yes},
		{"no serial can be read", at(id1, "b1", ""), at(id1, "b1", "S1"), yes},
		{"two machines", at(id1, "b1", "S1"), at(id2, "b2", "S2"), no},
		{"two containers of one kernel", at(id1, "b1", "S1"), at(id2, "b1", "S1"), no},
		{"a cloned disk with another card", at(id1, "b1", "S1"), at(id1, "b2", "S2"), no},
		{"restarted between the looks", at(id1, "b1", "S1"), at(id1, "b2", "S1"), yes},
		{"a cloned disk, or a restart between the looks", at(id1, "b1", ""), at(id1, "b2", ""), open},
		{"no machine id, restarted between the looks", at(none, "b1", "S1"), at(id1, "b2", "S1"), open},
		{"two machines whose cards have one serial number", at(id1, "b1", "S1"), at(id2, "b2", "S1"), no},
		{"a machine that was cloned while it ran", at(id1, "b1", "S1"), at(id1, "b1", "S2"), no},
		{"no machine id, one boot and one card", at(none, "b1", "S1"), at(id1, "b1", "S1"), yes},
		{"no machine id, one boot and no serial", at(none, "b1", ""), at(id1, "b1", ""), open},
		{"no machine id, two boots", at(none, "b1", ""), at(id1, "b2", ""), no},
	} {
		for _, got := range []fact.Bool{SameMachine(tt.a, tt.b), SameMachine(tt.b, tt.a)} {
			if fact.Yes(got) != fact.Yes(tt.want) || fact.No(got) != fact.No(tt.want) {
				t.Errorf("%s: %+v", tt.name, got)
			}
		}
	}
}
