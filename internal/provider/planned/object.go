package planned

// Object is what one resource manages on a host, such as the definition of an interface.
type Object struct {
	Kind string // type of the resource
	Key  string // equal under all names and spellings of the object, see Claim
}

func (o Object) key() claimKey { return claimKey{o.Kind, o.Key} }

// remember changes what this walk knows of an object, and gives that.
func (p *Walk) remember(o Object, change func(*fate)) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fates[o.key()]
	change(&f)
	p.fates[o.key()] = f
	return f
}

// Stays remembers that an object of the state is kept, and reports whether this walk
// destroys another one that is the same.
func (p *Walk) Stays(o Object) (goes bool) {
	return p.remember(o, func(f *fate) { f.stays = true }).goes
}

// Goes remembers that an object of the state is destroyed, and reports whether this walk
// keeps another one that is the same.
func (p *Walk) Goes(o Object) (stays bool) {
	return p.remember(o, func(f *fate) { f.goes = true }).stays
}

// Make remembers that this walk has made or changed an object: it is of a resource that
// stays.
func (p *Walk) Make(o Object) { p.remember(o, func(f *fate) { f.made = true }) }

// Made reports whether this walk has made or changed the object.
func (p *Walk) Made(o Object) bool { return p.remember(o, func(*fate) {}).made }

// Remove remembers that this walk has removed an object, and the values of it that the plan
// has shown to end.
func (p *Walk) Remove(o Object, shown []string) {
	p.remember(o, func(f *fate) { f.shown = shown })
}

// Removed gives the values that the plan has shown to end, of an object that this walk has
// removed. Core plans the new object of a replacement again after that, with no state.
func (p *Walk) Removed(o Object) (shown []string) { return p.remember(o, func(*fate) {}).shown }
