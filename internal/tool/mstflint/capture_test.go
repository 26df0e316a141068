package mstflint

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

// refused are the captures that must not be read: what their publishers left
// out is needed.
var refused = map[string]string{
	"cx3-freebsd-collapsed-running-only": `no line "FW Version"`,
}

func TestParseQuery_reads_captures(t *testing.T) {
	for _, c := range capture.WithVariations(capture.Load(t, os.DirFS("testdata/query"), "mstflint-query"),
		append(columns, capture.Layout...)...) {
		t.Run(c.Name+" "+c.Variation, func(t *testing.T) {
			img, err := ParseQuery(c.Text)
			if want, ok := refused[c.Name]; ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got error %v, want one with %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := queryFields(img)
			compare(t, c, got)
		})
	}
}

// compare compares what is read. The notes of a capture have more.
func compare(t *testing.T, c capture.Capture, got map[string]any) {
	t.Helper()
	for key, value := range got {
		if want, noted := c.Expected[key]; noted {
			if diff := cmp.Diff(want, capture.Plain(t, value)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", key, diff)
			}
		}
	}
}

var labelBlank = regexp.MustCompile(`(?m)^([^:\n]+:)[ \t]+`)

// columns are what releases of the tool have changed about a query.
var columns = []capture.Variation{
	{Name: "wide columns", Change: func(s string) string { return labelBlank.ReplaceAllString(s, "$1                              ") }},
	{Name: "one blank", Change: func(s string) string { return labelBlank.ReplaceAllString(s, "$1 ") }},
	{Name: "tabs", Change: func(s string) string { return labelBlank.ReplaceAllString(s, "$1\t") }},
	{Name: "a warning before", Change: func(s string) string { return "-W- Running quick query - Skipping full image integrity checks.\n" + s }},
	{Name: "unknown lines", Change: func(s string) string {
		return "Some New Field:        0x17 (N/A)\n" + strings.TrimRight(s,
			"\n") + "\nLife cycle:             GA SECURED\nEFI Info: \x01\x02\xff\n"
	}},
}

// queryFields spells an Image as the captures' notes do.
func queryFields(img Image) map[string]any {
	roms := []map[string]string{}
	for _, r := range img.ROMs {
		rom := map[string]string{"type": r.Type, "version": r.Version}
		if r.CPU != "" {
			rom["cpu"] = r.CPU
		}
		roms = append(roms, rom)
	}
	g := img.GUIDs
	return map[string]any{
		"image_type": img.Type, "fw_version": img.FW.String(), "fw_version_running": img.RunningFW.String(),
		"fw_release_date": img.ReleaseDate, "product_version": img.ProductVersion, "device_id": img.DeviceID,
		"guids": []string{g.Node.Hex(), g.Port1.Hex(), g.Port2.Hex(), g.SystemImage.Hex()},
		"macs":  []string{g.MAC1.Hex(), g.MAC2.Hex()},
		"vsd":   img.VSD, "psid": img.PSID, "rom": roms,
		"base_guid":           base(img.BaseGUID.Hex(), img.GUIDCount),
		"device_vsd":          img.DeviceVSD,
		"security_attributes": img.SecurityAttrs,
		"base_mac_normalised": img.BaseMAC.Hex(),
	}
}

func base(value string, count int) map[string]any {
	return map[string]any{"value": value, "count": count}
}

func TestParseSession_reads_captures(t *testing.T) {
	for _, c := range capture.WithVariations(capture.Load(t, os.DirFS("testdata/burn"), "mstflint-burn"), capture.Layout...) {
		t.Run(c.Name+" "+c.Variation, func(t *testing.T) {
			compare(t, c, sessionFields(t, c, ParseSession(c.Text)))
		})
	}
}

func sessionFields(t *testing.T, c capture.Capture, s Session) map[string]any {
	t.Helper()
	var errs []string
	for _, e := range s.Errors {
		if !strings.HasPrefix(e, "FATAL") {
			e = "-E- " + e
		}
		errs = append(errs, e)
	}
	fields := map[string]any{"errors": errs}
	if _, verify := c.Expected["verified_sections"]; verify {
		v, err := ParseVerify(c.Text)
		if err != nil {
			t.Fatal(err)
		}
		fields["verified_sections"] = len(v.Sections)
		fields["outcome"] = map[bool]string{true: "success", false: "failure"}[v.OK]
	}
	return fields
}

func TestParseVersion_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata/version"), "mstflint-version") {
		v, err := ParseVersion(c.Text)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, c, map[string]any{"tool": "mstflint", "version": v.String()})
	}
}

// What mlxfwmanager and mlxup print is like a query at a glance; no command of
// ours prints it, and it is refused at its first line.
func TestParseQuery_refuses_mlxfwmanager(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata/mlxfwmanager"), "mlxfwmanager") {
		_, err := ParseQuery(c.Text)
		capture.NamesALine(t, c.Name, err)
	}
}
