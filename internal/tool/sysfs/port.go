// Package sysfs builds the commands that read a few files of sysfs by
// themselves, for looks that are repeated while something settles.
//
// It must not run anything; what is read for every plan is collected elsewhere.
package sysfs

import (
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
)

// Port is the state of one port of an RDMA device.
type Port struct {
	State      string // "DOWN", "INIT", "ARMED", "ACTIVE"
	Physical   string // "LinkUp", "Polling", "Disabled", …
	LinkLayer  string // "InfiniBand", "Ethernet"
	LID, SMLID uint16
	IsSM       bool // an SM is bound to the port
}

var portFiles = []string{"state", "phys_state", "link_layer", "lid", "sm_lid", "cap_mask"}

// capIsSM is the bit IsSM of the port's capability mask (PortInfo).
const capIsSM = 1 << 1

// ReadPort asks for the state of a port.
func ReadPort(device string, port int) shellcmd.Command {
	paths := make([]string, len(portFiles))
	for i, f := range portFiles {
		paths[i] = "/sys/class/infiniband/" + device + "/ports/" + strconv.Itoa(port) + "/" + f
	}
	return coreutils.Cat(paths...)
}

// ParsePort reads the answer of ReadPort.
func ParsePort(out []byte) (Port, error) {
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != len(portFiles) {
		return Port{}, tool.Errorf(0, "", "expected %d lines, one a file, found %d", len(portFiles), len(lines))
	}
	p := Port{LinkLayer: lines[2]}
	var ok bool
	// "4: ACTIVE"
	if _, p.State, ok = strings.Cut(lines[0], ": "); !ok {
		return Port{}, tool.Errorf(1, lines[0], "expected a port state such as \"4: ACTIVE\"")
	}
	if _, p.Physical, ok = strings.Cut(lines[1], ": "); !ok {
		return Port{}, tool.Errorf(2, lines[1], "expected a physical state such as \"5: LinkUp\"")
	}
	numbers := [3]uint64{}
	for i := range numbers {
		n, err := strconv.ParseUint(lines[3+i], 0, 32)
		if err != nil {
			return Port{}, tool.Errorf(4+i, lines[3+i], "expected a number in %s", portFiles[3+i])
		}
		numbers[i] = n
	}
	p.LID, p.SMLID = lid(numbers[0]), lid(numbers[1])
	p.IsSM = numbers[2]&capIsSM != 0
	return p, nil
}

// lid maps 0xffff, which ib_qib shows for an unset LID, to zero.
func lid(n uint64) uint16 {
	if n >= 0xffff {
		return 0
	}
	return uint16(n)
}

// ReadPKeys asks for the P_Key table of a port, as its card has it. Each entry is a
// command to the firmware, so it is asked only where the table itself is in question.
func ReadPKeys(device string, port int) shellcmd.Command {
	return shellcmd.Script("read-pkeys", `cat "/sys/class/infiniband/$1/ports/$2/pkeys/"*`, device, strconv.Itoa(port))
}

// ParsePKeys reads the answer of ReadPKeys: the keys that are set, in no order,
// with the bit 0x8000 of a full member.
func ParsePKeys(out []byte) ([]uint16, error) {
	var keys []uint16
	n := 0
	for line := range strings.Lines(string(out)) {
		n++
		key, err := strconv.ParseUint(strings.TrimSpace(line), 0, 16)
		if err != nil {
			return nil, tool.Errorf(n, line, "expected a P_Key such as \"0xffff\"")
		}
		if key != 0 {
			keys = append(keys, uint16(key))
		}
	}
	if n == 0 {
		return nil, tool.Errorf(0, "", "the port shows no P_Key table")
	}
	return keys, nil
}
