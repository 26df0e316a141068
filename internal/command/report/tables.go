package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/boards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// table is one table of the page.
type table struct {
	ID, Title string
	About     string // one sentence below the title; may be empty
	Head      []string
	Rows      [][]cell
}

// cell is one value. A host may have written parts of it: row makes it harmless, and the
// template quotes it.
type cell struct {
	Text string
	Mark string // "bad" or "warn" colours it
	More string // is folded away below Text
	// Picture is drawn by this package and holds no text of a host.
	Picture template.HTML
}

// shown is the number of rows up to which a table is open at first.
const shown = 40

// Open reports whether the table is open at first.
func (t *table) Open() bool { return len(t.Rows) <= shown }

// row adds a row of strings and cells.
func (t *table) row(values ...any) {
	cells := make([]cell, 0, len(t.Head))
	for _, v := range values {
		c, marked := v.(cell)
		if !marked {
			c.Text = fmt.Sprint(v)
		}
		c.Text, c.More = diagnostic.Line(c.Text), diagnostic.Line(c.More)
		cells = append(cells, c)
	}
	t.Rows = append(t.Rows, cells)
}

// mark colours a text if something is wrong with it.
func mark(wrong bool, kind, text string) cell {
	if wrong {
		return cell{Text: text, Mark: kind}
	}
	return cell{Text: text}
}

// guid is empty for one that is not known.
func guid(g ib.GUID) string {
	if g.IsZero() {
		return ""
	}
	return g.String()
}

// yesNo is empty for what is not known.
func yesNo(b fact.Bool) string {
	switch {
	case fact.Yes(b):
		return "yes"
	case fact.No(b):
		return "no"
	}
	return "not known"
}

// tables are those of the hosts. Those without rows are left out.
func (l *lab) tables() []*table {
	all := []*table{l.hostTable(), l.cardTable(), l.portTable(), l.interfaceTable(), l.managerTable(), l.changeTable()}
	return slices.DeleteFunc(all, func(t *table) bool { return len(t.Rows) == 0 })
}

// unseen are the hosts that were not read.
func (l *lab) unseen() *table {
	t := &table{ID: "unseen", Title: "Hosts that were not seen",
		Head:  []string{"Host", "Why"},
		About: "Nothing on this page says how they are now. The command check says how to reach them."}
	for _, m := range l.Hosts {
		if m.Snap == nil {
			t.row(m.Name, cell{Text: m.Failure, Mark: "bad", More: m.Advice})
		}
	}
	return t
}

func (l *lab) hostTable() *table {
	t := &table{ID: "hosts", Title: "Hosts",
		Head: []string{"Host", "Address", "System", "Kernel", "mstflint", "Lockdown", "Cards", "Outcome"}}
	for _, m := range l.Hosts {
		s := m.Snap
		if s == nil {
			continue
		}
		system := cmp.Or(s.OS.PrettyName, s.OS.ID, "unknown")
		_, err := platform.Of(s)
		tool := "not installed"
		if s.MSTFlint.Present {
			tool = cmp.Or(s.MSTFlint.Version, "version not known")
		}
		t.row(m.Name, m.Address, mark(err != nil, "warn", system), s.OS.Kernel, mark(!s.MSTFlint.Present, "warn", tool),
			s.Lockdown.Or("not known"), len(m.cards()), mark(m.ExitStatus() != 0, "warn", m.Outcome))
	}
	return t
}

func (l *lab) cardTable() *table {
	t := &table{ID: "cards", Title: "Cards",
		Head: []string{"Host", "PCI", "Card", "Board", "Serial", "In flash", "Running", "Node GUID", "MAC", "PCIe",
			"Driver", "Temperature"}, About: "A card runs what is in flash after its next start."}
	if l.Backups {
		t.Head = append(t.Head, "Backup")
	}
	for _, m := range l.Hosts {
		for _, c := range m.cards() {
			flash, board, mac := cmp.Or(c.FlashError, "not read"), c.PartNumber, ""
			if c.Flash != nil {
				flash = fmt.Sprintf("%s %s", c.Flash.FW, c.Flash.PSID)
				if b, ok := boards.OfPSID(c.Flash.PSID); ok && b.Part != "" && b.Part != board {
					board = strings.TrimSpace(board + " (firmware of " + b.Name() + ")")
				}
				if c.Flash.GUIDs.MAC1 != 0 {
					mac = c.Flash.GUIDs.MAC1.String()
				}
			}
			waits, _ := m.waits(c)
			values := []any{m.Name, c.PCI, adapter(c), board, c.Serial.Or("not read"),
				mark(c.FlashFailure != "", "warn", flash), mark(waits, "warn", m.runningText(c)), nodeGUID(c), mac,
				mark(c.PCIe.Width < c.PCIe.MaxWidth, "warn", pcie(c)), strings.TrimSpace(c.Driver + " " + c.RDMADevice),
				temperatures(c)}
			if l.Backups {
				values = append(values, m.backupText(c))
			}
			t.row(values...)
		}
	}
	return t
}

