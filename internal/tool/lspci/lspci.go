// Package lspci reads what lspci of pciutils prints about PCI functions: the
// lists of -D, -n and -nn, and the vital product data of -vv.
//
// It must not run anything.
package lspci

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Device is one PCI function. What was not printed is empty.
type Device struct {
	Slot         string // as printed, with or without domain
	Class        string // "Ethernet controller"
	ClassID      string // "0200"
	Name         string // vendor and device
	VendorID     string // "15b3"
	DeviceID     string // "1003"
	Rev          string
	Subsystem    string
	PhysicalSlot string
	NUMANode     string
	Driver       string
	Modules      string
	Link         Link
	PartNumber   string // from the vital product data
	SerialNumber string
	Denied       bool // capabilities need root
}

// Link is the state of the PCIe link.
type Link struct {
	Speed string // "8GT/s"
	Width int
}

var (
	slotLine    = regexp.MustCompile(`^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)$`)
	numericRest = regexp.MustCompile(`^([0-9a-f]{4}): ([0-9a-f]{4}):([0-9a-f]{4})(?: \(rev ([0-9a-f]+)\))?`)
	textRest    = regexp.MustCompile(`^(.*?)(?: \[([0-9a-f]{4})\])?: (.*?)(?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?(?: \(rev ([0-9a-f]+)\))?(?: \(prog-if .*\))?$`)
	linkStatus  = regexp.MustCompile(`^LnkSta:\s+Speed ([0-9.]+GT/s)(?: \([a-z]+\))?, Width x(\d+)`)
	vpdField    = regexp.MustCompile(`^\[(PN|SN)\] [^:]*:\s*(.*)$`)
)

// Parse reads any number of functions. Lines that are not known are ignored; a
// detail before the first function is an error.
func Parse(output string) ([]Device, error) {
	var all []Device
	for n, line := range tool.Lines(output) {
		line = strings.TrimRight(line, " \t")
		if m := slotLine.FindStringSubmatch(line); m != nil {
			d, err := parseHead(n, line, m[1], m[2])
			if err != nil {
				return nil, err
			}
			all = append(all, d)
			continue
		}
		text := strings.TrimSpace(line)
		// Remarks on standard error: of lspci if the kernel's modules are not
		// installed, of its library if the VPD cannot be read.
		if text == "" || strings.HasPrefix(text, "lspci: ") || strings.HasPrefix(text, "pcilib: ") {
			continue
		}
		if len(all) == 0 {
			return nil, tool.Errorf(n, line, "not the first line of a PCI function")
		}
		if err := all[len(all)-1].detail(n, text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ParseOne reads the output of "lspci -vvs ADDRESS".
func ParseOne(output string) (Device, error) {
	all, err := Parse(output)
	if err != nil {
		return Device{}, err
	}
	if len(all) != 1 {
		return Device{}, errors.New("want one PCI function, got " + strconv.Itoa(len(all)))
	}
	return all[0], nil
}

func parseHead(n int, line, slot, rest string) (Device, error) {
	if m := numericRest.FindStringSubmatch(rest); m != nil {
		return Device{Slot: slot, ClassID: m[1], VendorID: m[2], DeviceID: m[3], Rev: m[4]}, nil
	}
	m := textRest.FindStringSubmatch(rest)
	if m == nil {
		return Device{}, tool.Errorf(n, line, "want class and name of a PCI function")
	}
	return Device{Slot: slot, Class: m[1], ClassID: m[2], Name: m[3], VendorID: m[4], DeviceID: m[5], Rev: m[6]}, nil
}

func (d *Device) detail(n int, text string) error {
	if m := vpdField.FindStringSubmatch(text); m != nil {
		if m[1] == "PN" {
			d.PartNumber = strings.TrimSpace(m[2])
		} else {
			d.SerialNumber = strings.TrimSpace(m[2])
		}
		return nil
	}
	if m := linkStatus.FindStringSubmatch(text); m != nil {
		width, err := strconv.Atoi(m[2])
		if err != nil {
			return tool.Errorf(n, text, "want a number of lanes")
		}
		d.Link = Link{Speed: m[1], Width: width}
		return nil
	}
	if strings.HasPrefix(text, "Capabilities: <access denied>") {
		d.Denied = true
		return nil
	}
	key, value, _ := strings.Cut(text, ": ")
	switch key {
	case "Subsystem":
		d.Subsystem = value
	case "Physical Slot":
		d.PhysicalSlot = value
	case "NUMA node":
		d.NUMANode = value
	case "Kernel driver in use":
		d.Driver = value
	case "Kernel modules":
		d.Modules = value
	}
	return nil
}
