package fabric

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ibnetdiscover"
)

var (
	//go:embed walk.sh
	walkScript string
	//go:embed ports.sh
	portsScript string
)

// timeout leaves room for a fabric of hundreds of nodes and for ports that do not
// answer, each of which costs seconds.
const timeout = 5 * time.Minute

// Runner runs commands on the host that looks at the fabric.
type Runner interface {
	Name() string
	Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error)
}

// Through is the port that the fabric is asked through.
type Through struct {
	Device string
	Port   int
}

// LookError says why a fabric could not be looked at.
type LookError struct{ explain.Failure }

// lookError makes one. problem and advice are sentences; output is that of the program, if it helps.
func lookError(host string, t Through, problem, advice, output string) error {
	port := ""
	if t.Device != "" {
		port = fmt.Sprintf("%s/%d", t.Device, t.Port)
	}
	output = strings.TrimSpace(Printable(strings.ReplaceAll(output, "\n", " · ")))
	return &LookError{explain.Failure{What: problem, Check: advice,
		Facts: []explain.Fact{{"Host", host}, {"Port", port}, {"Output", shorten(output)}}}}
}

func shorten(s string) string {
	const most = 400
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Observe looks at the fabric through a port: one command, and with details a
// second one for the ports that the first has found.
func Observe(ctx context.Context, h Runner, t Through, details bool) (*Fabric, error) {
	res, err := h.Run(ctx, shellcmd.Script("fabric-walk", answer.Functions+walkScript, t.Device,
		strconv.Itoa(t.Port)).AsRoot().WithTimeout(timeout))
	if err != nil {
		return nil, err
	}
	f, report, err := read(h.Name(), t, string(res.Stdout))
	if err != nil || !details {
		return f, err
	}
	// In a second command: what to ask follows from the walk.
	ask := f.questions(report)
	if len(ask) == 0 {
		return f, nil
	}
	args := append([]string{t.Device, strconv.Itoa(t.Port)}, ask...)
	res, err = h.Run(ctx, askPorts(args).WithTimeout(timeout))
	if err != nil {
		return nil, err
	}
	if err := f.details(string(res.Stdout), report); err != nil {
		return nil, &host.OutputError{Host: h.Name(), Command: "smpquery", Problem: err.Error(), Output: string(res.Stdout)}
	}
	f.sort()
	return f, nil
}

func askPorts(args []string) shellcmd.Command {
	return shellcmd.Script("fabric-ports", answer.Functions+portsScript, args...).AsRoot()
}

func splitParts(output string) (parts, error) {
	p := parts{text: map[string]string{}, status: map[string]int{}}
	err := answer.Read(output, func(i answer.Item) error {
		if i.Word == "missing" {
			p.missing = append(p.missing, i.Name)
		} else {
			p.text[i.Name], p.status[i.Name] = i.Text, i.Status
		}
		return nil
	})
	return p, err
}

// read makes a fabric of what walk.sh printed.
func read(name string, t Through, output string) (*Fabric, *ibnetdiscover.Report, error) {
	p, err := splitParts(output)
	if err != nil {
		return nil, nil, &host.OutputError{Host: name, Command: "fabric-walk", Problem: err.Error(), Output: output}
	}
	if err = p.cannot(name, t); err != nil {
		return nil, nil, err
	}
	b := builder{f: &Fabric{}, nodes: map[ib.GUID]*Node{}, ports: map[portKey]*Port{}}
	report, err := b.build(p)
	if err != nil {
		return nil, nil, &host.OutputError{Host: name, Command: "ibnetdiscover, iblinkinfo, sminfo or ibqueryerrors",
			Problem: err.Error(), Output: output}
	}
	b.f.sort()
	return b.f, report, nil
}

// cannot explains why there is nothing to read.
func (p parts) cannot(name string, t Through) error {
	if len(p.missing) > 0 {
		return lookError(name, t, "The host has no "+strings.Join(p.missing, ", ")+", with which a fabric is looked at.",
			"They come with the package infiniband-diags, of some distributions with rdma-core. TrueNAS does not have "+
				"them and takes no packages: let another host on the same fabric look, any of its hosts sees all of it.", "")
	}
	// The other programs may fail without a subnet manager; without the walk there is nothing to show.
	if p.status["net"] == 0 {
		return nil
	}
	problem := "The fabric could not be walked."
	var advice string
	switch ibnetdiscover.Reason(p.text["net"]) {
	case ibnetdiscover.NoUmad:
		problem = "The kernel of the host offers no management datagrams: the module ib_umad is not loaded."
		advice = "Load it with modprobe ib_umad, and name it in /etc/modules-load.d so that it is loaded at boot."
	case ibnetdiscover.NoPort:
		problem = fmt.Sprintf("The port %d of %s cannot be opened for management datagrams.", t.Port, t.Device)
		advice = "Check that the device has this port, that it is an InfiniBand port and not in Ethernet mode " +
			"(infiniband_link_type), and that root may open /dev/infiniband/umad*."
	default:
		advice = "Run the program on the host by hand; a port that does not answer in time is often one whose host is " +
			"restarting."
	}
	return lookError(name, t, problem, advice, p.text["net"])
}

// Pick chooses the port of a host that looks at the fabric: the one asked for by
// its GUID, or the first InfiniBand port whose link is up.
func Pick(s *inventory.Snapshot, wanted ib.GUID) (Through, error) {
	var seen []string
	for _, c := range s.Cards {
		for _, p := range c.Ports {
			if c.RDMADevice == "" || p.LinkLayer != "InfiniBand" {
				continue
			}
			seen = append(seen, fmt.Sprintf("%s/%d (%s, %s, %s)", c.RDMADevice, p.Number, p.PortGUID, p.State, p.Physical))
			// As the tools choose by themselves, but told to them by name: theirs could change between two commands.
			if wanted == p.PortGUID && wanted != 0 || wanted == 0 && p.Physical == "LinkUp" {
				return Through{c.RDMADevice, p.Number}, nil
			}
		}
	}
	var problem string
	advice := "Its InfiniBand ports are: " + strings.Join(seen, ", ") + "."
	switch {
	case len(seen) == 0:
		problem = "The host has no InfiniBand port, so it sees no fabric."
		advice = "Check that a card has its driver, that ib_core and the driver's verbs module are loaded, and that its " +
			"ports are not in Ethernet mode (infiniband_link_type)."
	case wanted != 0:
		problem = "The host has no InfiniBand port with the GUID " + wanted.String() + "."
	default:
		problem = "No InfiniBand port of the host has a link, so it sees no fabric."
		advice += " Check the cable and that the other end is on and in InfiniBand mode. A name in port_guid lets a port " +
			"without a link look all the same."
	}
	return Through{}, lookError(s.Host, Through{}, problem, advice, "")
}

// LooksThrough gives the port of a host that Pick has chosen.
func LooksThrough(s *inventory.Snapshot, t Through) (p inventory.Port, ok bool) {
	for _, c := range s.Cards {
		for _, p := range c.Ports {
			if c.RDMADevice == t.Device && p.Number == t.Port {
				return p, true
			}
		}
	}
	return p, false
}

// NoteLink notes if the port that looked has no link: nothing is known then of the fabric that it belongs to.
func (f *Fabric) NoteLink(host string, p inventory.Port) {
	if p.Physical != "" && p.Physical != "LinkUp" {
		f.NoLink = fmt.Sprintf("port %d of %s has no link (%s)", p.Number, host, p.Physical)
	}
}
