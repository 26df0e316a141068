package nmcli

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Added are the settings of a profile of ours that Render does not write, nor NetworkManager
// by itself.
func Added(text string) (added []tool.Setting) {
	for _, section := range tool.Sections(text) {
		for _, s := range section.Settings {
			if isOurs(section.Name, s.Name, s.Value) || isOfLease(section.Name, s.Name, s.Value) {
				continue
			}
			s.Name = section.NameOf(s)
			added = append(added, s)
		}
	}
	return added
}

func isOurs(section, key, value string) bool {
	if !isHeld(section, key, value) {
		return false
	}
	family := strings.HasPrefix(section, "ipv")
	switch {
	case section == "connection" && key == "permissions":
		return value == "" // or the profile is used while that user is logged in
	case family && key == "may-fail":
		return tool.Switch(value) != "no"
	case family && key == "method":
		// NetworkManager writes ignore for disabled where it knows no other word.
		return value == "manual" || value == "disabled" || value == "ignore"
	case family && strings.HasPrefix(key, "route"): // with a gateway, and nothing behind it
		return len(strings.Split(strings.TrimSuffix(value, ","), ",")) == 2
	}
	return true
}

// isOfLease reports whether a setting is one of a profile with DHCP.
func isOfLease(section, key, value string) bool {
	return section == "ipv4" && (key == "method" && value == "auto" || strings.Contains(leaseOnly, key+"="+value+"\n"))
}
