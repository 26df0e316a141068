package picture

import (
	"math"
	"slices"
	"strings"
)

// label is a text above the lines. It goes to the first of its places that is free of other labels and, but for the
// number of a port, of boxes.
type label struct {
	w, h   float64
	places []point // of its middle, the best first
	always bool    // it is at its best place if none is free; else it is the number of a port, and is left out
	draw   func(at point) string
}

type point struct{ x, y float64 }

// area is what something covers: left, top, right, bottom.
type area struct{ x1, y1, x2, y2 float64 }

func around(at point, w, h float64) area {
	return area{at.x - w/2, at.y - h/2, at.x + w/2, at.y + h/2}
}

func (a area) meets(b area) bool { return a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2 }

// writeLabels writes labels in their order. None covers another one or an area of boxes, as far as there is room.
func writeLabels(b *strings.Builder, labels []label, boxes []area) {
	var taken []area
	for _, l := range labels {
		avoid := taken
		// The number of a port may cover a box, which has room at its edge; a rate may not hide a name.
		if l.always {
			avoid = append(slices.Clip(taken), boxes...)
		}
		at, free := l.place(avoid)
		if !free && !l.always {
			continue
		}
		taken = append(taken, around(at, l.w, l.h))
		b.WriteString(l.draw(at))
	}
}

func (l label) place(taken []area) (at point, free bool) {
	for _, p := range l.places {
		own, free := around(p, l.w, l.h), true
		for i := range taken {
			if free = !own.meets(taken[i]); !free {
				break
			}
		}
		if free {
			return p, true
		}
	}
	return l.places[0], false
}

// along are places on a line from a to b, the first at a part of its length and the others ever farther from that,
// then beside the line.
func along(a, b point, part float64) (all []point) {
	// On the line before beside it: a label that is off its line belongs to any of several.
	for _, beside := range []float64{0, -20, 20, -40, 40} {
		for step := 0.; step <= 0.8; step += 0.04 {
			for _, t := range []float64{part - step, part + step} {
				if t >= 0.08 && t <= 0.92 {
					all = append(all, point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t + beside})
				}
			}
		}
	}
	return all
}

// near are places on a line from a to b that begin close to a and do not pass its middle.
func near(a, b point, away float64) (all []point) {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	for ; away < max(length/2, away+1) && len(all) < 12; away += 6 {
		all = append(all, point{a.x + (b.x-a.x)/length*away, a.y + (b.y-a.y)/length*away})
	}
	return all
}
