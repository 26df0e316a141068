package platform

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// What is not known to be missing is not missing.
func TestNotAtBoot(t *testing.T) {
	t.Parallel()
	mlx4 := &inventory.Card{Driver: "mlx4_core"}
	distribution := func(content string) *inventory.Snapshot {
		return &inventory.Snapshot{OS: inventory.OS{ID: "ubuntu", VersionID: "24.04"},
			Files: map[string]inventory.File{ModulesLoadPath: {Content: content}}}
	}
	denied := func(path string) *inventory.Snapshot {
		return &inventory.Snapshot{OS: inventory.OS{ID: "ubuntu", VersionID: "24.04"}, Denied: map[string]bool{path: true}}
	}
	nas := func(answer string) *inventory.Snapshot {
		return &inventory.Snapshot{OS: inventory.OS{ID: "truenas", VersionID: "25.10.3"},
			TrueNAS: &inventory.TrueNAS{AdvancedConfig: []byte(answer)}}
	}
	const list, options = ModulesLoadPath, "kernel_extra_options"
	const both, gone = "ib_ipoib and mlx4_ib are not in ", "mlx4_ib is not in "
	const them, it = ", which loads them at boot", ", which loads it at boot"
	for name, c := range map[string]struct {
		s    *inventory.Snapshot
		card *inventory.Card
		want string
	}{
		"listed":             {distribution("ib_ipoib\nmlx4_ib\n"), mlx4, ""},
		"dashes":             {distribution("ib-ipoib\nmlx4-ib\n"), mlx4, ""},
		"a comment":          {distribution("ib_ipoib\n; mlx4_ib\n"), mlx4, gone + list + it},
		"no file":            {distribution(""), mlx4, both + list + them},
		"the card is gone":   {distribution("ib_ipoib\n"), nil, ""},
		"a card without one": {distribution("ib_ipoib\n"), &inventory.Card{Driver: "ib_qib"}, ""},
		"unreadable":         {denied(list), mlx4, ""},
		"directory":          {denied("/etc/modules-load.d"), mlx4, ""},
		"another system":     {&inventory.Snapshot{OS: inventory.OS{ID: "opensuse-leap"}}, mlx4, ""},
		"TrueNAS":            {nas(`{"kernel_extra_options": "modules_load=ib_ipoib,mlx4_ib"}`), mlx4, ""},
		"TrueNAS, one":       {nas(`{"kernel_extra_options": "quiet modules_load=ib_ipoib"}`), mlx4, gone + options + it},
		"TrueNAS, none":      {nas(`{"kernel_extra_options": ""}`), mlx4, both + options + them},
		"TrueNAS, no answer": {nas("[ENOMETHOD]"), mlx4, ""},
		"TrueNAS, not asked": {&inventory.Snapshot{OS: inventory.OS{ID: "truenas", VersionID: "25.10.3"}}, mlx4, ""},
	} {
		if got := NotAtBoot(c.s, c.card, "ib_ipoib"); got != c.want {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
	}
}
