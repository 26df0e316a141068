package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Slow says why a link carries less than one of its ends could, one sentence
// each, with the arithmetic; empty for a link at its best. Limits that nobody can
// change, such as an old card, are reasons as well: they explain a number.
func (l *Link) Slow() []string {
	if !l.Up() {
		return nil
	}
	reasons := append(l.slowWidth(), l.slowSpeed()...)
	for _, p := range []*Port{l.A, l.B} {
		reasons = append(reasons, p.slot(l)...)
	}
	return reasons
}

// Degraded reports whether both ends could do better than the link does, or the
// slot of a card cannot keep up with it: what somebody should look at.
func (l *Link) Degraded() bool {
	if !l.Up() {
		return false
	}
	if l.A.Width < bestWidth(l.A, l.B) || l.A.Speed < bestSpeed(l.A, l.B) {
		return true
	}
	return len(l.A.slot(l))+len(l.B.slot(l)) > 0
}

// bestWidth is the most lanes that both ends support, as far as that is known.
// Cables of 8 and 12 lanes are rare, and ports that offer them say so although
// their connector has four; so more than four count only if they are in use.
func bestWidth(a, b *Port) int {
	best := 0
	for _, w := range a.WidthSupported {
		if slices.Contains(b.WidthSupported, w) && w > best && w <= max(4, a.Width) {
			best = w
		}
	}
	// iblinkinfo says "Could be 12X" of a port that was built for it, whatever its plug has.
	if best == 0 && max(a.couldBeWidth, b.couldBeWidth) > 0 {
		best = min(4, max(a.couldBeWidth, b.couldBeWidth))
	}
	return max(best, a.Width)
}

func bestSpeed(a, b *Port) ib.Speed {
	best := a.Speed
	for _, s := range a.SpeedsSupported {
		if slices.Contains(b.SpeedsSupported, s) && s > best {
			best = s
		}
	}
	return max(best, a.couldBeSpeed, b.couldBeSpeed)
}

func (l *Link) slowWidth() []string {
	best := bestWidth(l.A, l.B)
	if l.A.Width >= best {
		return nil
	}
	text := fmt.Sprintf("%d of %d lanes in use: %s instead of %s", l.A.Width, best, gbps(l.A.Speed.DataRate(l.A.Width)),
		gbps(l.A.Speed.DataRate(best)))
	for _, p := range []*Port{l.A, l.B} {
		// Somebody has switched it off: that comes before a guess at the cable.
		if len(p.WidthEnabled) > 0 && !slices.Contains(p.WidthEnabled, best) {
			return []string{text + fmt.Sprintf("; %s allows %s only", p.Label(), widths(p.WidthEnabled))}
		}
	}
	return []string{text + "; the cable or a contact of its plugs is bad, or it is an adapter for one lane"}
}

func (l *Link) slowSpeed() []string {
	best := bestSpeed(l.A, l.B)
	if l.A.Speed < best {
		text := fmt.Sprintf("%s instead of %s: %s instead of %s", l.A.Speed, best, gbps(l.Gbps()),
			gbps(best.DataRate(l.A.Width)))
		for _, p := range []*Port{l.A, l.B} {
			if len(p.SpeedsEnabled) > 0 && !slices.Contains(p.SpeedsEnabled, best) {
				return []string{text + fmt.Sprintf("; %s allows %s only%s", p.Label(), names(p.SpeedsEnabled), p.noExtended(best))}
			}
		}
		return []string{text + "; both ends could, so the cable is not good enough for it or the link has trained badly: " +
			"reseat it, or reset the port. The kernel's log of a host with a ConnectX-3 names a cable that its firmware " +
			"refuses: \"Unsupported cable\", \"Bad cable\""}
	}
	// At the best that both can: say which end is the older one.
	for _, pair := range [][2]*Port{{l.A, l.B}, {l.B, l.A}} {
		fast, slow := top(pair[0]), top(pair[1])
		if fast > slow && slow > 0 && slow == l.A.Speed {
			return []string{fmt.Sprintf("%s can do %s, %s no more than %s: %s instead of %s", pair[0].Label(), fast,
				pair[1].Label(), slow, gbps(l.Gbps()), gbps(fast.DataRate(l.A.Width)))}
		}
	}
	return nil
}

// noExtended adds what switches a speed off that is one of the extended ones, FDR and faster.
func (p *Port) noExtended(best ib.Speed) string {
	if best < ib.FDR || slices.Max(p.SpeedsEnabled) >= ib.FDR {
		return ""
	}
	return " (LinkSpeedExtEnabled is 0): its firmware, force_link_speed_ext of the subnet manager or somebody's " +
		"ibportstate has switched the extended speeds off; infiniband_port switches them on for a card"
}

func top(p *Port) ib.Speed {
	if len(p.SpeedsSupported) == 0 {
		return 0
	}
	return slices.Max(p.SpeedsSupported)
}

// slot compares the link with the PCIe slot of the card at this end.
func (p *Port) slot(l *Link) []string {
	if p.Node.PCIe == nil {
		return nil
	}
	have, ok := p.Node.PCIe.Gbps()
	// With both codings taken off: a slot of "8 GT/s x4" carries less than its name.
	if !ok || have >= l.Gbps() {
		return nil
	}
	c := p.Node.PCIe
	text := fmt.Sprintf("the PCIe slot of %s carries x%d at %s, %s, less than the link's %s", p.Node.Label(), c.Width,
		c.Speed, gbps(have), gbps(l.Gbps()))
	if c.MaxWidth > c.Width || c.MaxSpeed != c.Speed {
		text += fmt.Sprintf("; the card can do x%d at %s", c.MaxWidth, c.MaxSpeed)
	}
	return []string{text}
}

// Gbps is what a slot carries after its encoding: 8b/10b up to 5 GT/s, 128b/130b
// from 8 GT/s on (PCI Express base specification), before the overhead of
// packets, which costs another 10 to 20 percent.
func (c *PCIe) Gbps() (float64, bool) {
	word, _, _ := strings.Cut(c.Speed, " ")
	rate, err := strconv.ParseFloat(word, 64)
	if err != nil || c.Width == 0 {
		return 0, false
	}
	share := 128. / 130
	if rate < 8 {
		share = 0.8
	}
	return rate * share * float64(c.Width), true
}

func gbps(v float64) string { return strconv.FormatFloat(v, 'f', rounding(v), 64) + " Gb/s" }

func rounding(v float64) int {
	if v == float64(int(v)) {
		return 0
	}
	return 1
}

func widths(list []int) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = fmt.Sprintf("%dX", w)
	}
	return strings.Join(words, ", ")
}

func names(list []ib.Speed) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}
