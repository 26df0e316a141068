package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// plan is what is read of the output of "terraform show -json PLAN".
type plan struct {
	FormatVersion string   `json:"format_version"`
	Changes       []change `json:"resource_changes"`
	Planned       struct {
		Outputs map[string]struct {
			Value any `json:"value"`
		} `json:"outputs"`
	} `json:"planned_values"`
	Prior struct {
		Values struct {
			Root module `json:"root_module"`
		} `json:"values"`
	} `json:"prior_state"`
	Outputs map[string]struct {
		Actions []string `json:"actions"`
	} `json:"output_changes"`
	Checks []struct {
		Instances []struct {
			Address struct {
				Text string `json:"to_display"`
			} `json:"address"`
			Status   string `json:"status"`
			Problems []struct {
				Message string `json:"message"`
			} `json:"problems"`
		} `json:"instances"`
	} `json:"checks"`
	// unseen are the hosts that did not answer: that nothing is planned there says nothing. A saved plan has none.
	unseen []string
}

// module is what a state has of a module.
type module struct {
	Resources []struct {
		Type   string `json:"type"`
		Values object `json:"values"`
	} `json:"resources"`
	Children []module `json:"child_modules"`
}

// change is what a plan does with one resource, which may be nothing.
type change struct {
	Address  string `json:"address"`
	Module   string `json:"module_address"`
	Mode     string `json:"mode"`
	Type     string `json:"type"`
	Previous string `json:"previous_address"`
	Change   struct {
		Actions   []string `json:"actions"`
		Before    object   `json:"before"`
		After     object   `json:"after"`
		Unknown   object   `json:"after_unknown"`
		Importing *struct {
			ID string `json:"id"`
		} `json:"importing"`
	} `json:"change"`
}

// object holds attributes by name. It is empty where the plan has no object.
type object map[string]any

// UnmarshalJSON takes what is no object, such as false for "nothing is unknown", for an empty one.
func (o *object) UnmarshalJSON(data []byte) error {
	var values map[string]any
	_ = json.Unmarshal(data, &values)
	*o = values
	return nil
}

// text is an attribute that is a text; empty if it is none.
func (o object) text(name string) string {
	text, _ := o[name].(string)
	return text
}

func readPlan(data []byte) (*plan, error) {
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("the plan cannot be read: %w", err)
	}
	if !strings.HasPrefix(p.FormatVersion, "1.") {
		return nil, fmt.Errorf("the plan has format %q, and this release knows format 1", p.FormatVersion)
	}
	return &p, nil
}

// pending reports whether an apply has something to do with the resource. What is only read has not.
func (c *change) pending() bool {
	idle := slices.Equal(c.Change.Actions, []string{"no-op"}) || slices.Equal(c.Change.Actions, []string{"read"})
	return c.Mode == "managed" && (!idle || c.Change.Importing != nil || c.Previous != "" && c.Previous != c.Address)
}

// values are those after the apply, or before it if the object goes.
func (c *change) values() object {
	if c.Change.After == nil {
		return c.Change.Before
	}
	return c.Change.After
}

// host is the host of an object of this provider; empty if it has none of its own, or it is not known yet.
func (c *change) host() string {
	if !strings.HasPrefix(c.Type, ours) || c.Type == benchmark || c.Type == ours+"fabric_baseline" || c.Mode != "managed" {
		return ""
	}
	values := c.values()
	if host := values.text("host"); host != "" {
		return host
	}
	for _, id := range []string{values.text("card_id"), values.text("id")} {
		if host, _, ok := strings.Cut(id, "/"); ok {
			return host
		}
	}
	return ""
}

const (
	ours          = "infiniband_"
	benchmark     = ours + "benchmark"
	subnetManager = ours + "opensm"
)

// writesCard reports whether the object changes what is in a card, or restarts a host: such an object says
// so in one attribute, which may be null or not known yet.
func (c *change) writesCard() bool {
	_, known := c.values()["restarts"]
	_, later := c.Change.Unknown["restarts"]
	return strings.HasPrefix(c.Type, ours) && (known || later)
}

// changesHost reports whether the object changes a host. These only read, or copy a file.
func (c *change) changesHost() bool {
	return c.host() != "" && !slices.Contains([]string{"card", "firmware_backup", "firmware_image"},
		strings.TrimPrefix(c.Type, ours))
}

// verbs say what an apply does with an object.
var verbs = map[string]string{"create": "is created", "update": "is changed", "delete": "is removed",
	"forget": "is forgotten", "delete,create": "is replaced", "create,delete": "is replaced"}

// does says what the apply does with the object: its own words for it, if it has some.
func (c *change) does() string {
	what := verbs[strings.Join(c.Change.Actions, ",")] + c.givesBack()
	if c.Change.Importing != nil {
		what = strings.TrimSuffix("is adopted, "+what, ", ")
	}
	if own := c.Change.After.text("change"); own != "" && c.isFresh() {
		what = own
	}
	if what == "" {
		what = "is renamed"
	}
	return what + c.interrupts()
}

// isFresh reports whether the attribute change is of this plan: a state keeps what the last one was. That of a new
// object reads like the last one where another card gets the same firmware.
func (c *change) isFresh() bool {
	return slices.Contains(c.Change.Actions, "create") ||
		c.Change.After.text("change") != c.Change.Before.text("change")
}

// interrupts says whether the apply restarts the host for the object, or resets its card.
func (c *change) interrupts() string {
	after := c.Change.After
	activation := after.text("activation") // with "host" the infiniband_activation restarts it
	changes := !slices.Equal(c.Change.Actions, []string{"no-op"}) && c.isFresh()
	later, _ := c.Change.Unknown["restarts"].(bool)
	switch {
	case later && activation != "host" && activation != "none":
		return ", may restart the host"
	case changes && after.text("restarts") != "":
		return ", restarts the host"
	case changes && strings.HasPrefix(after.text("way"), "reset"):
		return ", resets the card"
	}
	return ""
}

// givesBack says what a destroy writes to its card. The plan of what goes has no values to say it in: its warnings do.
func (c *change) givesBack() string {
	before := c.Change.Before
	switch {
	case !slices.Equal(c.Change.Actions, []string{"delete"}) || before.text("on_destroy") != "restore":
		return ""
	case c.Type != ours+"firmware":
		return ", stores the settings of before in the card"
	case before.text("original_backup_path") == "":
		return ""
	case before.text("activation") == "none":
		return ", burns the firmware of before"
	}
	return ", burns the firmware of before, restarts the host"
}

// pending are the changes of a plan that have something to do.
func (p *plan) pending() []*change {
	var all []*change
	for i := range p.Changes {
		if p.Changes[i].pending() {
			all = append(all, &p.Changes[i])
		}
	}
	return all
}

// outputs are the outputs that an apply would write.
func (p *plan) outputs() []string {
	var all []string
	for name, o := range p.Outputs {
		if !slices.Equal(o.Actions, []string{"no-op"}) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// domains are the failure domains of the hosts, by host: the output failure_domains.
func (p *plan) domains() (map[string]string, error) {
	out, given := p.Planned.Outputs["failure_domains"]
	if !given {
		return nil, nil
	}
	all, isMap := out.Value.(map[string]any)
	domains := make(map[string]string, len(all))
	for host, v := range all {
		domain, isText := v.(string)
		if !isText {
			return nil, fmt.Errorf("the output failure_domains has no text for host %s", host)
		}
		domains[host] = domain
	}
	if !isMap {
		return nil, fmt.Errorf("the output failure_domains is no map of hosts, or is not known before the apply")
	}
	return domains, nil
}
