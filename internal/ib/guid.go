package ib

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// GUID is a 64-bit EUI-64 identifier of a node, a port or a system image. The
// zero value means "not set"; all ones is what Ethernet-only cards carry.
type GUID uint64

// unsetGUID is what flash holds where no GUID was ever programmed.
const unsetGUID GUID = math.MaxUint64

// ParseGUID reads the spellings that Linux, the InfiniBand tools and mstflint
// use: "0xe41d2d0300e44ed0", "e41d2d0300e44ed0", "e4:1d:2d:03:00:e4:4e:d0" and
// the four groups of sysfs "e41d:2d03:00e4:4ed0".
//
// Only behind "0x" may leading zeros be missing, as ibnetdiscover prints
// them; without it a short GUID is a typing mistake.
func ParseGUID(s string) (GUID, error) {
	digits, err := guidDigits(s)
	if err != nil {
		return 0, fmt.Errorf("invalid GUID %q: %w", s, err)
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid GUID %q: not hexadecimal", s)
	}
	return GUID(v), nil
}

func guidDigits(s string) (string, error) {
	if hex, ok := cutHexPrefix(s); ok {
		if len(hex) == 0 || len(hex) > 16 {
			return "", errors.New("want 1 to 16 hexadecimal digits behind 0x")
		}
		return hexOnly(hex)
	}
	if strings.Contains(s, ":") {
		groups := strings.Split(s, ":")
		if len(groups) != 8 && len(groups) != 4 {
			return "", errors.New("want 8 groups of 2 digits or 4 groups of 4 digits")
		}
		for _, g := range groups {
			if len(g) != 16/len(groups) {
				return "", errors.New("want 8 groups of 2 digits or 4 groups of 4 digits")
			}
		}
		return hexOnly(strings.Join(groups, ""))
	}
	if len(s) != 16 {
		return "", errors.New("want 16 hexadecimal digits, for example 0xe41d2d0300e44ed0")
	}
	return hexOnly(s)
}

// cutHexPrefix removes a leading 0x or 0X.
func cutHexPrefix(s string) (string, bool) {
	if len(s) >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:], true
	}
	return s, false
}

// hexOnly rejects what strconv would accept besides digits, such as signs and
// underscores.
func hexOnly(s string) (string, error) {
	for i := range len(s) {
		c := s[i]
		isDigit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if !isDigit {
			return "", fmt.Errorf("character %q is not a hexadecimal digit", c)
		}
	}
	return s, nil
}

// MustParseGUID is ParseGUID for constants and tests; it panics on an error.
func MustParseGUID(s string) GUID { return must(ParseGUID(s)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// String gives the canonical form of state and configuration,
// "0xe41d2d0300e44ed0".
func (g GUID) String() string { return fmt.Sprintf("0x%016x", uint64(g)) }

// Hex gives 16 digits without prefix, as mstflint prints and takes them.
func (g GUID) Hex() string { return fmt.Sprintf("%016x", uint64(g)) }

// Colons gives pairs of digits, as iproute2 takes them and a hardware address ends: "e4:1d:2d:03:00:e4:4e:d0".
func (g GUID) Colons() string {
	return MAC(g>>16).String() + fmt.Sprintf(":%02x:%02x", byte(g>>8), byte(g))
}

// IsZero reports whether no bit is set.
func (g GUID) IsZero() bool { return g == 0 }

// IsUnset reports whether all bits are set: erased flash, or a card with
// Ethernet-only firmware, which has no GUIDs.
func (g GUID) IsUnset() bool { return g == unsetGUID }

// IsNone reports whether g names nothing: no bit is set, or all are.
func (g GUID) IsNone() bool { return g.IsZero() || g.IsUnset() }

// OUI gives the vendor part, the upper 24 bits, as 6 digits.
func (g GUID) OUI() string { return fmt.Sprintf("%06x", uint64(g)>>40) }

// Add returns g+n. It refuses to wrap, which mstflint 4.21 does silently:
// there the port 2 GUID of base …fffe becomes zero. Reaching the all-ones
// value is refused too, since that means "unset".
func (g GUID) Add(n uint64) (GUID, error) {
	if n >= uint64(unsetGUID-g) {
		return 0, fmt.Errorf("GUID %s plus %d does not fit into 64 bits", g, n)
	}
	return g + GUID(n), nil
}

// MarshalText implements encoding.TextMarshaler with the canonical form.
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseGUID.
func (g *GUID) UnmarshalText(text []byte) error {
	v, err := ParseGUID(string(text))
	if err != nil {
		return err
	}
	*g = v
	return nil
}

// GUIDSet is the identity of one ConnectX-3 class card as its GUID section
// stores it. Old images have no MACs; they are zero then.
type GUIDSet struct {
	Node        GUID `json:"node_guid"`
	Port1       GUID `json:"port1_guid"`
	Port2       GUID `json:"port2_guid"`
	SystemImage GUID `json:"system_image_guid"`
	MAC1        MAC  `json:"mac1"`
	MAC2        MAC  `json:"mac2"`
}

// Words are the GUIDs in the order of mstflint: node, port 1, port 2, system image.
func (g GUIDSet) Words() string {
	return strings.Join([]string{g.Node.Hex(), g.Port1.Hex(), g.Port2.Hex(), g.SystemImage.Hex()}, " ")
}

// Text is the whole identity, for a message.
func (g GUIDSet) Text() string {
	return fmt.Sprintf("GUIDs %s MACs %s %s", g.Words(), g.MAC1, g.MAC2)
}

// Texts are all values as a configuration writes them: node, port 1, port 2, system image, and the
// MACs of port 1 and port 2.
func (g GUIDSet) Texts() [6]string {
	return [6]string{g.Node.String(), g.Port1.String(), g.Port2.String(), g.SystemImage.String(), g.MAC1.String(),
		g.MAC2.String()}
}

// GUIDsFromBase lays four GUIDs out as `mstflint -guid BASE sg` does on
// ConnectX-3: node, port 1, port 2 and system image are base+0 to base+3.
func GUIDsFromBase(base GUID) (node, port1, port2, systemImage GUID, err error) {
	systemImage, err = base.Add(3)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	return base, base + 1, base + 2, systemImage, nil
}