// temperatures are those of the sensors that the driver shows; empty if it shows none.
func temperatures(c *inventory.Card) string {
	var words []string
	for _, sensor := range slices.Sorted(maps.Keys(c.Celsius)) {
		words = append(words, fmt.Sprintf("%s %.0f °C", sensor, c.Celsius[sensor]))
	}
	return strings.Join(words, ", ")
}

func (m *machine) runningText(c *inventory.Card) string {
	fw, known := m.running(c)
	switch {
	case !known:
		return "not known"
	case fw.PSID == "":
		return fw.FW.String()
	}
	return fmt.Sprintf("%s %s", fw.FW, fw.PSID)
}

func (m *machine) backupText(c *inventory.Card) cell {
	if taken, ok := m.Backups[c.PCI]; ok {
		return cell{Text: date(taken)}
	}
	return mark(c.FlashFailure == "" && c.Flash != nil, "warn", "none")
}

// nodeGUID is that in flash and, if another runs, both.
func nodeGUID(c *inventory.Card) cell {
	flash := c.InFlash().GUIDs.Node
	switch {
	case c.Flash != nil && c.Flash.BlankGUIDs:
		return cell{Text: "none in flash", Mark: "warn"}
	case flash.IsZero() || c.NodeGUID.IsZero() || flash == c.NodeGUID:
		return cell{Text: cmp.Or(guid(flash), guid(c.NodeGUID))}
	}
	return cell{Text: fmt.Sprintf("%s in flash, %s running", flash, c.NodeGUID), Mark: "warn"}
}

func (l *lab) portTable() *table {
	t := &table{ID: "ports", Title: "Ports",
		Head: []string{"Host", "Card", "Port", "Link layer", "State", "Physical", "Width and speed", "Port GUID",
			"LID", "SM LID", "Interface"}}
	for _, m := range l.Hosts {
		for _, c := range m.cards() {
			for _, p := range c.Ports {
				rate := ""
				if p.Physical == "LinkUp" { // the kernel shows a rate of ports without a link, too
					rate = p.Rate
				}
				layer := p.LinkLayer
				if p.TypeNow != "" && !strings.EqualFold(p.TypeNow, shortLayer[layer]) {
					layer = strings.TrimSpace(layer + " (" + p.TypeNow + ")")
				}
				t.row(m.Name, m.named(c.PCI.String()), p.Number, layer,
					mark(p.Physical == "LinkUp" && p.State != "Active", "warn", p.State), p.Physical, rate,
					guid(p.PortGUID), number(int(p.LID)), number(int(p.SMLID)), p.Netdev)
			}
		}
	}
	return t
}

var shortLayer = map[string]string{"InfiniBand": "ib", "Ethernet": "eth"}

// number is empty for zero, which stands for none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (l *lab) interfaceTable() *table {
	t := &table{ID: "ipoib", Title: "IPoIB interfaces",
		Head: []string{"Host", "Interface", "State", "Mode", "MTU", "P_Key", "Addresses", "Part of", "Port GUID"}}
	for _, m := range l.Hosts {
		if m.Snap == nil {
			continue
		}
		for _, n := range m.Snap.Netdevs {
			if !n.IB {
				continue
			}
			state := "down"
			switch {
			case n.Up && n.Carrier:
				state = "up"
			case n.Up:
				state = "up, no carrier"
			}
			var addresses []string
			for _, a := range n.Addresses {
				if !a.Addr().IsLinkLocalUnicast() {
					addresses = append(addresses, a.String())
				}
			}
			t.row(m.Name, n.Name, mark(n.Up && !n.Carrier, "warn", state), n.Mode, n.MTU, n.PKey,
				strings.Join(addresses, ", "), cmp.Or(n.Master, n.Parent), guid(n.PortGUID))
		}
	}
	return t
}

// managerTable has the subnet managers as their hosts say, also those that do not run.
func (l *lab) managerTable() *table {
	t := &table{ID: "opensm", Title: "opensm on the hosts",
		Head: []string{"Host", "Port GUID", "Runs", "At boot", "Role", "Set up"}}
	for _, m := range l.Hosts {
		if m.Snap == nil {
			continue
		}
		for _, o := range found.OfPorts(m.Snap) {
			if what := o.Describe(); what != "none" && o.Port != 0 {
				t.row(m.Name, o.Port, yesNo(o.Active), yesNo(o.Enabled), o.Role(), what)
			}
		}
	}
	return t
}

