package acctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Step is what an engine does with one configuration: it plans, applies, and plans twice more, without a
// refresh and with one. The later plans must be empty.
type Step struct {
	Before   func()         // done first
	Config   string         // the configuration, or
	Dir      string         // a folder that has it
	Vars     map[string]any // values of its variables
	PlanOnly bool           // nothing is applied
	Changes  bool           // the later plans are not empty
	Destroy  bool           // all is destroyed
	Refused  *regexp.Regexp // what the engine says when it ends with an error

	Actions map[string]string // what the plan does with resources: "update", "no-op", "delete, create"
	Empty   bool              // the plan to be applied has no changes
	Planned []Value           // values of the plan
	Between func()            // done after the plan was saved, and before it is applied
	State   []Value           // values of the state after the apply
	Check   func(EngineState) error
}

// Steps runs an engine with the provider of this process in a folder of its own.
type Steps struct {
	t      *testing.T
	engine string
	dir    string
	from   string // folder of the last configuration
}

// RunSteps does the steps, and destroys in the end. What is left is checked, if a check is given.
func RunSteps(t *testing.T, steps []Step, left func() error) {
	t.Helper()
	s := NewSteps(t)
	for i, step := range steps {
		if err := s.Do(step); err != nil {
			t.Fatalf("step %d of %d: %v", i+1, len(steps), err)
		}
	}
	if err := s.Destroy(); err != nil {
		t.Fatal(err)
	}
	if left != nil {
		if err := left(); err != nil {
			t.Error(err)
		}
	}
}

// NewSteps begins with an empty folder.
func NewSteps(t *testing.T) *Steps {
	t.Helper()
	return &Steps{t: t, engine: Engine(t), dir: t.TempDir()}
}

// Do does a step.
func (s *Steps) Do(step Step) error {
	if step.Before != nil {
		step.Before()
	}
	err := s.do(step)
	switch {
	case step.Refused == nil:
		return err
	case err == nil:
		return fmt.Errorf("nothing is refused, expected %s", step.Refused)
	case !step.Refused.MatchString(err.Error()):
		return fmt.Errorf("expected %s: %w", step.Refused, err)
	}
	return nil
}

func (s *Steps) do(step Step) error {
	if err := s.configure(step); err != nil {
		return err
	}
	var destroys []string
	if step.Destroy {
		destroys = []string{"-destroy"}
	}
	if !step.PlanOnly {
		if err := s.apply(step, destroys); err != nil {
			return err
		}
	}
	for _, refresh := range []string{"-refresh=false", "-refresh=true"} {
		plan, err := s.plan(append(destroys, refresh)...)
		if err != nil {
			return err
		}
		if !step.Changes && !plan.empty() {
			shown, _ := s.run("show", "-no-color", planFile)
			return fmt.Errorf("a plan with %s is not empty:\n%s", refresh, shown)
		}
		if step.Changes && plan.empty() && refresh == "-refresh=true" {
			return errors.New("the plan is empty")
		}
	}
	return nil
}

const planFile = "saved.tfplan"

// configure writes the configuration of a step.
func (s *Steps) configure(step Step) error {
	first := s.from == ""
	var err error
	if step.Dir == "" {
		text := step.Config
		if !strings.Contains(text, "required_providers") {
			text = Required + text
		}
		err = os.WriteFile(filepath.Join(s.dir, "main.tf"), []byte(text), 0o600)
		s.from = s.dir
	} else if s.from != step.Dir {
		err = os.CopyFS(s.dir, os.DirFS(step.Dir))
		s.from, first = step.Dir, true
	}
	vars, bad := json.Marshal(step.Vars)
	if step.Vars == nil {
		vars = []byte("{}")
	}
	err = errors.Join(err, bad, os.WriteFile(filepath.Join(s.dir, "steps.auto.tfvars.json"), vars, 0o600))
	if err != nil || !first {
		return err
	}
	_, err = s.run("init", "-no-color")
	return err
}

// apply plans, checks the plan, applies it and checks the state.
func (s *Steps) apply(step Step, destroys []string) error {
	plan, err := s.plan(destroys...)
	if err != nil {
		return err
	}
	wrong := []error{plan.Planned.check(step.Planned)}
	for address, want := range step.Actions {
		if got := plan.does(address); got != want {
			wrong = append(wrong, fmt.Errorf("the plan does %q with %s, expected %q", got, address, want))
		}
	}
	if step.Empty && !plan.empty() {
		wrong = append(wrong, fmt.Errorf("the plan is not empty: %+v", plan.Changes))
	}
	if err = errors.Join(wrong...); err != nil {
		return err
	}
	if step.Between != nil {
		step.Between()
	}
	if _, err = s.run("apply", "-no-color", planFile); err != nil {
		return err
	}
	state, err := s.state()
	if err == nil {
		err = state.check(step.State)
	}
	if err == nil && step.Check != nil {
		err = step.Check(state)
	}
	return err
}

// plan saves a plan, and gives it.
func (s *Steps) plan(args ...string) (p enginePlan, err error) {
	if _, err = s.run(append([]string{"plan", "-no-color", "-out=" + planFile}, args...)...); err != nil {
		return p, err
	}
	return p, s.show(&p, planFile)
}

// state is the state as it is now.
func (s *Steps) state() (EngineState, error) {
	var shown struct {
		Values EngineState `json:"values"`
	}
	return shown.Values, s.show(&shown)
}

func (s *Steps) show(into any, args ...string) error {
	text, err := s.run(append([]string{"show", "-json", "-no-color"}, args...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Destroy destroys what is in the state, if anything is.
func (s *Steps) Destroy() error {
	if _, err := os.Stat(filepath.Join(s.dir, "terraform.tfstate")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	list, err := s.run("state", "list")
	if err == nil && len(bytes.TrimSpace(list)) > 0 {
		_, err = s.run("destroy", "-no-color", "-auto-approve")
	}
	return err
}

// Import plans to import a resource that the state has, which is taken out of it for that. The plan must have no
// change of it. It is named by an id, or by the identity that the state has of it if id is empty.
func (s *Steps) Import(address, id string) error {
	state, err := s.state()
	if err != nil {
		return err
	}
	before := state.find(address).Identity
	name := fmt.Sprintf("id = %q", id)
	if id == "" {
		if len(before) == 0 {
			return fmt.Errorf("the state has no identity of %s", address)
		}
		text, wrong := json.Marshal(before)
		if wrong != nil {
			return wrong
		}
		name = "identity = " + strings.ReplaceAll(string(text), `":`, `" =`)
	}
	other := &Steps{t: s.t, engine: s.engine, dir: s.t.TempDir()}
	block := fmt.Sprintf("import {\n  to = %s\n  %s\n}\n", address, name)
	if err = errors.Join(os.CopyFS(other.dir, os.DirFS(s.dir)),
		os.WriteFile(filepath.Join(other.dir, "import.tf"), []byte(block), 0o600)); err != nil {
		return err
	}
	if _, err = other.run("state", "rm", address); err != nil {
		return err
	}
	plan, err := other.plan()
	if err != nil {
		return err
	}
	if !plan.imports(address) || plan.does(address) != "no-op" {
		return fmt.Errorf("the plan of an import of %s: %+v", address, plan.Changes)
	}
	if after := plan.Planned.find(address).Identity; id == "" && !reflect.DeepEqual(before, after) {
		return fmt.Errorf("imported is %s as %v, not as %v", address, after, before)
	}
	return nil
}
