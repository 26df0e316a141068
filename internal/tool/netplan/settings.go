package netplan

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Settings are the values of a file by the keys that lead to them, in our definition without
// where it stands. Left out are addresses and routes, which a Device holds. What Parse does not
// understand is told by Added.
func Settings(text string) (all []tool.Setting) {
	found, _ := leaves(text)
	own := ourDefinition(found)
	for _, s := range found {
		if key := s.Name[strings.LastIndex(s.Name, sep)+1:]; slices.Contains([]string{"addresses", "routes"}, key) {
			continue
		}
		s.Name = strings.ReplaceAll(strings.TrimPrefix(s.Name, own), sep, ".")
		switch {
		// In one spelling: a person who writes "no" for "false" has changed nothing.
		case isOff(s.Value):
			s.Value = "false"
		case isOn(s.Value):
			s.Value = "true"
		}
		all = append(all, s)
	}
	return all
}
