package adoption

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// enough is the number of hosts from which on their alike objects are one block.
	enough = 3
	// odd is the number of arguments that may have a value of their own on each host.
	odd = 2
)

// gather makes one block of objects that differ in little but their host. What an object
// refers to comes before it, because blocks are alike only if they refer to one block.
func (f *Lab) gather(all []*Object) {
	for _, kind := range order {
		var found []string
		alike := map[string][]*Object{}
		for _, o := range all {
			if o.Type != kind {
				continue
			}
			key := f.likeness(o)
			if alike[key] == nil {
				found = append(found, key)
			}
			alike[key] = append(alike[key], o)
		}
		for _, key := range found {
			f.join(alike[key])
		}
	}
}

// ending is what the name of an object has after its host.
func (o *Object) ending() string { return strings.TrimPrefix(o.Name, identifier(o.Host)) }

// likeness is equal for objects that one block can stand for, apart from values.
func (f *Lab) likeness(o *Object) string {
	instance := *o
	instance.Key = o.Host
	words := []string{o.ending()}
	for _, a := range f.written(o) {
		words = append(words, a.name)
		if a.to != nil {
			words = append(words, a.expression(&instance))
		}
	}
	return strings.Join(words, "\n")
}

// join makes objects instances of one block, if there are enough of them and the block is
// easier to read than they are.
func (f *Lab) join(alike []*Object) {
	if len(alike) < enough {
		return
	}
	own := f.ownOf(alike)
	if len(own) > odd && alike[0].Type != guidsType { // no card has a GUID of another
		return
	}
	base := "hosts" + alike[0].ending()
	name := base
	for i := 2; f.has(alike[0].Type, name); i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	for _, o := range alike {
		o.Name, o.Key, o.own = name, o.Host, own
	}
}

// ownOf names the arguments whose values differ among alike objects, apart from the host.
func (f *Lab) ownOf(alike []*Object) (own []string) {
	first := f.written(alike[0])
	for _, o := range alike[1:] {
		for i, a := range f.written(o) {
			if a.to == nil && a.name != "host" && expression(a.value) != expression(first[i].value) &&
				!slices.Contains(own, a.name) {
				own = append(own, a.name)
			}
		}
	}
	return own
}

func (f *Lab) has(kind, name string) bool {
	return slices.ContainsFunc(f.objects, func(o *Object) bool { return o.Type == kind && o.Name == name })
}

// instances are the objects of a block. Most blocks have one.
func (f *Lab) instances(o *Object) []*Object {
	if o.Key == "" {
		return []*Object{o}
	}
	return objects(f, func(other *Object) bool { return other.Key != "" && other.block() == o.block() })
}

func hosts(all []*Object) (names []string) {
	for _, o := range all {
		names = append(names, o.Host)
	}
	return names
}

// forEach is what the instances of a block are made from: their hosts, with the values that
// each host has of its own.
func (f *Lab) forEach(all []*Object) string {
	first := all[0]
	if len(first.own) > 0 {
		return perHost(all, func(o *Object) string { return ownValues(o, f.written(o)) })
	}
	if first.card != nil && first.card.Key != "" && slices.Equal(hosts(f.instances(first.card)), hosts(all)) {
		return first.card.block()
	}
	var names []string
	for _, o := range all {
		names = append(names, Text(o.Host))
	}
	if line := strings.Join(names, ", "); len(line) <= width-30 {
		return "toset([" + line + "])"
	}
	return "toset([\n" + strings.Join(names, ",\n") + ",\n])"
}

// ownValues are the values that an object has of its own.
func ownValues(o *Object, given form) string {
	var values []string
	for _, a := range given {
		switch {
		case !slices.Contains(o.own, a.name):
		case len(o.own) == 1:
			return expression(a.value)
		default:
			values = append(values, a.name+" = "+expression(a.value))
		}
	}
	return "{\n" + strings.Join(values, "\n") + "\n}"
}

// perHost is a map with one line for each host.
func perHost(all []*Object, value func(*Object) string) string {
	var b strings.Builder
	for _, o := range all {
		fmt.Fprintf(&b, "%s = %s\n", Text(o.Host), value(o))
	}
	return "{\n" + b.String() + "}"
}

// written is how an object is written that is adopted or taken over.
func (f *Lab) written(o *Object) form {
	if o.taken {
		return f.offered(o)
	}
	return f.forms(o)[o.form]
}

// offered is how an object can be adopted if it may change. What it referred to when it was
// tried may have been refused since.
func (f *Lab) offered(o *Object) form {
	given := make(form, len(o.offer))
	for i, a := range o.offer {
		given[i] = f.argument(o, a.name, a.value)
	}
	return given
}
