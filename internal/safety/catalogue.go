package safety

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

var registry = struct {
	sync.RWMutex
	rules map[string]Rule
}{rules: map[string]Rule{}}

// Register adds rules to the catalogue, for packages that find things of their
// own. It is called while package variables are initialised and panics if a
// code is taken, so that a code never means two things.
func Register(rules ...Rule) []Rule {
	registry.Lock()
	defer registry.Unlock()
	for _, r := range rules {
		if _, taken := registry.rules[r.Code]; taken {
			panic(fmt.Sprintf("safety: finding code %s is registered twice", r.Code))
		}
		registry.rules[r.Code] = r
	}
	return rules
}

// Lookup gives the rule of a code.
func Lookup(code string) (Rule, bool) {
	registry.RLock()
	defer registry.RUnlock()
	r, ok := registry.rules[code]
	return r, ok
}

// Catalogue gives all rules, sorted by code.
func Catalogue() []Rule {
	registry.RLock()
	defer registry.RUnlock()
	rules := make([]Rule, 0, len(registry.rules))
	for _, r := range registry.rules {
		rules = append(rules, r)
	}
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Code, b.Code) })
	return rules
}
