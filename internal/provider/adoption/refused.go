package adoption

import (
	"fmt"
	"slices"
	"strings"
)

// RefusedAlike are the objects that are not adopted. Those of which the same is said are
// together, so that it is said once.
func (f *Lab) RefusedAlike() (all [][]*Object) {
	for _, o := range f.Refused() {
		i := slices.IndexFunc(all, func(group []*Object) bool { return sameReason(group[0], o) })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], o)
	}
	return all
}

// sameReason reports whether the same is said of two objects, apart from their names. Where
// a resource follows that adopts it, each has its own.
func sameReason(a, b *Object) bool {
	same := func(x, y string) bool { return x == y || a.unnamed(x) == b.unnamed(y) }
	return a.Type == b.Type && a.offer == nil && b.offer == nil &&
		slices.EqualFunc(strings.Fields(a.Reason.String()), strings.Fields(b.Reason.String()), same)
}

// unnamed is a word without what names the object: its id, or a part of that.
func (o *Object) unnamed(word string) string {
	names := []string{o.ID, "<id>"}
	for i, part := range strings.Split(o.ID, "/") {
		names = append(names, part, fmt.Sprintf("<%d>", i))
	}
	return strings.NewReplacer(names...).Replace(word)
}

// IDs names objects in one line.
func IDs(all []*Object) string {
	ids := make([]string, len(all))
	for i, o := range all {
		ids[i] = o.ID
	}
	return strings.Join(ids, ", ")
}
