package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
)

// SVG draws a picture that needs nothing else: no fonts, scripts or styles from
// elsewhere. Its background is white, so that it can be read in dark pages too.
func SVG(f *fabric.Fabric, missing []fabric.AbsentCable) string {
	l := place(f, missing)
	d := &drawing{layout: l, usual: usual(f), many: len(f.Links) > 2*fewAdapters}
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" font-family="Inter, 'Segoe UI', Helvetica, Arial, sans-serif" role="img">`+"\n",
		num(l.width), num(l.height), num(l.width), num(l.height))
	d.put(`<title>InfiniBand fabric: %s</title>`, xmlText(summary(f)))
	d.put(`<rect width="%s" height="%s" rx="12" fill="#ffffff" stroke="#e2e8f0"/>`, num(l.width), num(l.height))
	d.head()
	d.lines()
	d.lists()
	for _, b := range l.boxes {
		d.box(b)
	}
	writeLabels(&d.b, append(d.badges, d.labels...), d.covered())
	d.legend(len(missing) > 0)
	d.b.WriteString("</svg>\n")
	return d.b.String()
}

type drawing struct {
	*layout
	b      strings.Builder
	labels []label // on top of everything
	badges []label // the same, where they have to be
	usual  string
	many   bool
}

// covered is what boxes and lists take.
func (d *drawing) covered() (all []area) {
	for _, b := range d.boxes {
		all = append(all, area{b.x, b.y, b.x + b.w, b.y + b.h})
	}
	for _, r := range d.rows {
		all = append(all, area{r.x, r.y - rowHeight/2, r.x + listWidth, r.y + rowHeight/2})
	}
	return all
}

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func num(v float64) string {
	// One decimal: more would differ between processors, and the same fabric has to give the same bytes.
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "ch"):
		return fmt.Sprintf("%d %ses", n, one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func summary(f *fabric.Fabric) string {
	hosts, cards, switches := map[string]bool{}, 0, 0
	for _, n := range f.Nodes {
		if n.Switch {
			switches++
			continue
		}
		cards++
		hosts[n.HostName()] = true
	}
	return plural(len(hosts), "host") + ", " + plural(cards, "card") + ", " + plural(switches,
		"switch") + ", " + plural(len(f.Links), "link")
}

func (d *drawing) head() {
	d.put(`<text x="%s" y="36" font-size="17" font-weight="600" fill="#0f172a">InfiniBand fabric</text>`, num(margin))
	text, fill := "no subnet manager", colourDown
	if d.f.Master() == nil && !d.f.Ruled.Known() {
		text = "subnet manager not known"
	}
	if m := d.f.Master(); m != nil {
		who := m.GUID.String()
		if m.Node != nil {
			who, _ = title(m.Node)
		}
		text, fill = fmt.Sprintf("SM %s, priority %d", who, m.Priority), "#047857"
	}
	d.put(`<text x="%s" y="56" font-size="12" fill="#475569">%s · <tspan fill="%s" font-weight="600">%s</tspan></text>`,
		num(margin), xmlText(summary(d.f)), fill, xmlText(text))
}

// ending is where a line meets a box, and how far the next one is.
type ending struct{ x, y, room float64 }

// numberRoom is what a port's number takes.
const numberRoom = 19.

// lines draws the cables between boxes, and those that are missing.
func (d *drawing) lines() {
	at := d.endings()
	beside, silent := map[[2]*box]int{}, map[*box][]int{}
	for _, k := range d.edges {
		if k.B == nil {
			silent[d.of[k.A.Node]] = append(silent[d.of[k.A.Node]], k.A.Number)
		}
	}
	for _, b := range d.boxes {
		d.nowhere(b, silent[b])
	}
	for i, k := range d.edges {
		if k.B == nil {
			continue
		}
		d.line(k, at[i][0], at[i][1], beside)
	}
	for _, m := range d.missing {
		d.absent(m)
	}
}

// absent draws a cable that should be there; between two boxes of a row it goes over the top.
func (d *drawing) absent(m edge) {
	high, low := m.a, m.b
	if low.y < high.y {
		high, low = low, high
	}
	from, to := point{high.x + high.w - 10, high.y + high.h}, point{low.middle(), low.y}
	path, part := fmt.Sprintf("L%s %s", num(to.x), num(to.y)), 0.75
	places := along(from, to, part)
	if high.y == low.y {
		from = point{high.middle(), high.y}
		lift := min(30, 12+math.Abs(from.x-to.x)*0.06)
		path = fmt.Sprintf("Q%s %s %s %s", num((from.x+to.x)/2), num(from.y-2*lift), num(to.x), num(to.y))
		places = along(point{from.x, from.y - lift}, point{to.x, to.y - lift}, 0.5)
	}
	d.put(`<path d="M%s %s %s" stroke="%s" stroke-width="2" stroke-dasharray="6 5" fill="none"/>`, num(from.x), num(from.y),
		path, colourDown)
	d.tag(places, "missing", colourDown)
}

// side is the upper or the lower side of a box.
type side struct {
	of *box
	up bool
}

// end is one end of a cable at a side.
type end struct {
	link, which int // which: 0 for A, 1 for B
	to          *box
}

// endings spreads the ends at one side of a box over it, in the order of what
// they lead to, so that they do not cross there.
func (d *drawing) endings() [][2]ending {
	sides := map[side][]end{}
	for i, k := range d.edges {
		if k.B == nil {
			continue
		}
		a, b := d.of[k.A.Node], d.of[k.B.Node]
		for which, pair := range [][2]*box{{a, b}, {b, a}} {
			from, to := pair[0], pair[1]
			s := side{from, to.y < from.y || to.y == from.y && from.node.Switch}
			sides[s] = append(sides[s], end{i, which, to})
		}
	}
	at := make([][2]ending, len(d.edges))
	for s, list := range sides {
		slices.SortStableFunc(list, func(p, q end) int {
			return cmp.Or(cmp.Compare(p.to.middle(), q.to.middle()), cmp.Compare(p.link, q.link))
		})
		y := s.of.y + s.of.h
		if s.up {
			y = s.of.y
		}
		for i, e := range list {
			room := s.of.w / (float64(len(list)) + 1)
			at[e.link][e.which] = ending{s.of.x + room*(float64(i)+1), y, room}
		}
	}
	return at
}

func (d *drawing) line(k *fabric.Link, a, b ending, beside map[[2]*box]int) {
	c := colour(k)
	width := 2.
	if d.many {
		width = 1.1
		if c != colourFine {
			width = 2.2
		}
	}
	from, to := d.of[k.A.Node], d.of[k.B.Node]
	middle := ending{x: (a.x + b.x) / 2, y: (a.y + b.y) / 2}
	path := fmt.Sprintf("M%s %s L%s %s", num(a.x), num(a.y), num(b.x), num(b.y))
	switch {
	case from.y == to.y && !from.node.Switch: // back to back
		a, b = between(from, to, beside)
		middle = ending{x: (a.x + b.x) / 2, y: a.y}
		path = fmt.Sprintf("M%s %s L%s %s", num(a.x), num(a.y), num(b.x), num(b.y))
	case from.y == to.y: // switches beside each other: over the top
		lift := 30 + math.Abs(a.x-b.x)*0.06
		path = fmt.Sprintf("M%s %s Q%s %s %s %s", num(a.x), num(a.y), num(middle.x), num(a.y-2*lift), num(b.x), num(b.y))
		middle.y = a.y - lift
	}
	dash := ""
	if c == colourDown {
		dash = ` stroke-dasharray="6 5"`
	}
	d.put(`<path d="%s" stroke="%s" stroke-width="%s" fill="none"%s><title>%s: %s</title></path>`, path, c, num(width),
		dash, xmlText(k.Name()), xmlText(rate(k)))
	if !d.many || rate(k) != d.usual {
		d.tag(append([]point{{middle.x, middle.y}}, along(point{a.x, a.y}, point{b.x, b.y}, 0.5)...), rate(k), c)
	}
	d.portNumber(k.A, a, b)
	d.portNumber(k.B, b, a)
}

// between joins the facing sides of two boxes of a row; further cables of a pair
// lie below the first.
func between(from, to *box, beside map[[2]*box]int) (a, b ending) {
	left, right := from, to
	if to.x < from.x {
		left, right = to, from
	}
	pair := [2]*box{left, right}
	y := left.y + left.h/2 - 8 + float64(beside[pair])*20
	beside[pair]++
	a, b = ending{x: left.x + left.w, y: y}, ending{x: right.x, y: y}
	if left == to {
		a, b = b, a
	}
	return a, b
}

// nowhere draws links whose other ends do not answer, those of one box together: below a card, beside a switch.
func (d *drawing) nowhere(b *box, ports []int) {
	if len(ports) == 0 {
		return
	}
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(ports), " ", ", "), "[]") + ": ?"
	if text = "port " + text; len(ports) > 1 {
		text = "ports " + text[len("port "):]
	}
	x, y, way, at := b.x+b.w, b.y+b.h/2, "h34", point{b.x + b.w + 66, b.y + b.h/2}
	if !b.node.Switch {
		x, y, way, at = b.x+14, b.y+b.h, "v16", point{b.x + b.w/2 - 12, b.y + b.h + 20}
	}
	d.put(`<path d="M%s %s %s" stroke="%s" stroke-width="2" stroke-dasharray="6 5"/>`, num(x), num(y), way, colourDown)
	d.tag([]point{at}, text, colourDown)
}

