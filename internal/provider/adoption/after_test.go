package adoption

import (
	"strings"
	"testing"
)

// An interface and a subnet manager come after the link types of their cards, where those are
// in the configuration: of a port that is Ethernet, neither can be made.
func TestFiles_order_link_types_before_what_needs_them(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts  []string
		refuse bool // the link types are not adopted
		want   string
	}{
		"one":         {hosts: []string{"a"}, want: "\n  depends_on = [infiniband_link_type.a]\n}"},
		"alike":       {hosts: []string{"a", "b", "c"}, want: "\n  depends_on = [infiniband_link_type.hosts]\n}"},
		"not adopted": {hosts: []string{"a"}, refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &Lab{}
			for _, host := range c.hosts {
				card, types, sm := manager(host, nil), manager(host, nil), manager(host, nil)
				card.Type, types.Type, types.card, sm.card = cardType, linkType, card, card
				if c.refuse {
					types.Reason = &Problem{Summary: "why"}
				}
				f.objects = append(f.objects, card, types, sm)
			}
			f.gather(f.objects)
			files := f.Files()
			got := string(files["fabric.tf"])
			if !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "depends_on") ||
				strings.Contains(string(files["cards.tf"]), "depends_on") {
				t.Errorf("%s\n%s", files["cards.tf"], got)
			}
		})
	}
}
