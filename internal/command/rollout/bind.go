package rollout

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// announced are the changes that the operator saw, by address.
type announced map[string]*change

func announce(p *plan) announced {
	all := announced{}
	for _, c := range p.pending() {
		all[c.Address] = c
	}
	return all
}

// beyond says what a later plan would do that the operator did not see. It may do less: what has been
// done since then is no change any more.
func (a announced) beyond(p *plan) []string {
	var all []string
	for _, c := range p.pending() {
		if why := a.exceeds(c); why != "" {
			all = append(all, c.Address+": "+why)
		}
	}
	return all
}

// exceeds says how a change is not the one that was shown; empty if it is.
func (a announced) exceeds(c *change) string {
	shown := a[c.Address]
	if shown == nil {
		return c.does() + ", and was not in the plan that was shown"
	}
	now, then := c.Change, shown.Change
	if !slices.Equal(now.Actions, then.Actions) {
		return c.does() + "; the plan that was shown said: " + shown.does()
	}
	if now.Importing != nil && (then.Importing == nil || now.Importing.ID != then.Importing.ID) {
		return "adopts " + now.Importing.ID + ", and the plan that was shown did not"
	}
	return c.differs(shown)
}

// differs says which values are not those that were shown; empty if there are none.
func (c *change) differs(shown *change) string {
	now, then := c.Change, shown.Change
	var other, open []string
	for _, name := range c.changed() {
		switch later := anyTrue(now.Unknown[name]); {
		case anyTrue(then.Unknown[name]):
		case later && slices.Contains(effects, name):
			open = append(open, name)
		case later || !covers(name, then.After[name], now.After[name]):
			other = append(other, name)
		}
	}
	switch {
	case len(other) > 0:
		return strings.Join(other, ", ") + " would not be what the plan that was shown said"
	case len(open) > 0:
		return strings.Join(open, ", ") + " cannot be known before the apply. An earlier apply may not have finished: " +
			"\"plan\" of the engine names its job"
	}
	return ""
}

// changed are the attributes that the plan changes, sorted. What only the host decides may change
// between two plans: it is no change of this one.
func (c *change) changed() []string {
	var all []string
	for name, after := range c.Change.After {
		if !reflect.DeepEqual(after, c.Change.Before[name]) {
			all = append(all, name)
		}
	}
	for name, later := range c.Change.Unknown {
		if anyTrue(later) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// anyTrue reports whether a part of after_unknown says that something is not known.
func anyTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case []any:
		return slices.ContainsFunc(v, anyTrue)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), anyTrue)
	}
	return false
}

// effects are the attributes that say what an apply does besides its object. It may do less of that: an apply
// that failed has done the first steps.
var effects = []string{"change", "restarts", "drains"}

// covers reports whether a value was shown.
func covers(name string, shown, now any) bool {
	if reflect.DeepEqual(shown, now) {
		return true
	}
	if !slices.Contains(effects, name) {
		return false
	}
	if now == nil {
		return true
	}
	before, isText := shown.(string)
	after, isTextNow := now.(string)
	steps := strings.Split(before, "; ")
	return isText && isTextNow && !slices.ContainsFunc(strings.Split(strings.TrimPrefix(after, "again: "), "; "),
		func(step string) bool { return !slices.Contains(steps, step) })
}