// portNumber writes a port's number on the line, just outside its box, where many
// lines leave room for it.
func (d *drawing) portNumber(p *fabric.Port, at, other ending) {
	if at.x == other.x && at.y == other.y || d.many && at.room < numberRoom {
		return
	}
	d.labels = append(d.labels, label{w: 17, h: 17, places: near(point{at.x, at.y}, point{other.x, other.y}, 17),
		draw: func(at point) string {
			return fmt.Sprintf(`<circle cx="%s" cy="%s" r="8.5" fill="#ffffff" stroke="#cbd5e1"/><text x="%s" y="%s" font-size="10" fill="#334155" text-anchor="middle">%d</text>`+"\n",
				num(at.x), num(at.y), num(at.x), num(at.y+3.5), p.Number)
		}})
}

// tag writes text on a line, on a background of its own.
func (d *drawing) tag(places []point, text, colour string) {
	w := 6.3*float64(len([]rune(text))) + 12
	d.labels = append(d.labels, label{w: w, h: 18, places: places, always: true, draw: func(at point) string {
		return fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="18" rx="9" fill="#ffffff" stroke="%s" stroke-opacity="0.5"/><text x="%s" y="%s" font-size="11" font-weight="600" fill="%s" text-anchor="middle">%s</text>`+"\n",
			num(at.x-w/2), num(at.y-9), num(w), colour, num(at.x), num(at.y+4), colour, xmlText(text))
	}})
}

func fit(text string, width, size float64) string {
	// A letter is about 0.56 of its size wide in the fonts that are asked for; none can be measured here.
	most := int(width / (size * 0.56))
	if r := []rune(text); len(r) > most && most > 1 {
		return string(r[:most-1]) + "…"
	}
	return text
}

func (d *drawing) box(b *box) {
	n := b.node
	if n == nil {
		d.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="8" fill="#fef2f2" stroke="%s" stroke-dasharray="6 5"/>`,
			num(b.x), num(b.y), num(b.w), num(b.h), colourDown)
		d.text(b.middle(), b.y+27, 13, "#991b1b", true, fit(fabric.Printable(b.name), b.w-14, 13))
		d.text(b.middle(), b.y+46, 11, colourDown, false, "not found")
		return
	}
	role := manager(d.f, n)
	fill, stroke, ink, faint := "#f8fafc", "#94a3b8", "#0f172a", "#64748b"
	if n.Switch {
		fill, stroke, ink, faint = "#1e293b", "#0f172a", "#f8fafc", "#94a3b8"
	}
	if role == "SM" {
		stroke = "#059669"
	}
	width := 1.2
	if role == "SM" {
		width = 2.4
	}
	d.put(`<g><title>%s %s</title>`, xmlText(n.Label()), n.GUID)
	d.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="8" fill="%s" stroke="%s" stroke-width="%s"/>`, num(b.x),
		num(b.y), num(b.w), num(b.h), fill, stroke, num(width))
	name, second := title(n)
	if n.Switch {
		name, second = n.Label(), plural(n.PortCount, "port")
	}
	second = cmp.Or(second, "card")
	if lid := d.lid(n); lid != "" {
		second += " · " + lid
	}
	d.text(b.middle(), b.y+b.h/2-4, 13, ink, true, fit(name, b.w-14, 13))
	d.text(b.middle(), b.y+b.h/2+14, 11, faint, false, fit(second, b.w-14, 11))
	d.put(`</g>`)
	if role != "" {
		y := b.y + b.h // lines come from above
		if n.Switch {
			y = b.y
		}
		d.badge(b.x+b.w-8, y, role, role == "SM")
	}
}

func (d *drawing) lid(n *fabric.Node) string {
	if n.Switch {
		if n.LID > 0 {
			return fmt.Sprintf("LID %d", n.LID)
		}
		return ""
	}
	for _, p := range n.Ports {
		if p.LID > 0 {
			return fmt.Sprintf("LID %d", p.LID)
		}
	}
	return ""
}

// badge marks a subnet manager; x is its right end, y its middle.
func (d *drawing) badge(x, y float64, role string, rules bool) {
	w := 6.6*float64(len(role)) + 14
	fill, ink := "#059669", "#ffffff"
	if !rules {
		fill, ink = "#d1fae5", "#065f46"
	}
	d.badges = append(d.badges, label{w: w, h: 18, places: []point{{x - w/2, y}}, always: true,
		draw: func(point) string {
			return fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="18" rx="9" fill="%s"/><text x="%s" y="%s" font-size="11" font-weight="700" fill="%s" text-anchor="middle">%s</text>`+"\n",
				num(x-w), num(y-9), num(w), fill, num(x-w/2), num(y+4), ink, xmlText(role))
		}})
}

