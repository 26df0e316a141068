// Package ibportstate builds the command lines of ibportstate of
// infiniband-diags, which shows and changes the link of a port, and reads what
// it prints.
//
// It must not run anything.
package ibportstate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/smpquery"
)

const timeout = 30 * time.Second

// own addresses a port of this host itself: the directed route of no hop. Device
// and port are given even so, because without them the tool opens the first port
// whose link is up, which a disabled port is not.
func own(device string, port int, op ...string) shellcmd.Command {
	number := strconv.Itoa(port)
	return shellcmd.New("ibportstate", append([]string{"-C", device, "-P", number, "-D", "0", number}, op...)...).AsRoot().WithTimeout(timeout)
}

// Query shows the link of a port of this host.
func Query(device string, port int) shellcmd.Command { return own(device, port, "query") }

// Enable lets a disabled port train again. The port stays Down until its link is
// up and needs a subnet manager then.
func Enable(device string, port int) shellcmd.Command { return own(device, port, "enable").Changes() }

// Disable takes the link of a port down until Enable, a driver reload or a reboot.
func Disable(device string, port int) shellcmd.Command {
	return own(device, port, "disable").Changes()
}

// Reset takes the link down and lets it train again; new speeds and widths count
// from then on.
func Reset(device string, port int) shellcmd.Command { return own(device, port, "reset").Changes() }

// Speeds sets the speeds up to QDR that the port may train at. An empty list is
// refused: a port needs one of them to start from.
func Speeds(device string, port int, enabled ...ib.Speed) (shellcmd.Command, error) {
	bits, err := mask(enabled, map[ib.Speed]int{ib.SDR: 1, ib.DDR: 2, ib.QDR: 4})
	if err == nil && bits == 0 {
		err = fmt.Errorf("no speed to enable")
	}
	if err != nil {
		return shellcmd.Command{}, err
	}
	return own(device, port, "speed", strconv.Itoa(bits)).Changes(), nil
}

// noExtended is the value of "espeed" that disables all extended speeds (IBA
// PortInfo, LinkSpeedExtEnabled 30; 0 would mean no change).
const noExtended = 30

// ExtendedSpeeds sets the speeds from FDR on that the port may train at; none
// disables them.
func ExtendedSpeeds(device string, port int, enabled ...ib.Speed) (shellcmd.Command, error) {
	bits, err := mask(enabled, map[ib.Speed]int{ib.FDR: 1, ib.EDR: 2, ib.HDR: 4, ib.NDR: 8})
	if err != nil {
		return shellcmd.Command{}, err
	}
	if bits == 0 {
		bits = noExtended
	}
	return own(device, port, "espeed", strconv.Itoa(bits)).Changes(), nil
}

// FDR10 allows or forbids FDR10, which has a switch of its own.
func FDR10(device string, port int, enabled bool) shellcmd.Command {
	value := "0"
	if enabled {
		value = "1"
	}
	return own(device, port, "fdr10", value).Changes()
}

// Widths sets the numbers of lanes that the port may train at.
func Widths(device string, port int, enabled ...int) (shellcmd.Command, error) {
	bits, err := mask(enabled, map[int]int{1: 1, 4: 2, 8: 4, 12: 8, 2: 16})
	if err == nil && bits == 0 {
		err = fmt.Errorf("no width to enable")
	}
	if err != nil {
		return shellcmd.Command{}, err
	}
	return own(device, port, "width", strconv.Itoa(bits)).Changes(), nil
}

func mask[T comparable](values []T, bits map[T]int) (sum int, err error) {
	for _, v := range values {
		bit, ok := bits[v]
		if !ok {
			return 0, fmt.Errorf("ibportstate has no code for %v", v)
		}
		sum |= bit
	}
	return sum, nil
}

// Answer is what the tool printed: the port as it was, and after a change as it
// said to be then.
type Answer struct {
	Before smpquery.Port
	After  *smpquery.Port // nil after a query
	Peer   *smpquery.Port // of a switch port that was asked for by LID or route
}

// Parse reads the output of Query, Enable, Disable, Speeds and the like.
//
// A *set* on a port that no subnet manager has given a LID yet writes LID and SM
// LID 4660 (0x1234), a stand-in of the tool's: it means no subnet manager.
func Parse(output string) (Answer, error) {
	ports, err := smpquery.ParsePorts(output)
	if err != nil {
		return Answer{}, err
	}
	if len(ports) == 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
		return Answer{}, tool.Errorf(1, line, "no information about a port")
	}
	a := Answer{Before: ports[0]}
	switch {
	case len(ports) == 2 && strings.Contains(output, "After PortInfo set:\n"):
		a.After = &ports[1]
	case len(ports) == 2 && strings.Contains(output, "Peer PortInfo:\n"):
		a.Peer = &ports[1]
	case len(ports) > 1:
		return Answer{}, tool.Errorf(0, "", "want the information of one or two ports, got %d", len(ports))
	}
	return a, nil
}
