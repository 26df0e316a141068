package ib

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// PCIAddress is domain:bus:device.function. The zero value is invalid, so that
// a forgotten address is never taken for 0000:00:00.0.
type PCIAddress struct {
	domain   uint32 // more than 16 bits behind an Intel VMD
	bus      uint8
	device   uint8 // 0 to 31
	function uint8 // 0 to 7
	valid    bool
}

// ParsePCIAddress reads "0000:01:00.0" and, with domain 0, "01:00.0".
func ParsePCIAddress(s string) (PCIAddress, error) {
	a, err := parsePCIAddress(s)
	if err != nil {
		return PCIAddress{}, fmt.Errorf("invalid PCI address %q: %w, want a form like 0000:01:00.0", s, err)
	}
	return a, nil
}

func parsePCIAddress(s string) (PCIAddress, error) {
	rest, fn, ok := strings.Cut(s, ".")
	if !ok {
		return PCIAddress{}, errors.New("the function is missing")
	}
	parts := strings.Split(rest, ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 {
		return PCIAddress{}, errors.New("wrong number of parts")
	}
	if len(parts[0]) < 4 || len(parts[0]) > 8 {
		return PCIAddress{}, errors.New("the domain has 4 to 8 digits")
	}
	domain, err := hexField("domain", parts[0], len(parts[0]), 0xffffffff)
	if err != nil {
		return PCIAddress{}, err
	}
	bus, err := hexField("bus", parts[1], 2, 0xff)
	if err != nil {
		return PCIAddress{}, err
	}
	device, err := hexField("device", parts[2], 2, 31)
	if err != nil {
		return PCIAddress{}, err
	}
	function, err := hexField("function", fn, 1, 7)
	if err != nil {
		return PCIAddress{}, err
	}
	return PCIAddress{
		domain:   uint32(domain),
		bus:      uint8(bus),
		device:   uint8(device),
		function: uint8(function),
		valid:    true,
	}, nil
}

func hexField(name, s string, digits int, limit uint64) (uint64, error) {
	if len(s) != digits {
		return 0, fmt.Errorf("the %s has %d digits instead of %d", name, len(s), digits)
	}
	if _, err := hexOnly(s); err != nil {
		return 0, fmt.Errorf("the %s is not hexadecimal", name)
	}
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("the %s is not hexadecimal", name)
	}
	if v > limit {
		return 0, fmt.Errorf("the %s is above %x", name, limit)
	}
	return v, nil
}

// MustParsePCIAddress is ParsePCIAddress for constants and tests; it panics on
// an error.
func MustParsePCIAddress(s string) PCIAddress { return must(ParsePCIAddress(s)) }

// IsValid reports whether the address came from a successful parse.
func (a PCIAddress) IsValid() bool { return a.valid }

// Function gives the function number, 0 to 7.
func (a PCIAddress) Function() int { return int(a.function) }

// String gives the full form of sysfs and lspci -D, "0000:01:00.0".
func (a PCIAddress) String() string {
	if !a.valid {
		return "invalid PCI address"
	}
	return fmt.Sprintf("%s.%x", a.Slot(), a.function)
}

// Slot gives domain:bus:device, which all functions of a card share.
func (a PCIAddress) Slot() string {
	if !a.valid {
		return "invalid PCI address"
	}
	return fmt.Sprintf("%04x:%02x:%02x", a.domain, a.bus, a.device)
}

// Compare orders addresses by domain, bus, device and function.
func (a PCIAddress) Compare(b PCIAddress) int {
	return cmpUint(a.key(), b.key())
}

func (a PCIAddress) key() uint64 {
	return uint64(a.domain)<<16 | uint64(a.bus)<<8 | uint64(a.device)<<3 | uint64(a.function)
}

func cmpUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// MarshalText implements encoding.TextMarshaler; an invalid address is empty.
func (a PCIAddress) MarshalText() ([]byte, error) {
	if !a.valid {
		return []byte{}, nil
	}
	return []byte(a.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler with ParsePCIAddress; an
// empty text gives the invalid address.
func (a *PCIAddress) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*a = PCIAddress{}
		return nil
	}
	v, err := ParsePCIAddress(string(text))
	if err != nil {
		return err
	}
	*a = v
	return nil
}
