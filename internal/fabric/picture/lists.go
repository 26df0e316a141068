package picture

import (
	"fmt"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
)

// lists draws the cables below the switches, one a line.
func (d *drawing) lists() {
	for _, t := range d.trunks {
		d.put(`<path d="M%s %s v14 H%s V%s" stroke="#cbd5e1" stroke-width="3" fill="none" stroke-linejoin="round"/>`,
			num(t[3]), num(t[1]), num(t[0]), num(t[2]))
	}
	for _, r := range d.rows {
		c, number := colourDown, "?"
		if r.link != nil {
			c, number = colour(r.link), strconv.Itoa(r.near.Number)
		}
		left := r.x + 12
		dash := ""
		if c == colourDown {
			dash = ` stroke-dasharray="4 3"`
		}
		d.put(`<path d="M%s %s h%s" stroke="%s" stroke-width="2"%s/>`, num(left), num(r.y), num(branch), c, dash)
		d.put(`<circle cx="%s" cy="%s" r="9" fill="#ffffff" stroke="#cbd5e1"/><text x="%s" y="%s" font-size="10" fill="#334155" text-anchor="middle">%s</text>`,
			num(left+18), num(r.y), num(left+18), num(r.y+3.5), number)
		x, w := left+branch, listWidth-12-branch
		d.put(`<g><title>%s</title>`, xmlText(r.title()))
		d.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="5" fill="#f8fafc" stroke="%s"/>`, num(x),
			num(r.y-rowHeight/2+2), num(w), num(rowHeight-4), rowStroke(c))
		d.rowText(r, x, w, c)
		d.put(`</g>`)
	}
}

// title is the whole name of the other end, which the row may cut.
func (r row) title() string {
	if r.far == nil {
		return r.gone
	}
	return fmt.Sprintf("%s %s", r.far.Label(), r.far.GUID)
}

func rowStroke(c string) string {
	if c == colourFine {
		return "#cbd5e1"
	}
	return c
}

func (d *drawing) rowText(r row, x, w float64, c string) {
	name, device, role := "no answer", "", ""
	if r.far != nil {
		n := r.far.Node
		name, device = title(n)
		if n.PortCount > 1 {
			device += fmt.Sprintf("/%d", r.far.Number)
		}
		if r.far.SM {
			role = manager(d.f, n)
		}
	}
	right := "missing"
	switch {
	case r.link == nil:
		name = fabric.Printable(r.gone)
	case r.far != nil:
		right = rate(r.link)
	default:
		right = ""
	}
	space := w - 18 - 6.2*float64(len([]rune(right)))
	if role != "" {
		space -= 34
	}
	name = fit(name, space, 12)
	device = fit(device, space-7*float64(len([]rune(name))), 10.5)
	d.put(`<text x="%s" y="%s" font-size="12" font-weight="600" fill="#0f172a">%s<tspan font-size="10.5" font-weight="400" fill="#64748b" dx="5">%s</tspan></text>`, num(x+8), num(r.y+4), xmlText(name), xmlText(device))
	d.put(`<text x="%s" y="%s" font-size="11" fill="%s" text-anchor="end">%s</text>`, num(x+w-8), num(r.y+4), c,
		xmlText(right))
	if role != "" {
		d.badge(x+w-14-6.2*float64(len([]rune(right))), r.y, "SM", role == "SM")
	}
}
