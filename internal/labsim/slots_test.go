package labsim

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func spare(t *testing.T) *Spare {
	t.Helper()
	const mac = 0xe41d2de4f000
	s, err := NewSpare(CardConfig{SerialNumber: "MT9999X00001", Config: card.Config{
		Chip: card.ConnectX3Pro, Image: testImage("MT_9090111019"), GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac)),
		MACs: [2]uint64{mac + 1, mac + 2},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExchange_otherCardAtTheSameAddress(t *testing.T) {
	l, a, _ := testLab(t)
	before := a.Card("0000:01:00.0")
	other := spare(t)
	old, err := a.Exchange("0000:01:00.0", other)
	if err != nil {
		t.Fatal(err)
	}
	now := a.Card("0000:01:00.0")
	if now.Card != other.Card || old.Card != before.Card || now.Config.SerialNumber != "MT9999X00001" {
		t.Errorf("the slot holds %+v, taken out was %+v", now.Config, old.config)
	}
	if _, connected := l.Peer(CardEnd("a", "0000:01:00.0", 1)); !connected {
		t.Error("the new card has no cable")
	}
	if guid := read(t, a, "/sys/class/infiniband/"+now.RDMA+"/node_guid"); !strings.Contains(guid, "e41d:2d03:00e4:f000") {
		t.Errorf("the driver shows node GUID %s", guid)
	}
	if _, err := a.TakeOut("0000:01:00.0"); err == nil {
		t.Error("a card was taken out of a running machine")
	}
}

func TestRenumber_cablesStayWithTheirCards(t *testing.T) {
	l, a, _ := testLab(t)
	before := a.Card("0000:01:00.0").Card
	there, _ := l.Peer(CardEnd("a", "0000:01:00.0", 2))
	if err := a.PowerCutThen(func() error { return a.Renumber(1) }); err != nil {
		t.Fatal(err)
	}
	if err := a.AwaitBoot(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if a.Card("0000:01:00.0") != nil || a.Card("0000:02:00.0").Card != before {
		t.Errorf("cards: %+v", a.Cards())
	}
	if now, _ := l.Peer(CardEnd("a", "0000:02:00.0", 2)); now != there {
		t.Errorf("the cable leads to %+v instead of %+v", now, there)
	}
	if a.FS.Exists("/sys/bus/pci/devices/0000:01:00.0") || !a.FS.Exists("/sys/bus/pci/devices/0000:02:00.0") {
		t.Error("the bus shows the card at its old address")
	}
}

func TestMoveCard_betweenMachines(t *testing.T) {
	l, a, b := testLab(t)
	hw := a.Card("0000:01:00.0").Card
	if err := l.MoveCard(a, "0000:01:00.0", b, "0000:01:00.0"); err == nil {
		t.Fatal("two cards are in one slot")
	}
	if a.Card("0000:01:00.0") == nil {
		t.Fatal("a move that failed lost the card")
	}
	if err := l.MoveCard(a, "0000:01:00.0", b, "0000:05:00.0"); err != nil {
		t.Fatal(err)
	}
	if len(a.Cards()) != 0 || b.Card("0000:05:00.0").Card != hw {
		t.Errorf("a has %d cards, b %d", len(a.Cards()), len(b.Cards()))
	}
	if _, connected := l.Peer(CardEnd("b", "0000:05:00.0", 1)); !connected {
		t.Error("the cable did not come along")
	}
}
