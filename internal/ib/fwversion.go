package ib

import (
	"fmt"
	"strconv"
	"strings"
)

// FWVersion is a firmware version such as 2.42.5000. Versions of different
// Major belong to different chip families and are not comparable in meaning.
type FWVersion struct {
	Major, Minor, Sub uint16
}

// ParseFWVersion reads three decimal numbers below 65536; leading zeros are
// allowed, since the tools print 2.9.0055 and product versions 02.42.5000.
func ParseFWVersion(s string) (FWVersion, error) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return FWVersion{}, fmt.Errorf("invalid firmware version %q: want three numbers, for example 2.42.5000", s)
	}
	var n [3]uint16
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return FWVersion{}, fmt.Errorf("invalid firmware version %q: %q is not a number from 0 to 65535", s, p)
		}
		n[i] = uint16(v)
	}
	return FWVersion{Major: n[0], Minor: n[1], Sub: n[2]}, nil
}

// MustParseFWVersion is ParseFWVersion for constants and tests; it panics on
// an error.
func MustParseFWVersion(s string) FWVersion { return must(ParseFWVersion(s)) }

// String prints as mstflint does: 2.42.5000, 2.9.0055, and 2.0142.0005 for a
// minor above 99.
func (v FWVersion) String() string {
	if v.Minor > 99 {
		return fmt.Sprintf("%d.%04d.%04d", v.Major, v.Minor, v.Sub)
	}
	return fmt.Sprintf("%d.%d.%04d", v.Major, v.Minor, v.Sub)
}

// IsZero reports whether the version is 0.0.0, which images use for "none".
func (v FWVersion) IsZero() bool { return v == FWVersion{} }

// Compare returns -1, 0 or 1 by major, notation, minor and sub-minor, as mstflint
// orders the versions of one chip family (mlxfwops/lib/fw_version.cpp, the same
// from 4.21 to 4.36): 12.1100.6630 of 2015 is older than 12.12.0780.
func (v FWVersion) Compare(w FWVersion) int { return cmpUint(v.key(), w.key()) }

func (v FWVersion) key() uint64 {
	return uint64(v.Major)<<48 | uint64(v.notation())<<32 | uint64(v.Minor)<<16 | uint64(v.Sub)
}

// The notations that the vendor has used one after the other.
const (
	notationFirst   = iota // MM.mm.ssss, of the first firmware of Connect-IB
	notationBranch         // MM.mmbb.ssss, b the branch
	notationPresent        // MM.mm.ssss
)

const (
	connectIB      = 10  // major version of Connect-IB
	lastOfFirst    = 10  // its last minor version in the first notation
	firstOfBranchy = 100 // from here on a minor version holds a branch
)

func (v FWVersion) notation() int {
	switch {
	case v.Minor >= firstOfBranchy:
		return notationBranch
	case v.Major == connectIB && v.Minor <= lastOfFirst:
		return notationFirst
	}
	return notationPresent
}

// Branch gives the branch that the version states. Only those in the notation
// with four digits of minor version do: the branch of 12.1102.6630 is 2.
func (v FWVersion) Branch() (branch int, stated bool) {
	if v.notation() != notationBranch {
		return 0, false
	}
	return int(v.Minor % 100), true
}

// MarshalText implements encoding.TextMarshaler.
func (v FWVersion) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseFWVersion.
func (v *FWVersion) UnmarshalText(text []byte) error {
	w, err := ParseFWVersion(string(text))
	if err != nil {
		return err
	}
	*v = w
	return nil
}
