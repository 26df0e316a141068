package attribute

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestText_equalsEverySpelling(t *testing.T) {
	guid := NewText[GUIDKind]
	for _, tc := range []struct {
		a, b GUID
		want bool
	}{
		{guid("0xe41d2d0300e44ed0"), guid("E41D2D0300E44ED0"), true},
		{guid("0xe41d2d0300e44ed0"), guid("e4:1d:2d:03:00:e4:4e:d0"), true},
		{guid("0xe41d2d0300e44ed0"), guid("e41d:2d03:00e4:4ed0"), true},
		{guid("0xe41d2d0300e44ed0"), guid("0xe41d2d0300e44ed1"), false},
		{guid("nonsense"), guid("other nonsense"), false},
		{guid("nonsense"), guid("nonsense"), true},
		{NullText[GUIDKind](), guid("0xe41d2d0300e44ed0"), false},
		{NullText[GUIDKind](), NullText[GUIDKind](), true},
		{UnknownText[GUIDKind](), guid("0xe41d2d0300e44ed0"), false},
	} {
		if got := tc.a.Same(tc.b); got != tc.want {
			t.Errorf("%s and %s: same is %t", tc.a, tc.b, got)
		}
		if tc.a.Equal(tc.b) != (tc.a.ValueString() == tc.b.ValueString() && tc.a.IsNull() == tc.b.IsNull() &&
			tc.a.IsUnknown() == tc.b.IsUnknown()) {
			t.Errorf("%s and %s: Equal must compare spellings", tc.a, tc.b)
		}
	}
}

func TestText_validates(t *testing.T) {
	type validator interface {
		xattr.ValidateableAttribute
	}
	for name, tc := range map[string]struct {
		v    validator
		want string // empty if it is valid
	}{
		"guid":                    {NewText[GUIDKind]("0xe41d2d0300e44ed0"), ""},
		"short guid":              {NewText[GUIDKind]("e41d"), "want 16 hexadecimal digits"},
		"mac":                     {NewText[MACKind]("e4-1d-2d-e4-4e-d0"), ""},
		"mac with five pairs":     {NewText[MACKind]("e4:1d:2d:e4:4e"), "want 6 pairs"},
		"psid":                    {NewText[PSIDKind]("MT_9090111019"), ""},
		"psid with a space":       {NewText[PSIDKind]("MT 9090111019"), "not printable ASCII"},
		"pci":                     {NewText[PCIKind]("01:00.0"), ""},
		"pci of a name":           {NewText[PCIKind]("mlx4_0"), "the function is missing"},
		"hash":                    {NewText[HashKind](strings.Repeat("Ab", 32)), ""},
		"short hash":              {NewText[HashKind]("abc"), "want 64 hexadecimal digits"},
		"address":                 {NewText[PrefixKind]("172.16.0.20/24"), ""},
		"address of a pair":       {NewText[PrefixKind]("172.16.0.0/31"), ""},
		"ipv6 address":            {NewText[PrefixKind]("fd00::20/64"), ""},
		"address without length":  {NewText[PrefixKind]("172.16.0.20"), "prefix length"},
		"address of a network":    {NewText[PrefixKind]("172.16.0.0/24"), "network's own address"},
		"address with bad octet":  {NewText[PrefixKind]("172.16.0.300/24"), "want an address with its prefix length"},
		"loopback":                {NewText[PrefixKind]("127.0.0.1/8"), "cannot be an address of an interface"},
		"pkey":                    {NewText[PKeyKind]("0x8001"), ""},
		"pkey of no partition":    {NewText[PKeyKind]("0x8000"), "are not partitions"},
		"pkey in decimal":         {NewText[PKeyKind]("32769"), "want 0x and up to 4"},
		"duration":                {NewText[DurationKind]("90s"), ""},
		"duration without a unit": {NewText[DurationKind]("90"), "a number with a unit"},
		"negative duration":       {NewText[DurationKind]("-1m"), "must be positive"},
		"version":                 {NewText[VersionKind]("2.42.5000"), ""},
		"version of two numbers":  {NewText[VersionKind]("2.42"), "want three numbers"},
		"card id":                 {NewText[CardIDKind]("intel9/0000:01:00.0"), ""},
		"card id without host":    {NewText[CardIDKind]("/0000:01:00.0"), "want host/pci_address"},
		"card id without address": {NewText[CardIDKind]("intel9"), "want host/pci_address"},
		"image id":                {NewText[ImageIDKind]("intel9/" + strings.Repeat("0", 64)), ""},
		"image id of a path":      {NewText[ImageIDKind]("intel9/fw.bin"), "invalid SHA-256"},
		"image id that is empty":  {NewText[ImageIDKind](""), "want host/sha256"},
		"empty version":           {NewText[VersionKind](""), "want three numbers"},
		"null":                    {NullText[GUIDKind](), ""},
		"unknown":                 {UnknownText[GUIDKind](), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var resp xattr.ValidateAttributeResponse
			tc.v.ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{Path: path.Root("x")}, &resp)
			if (tc.want != "") != resp.Diagnostics.HasError() {
				t.Fatalf("got %v", resp.Diagnostics)
			}
			if tc.want != "" && !strings.Contains(resp.Diagnostics[0].Detail(), tc.want) {
				t.Errorf("got %q, want %q in it", resp.Diagnostics[0].Detail(), tc.want)
			}
		})
	}
}

