// Package ibnetdiscover builds the command lines of ibnetdiscover of
// infiniband-diags, which walks the whole fabric, and reads its report.
//
// It must not run anything.
package ibnetdiscover

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// timeout bounds the walk; ports that do not answer cost seconds each.
const timeout = 2 * time.Minute

// Query walks the fabric of a port of this host. Nodes have their descriptions, whatever a node name map calls them.
func Query(device string, port int) shellcmd.Command {
	// The names of a map are a person's, and two hosts with two maps would see two fabrics.
	args := []string{"-C", device, "-P", strconv.Itoa(port), "--node-name-map", "/dev/null"}
	return shellcmd.New("ibnetdiscover", args...).AsRoot().WithTimeout(timeout)
}

// Report is what the walk found.
type Report struct {
	FromNode, FromPort ib.GUID
	Nodes              []Node
}

// Node is an adapter, a switch or a router.
type Node struct {
	Type     string // "Ca", "Switch", "Rt"
	GUID     ib.GUID
	SystemID ib.GUID // system image GUID
	VendorID uint32
	DeviceID uint32
	Ports    int
	Name     string // node description
	LID, LMC int    // of a switch
	Links    []Link
}

// Link is a cable as seen from one of its ends.
type Link struct {
	Port     int
	PortGUID ib.GUID // of an adapter's own port
	LID, LMC int     // of an adapter's own port

	Peer         ib.GUID // node GUID
	PeerType     string  // "Ca", "Switch", "Rt"
	PeerPort     int
	PeerPortGUID ib.GUID // of an adapter
	PeerName     string
	PeerLID      int

	Width int // lanes; 0 from tools that do not print it (before 2009)
	Speed ib.Speed
}

// "[ext 5]" is the number that stands at a port of a chassis; "s= w= v=" come with --full.
var (
	fromLine = regexp.MustCompile(`^# Initiated from node (\S+) port (\S+)\s*$`)
	idLine   = regexp.MustCompile(`^(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(\S+)\s*$`)
	nodeLine = regexp.MustCompile(`^(Switch|Ca|Rt)\s+(\d+)\s+"([SHR])-([0-9a-f]+)"\s+# "(.*)"(?: (?:base|enhanced) port 0 lid (\d+) lmc (\d+))?\s*$`)
	linkLine = regexp.MustCompile(`^\[(\d+)\](?:\[ext \d+\])?(?:\(([0-9a-f]+)\))?\s+"([SHR])-([0-9a-f]+)"\[(\d+)\](?:\[ext \d+\])?\s*(?:\(([0-9a-f]+)\))?\s*` +
		`# (?:lid (\d+) lmc (\d+) )?"(.*)" lid (\d+)(?: (\d+)x(\S+))?(?: s=\d+ w=\d+ v=\d+)?\s*$`)
)

var types = map[string]string{"S": "Switch", "H": "Ca", "R": "Rt"}

// Parse reads a report. Comments, the headings of chassis and the warnings of
// the MAD library are passed over; any other line that is not understood is a
// *tool.LineError.
func Parse(output string) (Report, error) {
	var r Report
	var next Node // collects the lines before a node's own
	for n, line := range tool.Lines(output) {
		err := r.line(&next, line)
		if err != nil {
			return Report{}, tool.Errorf(n, line, "%v", err)
		}
	}
	if len(r.Nodes) == 0 {
		return Report{}, tool.Errorf(0,
			"", "no node in the report of ibnetdiscover: the output is cut, or the fabric was not walked")
	}
	return r, nil
}

