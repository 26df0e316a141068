// Package ibstat reads what ibstat of infiniband-diags prints about the channel
// adapters of a host.
//
// It must not run anything.
package ibstat

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// CA is one channel adapter.
type CA struct {
	Name        string // "mlx4_0"
	Type        string // "MT4099": the PCI device id in decimal
	PortCount   int
	Firmware    string // as printed
	Hardware    string
	NodeGUID    ib.GUID
	SystemImage ib.GUID
	Ports       []Port
}

// Port is one port of a channel adapter.
type Port struct {
	Number         int
	State          string // "Active", "Initializing", "Down", …
	Physical       string // "LinkUp", "Polling", …
	Rate           string // Gb/s: "40", "2.5", "40 (FDR10)"
	LID            uint16
	LMC            int
	SMLID          uint16
	CapabilityMask uint32
	GUID           ib.GUID
	LinkLayer      string // "InfiniBand", "Ethernet"
}

var (
	caLine   = regexp.MustCompile(`^CA:? '([^']+)'$`)
	portLine = regexp.MustCompile(`^Port (\d+):$`)
	keyLine  = regexp.MustCompile(`^([A-Za-z][A-Za-z ]*): (.*)$`)
)

// Parse reads any number of adapters. Indentation does not count; lines that
// are not known are ignored, and a known one with an unreadable value is a
// *tool.LineError. An adapter with fewer ports than it announces, and a port
// without a link layer, which is printed last, are errors: the output was cut.
func Parse(output string) ([]CA, error) {
	var all []CA
	for n, line := range tool.Lines(output) {
		text := strings.TrimSpace(line)
		if m := caLine.FindStringSubmatch(text); m != nil {
			all = append(all, CA{Name: m[1]})
			continue
		}
		if text == "" {
			continue
		}
		if len(all) == 0 {
			return nil, tool.Errorf(n, line, "not the first line of an adapter")
		}
		if err := all[len(all)-1].line(n, text); err != nil {
			return nil, err
		}
	}
	for _, ca := range all {
		if err := ca.complete(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (ca *CA) line(n int, text string) error {
	if m := portLine.FindStringSubmatch(text); m != nil {
		number, err := strconv.Atoi(m[1])
		if err != nil {
			return tool.Errorf(n, text, "invalid port number")
		}
		ca.Ports = append(ca.Ports, Port{Number: number})
		return nil
	}
	m := keyLine.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	err := ca.set(m[1], m[2])
	if len(ca.Ports) > 0 && err == nil {
		err = ca.Ports[len(ca.Ports)-1].set(m[1], m[2])
	}
	if err != nil {
		return tool.Errorf(n, text, "%v", err)
	}
	return nil
}

func (ca *CA) set(key, value string) (err error) {
	switch key {
	case "CA type":
		ca.Type = value
	case "Number of ports":
		ca.PortCount, err = strconv.Atoi(value)
	case "Firmware version":
		ca.Firmware = value
	case "Hardware version":
		ca.Hardware = value
	case "Node GUID":
		ca.NodeGUID, err = ib.ParseGUID(value)
	case "System image GUID":
		ca.SystemImage, err = ib.ParseGUID(value)
	}
	return err
}

func (p *Port) set(key, value string) (err error) {
	switch key {
	case "State":
		p.State, err = oneOf(value, "Down", "Initializing", "Armed", "Active")
	case "Physical state":
		p.Physical, err = oneOf(value, "No state change", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
			"LinkErrorRecovery", "PhyTest")
	case "Rate":
		p.Rate = value
	case "Base lid":
		p.LID, err = lid(value)
	case "LMC":
		p.LMC, err = strconv.Atoi(value)
	case "SM lid":
		p.SMLID, err = lid(value)
	case "Capability mask":
		var mask uint64
		mask, err = strconv.ParseUint(value, 0, 32)
		p.CapabilityMask = uint32(mask)
	case "Port GUID":
		p.GUID, err = ib.ParseGUID(value)
	case "Link layer":
		p.LinkLayer = value
	}
	return err
}

// oneOf insists on the tool's own words: what stands behind one of them was
// added by somebody.
func oneOf(value string, words ...string) (string, error) {
	if !slices.Contains(words, value) {
		return "", errors.New("want one of " + strings.Join(words, ", "))
	}
	return value, nil
}

func lid(value string) (uint16, error) {
	v, err := strconv.ParseUint(value, 10, 16)
	return uint16(v), err
}

func (ca *CA) complete() error {
	if len(ca.Ports) != ca.PortCount {
		return errors.New("adapter " + ca.Name + ": announces " + strconv.Itoa(ca.PortCount) + " ports, " + strconv.Itoa(len(ca.Ports)) + " follow")
	}
	for _, p := range ca.Ports {
		if p.LinkLayer == "" {
			return errors.New("adapter " + ca.Name + " port " + strconv.Itoa(p.Number) + ": no link layer: the output is cut")
		}
	}
	return nil
}
