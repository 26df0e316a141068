// Package ibportstate builds the command line of ibportstate of infiniband-diags
// that shows the link of a port, and reads what it prints. The script of
// infiniband_port changes links.
//
// It must not run anything.
package ibportstate

import (
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/smpquery"
)

const timeout = 30 * time.Second

// Query shows the link of a port of this host, by a directed route of no hop. Device
// and port are given as well: without them the tool opens the first port whose link is
// up, and never a disabled one. Any port of the device does as the one that is opened,
// and that of rdma-core 56 to 60 opens none that is down.
func Query(device string, opened, port int) shellcmd.Command {
	return shellcmd.New("ibportstate", "-C", device, "-P", strconv.Itoa(opened), "-D", "0", strconv.Itoa(port),
		"query").AsRoot().WithTimeout(timeout)
}

// PortNotOpened reports whether the tool says that it could not open the port through which
// it was to ask. Any other failure is of the question.
func PortNotOpened(stderr string) bool {
	return strings.Contains(stderr, "Can't open UMAD port (No such device)")
}

// Parse reads the port that was asked for; of a switch port that is Active the tool
// adds the peer.
//
// A *set* on a port that no subnet manager has given a LID yet writes LID and SM
// LID 4660 (0x1234), a stand-in of the tool's: it means no subnet manager.
func Parse(output string) (smpquery.Port, error) {
	ports, err := smpquery.ParsePorts(output)
	if err != nil {
		return smpquery.Port{}, err
	}
	if len(ports) == 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
		return smpquery.Port{}, tool.Errorf(1, line, "no information about a port")
	}
	return ports[0], nil
}
