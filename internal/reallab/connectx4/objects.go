//go:build linux

package connectx4

// objects are those of one kind that a driver has made, by number.
type objects[T any] struct {
	all               map[uint32]T
	first, last, next uint32
}

// newObjects is a table whose numbers are from first to last.
func newObjects[T any](first, last uint32) *objects[T] {
	return &objects[T]{all: map[uint32]T{}, first: first, last: last, next: first}
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
	o.all[n] = build(n)
	r.answer(n)
	return ok
}

// drop answers a command that destroys one.
func (o *objects[T]) drop(r *request) byte {
	n := r.object()
	if _, there := o.all[n]; !there {
		return badResource
	}
	delete(o.all, n)
	return ok
}
