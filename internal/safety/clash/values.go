package clash

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// vendorOUIs are the prefixes that Mellanox, QLogic and the makers of OEM boards have
// used for GUIDs and MACs of these cards, as far as they have been seen.
var vendorOUIs = map[string]string{
	"0002c9": "Mellanox", "00258b": "Mellanox", "043f72": "Mellanox", "08c0eb": "Mellanox", "0c42a1": "Mellanox",
	"1070fd": "Mellanox", "1c34da": "Mellanox", "248a07": "Mellanox", "506b4b": "Mellanox", "7cfe90": "Mellanox",
	"98039b": "Mellanox", "9c0591": "Mellanox", "a088c2": "Mellanox", "b83fd2": "Mellanox", "b8599f": "Mellanox",
	"b8cef6": "Mellanox", "e41d2d": "Mellanox", "e8ebd3": "Mellanox", "ec0d9a": "Mellanox", "f45214": "Mellanox",
	"b88303": "HPE", "24be05": "HPE", "5cb901": "HPE", "5820b1": "HPE", "e0071b": "HPE", "0010e0": "Oracle",
	"002128": "Oracle",
	"002590": "Supermicro", "003048": "Supermicro", "ac1f6b": "Supermicro", "f04da2": "Dell", "001175": "QLogic",
}

// GUIDValues gives the findings on GUIDs alone: no card can have them, or they are of no maker that
// is known.
func GUIDValues(s ib.GUIDSet) []finding.Finding {
	var found []finding.Finding
	unknown := map[string]bool{}
	for _, g := range GUIDsOf(s) {
		attr := guidAttribute(g.Name)
		switch {
		case g.GUID.IsZero():
			found = append(found, finding.GUIDInvalid.Find("%s is zero", g.Name).At(attr))
		case g.GUID.IsUnset():
			found = append(found, finding.GUIDInvalid.Find("%s is all ones", g.Name).At(attr))
		case uint64(g.GUID)>>56&1 == 1:
			found = append(found, finding.GUIDInvalid.Find("%s %s is one of a group", g.Name, g.GUID).At(attr))
		case vendorOUIs[g.GUID.OUI()] == "" && !unknown[g.GUID.OUI()]:
			unknown[g.GUID.OUI()] = true
			f := finding.PrefixUnknown.Find("%s %s has prefix %s%s", g.Name, g.GUID, g.GUID.OUI(),
				localBit(uint64(g.GUID)>>56)).At(attr)
			if uint64(g.GUID)>>40 == 0 { // 0x1: digits are missing
				f.Severity = finding.Refuse
			}
			found = append(found, f)
		}
	}
	// Node and system image GUID may be one value; ports may not.
	if !s.Port1.IsNone() && s.Port1 == s.Port2 {
		found = append(found, finding.GUIDsEqual.Find("Port 1 and port 2 both have %s", s.Port1).At("port_guids"))
	}
	return found
}

// MACValues gives the findings on MACs alone in the same way.
func MACValues(s ib.GUIDSet) []finding.Finding {
	var found []finding.Finding
	unknown := map[string]bool{}
	for _, m := range MACsOf(s) {
		switch {
		case m.MAC.IsZero() || m.MAC.IsMulticast():
			found = append(found, finding.GUIDInvalid.Find("%s %s", m.Name, m.MAC).At("macs"))
		case vendorOUIs[m.MAC.OUI()] == "" && !unknown[m.MAC.OUI()]:
			unknown[m.MAC.OUI()] = true
			found = append(found, finding.PrefixUnknown.Find("%s %s has prefix %s%s", m.Name, m.MAC, m.MAC.OUI(),
				localBit(uint64(m.MAC)>>40)).At("macs"))
		}
	}
	if UsableMAC(s.MAC1) && s.MAC1 == s.MAC2 {
		found = append(found, finding.GUIDsEqual.Find("Port 1 and port 2 both have MAC %s", s.MAC1).At("macs"))
	}
	return found
}

func localBit(first uint64) string {
	if first&2 == 2 {
		return ", which is marked as locally administered"
	}
	return ""
}

func guidAttribute(name string) string {
	switch name {
	case "node GUID":
		return "node_guid"
	case "system image GUID":
		return "system_image_guid"
	}
	return "port_guids"
}