func (d *drawing) text(x, y, size float64, fill string, bold bool, text string) {
	weight := ""
	if bold {
		weight = ` font-weight="600"`
	}
	d.put(`<text x="%s" y="%s" font-size="%s"%s fill="%s" text-anchor="middle">%s</text>`, num(x), num(y), num(size),
		weight, fill, xmlText(text))
}

func (d *drawing) legend(missing bool) {
	y := d.height - 22
	d.put(`<path d="M%s %s H%s" stroke="#e2e8f0"/>`, num(margin), num(y-22), num(d.width-margin))
	x := margin
	entry := func(colour, text string, dashed bool) {
		dash := ""
		if dashed {
			dash = ` stroke-dasharray="6 5"`
		}
		d.put(`<path d="M%s %s h26" stroke="%s" stroke-width="3"%s/><text x="%s" y="%s" font-size="11" fill="#475569">%s</text>`, num(x), num(y), colour, dash, num(x+33), num(y+4), text)
		x += 33 + 6.1*float64(len(text)) + 20
	}
	entry(colourFine, "fine", false)
	entry(colourSlow, "slower than it could be", false)
	down := "down or not active"
	if missing {
		down = "down, not active or missing"
	}
	entry(colourDown, down, true)
	if d.many && d.usual != "" && len(d.edges) > 0 {
		d.put(`<text x="%s" y="%s" font-size="11" fill="#475569">lines without a label: %s</text>`, num(x), num(y+4),
			xmlText(d.usual))
	}
}