func TestRefs_areTheirOwnInverse(t *testing.T) {
	for _, id := range []string{"intel9/0000:01:00.0"} {
		if ref, err := ParseCardRef(id); err != nil || ref.String() != id {
			t.Errorf("card %q: %v, %v", id, ref, err)
		}
	}
	for in, want := range map[string]string{
		"intel9/0xe41d2d0300e44ed1":              "intel9/0xe41d2d0300e44ed1",
		"intel9/e4:1d:2d:03:00:e4:4e:d1":         "intel9/0xe41d2d0300e44ed1",
		"intel9/0xe41d2d0300e44ed1/0x1":          "intel9/0xe41d2d0300e44ed1/0x8001",
		"intel9/":                                "",
		"/0xe41d2d0300e44ed1":                    "",
		"intel9/0xe41d2d0300e44ed1/0x8001/extra": "",
	} {
		ref, err := ParsePortRef(in)
		if (err != nil) != (want == "") || (err == nil && ref.String() != want) {
			t.Errorf("port %q: %v, %v; want %q", in, ref, err, want)
		}
	}
}

func TestKnown_looksIntoAValue(t *testing.T) {
	pair := map[string]attr.Type{"from": PSIDType{}, "to": PSIDType{}}
	allow := func(v types.Object) types.Object {
		return types.ObjectValueMust(map[string]attr.Type{"psid_change": types.ObjectType{AttrTypes: pair}},
			map[string]attr.Value{"psid_change": v})
	}
	for name, c := range map[string]struct {
		given    types.Object
		from, to string
		known    bool
	}{
		"none":          {types.ObjectNull(pair), "", "", true},
		"not known yet": {types.ObjectUnknown(pair), "", "", false},
		"a pair": {types.ObjectValueMust(pair, map[string]attr.Value{"from": PSIDText("A"), "to": PSIDText("B")}),
			"A", "B", true},
		"half of it open": {types.ObjectValueMust(pair,
			map[string]attr.Value{"from": PSIDText("A"), "to": UnknownText[PSIDKind]()}), "A", "", false},
	} {
		got := ConsentsOf(allow(c.given)).Part("psid_change")
		if got.Text("from") != c.from || got.Text("to") != c.to || Known(allow(c.given)) != c.known {
			t.Errorf("%s: got %v, known %t", name, got, Known(allow(c.given)))
		}
	}
	if !Known(types.Object{}, types.List{}, types.Map{}) || len(ConsentsOf(types.Object{}).Names("x")) != 0 {
		t.Error("what is not given is not known")
	}
}

func TestArgumentError_leavesTheFullStopToTheEngine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"want 6 pairs", "want 6 pairs."} {
		if got := ArgumentError(1, errors.New(text)); got.Text != "Want 6 pairs" || *got.FunctionArgument != 1 {
			t.Errorf("%q gives %q", text, got.Text)
		}
	}
}
