//go:build linux

package connectx4

// objects are those of one kind that a driver has made, by number.
type objects[T any] struct {
	all               map[uint32]T
	first, last, next uint32
	lists             *budget // of pages, for those that have a list of them
}

// newObjects is a table whose numbers are from first to last.
func newObjects[T any](first, last uint32, lists *budget) *objects[T] {
	return &objects[T]{all: map[uint32]T{}, first: first, last: last, next: first, lists: lists}
}

// budget is how many pages are in the lists of all objects.
type budget int

// maxListed bounds it: 8 GiB are more than a machine of the lab has.
const maxListed budget = 1 << 21

// swap replaces a list by another, if there is room for it.
func (b *budget) swap(old, fresh int) bool {
	after := *b + budget(fresh-old)
	if after > maxListed {
		return false
	}
	*b = after
	return true
}

// pagesIn is how many pages the list of an object has.
func pagesIn(v any) int {
	if q, has := v.(interface{ listed() int }); has {
		return q.listed()
	}
	return 0
}

// maxObjects bounds each table, whatever a hostile machine asks for.
const maxObjects = 1 << 16

// reserve finds a free number; false if there is none.
func (o *objects[T]) reserve() (uint32, bool) {
	if len(o.all) >= maxObjects || uint32(len(o.all)) > o.last-o.first {
		return 0, false
	}
	for {
		n := o.next
		if o.next++; o.next > o.last {
			o.next = o.first
		}
		if _, taken := o.all[n]; !taken {
			return n, true
		}
	}
}

// at is the object with a number; the zero value if there is none.
func (o *objects[T]) at(n uint32) T { return o.all[n] }

// make answers a command that makes an object of its number.
func (o *objects[T]) make(r *request, build func(n uint32) T) byte {
	n, free := o.reserve()
	if !free {
		return limitReached
	}
	return o.put(r, n, build(n))
}

// put is make for an object that has been built for a number that was reserved.
func (o *objects[T]) put(r *request, n uint32, v T) byte {
	if !o.lists.swap(0, pagesIn(v)) {
		return limitReached
	}
	o.all[n] = v
	r.answer(n)
	return ok
}

// drop answers a command that destroys one.
func (o *objects[T]) drop(r *request) byte {
	n := r.object()
	v, there := o.all[n]
	if !there {
		return badResource
	}
	o.lists.swap(pagesIn(v), 0)
	delete(o.all, n)
	return ok
}
