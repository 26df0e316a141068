package acctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Value is what an attribute of a resource, also of one in a module, is expected to have: what JSON makes of
// Want. A Path leads through attributes and keys.
type Value struct {
	Address string
	Path    []string
	Want    any
}

// Some is a Want that any value but null meets.
type Some struct{}

// EngineState is what an engine shows of a state or of planned values.
type EngineState struct {
	Root    engineModule   `json:"root_module"`
	Outputs map[string]any `json:"outputs"`
}

type engineModule struct {
	Resources []engineResource `json:"resources"`
	Children  []engineModule   `json:"child_modules"`
}

type engineResource struct {
	Address  string         `json:"address"`
	Values   map[string]any `json:"values"`
	Identity map[string]any `json:"identity"`
}

type enginePlan struct {
	Planned EngineState             `json:"planned_values"`
	Changes []plannedChange         `json:"resource_changes"`
	Outputs map[string]engineChange `json:"output_changes"`
}

type plannedChange struct {
	Address string       `json:"address"`
	Change  engineChange `json:"change"`
}

type engineChange struct {
	Actions   []string        `json:"actions"`
	Importing json.RawMessage `json:"importing"`
}

// does gives what the plan does with a resource, "" if it does not name it.
func (p enginePlan) does(address string) string {
	for _, c := range p.Changes {
		if c.Address == address {
			return strings.Join(c.Change.Actions, ", ")
		}
	}
	return ""
}

// imports reports whether the plan imports a resource.
func (p enginePlan) imports(address string) bool {
	return slices.ContainsFunc(p.Changes, func(c plannedChange) bool {
		return c.Address == address && len(c.Change.Importing) > 0
	})
}

func (p enginePlan) empty() bool {
	for _, c := range p.Changes {
		if strings.Join(c.Change.Actions, "") != "no-op" {
			return false
		}
	}
	for _, c := range p.Outputs {
		if strings.Join(c.Actions, "") != "no-op" {
			return false
		}
	}
	return true
}

// find gives a resource, of the zero value if there is none.
func (s EngineState) find(address string) engineResource {
	for modules := []engineModule{s.Root}; len(modules) > 0; modules = append(modules[1:], modules[0].Children...) {
		for _, r := range modules[0].Resources {
			if r.Address == address {
				return r
			}
		}
	}
	return engineResource{}
}

// Text is a text of a resource, "" if it has no such attribute.
func (s EngineState) Text(address, attribute string) string {
	text, _ := s.find(address).Values[attribute].(string)
	return text
}

func (s EngineState) check(all []Value) error {
	var wrong []error
	for _, v := range all {
		var got any = s.find(v.Address).Values
		for i, key := range v.Path {
			at, _ := got.(map[string]any)
			next, there := at[key]
			if got = next; !there {
				wrong = append(wrong, fmt.Errorf("%s has no %s", v.Address, strings.Join(v.Path[:i+1], ".")))
				break
			}
		}
		if v.Want == (Some{}) {
			if got == nil {
				wrong = append(wrong, fmt.Errorf("%s.%s is null", v.Address, strings.Join(v.Path, ".")))
			}
			continue
		}
		var want any
		text, err := json.Marshal(v.Want)
		if err = errors.Join(err, json.Unmarshal(text, &want)); err == nil && !reflect.DeepEqual(got, want) {
			err = fmt.Errorf("expected %v", want)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s.%s is %v: %w", v.Address, strings.Join(v.Path, "."), got, err))
		}
	}
	return errors.Join(wrong...)
}
