package bootrom

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	old, other := []string{"type=PXE version=3.4.752"}, []string{"type=UEFI version=14.11.48 cpu=AMD64", "type=PXE version=3.4.900"}
	const product = "02.42.50.00"
	for name, tt := range map[string]struct {
		in     Input
		want   Outcome
		code   string // of the finding
		reason string
	}{
		"ConnectX-3, nothing asked":           {Input{Flash: Has{old, product}, Image: Has{other, product}}, Outcome{}, "", ""},
		"no product version on either side":   {Input{Flash: Has{ROM: old}, Image: Has{ROM: other}}, Outcome{Named: true}, "", ""},
		"image without":                       {Input{Flash: Has{old, product}, Image: Has{Product: product}}, Outcome{Kept: true}, "", ""},
		"image without, keep":                 {Input{Flash: Has{old, product}, Want: Keep}, Outcome{Kept: true}, "", ""},
		"image without, of the image":         {Input{Flash: Has{old, product}, Want: Image}, Outcome{Named: true}, "", ""},
		"keep, the image has another":         {Input{Flash: Has{old, product}, Image: Has{other, product}, Want: Keep}, Outcome{}, "FW070", "only if the image has none"},
		"keep, the image has the same":        {Input{Flash: Has{old, product}, Image: Has{old, product}, Want: Keep}, Outcome{}, "", ""},
		"keep none":                           {Input{Image: Has{other, product}, Want: Keep}, Outcome{}, "FW070", "always gets that of the image"},
		"later, keep":                         {Input{Later: true, Flash: Has{old, ""}, Image: Has{other, ""}, Want: Keep}, Outcome{}, "FW070", "always comes from the image"},
		"later, keep, the image has none":     {Input{Later: true, Flash: Has{old, ""}, Want: Keep}, Outcome{}, "FW070", "In the image: none"},
		"later, the image has none":           {Input{Later: true, Flash: Has{old, ""}}, Outcome{}, "FW071", "In flash: PXE 3.4.752. In the image: none."},
		"later, the image has none, as meant": {Input{Later: true, Flash: Has{old, ""}, Want: Image}, Outcome{}, "", ""},
	} {
		if got := Of(tt.in); got != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
		code, evidence := "", ""
		for _, f := range Check(tt.in) {
			code, evidence = f.Rule.Code, f.Evidence
		}
		if code != tt.code || !strings.Contains(evidence, tt.reason) {
			t.Errorf("%s: %s %q", name, code, evidence)
		}
	}
}

func TestText(t *testing.T) {
	got := Text([]string{"version_id=8025 type=CLP", "type=UEFI version=14.11.48 cpu=AMD64", "type=PXE version=3.4.752"})
	if got != "8025 CLP, PXE 3.4.752, UEFI 14.11.48 (AMD64)" || Text(nil) != "none" {
		t.Error(got)
	}
}
