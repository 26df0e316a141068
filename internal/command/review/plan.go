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
	Index    any    `json:"index"`
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

// leaf is one value of a resource: where it is, and how it is written.
type leaf struct{ at, text string }

// leaves are the values of v that are neither null, unknown nor empty. Sensitive ones are hidden.
func leaves(at string, v, unknown, sensitive any) []leaf {
	if hidden, _ := sensitive.(bool); hidden && v != nil {
		return []leaf{{at, "(sensitive)"}}
	}
	if later, _ := unknown.(bool); later {
		return []leaf{{at, laterKnown}}
	}
	switch v := v.(type) {
	case map[string]any:
		var all []leaf
		for _, key := range keysOf(v, unknown) {
			all = append(all, leaves(strings.TrimPrefix(at+"."+key, "."), v[key], member(unknown, key), member(sensitive, key))...)
		}
		return all
	case []any:
		return listed(at, v, unknown, sensitive)
	case nil:
		return nil
	case string:
		return []leaf{{at, v}}
	}
	return []leaf{{at, fmt.Sprint(v)}}
}

// listed is a list: texts and numbers on one line, and the members of objects each for itself.
func listed(at string, v []any, unknown, sensitive any) []leaf {
	var all []leaf
	var texts []string
	for i, item := range v {
		below := leaves(fmt.Sprintf("%s[%d]", at, i), item, element(unknown, i), element(sensitive, i))
		if len(below) == 1 && !strings.Contains(below[0].at[len(at):], ".") {
			texts = append(texts, below[0].text)
			continue
		}
		all = append(all, below...)
	}
	if len(texts) > 0 {
		all = append([]leaf{{at, strings.Join(texts, ", ")}}, all...)
	}
	return all
}
