package clash

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

func TestTwice_namesBothResources(t *testing.T) {
	t.Parallel()
	differ := []Difference{{"card_id", `"alias/0000:01:00.0"`, `"nas/0000:01:00.0"`},
		{"base_mac", `"e4:1d:2d:e4:4e:d0"`, `"e4:1d:2d:e4:4e:e0"`}}
	for _, tt := range []struct {
		name, other string
		differ      []Difference
		says        []string
		silent      string
	}{
		{"nas/0000:01:00.0", "nas/0000:01:00.0", nil,
			[]string{"Two infiniband_guids resources are for nas/0000:01:00.0.",
				"All their arguments are equal."}, "one machine"},
		{"alias/0000:01:00.0", "nas/0000:01:00.0", differ,
			[]string{"which the other one calls nas/0000:01:00.0", "Hosts alias and nas of the provider are one machine",
				`base_mac: "e4:1d:2d:e4:4e:d0" here, "e4:1d:2d:e4:4e:e0" in the other one.`, "terraform state rm"}, "are equal"},
	} {
		f := Twice("infiniband_guids", tt.name, tt.other, tt.differ)
		for _, s := range tt.says {
			if !strings.Contains(f.Detail(), s) {
				t.Errorf("does not say %q:\n%s", s, f.Detail())
			}
		}
		if strings.Contains(f.Detail(), tt.silent) || f.Severity != finding.Refuse {
			t.Errorf("%s:\n%s", f.Severity, f.Detail())
		}
	}
}