func (r *Report) line(next *Node, line string) error {
	switch m := idLine.FindStringSubmatch(line); {
	case m != nil:
		return next.id(m[1], m[2])
	case nodeLine.MatchString(line):
		if err := next.head(nodeLine.FindStringSubmatch(line)); err != nil {
			return err
		}
		r.Nodes = append(r.Nodes, *next)
		*next = Node{}
		return nil
	case linkLine.MatchString(line):
		if len(r.Nodes) == 0 {
			return errors.New("a link before any node")
		}
		l, err := parseLink(linkLine.FindStringSubmatch(line))
		last := &r.Nodes[len(r.Nodes)-1]
		last.Links = append(last.Links, l)
		return err
	case fromLine.MatchString(line):
		m := fromLine.FindStringSubmatch(line)
		return assign(guid(m[1], &r.FromNode), guid(m[2], &r.FromPort))
	case ignorable(line):
		return nil
	}
	return errors.New("neither a node nor a link of a report of ibnetdiscover")
}

func assign(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// guid reads the spellings of the report: with and without 0x, with leading
// zeros missing.
func guid(s string, to *ib.GUID) (err error) {
	if s == "" {
		return nil
	}
	*to, err = ib.ParseGUID("0x" + strings.TrimPrefix(s, "0x"))
	return err
}

func number(s string, to *int) (err error) {
	if s == "" {
		return nil
	}
	*to, err = strconv.Atoi(s)
	return err
}

func (n *Node) id(name, value string) error {
	switch name {
	case "vendid", "devid":
		v, err := strconv.ParseUint(value, 0, 32)
		// Hexadecimal with 0x, as base 0 reads it.
		if name == "vendid" {
			n.VendorID = uint32(v)
		} else {
			n.DeviceID = uint32(v)
		}
		return err
	case "sysimgguid":
		return guid(value, &n.SystemID)
	}
	// switchguid=0x8f104003f1e28(8f104003f1e28): the one in parentheses is port 0's.
	own, _, _ := strings.Cut(value, "(")
	return guid(own, &n.GUID)
}

func (n *Node) head(m []string) error {
	n.Type, n.Name = m[1], m[5]
	// The id holds the GUID that links refer to.
	return assign(number(m[2], &n.Ports), guid(m[4], &n.GUID), number(m[6], &n.LID), number(m[7], &n.LMC))
}

func parseLink(m []string) (Link, error) {
	l := Link{PeerType: types[m[3]], PeerName: m[9]}
	err := assign(number(m[1], &l.Port), guid(m[2], &l.PortGUID), guid(m[4], &l.Peer), number(m[5], &l.PeerPort),
		guid(m[6], &l.PeerPortGUID),
		number(m[7], &l.LID), number(m[8], &l.LMC), number(m[10], &l.PeerLID), number(m[11], &l.Width))
	if s, bad := ib.ParseSpeed(m[12]); bad == nil {
		l.Speed = s // "???" of a speed that the tool does not know stays none
	}
	return l, err
}

func ignorable(line string) bool {
	for _, prefix := range []string{"#", "ibwarn: ", "Chassis ", "\t", "DR path "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return strings.TrimSpace(line) == ""
}

var duplicateLine = regexp.MustCompile(`Duplicate Port: Port with guid (0x[0-9a-f]+) already exists`)

// Duplicates reads from standard error of a walk the port GUIDs that two ports have.
// Every program that walks the fabric prints them. The walk goes on without the second
// port, and its node is missing in the report.
func Duplicates(messages string) []ib.GUID {
	var list []ib.GUID
	for _, m := range duplicateLine.FindAllStringSubmatch(messages, -1) {
		if g, err := ib.ParseGUID(m[1]); err == nil && !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// Failure says why a walk could not begin.
type Failure int

// The reasons of a walk that did not begin.
const (
	Began       Failure = iota
	NoPort              // the port cannot be opened: no such device or port, or no right to
	NoUmad              // the kernel module ib_umad is not loaded
	OtherReason         // the tool said something else
)

// Reason reads what the tool printed (standard output and error) when it failed.
func Reason(output string) Failure {
	switch {
	case strings.Contains(output, "is ib_umad module loaded?"):
		return NoUmad
	case strings.Contains(output, "can't open UMAD port"), strings.Contains(output, "can't open MAD port"):
		return NoPort
	}
	return OtherReason
}
