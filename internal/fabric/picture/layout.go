package picture

import (
	"cmp"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
)

// A fabric is drawn in layers: adapters at the bottom, switches by their distance
// from an adapter above. Few adapters are boxes in a row; many are lists below
// their switch, a line for each cable, as on a patch panel: a row of 64 boxes
// would be too wide to read.
const (
	boxWidth, boxHeight = 148., 62.
	cardGap             = 26.
	switchHeight        = 54.
	layerGap            = 118.
	margin              = 28.
	headHeight          = 56.
	footHeight          = 46.

	rowHeight, listWidth = 25., 262.
	branch               = 46. // of a row's cable, from the trunk
	maxRows              = 18
	fewAdapters          = 8
)

// box is a node with its place.
type box struct {
	node       *fabric.Node // nil of a node that is missing
	name       string       // of a missing one
	x, y, w, h float64
	rank       int
}

func (b *box) middle() float64 { return b.x + b.w/2 }

// row is one cable in a list below a switch.
type row struct {
	link *fabric.Link
	near *fabric.Port // of the switch
	far  *fabric.Port // of the adapter
	x, y float64
	// gone names the other end of a cable that should be there; link is nil then.
	gone string
}

// layout is where everything is.
type layout struct {
	f             *fabric.Fabric
	width, height float64
	boxes         []*box
	of            map[*fabric.Node]*box
	rows          []row
	trunks        [][]float64    // x, top, bottom, x of the switch
	edges         []*fabric.Link // those drawn as lines between boxes
	missing       []edge
}

// edge is a cable that should be there.
type edge struct{ a, b *box }

func place(f *fabric.Fabric, missing []fabric.AbsentCable) *layout {
	l := &layout{f: f, of: map[*fabric.Node]*box{}}
	ranks := rank(f)
	layers := map[int][]*box{}
	top, adapters := 0, 0
	for _, n := range f.Nodes {
		b := &box{node: n, rank: ranks[n], w: boxWidth, h: boxHeight}
		adapters++
		if n.Switch {
			b.h = switchHeight
			adapters--
		}
		l.of[n] = b
		layers[b.rank] = append(layers[b.rank], b)
		top = max(top, b.rank)
	}
	many := adapters > fewAdapters && top > 0
	gone := map[*fabric.Node][]string{}
	for _, m := range missing {
		if !many || !l.inList(m, gone) {
			l.missing = append(l.missing, edge{l.ghost(m.NodeA, m.A, layers), l.ghost(m.NodeB, m.B, layers)})
		}
	}
	if many {
		l.lists(layers, gone)
	} else {
		l.row(layers[0])
	}
	l.above(layers, top)
	l.stack(layers, top)
	for r := top; r >= 0; r-- {
		l.boxes = append(l.boxes, layers[r]...)
	}
	return l
}

// inList notes a missing cable between a switch and an adapter as a line of the
// switch's list, where there are lists.
func (l *layout) inList(m fabric.AbsentCable, gone map[*fabric.Node][]string) bool {
	a, b := l.of[m.NodeA], l.of[m.NodeB]
	switch {
	case a != nil && a.rank == 1 && (b == nil || b.rank == 0):
		gone[a.node] = append(gone[a.node], m.B)
	case b != nil && b.rank == 1 && (a == nil || a.rank == 0):
		gone[b.node] = append(gone[b.node], m.A)
	default:
		return false
	}
	return true
}

// ghost is the box of an end, a new one if there is no such node.
func (l *layout) ghost(n *fabric.Node, name string, layers map[int][]*box) *box {
	if b := l.of[n]; b != nil {
		return b
	}
	b := &box{name: name, w: boxWidth, h: boxHeight}
	layers[0] = append(layers[0], b)
	return b
}

