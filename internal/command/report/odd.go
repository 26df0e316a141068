package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// oddOne is a card or a host of which one fact differs from what most of its equals have.
type oddOne struct {
	Host, PCI       string // PCI is empty of a host
	Of              string // what the equals are: a board, a release of a system
	Fact, Has, Most string
	Same, Equals    int // how many have Most, of how many
}

func (o oddOne) String() string {
	who := strings.TrimSpace(o.Host + " " + o.PCI)
	return fmt.Sprintf("%s: %s is %s. %d of %d with %s have %s.", who, o.Fact, o.Has, o.Same, o.Equals, o.Of, o.Most)
}

// subject is one of a group of equals; facts that are not known are empty.
type subject struct {
	host, pci string
	facts     [][2]string // name and value, the same names in the same order in a group
}

// odd names those that differ from more than half of their equals, of which there are two at least.
func (l *lab) odd() []oddOne {
	groups := map[string][]subject{}
	for _, m := range l.Hosts {
		if m.Snap == nil {
			continue
		}
		if of := m.Snap.OS.PrettyName; of != "" {
			groups[of] = append(groups[of], subject{host: m.Name, facts: [][2]string{
				{"the kernel", m.Snap.OS.Kernel}, {"mstflint", m.Snap.MSTFlint.Version}}})
		}
		for _, c := range m.cards() {
			if c.PartNumber != "" {
				of := "board " + c.PartNumber
				groups[of] = append(groups[of], subject{m.Name, c.PCI.String(), m.cardFacts(c)})
			}
		}
	}
	var all []oddOne
	for of, group := range groups {
		for i := range group[0].facts {
			all = append(all, oddIn(of, group, i)...)
		}
	}
	slices.SortFunc(all, func(a, b oddOne) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func oddIn(of string, group []subject, fact int) (all []oddOne) {
	count, known, most := map[string]int{}, 0, ""
	for _, s := range group {
		if v := s.facts[fact][1]; v != "" {
			known++
			if count[v]++; count[v] > count[most] {
				most = v
			}
		}
	}
	if count[most] < 2 || 2*count[most] <= known {
		return nil
	}
	for _, s := range group {
		if f := s.facts[fact]; f[1] != "" && f[1] != most {
			all = append(all, oddOne{s.host, s.pci, of, f[0], f[1], most, count[most], known})
		}
	}
	return all
}

// cardFacts are what equal boards have in common in a lab that is set up evenly.
func (m *machine) cardFacts(c *inventory.Card) [][2]string {
	facts := [][2]string{{"the PSID in flash", string(c.InFlash().PSID)}, {"the firmware in flash", ""},
		{"the running firmware", ""}, {"the driver", c.Driver}, {"the boot ROM", ""}, {"the PCIe link", pcie(c)}}
	if c.FlashKnown() {
		facts[1][1] = c.Flash.FW.String()
	}
	if c.ReadFlash() != nil {
		facts[4][1] = "none"
		if c.Flash.HasROM() {
			facts[4][1] = strings.Join(c.Flash.ROM, ", ")
		}
	}
	if fw, known := m.running(c); known {
		facts[2][1] = fw.FW.String()
	}
	for number := 1; number <= 2; number++ {
		kind := ""
		if p, ok := c.Port(number); ok {
			kind = strings.ToLower(p.LinkLayer)
		}
		facts = append(facts, [2]string{fmt.Sprintf("the link type of port %d", number), kind})
	}
	return facts
}

func pcie(c *inventory.Card) string {
	if c.PCIe.Width == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("x%d %s", c.PCIe.Width, c.PCIe.Speed))
}

// date is a moment as the page shows it.
func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
