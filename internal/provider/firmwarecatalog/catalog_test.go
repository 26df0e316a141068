package firmwarecatalog

import (
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
		catalog(imageOf("MT_9", "2.42.5000", "")):          "source is missing",
		catalog(strings.Replace(good, "ab", "zz", 1)):      "64 hexadecimal digits",
		catalog(`"` + strings.Repeat("x", largestCatalog)): "more than 1024 KiB",
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
	boards := func(psid, board string) string {
		return strings.Replace(imageOf(psid, "12.28.4706", "fw.bin"), "{", `{"boards": ["`+board+`"], `, 1)
	}
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
		"card oem: the catalogue has two images for its board 068F2: PSID MT_9000000002 and MT_9000000003") {
		t.Errorf("two images: %v", err)
	}
}