// most bounds the changes of one host that are shown.
const most = 10

func (l *lab) changeTable() *table {
	t := &table{ID: "changes", Title: "Last changes",
		Head:  []string{"Time", "Host", "Object", "What", "From", "To", "By", "Result"},
		About: fmt.Sprintf("The last %d of each host, newest first. The command history shows all.", most)}
	for _, m := range l.Hosts {
		for _, c := range m.Changes[:min(most, len(m.Changes))] {
			t.row(c.Time, m.Name, m.named(c.Object), c.What, c.From, c.To, c.By, mark(c.Result != "verified", "warn", c.End()))
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b []cell) int { return strings.Compare(b[0].Text, a[0].Text) })
	return t
}

// tables are those of one fabric.
func (f *seenFabric) tables(id string) []*table {
	managers := &table{ID: id + "-sm", Title: "Subnet managers",
		Head:  []string{"Order", "Node", "State", "Priority", "LID", "Port GUID"},
		About: "If the master ends, the next one in this order takes over."}
	for i, sm := range f.SMs {
		priority := "not known"
		if sm.Priority >= 0 {
			priority = strconv.Itoa(sm.Priority)
		}
		managers.row(i+1, sm.Label(), sm.State, priority, number(sm.LID), sm.GUID)
	}
	partitions := &table{ID: id + "-pkeys", Title: "Partitions",
		Head: []string{"P_Key", "Full members", "Limited members"}}
	for _, p := range f.Partitions() {
		partitions.row(attribute.PKeyOf(p.PKey).ValueString(), members(p.Full), members(p.Limited))
	}
	switches := &table{ID: id + "-switches", Title: "Switches",
		Head:  []string{"Name", "GUID", "LID", "Ports", "Firmware", "PSID"},
		About: "Firmware and PSID are those of switches that tell them."}
	for _, n := range f.Nodes {
		if n.Switch {
			switches.row(n.Label(), n.GUID, number(n.LID), n.PortCount, version(n.Firmware), n.PSID)
		}
	}
	all := []*table{managers, f.cableTable(id), partitions, switches}
	return slices.DeleteFunc(all, func(t *table) bool { return len(t.Rows) == 0 })
}

func members(ports []*fabric.Port) cell {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Label()
	}
	if len(names) < 4 {
		return cell{Text: strings.Join(names, ", ")}
	}
	return cell{Text: fmt.Sprintf("%d ports", len(ports)), More: strings.Join(names, ", ")}
}

// cableTable has the cables with what is wrong with them, these first.
func (f *seenFabric) cableTable(id string) *table {
	t := &table{ID: id + "-cables", Title: "Cables",
		Head: []string{"From", "To", "State", "Width and speed", "Why not more", "Errors"}}
	if !f.Counted {
		t.About = "Error counters were not read."
	}
	var fine [][]cell
	for _, l := range f.Links {
		state, to := stateOf(l), "no answer"
		if l.B != nil {
			to = f.label(l.B)
		}
		counted, high := countersOf(l.A, l.B)
		wrong := state != "Active"
		t.row(f.label(l.A), mark(l.B == nil, "bad", to), mark(wrong, "bad", state), mark(l.Degraded(), "warn", l.Rate()),
			strings.Join(l.Slow(), "; "), mark(high, "warn", counted))
		if !wrong && !l.Degraded() && !high {
			last := len(t.Rows) - 1
			fine, t.Rows = append(fine, t.Rows[last]), t.Rows[:last]
		}
	}
	t.Rows = append(t.Rows, fine...)
	return t
}

// stateOf is the state of the end of a cable that is behind.
func stateOf(l *fabric.Link) string {
	switch {
	case l.B == nil:
		return "no answer"
	case l.B.State != "Active":
		return l.B.State
	}
	return l.A.State
}

// countersOf are the error counters of the ends of a cable, and whether one is above its limit.
func countersOf(ends ...*fabric.Port) (text string, above bool) {
	limits := fabric.DefaultLimits()
	var words []string
	for _, p := range ends {
		if p == nil || len(p.Counters) == 0 {
			continue
		}
		var counted []string
		for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
			counted = append(counted, fmt.Sprintf("%s %d", name, p.Counters[name]))
			limit, limited := limits[name]
			above = above || limited && p.Counters[name] > uint64(limit)
		}
		words = append(words, p.Label()+": "+strings.Join(counted, ", "))
	}
	return strings.Join(words, "; "), above
}
