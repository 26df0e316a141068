package nmcli

import (
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Settings are the assignments of a profile that NetworkManager keeps as they are, by section and
// name. Left out are those that a Profile holds and that NetworkManager may spell in another
// way: addresses, routes, and the hardware address, of which only the port GUID counts.
func Settings(text string) (all []tool.Setting) {
	for _, section := range tool.Sections(text) {
		family := strings.HasPrefix(section.Name, "ipv")
		for _, s := range section.Settings {
			key := s.Name
			if family {
				key = strings.TrimRight(key, "0123456789")
			}
			switch key {
			case "address", "addresses", "route", "routes", "gateway", "mac-address":
				continue
			case "method":
				// NetworkManager writes ignore for disabled where it knows no other word.
				if s.Value == "ignore" {
					s.Value = "disabled"
				}
			case "p-key":
				// People write 0x8001, NetworkManager 32769.
				if n, err := strconv.ParseUint(s.Value, 0, 16); err == nil {
					s.Value = strconv.FormatUint(n, 10)
				}
			}
			s.Name = section.NameOf(s)
			all = append(all, s)
		}
	}
	return all
}
