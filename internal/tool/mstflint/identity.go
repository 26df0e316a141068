package mstflint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// parseGUIDs reads node, port 1, port 2 and system image GUID; the tool prints
// four for single-port cards too.
func parseGUIDs(img *Image, value string) error {
	fields := strings.Fields(value)
	if len(fields) != 4 {
		return fmt.Errorf("want 4 GUIDs, got %d", len(fields))
	}
	into := []*ib.GUID{&img.GUIDs.Node, &img.GUIDs.Port1, &img.GUIDs.Port2, &img.GUIDs.SystemImage}
	for i, f := range fields {
		g, err := ib.ParseGUID(f)
		if err != nil {
			return err
		}
		*into[i] = g
	}
	return nil
}

func parseMACs(img *Image, value string) error {
	fields := strings.Fields(value)
	if len(fields) != 2 {
		return fmt.Errorf("want 2 MACs, got %d", len(fields))
	}
	into := []*ib.MAC{&img.GUIDs.MAC1, &img.GUIDs.MAC2}
	for i, f := range fields {
		m, err := parseMAC(f)
		if err != nil {
			return err
		}
		*into[i] = m
	}
	return nil
}

// parseMAC reads a MAC as it lies in 64 bits of flash. A field that was never
// programmed prints as 16 times f, and older tools print 16 digits always; any
// other value above 48 bits is damage, which the tool only warns about.
func parseMAC(s string) (ib.MAC, error) {
	if len(s) == 16 {
		if strings.Trim(s, "f") == "" {
			return ib.ParseMAC("ffffffffffff")
		}
		var cut bool
		if s, cut = strings.CutPrefix(s, "0000"); !cut {
			return 0, errors.New("MAC of more than 48 bits")
		}
	}
	return ib.ParseMAC(s)
}

// setBaseGUID reads "ec0d9a0300c40000   16" and "N/A   N/A".
func setBaseGUID(to *ib.GUID, count *int, value string) error {
	first, err := baseValue(count, value)
	if err != nil || first == "" {
		return err
	}
	g, err := ib.ParseGUID(first)
	if err != nil {
		return err
	}
	*to = g
	return nil
}

func setBaseMAC(to *ib.MAC, count *int, value string) error {
	first, err := baseValue(count, value)
	if err != nil || first == "" {
		return err
	}
	m, err := parseMAC(first)
	if err != nil {
		return err
	}
	*to = m
	return nil
}

// baseValue gives the first column, empty for N/A, and stores the count.
// Connect-IB prints a third column, the step.
func baseValue(count *int, value string) (string, error) {
	fields := strings.Fields(value)
	if value == notAvailable {
		return "", nil
	}
	if len(fields) < 2 || len(fields) > 3 {
		return "", errors.New("want a value and the number of its addresses")
	}
	if fields[1] != notAvailable {
		n, err := strconv.Atoi(fields[1])
		if err != nil || n < 0 {
			return "", fmt.Errorf("invalid number of addresses %q", fields[1])
		}
		if count != nil {
			*count = n
		}
	}
	if fields[0] == notAvailable {
		return "", nil
	}
	return fields[0], nil
}
