package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// input is what the files of a command line have.
type input struct {
	plan        *plan
	diagnostics []diagnostic
	logged      bool // there is the output of "terraform plan -json", which may have no message
}

// plan is what is read of the output of "terraform show -json".
type plan struct {
	FormatVersion string          `json:"format_version"`
	Planned       json.RawMessage `json:"planned_values"` // a state has none
	Errored       bool            `json:"errored"`
	Complete      *bool           `json:"complete"`
	Changes       []resource      `json:"resource_changes"`
	Drift         []resource      `json:"resource_drift"`
	Outputs       map[string]struct {
		Actions []string `json:"actions"`
	} `json:"output_changes"`
	Variables map[string]struct {
		Value any `json:"value"`
	} `json:"variables"`
	Configuration struct {
		Root module `json:"root_module"`
	} `json:"configuration"`
}

// resource is a resource before and after.
type resource struct {
	Address  string `json:"address"`
	Module   string `json:"module_address"`
	Mode     string `json:"mode"`
	Type     string `json:"type"`
	Name     string `json:"name"`
	Previous string `json:"previous_address"`
	Change   struct {
		Actions         []string `json:"actions"`
		Before          any      `json:"before"`
		After           any      `json:"after"`
		Unknown         any      `json:"after_unknown"`
		BeforeSensitive any      `json:"before_sensitive"`
		AfterSensitive  any      `json:"after_sensitive"`
		Importing       *struct {
			ID string `json:"id"`
		} `json:"importing"`
	} `json:"change"`
}

// diagnostic is a message of "terraform plan -json".
type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
}

// decode reads a plan, a log of a plan, or both.
func (in *input) decode(name string, r io.Reader) error {
	values := json.NewDecoder(r)
	values.UseNumber()
	for {
		var one struct {
			plan
			Level      string      `json:"@level"`
			Diagnostic *diagnostic `json:"diagnostic"`
		}
		err := values.Decode(&one)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s is not the JSON of a plan: %w. Give the output of \"terraform show -json PLAN\", not the "+
				"saved plan itself", name, err)
		}
		in.logged = in.logged || one.Level != ""
		switch {
		case one.Diagnostic != nil:
			in.diagnostics = append(in.diagnostics, *one.Diagnostic)
		case one.FormatVersion == "":
		case one.Planned == nil:
			return fmt.Errorf("%s is a state, not a plan. Save one with \"terraform plan -out=PLAN\", and give the output of "+
				"\"terraform show -json PLAN\"", name)
		case in.plan != nil:
			return fmt.Errorf("%s is a second plan. Review one plan at a time", name)
		case !strings.HasPrefix(one.FormatVersion, "1."):
			return fmt.Errorf("%s has format %s, and this release knows format 1", name, one.FormatVersion)
		default:
			in.plan = &one.plan
		}
	}
}

// isOurs reports whether a type is one of this provider.
func isOurs(kind string) bool { return strings.HasPrefix(kind, "infiniband_") }

// module is the configuration of a module.
type module struct {
	Resources []struct {
		Mode        string                `json:"mode"`
		Type        string                `json:"type"`
		Name        string                `json:"name"`
		Expressions map[string]expression `json:"expressions"`
	} `json:"resources"`
	Variables map[string]variable `json:"variables"`
	Calls     map[string]struct {
		Expressions map[string]expression `json:"expressions"`
		Module      module                `json:"module"`
	} `json:"module_calls"`
}

// variable is what the configuration says of a variable. A plan has the value of a sensitive one all the same.
type variable struct {
	Sensitive bool `json:"sensitive"`
}

// expression is the value of an argument: a constant, or what it refers to. Functions of constants,
// as in merge({…}, {…}), have neither in the JSON of a plan.
type expression struct {
	Constant   any
	IsConstant bool // it may be null
	References []string
}

// UnmarshalJSON reads the expression of an argument. That of a block is a list or an object of
// others, which nobody asks for here.
func (e *expression) UnmarshalJSON(data []byte) error {
	var in struct {
		Constant   json.RawMessage `json:"constant_value"`
		References []string        `json:"references"`
	}
	_ = json.Unmarshal(data, &in)
	e.References, e.IsConstant = in.References, in.Constant != nil && json.Unmarshal(in.Constant, &e.Constant) == nil
	return nil
}