// rank is the distance of a switch from the nearest adapter.
func rank(f *fabric.Fabric) map[*fabric.Node]int {
	ranks := map[*fabric.Node]int{}
	for _, n := range f.Nodes {
		if n.Switch {
			ranks[n] = -1
		}
	}
	for changed, r := true, 1; changed; r++ {
		changed = false
		for _, l := range f.Links {
			if l.B == nil {
				continue
			}
			for _, pair := range [][2]*fabric.Node{{l.A.Node, l.B.Node}, {l.B.Node, l.A.Node}} {
				if ranks[pair[0]] == -1 && ranks[pair[1]] == r-1 {
					ranks[pair[0]], changed = r, true
				}
			}
		}
	}
	// Switches that no adapter is behind, as of a part that is down, are drawn with the lowest.
	for n, r := range ranks {
		if r == -1 {
			ranks[n] = 1
		}
	}
	return ranks
}

// neighbours gives the boxes that a box has cables to, with the port there.
func (l *layout) neighbours(b *box) (list []*fabric.Port) {
	for _, k := range l.f.Links {
		switch {
		case k.B == nil:
		case k.A.Node == b.node:
			list = append(list, k.B)
		case k.B.Node == b.node:
			list = append(list, k.A)
		}
	}
	return list
}

// row puts adapters side by side, in the order of the switches' ports.
func (l *layout) row(adapters []*box) {
	order := map[*fabric.Node]int{}
	for i, n := range l.f.Nodes {
		order[n] = i
	}
	first := func(b *box) (int, int) {
		node, port := len(order), 0
		for _, p := range l.neighbours(b) {
			if p.Node.Switch && order[p.Node] < node {
				node, port = order[p.Node], p.Number
			}
		}
		return node, port
	}
	slices.SortStableFunc(adapters, func(a, b *box) int {
		an, ap := first(a)
		bn, bp := first(b)
		return cmp.Or(cmp.Compare(an, bn), cmp.Compare(ap, bp))
	})
	x := margin
	for i, b := range adapters {
		if i > 0 {
			x += cardGap
			for _, p := range l.neighbours(b) {
				if p.Node == adapters[i-1].node && !p.Node.Switch {
					x += 120 // room for the cable between the two and its labels
					break
				}
			}
		}
		b.x = x
		x += b.w
	}
	l.width = x + margin
	l.edges = l.f.Links
}

// lists puts the cables of adapters below their switch.
func (l *layout) lists(layers map[int][]*box, gone map[*fabric.Node][]string) {
	x := margin
	for _, b := range layers[1] {
		rows := l.rowsOf(b)
		for _, name := range gone[b.node] {
			rows = append(rows, row{gone: name})
		}
		columns := max(1, (len(rows)+maxRows-1)/maxRows)
		each := max(1, (len(rows)+columns-1)/columns)
		for i := range rows {
			rows[i].x, rows[i].y = x+float64(i/each)*(listWidth+cardGap), float64(i%each)*rowHeight
		}
		l.rows = append(l.rows, rows...)
		width := float64(columns)*(listWidth+cardGap) - cardGap
		b.w = min(width, listWidth)
		b.x = x + (width-b.w)/2
		for c := range columns {
			left := x + float64(c)*(listWidth+cardGap) + 12
			if last := min(each, len(rows)-c*each); last > 0 {
				l.trunks = append(l.trunks, []float64{left, 0, float64(last-1) * rowHeight, b.middle()})
			}
		}
		x += width + cardGap*1.5
	}
	l.width = x - cardGap*1.5 + margin
	var loose []*box
	for _, b := range layers[0] {
		connected := slices.ContainsFunc(l.neighbours(b), func(p *fabric.Port) bool { return p.Node.Switch })
		if !connected {
			loose = append(loose, b)
		}
	}
	layers[0] = loose
	for _, k := range l.f.Links {
		if k.B != nil && k.A.Node.Switch == k.B.Node.Switch {
			l.edges = append(l.edges, k)
		}
	}
	lx := margin
	for _, b := range loose {
		b.x = lx
		lx += b.w + cardGap
	}
	l.width = max(l.width, lx)
}

