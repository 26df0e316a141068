package backup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func store(root string, now func() time.Time) *Store {
	return NewStore(cards.New(cards.Config{BackupDir: root, Now: now}))
}

// labelled is a host that only has a name.
type labelled struct{ cards.Host }

func (labelled) Name() string { return "intel9" }

func testRecord() Record {
	return Record{
		Host: "intel9", PCI: ib.MustParsePCIAddress("0000:01:00.0"), PSID: card.PSIDVPI,
		FW: ib.MustParseFWVersion("2.42.5000"), SerialNumber: "MT1",
		GUIDs: ib.GUIDSet{Node: 0xe41d2d0300e44ed0, MAC1: 0xe41d2de44ed0},
	}
}

func save(t *testing.T, root string, r Record, at time.Time) string {
	t.Helper()
	dir, _, err := store(root, func() time.Time { return at }).save(r, func(w io.Writer) (string, error) {
		_, err := w.Write(card.VPI())
		return fmt.Sprintf("%x", sha256.Sum256(card.VPI())), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStore_opens_what_it_saved_and_nothing_else(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a[b]*") // means itself in a search, too
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dir := save(t, root, testRecord(), begin)
	kept := store(root, nil)
	b, err := kept.Open(dir)
	if err != nil || b.Record.Host != "intel9" || b.Record.PCI != testRecord().PCI ||
		b.Record.GUIDs != testRecord().GUIDs || !b.Record.Taken.Equal(begin) {
		t.Fatalf("%v, %+v", err, b.Record)
	}
	// The directory of another working directory is found below the root.
	if moved, openErr := kept.Open(filepath.Join("elsewhere", filepath.Base(filepath.Dir(filepath.Dir(dir))),
		filepath.Base(filepath.Dir(dir)), filepath.Base(dir))); openErr != nil || moved.Dir != dir {
		t.Errorf("moved: %v, %s", openErr, moved.Dir)
	}
	if got := kept.Place("elsewhere/intel9/x/y"); got != filepath.Join(root, "intel9", "x", "y") || kept.Place("x") != "x" {
		t.Errorf("looked for in %s", got)
	}
	// A configuration may name its folder from another one: backup_dir = "../backups".
	above := filepath.Join("..", "backups", filepath.Base(filepath.Dir(filepath.Dir(dir))), filepath.Base(filepath.Dir(dir)),
		filepath.Base(dir))
	if back, openErr := kept.Open(above); openErr != nil || back.Dir != dir {
		t.Errorf("named from above: %v, %s", openErr, back.Dir)
	}
	// No other place of this machine is opened, whatever a host says of it.
	var bad *Error
	for _, named := range []string{save(t, t.TempDir(), testRecord(), begin.Add(time.Minute)), "", "/etc", `\\\\evil\\share`,
		"/../../etc", "/a/../etc/passwd", "intel9/x/.."} {
		if _, err = kept.Open(named); !errors.As(err, &bad) || !bad.Missing {
			t.Errorf("%q: %v", named, err)
		}
	}
	if _, err = kept.Open(filepath.Join(root, "intel9", "x", "y")); !errors.As(err, &bad) || !bad.Missing {
		t.Errorf("missing: %v", err)
	}
	// A record that says something else than the firmware.
	other := testRecord()
	other.PSID = card.PSIDEN
	if _, err = kept.Open(save(t, root, other, begin)); !errors.As(err, &bad) || bad.Missing ||
		!strings.Contains(err.Error(), card.PSIDEN) {
		t.Errorf("other PSID: %v", err)
	}

	newest := save(t, root, testRecord(), begin.Add(time.Hour))
	holds := func(serial string) *cards.Look {
		s := &inventory.Snapshot{Host: "intel9",
			Cards: []inventory.Card{{PCI: testRecord().PCI, Serial: fact.Known(serial)}}}
		found, lookErr := cards.LookAt(s, testRecord().PCI)
		if lookErr != nil {
			t.Fatal(lookErr)
		}
		return found
	}
	if b, err = kept.Newest(holds("MT1")); err != nil || b.Dir != newest {
		t.Errorf("newest: %v, %s", err, b.Dir)
	}
	if err = os.WriteFile(filepath.Join(newest, recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err = kept.Newest(holds("MT1")); err != nil || b.Dir != dir || len(b.Passed) != 2 ||
		!strings.Contains(b.Passed[1].Error(), newest) {
		t.Errorf("newest that verifies: %v, %s, passed over %v", err, b.Dir, b.Passed)
	}
	if _, err = kept.Newest(holds("MT2")); err == nil ||
		!strings.Contains(err.Error(), "no valid backup of card intel9/0000:01:00.0") {
		t.Errorf("another card: %v", err)
	}
}

func TestRecord_otherCard(t *testing.T) {
	flash := func(g ib.GUIDSet) *inventory.Flash { return &inventory.Flash{GUIDs: g} }
	r := testRecord()
	ones := ib.GUID(0xffffffffffffffff)
	for name, c := range map[string]struct {
		host string
		card inventory.Card
		want string
	}{
		"the same": {"intel9", inventory.Card{PCI: r.PCI, Serial: fact.Known("MT1")}, ""},
		"the same with new GUIDs": {"intel9",
			inventory.Card{PCI: r.PCI, Serial: fact.Known("MT1"), Flash: flash(ib.GUIDSet{Node: 1, MAC1: 2})}, ""},
		"other serial, same GUIDs": {"intel9",
			inventory.Card{PCI: r.PCI, Serial: fact.Known("MT2"), Flash: flash(r.GUIDs)}, "serial number MT1"},
		"moved to another host": {"intel8", inventory.Card{PCI: r.PCI, Serial: fact.Known("MT1")}, ""},
		"other host, other serial": {"intel8", inventory.Card{PCI: r.PCI, Serial: fact.Known("MT2")},
			"intel9/0000:01:00.0"},
		"other host, nothing known": {"intel8", inventory.Card{PCI: r.PCI}, "intel9/0000:01:00.0"},
		"moved to another slot": {"intel9",
			inventory.Card{PCI: ib.MustParsePCIAddress("0000:02:00.0"), Serial: fact.Known("MT1")}, ""},
		"other slot, other serial": {"intel9",
			inventory.Card{PCI: ib.MustParsePCIAddress("0000:02:00.0"), Serial: fact.Known("MT2")}, "intel9/0000:01:00.0"},
		"other slot, nothing known": {"intel9", inventory.Card{PCI: ib.MustParsePCIAddress("0000:02:00.0")},
			"intel9/0000:01:00.0"},
		"no serial, same MAC": {"intel9",
			inventory.Card{PCI: r.PCI, Flash: flash(ib.GUIDSet{Node: ones, MAC1: r.GUIDs.MAC1})}, ""},
		"no serial, nothing the same": {"intel9", inventory.Card{PCI: r.PCI, Flash: flash(ib.GUIDSet{Node: ones, MAC1: 7})},
			"it has MAC 00:00:00:00:00:07, and MAC"},
		"no serial, flash unread": {"intel9", inventory.Card{PCI: r.PCI}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.otherCard(c.host+"/"+c.card.PCI.String(),
				(&inventory.Snapshot{Cards: []inventory.Card{c.card}}).Identity(&c.card)); (c.want == "") != (got == "") ||
				!strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
