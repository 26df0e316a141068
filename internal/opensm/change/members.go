package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// mostMembers is how many tables are compared at most: 256 take about 5 seconds over
// ibsim, most of it to start the processes.
const mostMembers = 256

// Mismatch is a port whose P_Key table is not what the partitions say.
type Mismatch struct {
	Port  ib.GUID
	Where string   // "intel9 0000:01:00.0 port 1", or what the fabric calls the node
	Wrong []string // what is wrong with its membership, one phrase for each partition
	Have  []uint16
}

// String is one sentence without its end.
func (m Mismatch) String() string {
	where := m.Port.String()
	if m.Where != "" {
		where = fmt.Sprintf("%s (%s)", m.Where, m.Port)
	}
	have := "no P_Key"
	if len(m.Have) > 0 {
		have = describeKeys(m.Have)
	}
	return fmt.Sprintf("%s %s; it has %s", where, strings.Join(m.Wrong, " and "), have)
}

// compare says how a table differs from the partitions. Keys of no configured partition
// are ignored.
func compare(all []opensm.Partition, have []uint16, port ib.GUID, keywords ...string) []string {
	wanted := tool.KeysOf(all, port.String(), keywords...)
	var wrong []string
	for _, p := range all {
		want, is := membership(wanted, p.PKey), membership(have, p.PKey)
		if want == is {
			continue
		}
		declared, found := "is declared a "+want.words(p.PKey)+" member", "is none"
		if want == "" {
			declared = "is not declared a member"
		}
		if is != "" {
			found = "is a " + is.words(p.PKey) + " one"
		}
		wrong = append(wrong, fmt.Sprintf("%s of partition %q and %s", declared, p.Name, found))
	}
	return wrong
}

// kind is the membership that a table has: "full", "limited", or empty. A table with
// both keys counts as full.
type kind string

// membership finds a P_Key in a table: the bit 0x8000 makes a full member.
func membership(table []uint16, pkey uint16) kind {
	switch {
	case slices.Contains(table, pkey|0x8000):
		return "full"
	case slices.Contains(table, pkey&0x7fff):
		return "limited"
	}
	return ""
}

// words name a membership with its key as the table has it.
func (k kind) words(pkey uint16) string {
	if k == "full" {
		return fmt.Sprintf("full (0x%04x)", pkey|0x8000)
	}
	return fmt.Sprintf("limited (0x%04x)", pkey&0x7fff)
}

// members are the ports of other adapters whose tables are compared: those that
// partitions name and those of managed hosts come first.
type members struct {
	ports []fabric.AdapterPort
	notes []string // what could not be compared, one sentence each
}

// findMembers walks the fabric for the ports of adapters, whose tables say who reaches whom. A walk
// that fails is a note, for the own port was compared.
func findMembers(ctx context.Context, h host.Host, at device, d opensm.Request,
	known map[ib.GUID]string) (members, error) {
	var m members
	all, err := fabric.AdapterPorts(ctx, h, at.through())
	var look *fabric.LookError
	var output *host.OutputError
	switch {
	case errors.As(err, &look), errors.As(err, &output):
		m.notes = append(m.notes, "The P_Key tables of other ports were not compared with the partitions, because the "+
			"fabric could not be walked: "+err.Error())
		return m, nil
	case err != nil:
		return m, err
	}
	named := namedMembers(d.Partitions)
	for _, p := range all {
		delete(named, p.GUID)
		// LIDs from 0xc000 on are those of multicast groups; 0 is a port that no manager has reached.
		if p.GUID != d.PortGUID && p.LID > 0 && p.LID < 0xc000 {
			m.ports = append(m.ports, p)
		}
	}
	delete(named, d.PortGUID)
	if len(named) > 0 {
		m.notes = append(m.notes, "Not in the fabric, so that their P_Key tables were not compared: "+labels(named,
			known)+".")
	}
	declared := namedMembers(d.Partitions)
	slices.SortStableFunc(m.ports,
		func(a, b fabric.AdapterPort) int { return weight(b, declared, known) - weight(a, declared, known) })
	if more := len(m.ports) - mostMembers; more > 0 {
		m.ports = m.ports[:mostMembers]
		m.notes = append(m.notes, fmt.Sprintf("The P_Key tables of %d more ports were not compared with the partitions.",
			more))
	}
	return m, nil
}

// weight puts the ports first that are most likely to be missed if they are left out.
func weight(p fabric.AdapterPort, named map[ib.GUID]bool, known map[ib.GUID]string) int {
	switch {
	case named[p.GUID]:
		return 2
	case known[p.GUID] != "":
		return 1
	}
	return 0
}

// namedMembers are the ports that partitions have by GUID.
func namedMembers(all []opensm.Partition) map[ib.GUID]bool {
	named := map[ib.GUID]bool{}
	for _, p := range all {
		for _, m := range p.Members {
			if g, err := ib.ParseGUID(m.Port); err == nil {
				named[g] = true
			}
		}
	}
	return named
}

// labels names ports, by the host where it is a managed one.
func labels(ports map[ib.GUID]bool, known map[ib.GUID]string) string {
	var words []string
	for g := range ports {
		word := g.String()
		if known[g] != "" {
			word = fmt.Sprintf("%s (%s)", known[g], g)
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// differ reads the tables of the members. It does not read a right one again. Members
// that do not answer are returned as silent.
func (m *members) differ(ctx context.Context, h host.Host, at device, d opensm.Request,
	known map[ib.GUID]string) (wrong []Mismatch, silent []fabric.AdapterPort, err error) {
	tables, err := fabric.PKeyTables(ctx, h, at.through(), m.ports)
	if err != nil {
		return nil, nil, err
	}
	var again []fabric.AdapterPort
	for _, p := range m.ports {
		have, answered := tables[p.GUID]
		bad := compare(d.Partitions, have, p.GUID, "ALL", "ALL_CAS")
		switch {
		case !answered:
			silent = append(silent, p)
		case len(bad) > 0:
			where := known[p.GUID]
			where = cmp.Or(where, strings.TrimSpace(p.Name+fmt.Sprintf(" port %d", p.Number)))
			wrong = append(wrong, Mismatch{Port: p.GUID, Where: where, Wrong: bad, Have: have})
		default:
			continue
		}
		again = append(again, p)
	}
	m.ports = again
	return wrong, silent, nil
}

// describeKeys writes P_Keys with the membership bit, as smpquery prints them.
func describeKeys(list []uint16) string {
	words := make([]string, len(list))
	for i, k := range list {
		words[i] = fmt.Sprintf("0x%04x", k)
	}
	return strings.Join(words, ", ")
}

// device is the port of this host by which the fabric is asked.
type device struct {
	name   string
	number int
	lid    uint16
}

// through is the way into the fabric, for its package.
func (d device) through() fabric.Through { return fabric.Through{Device: d.name, Port: d.number} }