// rowsOf lists the cables between a switch and adapters, by its ports.
func (l *layout) rowsOf(b *box) []row {
	var rows []row
	for _, k := range l.f.Links {
		switch {
		case k.B == nil && k.A.Node == b.node:
			rows = append(rows, row{link: k, near: k.A})
		case k.B == nil:
		case k.A.Node == b.node && !k.B.Node.Switch:
			rows = append(rows, row{link: k, near: k.A, far: k.B})
		case k.B.Node == b.node && !k.A.Node.Switch:
			rows = append(rows, row{link: k, near: k.B, far: k.A})
		}
	}
	slices.SortStableFunc(rows, func(p, q row) int { return cmp.Compare(p.near.Number, q.near.Number) })
	return rows
}

// above centres every switch over what is below it and pushes apart those that
// would overlap.
func (l *layout) above(layers map[int][]*box, top int) {
	for r := 1; r <= top; r++ {
		layer := layers[r]
		if r == 1 && len(l.rows) > 0 {
			continue // placed with their lists
		}
		for _, b := range layer {
			sum, n := 0., 0
			for _, p := range l.neighbours(b) {
				if o := l.of[p.Node]; o.rank < r {
					sum, n = sum+o.middle(), n+1
				}
			}
			if n == 0 {
				sum, n = l.width/2, 1
			}
			b.w = max(boxWidth, min(300, 8.6*float64(len([]rune(b.node.Label())))), 46*float64(n))
			if r > 1 && len(layer) > 1 {
				b.w = 136
			}
			b.x = sum/float64(n) - b.w/2
		}
		slices.SortStableFunc(layer, func(a, b *box) int { return cmp.Compare(a.middle(), b.middle()) })
		spread(layer)
	}
	// What was pushed out on the left moves everything to the right.
	left := 0.
	for _, layer := range layers {
		for _, b := range layer {
			left = min(left, b.x-margin)
			l.width = max(l.width, b.x+b.w+margin)
		}
	}
	l.shift(layers, -left)
	l.width = max(l.width-left, 560)
	l.centre(layers)
}

// spread keeps the boxes of a layer apart and their common centre in place.
func spread(layer []*box) {
	const gap = 20.
	total := -gap
	want := 0.
	overlap := false
	for i, b := range layer {
		total += b.w + gap
		want += b.middle()
		overlap = overlap || i > 0 && b.x < layer[i-1].x+layer[i-1].w+gap
	}
	if !overlap {
		return
	}
	x := want/float64(len(layer)) - total/2
	for _, b := range layer {
		b.x = x
		x += b.w + gap
	}
}

func (l *layout) shift(layers map[int][]*box, by float64) {
	for _, layer := range layers {
		for _, b := range layer {
			b.x += by
		}
	}
	for i := range l.rows {
		l.rows[i].x += by
	}
	for _, t := range l.trunks {
		t[0], t[3] = t[0]+by, t[3]+by
	}
}

// centre moves a narrow drawing to the middle of its frame.
func (l *layout) centre(layers map[int][]*box) {
	right := 0.
	for _, layer := range layers {
		for _, b := range layer {
			right = max(right, b.x+b.w)
		}
	}
	for _, r := range l.rows {
		right = max(right, r.x+listWidth)
	}
	if free := l.width - margin - right; free > 1 {
		l.shift(layers, free/2)
	}
}

// stack gives every layer its height.
func (l *layout) stack(layers map[int][]*box, top int) {
	y := headHeight + margin
	for r := top; r >= 1; r-- {
		for _, b := range layers[r] {
			b.y = y
		}
		y += switchHeight
		if r > 1 {
			y += layerGap + 30
		}
	}
	if len(l.rows) > 0 {
		start, lowest := y+46, y
		for i := range l.rows {
			l.rows[i].y += start
			lowest = max(lowest, l.rows[i].y)
		}
		for _, t := range l.trunks {
			t[1], t[2] = y, t[2]+start
		}
		y = lowest + rowHeight
	}
	if len(layers[0]) > 0 {
		switch {
		case len(l.rows) > 0:
			y += 40
		case top > 0:
			// Flat lines are hard to follow: the wider, the higher.
			y += max(layerGap, l.width*0.11)
		}
		for _, b := range layers[0] {
			b.y = y
		}
		y += boxHeight
	}
	l.height = y + margin + footHeight
}
