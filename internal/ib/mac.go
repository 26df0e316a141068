package ib

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MAC is a 48-bit Ethernet address in the low bits. The zero value means "not
// set".
type MAC uint64

const (
	maxMAC       MAC = 1<<48 - 1
	multicastBit MAC = 1 << 40
)

// ParseMAC reads "e4:1d:2d:e4:4e:d0", "e4-1d-2d-e4-4e-d0" and the 12 digits
// "e41d2de44ed0" of mstflint, these also behind "0x".
func ParseMAC(s string) (MAC, error) {
	digits, err := macDigits(s)
	if err != nil {
		return 0, fmt.Errorf("invalid MAC %q: %w", s, err)
	}
	v, err := strconv.ParseUint(digits, 16, 48)
	if err != nil {
		return 0, fmt.Errorf("invalid MAC %q: not hexadecimal", s)
	}
	return MAC(v), nil
}

func macDigits(s string) (string, error) {
	sep := ""
	switch {
	case strings.Contains(s, ":"):
		sep = ":"
	case strings.Contains(s, "-"):
		sep = "-"
	}
	if sep == "" {
		hex, _ := cutHexPrefix(s)
		if len(hex) != 12 {
			return "", errors.New("want 12 hexadecimal digits, for example e4:1d:2d:e4:4e:d0")
		}
		return hexOnly(hex)
	}
	pairs := strings.Split(s, sep)
	if len(pairs) != 6 {
		return "", errors.New("want 6 pairs of digits")
	}
	for _, p := range pairs {
		if len(p) != 2 {
			return "", errors.New("want 6 pairs of digits")
		}
	}
	return hexOnly(strings.Join(pairs, ""))
}

// MustParseMAC is ParseMAC for constants and tests; it panics on an error.
func MustParseMAC(s string) MAC { return must(ParseMAC(s)) }

// String gives "e4:1d:2d:e4:4e:d0".
func (m MAC) String() string {
	h := m.Hex()
	return h[0:2] + ":" + h[2:4] + ":" + h[4:6] + ":" + h[6:8] + ":" + h[8:10] + ":" + h[10:12]
}

// Hex gives 12 digits without separator, as mstflint prints and takes them.
func (m MAC) Hex() string { return fmt.Sprintf("%012x", uint64(m&maxMAC)) }

// OUI gives the vendor part, the upper 24 bits, as 6 digits.
func (m MAC) OUI() string { return m.Hex()[:6] }

// IsZero reports whether no bit is set.
func (m MAC) IsZero() bool { return m == 0 }

// IsBroadcast reports whether all 48 bits are set, which is also what a MAC
// reads as that was never programmed.
func (m MAC) IsBroadcast() bool { return m == maxMAC }

// IsMulticast reports whether the group bit is set, which is illegal for a
// card. It is true for the broadcast address as well.
func (m MAC) IsMulticast() bool { return m&multicastBit != 0 }

// Add returns m+n. It refuses to leave 48 bits and to reach the broadcast
// address.
func (m MAC) Add(n uint64) (MAC, error) {
	if m >= maxMAC || n >= uint64(maxMAC-m) {
		return 0, fmt.Errorf("MAC %s plus %d does not fit into 48 bits", m, n)
	}
	return m + MAC(n), nil
}

// MarshalText implements encoding.TextMarshaler with the colon form.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseMAC.
func (m *MAC) UnmarshalText(text []byte) error {
	v, err := ParseMAC(string(text))
	if err != nil {
		return err
	}
	*m = v
	return nil
}

// GUIDFromMAC derives a GUID as the card vendor does: 0300 goes between the
// two halves, e4:1d:2d:e4:4e:d0 becomes 0xe41d2d0300e44ed0.
func GUIDFromMAC(m MAC) GUID {
	v := uint64(m & maxMAC)
	return GUID(v>>24<<40 | 0x0300<<24 | v&0xffffff)
}
