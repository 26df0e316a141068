package firmwarecatalog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

var sum = strings.Repeat("ab", 32)

func catalog(lines ...string) string { return `{"images": [` + strings.Join(lines, ",") + `]}` }

func imageOf(psid, version, source string) string {
	return `{"psid": "` + psid + `", "version": "` + version + `", "sha256": "` + sum + `", "source": "` + source + `"}`
}

// with is an image with a list of one entry.
func with(image, list, entry string) string {
	return strings.Replace(image, "{", `{"`+list+`": ["`+entry+`"], `, 1)
}

// Each is a clear error.
func TestRead_bad_input(t *testing.T) {
	good := imageOf("MT_9000000001", "2.42.5000", "fw.bin")
	for text, want := range map[string]string{
		"":                                     "it is no catalogue",
		"<html>":                               "it is no catalogue",
		`{"images": [{"psid_": "x"}]}`:         "unknown field",
		catalog(good, good):                    "PSID MT_9000000001 has two images",
		catalog(good) + catalog(good):          "there is more text after",
		"{}":                                   "images is missing",
		catalog(imageOf("", "2.42.5000", "f")): "invalid PSID",
		catalog(imageOf("MT_9", "two", "f")):   "two",
		catalog(imageOf("MT_9", "2.42.5000", "")):             "source is missing",
		catalog(with(good, "hosts", "")):                      `serial_numbers or hosts has the entry ""`,
		catalog(with(good, "serial_numbers", "MT1 ")):         `the entry "MT1 ": it is empty, or has a blank`,
		catalog(with(good, "serial_numbers", "MT\u200b1")):    `the entry "MT\u200b1"`,
		`{"images": [], "images": []}`:                        `mapping key "images" already defined`,
		catalog(with(with(good, "hosts", "b"), "hosts", "a")): `mapping key "hosts" already defined`,
		catalog(strings.Replace(good, "ab", "zz", 1)):         "64 hexadecimal digits",
		catalog(`"` + strings.Repeat("x", largestCatalog)):    "more than 1024 KiB",
	} {
		if _, err := read(strings.NewReader(text), "/lab"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

func TestCompare(t *testing.T) {
	images, err := read(strings.NewReader(catalog(imageOf("MT_9000000001", "2.42.5000", "images/fw.bin"),
		imageOf("MT_9000000002", "12.28.2006", "https://firmware.example.org/fw.bin"))), filepath.FromSlash("/lab"))
	if err != nil {
		t.Fatal(err)
	}
	card := func(psid, version string) inCard {
		return inCard{PSID: attribute.PSIDText(ib.PSID(psid)), Version: attribute.VersionText(ib.MustParseFWVersion(version))}
	}
	m := model{Cards: map[string]inCard{"behind": card("MT_9000000001", "2.40.7000"),
		"same":  card("MT_9000000002", "12.28.2006"),
		"newer": card("MT_9000000001", "2.43.1000"), "b": card("MT_9000000009", "2.42.5000"), "a": card("HP_9", "2.42.5000")}}
	if err = m.compare(images); err != nil {
		t.Fatal(err)
	}
	u, behind := m.Updates["behind"]
	if len(m.Updates) != 1 || !behind || u.From.ValueString() != "2.40.7000" || u.Version.ValueString() != "2.42.5000" ||
		u.Source.ValueString() != filepath.FromSlash("/lab/images/fw.bin") || u.SHA256.ValueString() != sum {
		t.Errorf("behind: %+v", m.Updates)
	}
	if !slices.Equal(m.Unlisted, []string{"a", "b"}) || len(m.Images) != 2 ||
		m.Images["MT_9000000002"].Source.ValueString() != "https://firmware.example.org/fw.bin" {
		t.Errorf("not listed: %q; images %+v", m.Unlisted, m.Images)
	}
}

// A card of another vendor's firmware gets the image of its board. It is behind at any version.
func TestCompare_by_board(t *testing.T) {
	boards := func(psid, board string) string { return with(imageOf(psid, "12.28.4706", "fw.bin"), "boards", board) }
	images, err := read(strings.NewReader(catalog(boards("MT_9000000001", "00WE027"), boards("MT_9000000002", "068F2"),
		boards("MT_9000000003", "068F2"))), filepath.FromSlash("/lab"))
	if err != nil {
		t.Fatal(err)
	}
	card := inCard{PSID: attribute.PSIDText("DEL9000000001"), Version: attribute.VersionText(ib.MustParseFWVersion("12.99.1")),
		Board: types.StringValue("00WE027")}
	m := model{Cards: map[string]inCard{"oem": card}}
	if err = m.compare(images); err != nil || len(m.Unlisted) > 0 || m.Targets["oem"].PSID.ValueString() != "MT_9000000001" ||
		m.Targets["oem"].FromPSID.ValueString() != "DEL9000000001" || len(m.Updates) != 1 {
		t.Errorf("%v: %+v", err, m)
	}
	card.PSID = attribute.PSIDText("MT_9000000001")
	m = model{Cards: map[string]inCard{"oem": card}}
	if err = m.compare(images); err != nil || len(m.Targets) != 1 || len(m.Updates) > 0 {
		t.Errorf("after the burn: %v: %+v", err, m)
	}
	card.PSID, card.Board = attribute.PSIDText("DEL9000000001"), types.StringValue("068F2")
	m = model{Cards: map[string]inCard{"oem": card}}
	if err = m.compare(images); err == nil || !strings.Contains(err.Error(),
		"card oem: the catalogue has two images for its board: PSID MT_9000000002 version 12.28.4706 and PSID MT_9000000003 "+
			"version 12.28.4706. Name it in one") {
		t.Errorf("two images: %v", err)
	}
}

// The image that names the card goes before one of its host, and that before one for all.
func TestCompare_by_rank(t *testing.T) {
	const psid, other = "MT_9000000001", "MT_9000000002"
	all := imageOf(psid, "2.42.5000", "all.bin")
	host := with(imageOf(psid, "2.40.7000", "host.bin"), "hosts", "node1")
	card := with(imageOf(other, "2.36.5000", "card.bin"), "serial_numbers", "mt1234x00001")
	board := with(with(imageOf(other, "2.41.0000", "board.bin"), "hosts", "node2"), "boards", "00WE027")
	for name, tt := range map[string]struct {
		serial, host, board string
		images              []string
		source, by, err     string
	}{
		"all":                       {"S", "node3", "", []string{all, host, card}, "all.bin", "site", ""},
		"its host":                  {"S", "node1", "", []string{all, host, card}, "host.bin", "host", ""},
		"itself":                    {"MT1234X00001", "node1", "", []string{all, host, card}, "card.bin", "card", ""},
		"the order is of no weight": {"MT1234X00001", "node1", "", []string{card, host, all}, "card.bin", "card", ""},
		"its board on its host":     {"S", "node2", "00WE027", []string{all, board}, "board.bin", "host", ""},
		"another board of its host": {"S", "node2", "068F2", []string{all, board}, "all.bin", "site", ""},
		"none, as all are narrower": {"S", "node3", "00WE027", []string{host, card, board}, "", "", ""},
		"narrower lists are not needed where none is in the file": {"", "", "", []string{all}, "all.bin", "site", ""},
		"itself, with a blank":       {" MT1234X00001", "node1", "", []string{all, card}, "card.bin", "card", ""},
		"a serial number of a blank": {" ", "node1", "", []string{all, card}, "", "", "its serial_number is not known"},
		"a serial number that is not known": {"", "node1", "", []string{all, card}, "", "",
			"card it: its serial_number is not known, and the catalogue has images by it"},
		"a host that is not known": {"S", "", "", []string{all, host}, "", "", "card it: its host is not known"},
		"two that name it": {"MT1234X00001", "node1", "", []string{card, all, with(all, "serial_numbers", "MT1234X00001")}, "", "",
			"two images for its serial number: PSID MT_9000000002 version 2.36.5000 and PSID MT_9000000001 version 2.42.5000"},
		"two of its host": {"S", "node1", "", []string{host, with(all, "hosts", "node1")}, "", "",
			"two images for its host and PSID: PSID MT_9000000001 version 2.40.7000 and PSID MT_9000000001 version 2.42.5000"},
		"two of its host, and one that names it": {"MT1234X00001", "node1", "", []string{host, with(all, "hosts", "node1"), card},
			"card.bin", "card", ""},
	} {
		images, err := read(strings.NewReader(catalog(tt.images...)), filepath.FromSlash("/lab"))
		if err != nil {
			t.Fatal(err)
		}
		m := model{Cards: map[string]inCard{"it": {PSID: attribute.PSIDText(psid), Serial: types.StringValue(tt.serial),
			Version: attribute.VersionText(ib.MustParseFWVersion("2.30.0000")), Host: types.StringValue(tt.host),
			Board: types.StringValue(tt.board)}}}
		err = m.compare(images)
		got, chosen := m.Targets["it"]
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || chosen != (tt.by != "") || got.ChosenBy.ValueString() != tt.by ||
			chosen && filepath.Base(got.Source.ValueString()) != tt.source || chosen == slices.Contains(m.Unlisted, "it"):
			t.Errorf("%s: %v, %+v", name, err, m)
		}
		if _, listed := m.Images[other]; listed {
			t.Errorf("%s: an image for some cards is among those for all", name)
		}
	}
}

// The file that the guide shows is one.
func TestRead_as_the_guide_shows_it(t *testing.T) {
	guide, err := os.ReadFile("../../../templates/guides/firmware.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(guide), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	images, err := read(strings.NewReader(strings.ReplaceAll(text, "…", sum)), "/lab")
	if err != nil || len(images) != 3 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	for serial, want := range map[string]string{"MT1234X00001": "2.36.5000", "MT1234X00002": "2.40.7000"} {
		l, _, err := imageFor(images, inCard{PSID: attribute.PSIDText("MT_1090111019"), Host: types.StringValue("nas"),
			Serial: types.StringValue(serial)})
		if err != nil || l == nil || l.Version != want {
			t.Errorf("%s: %+v, %v", serial, l, err)
		}
	}
}
