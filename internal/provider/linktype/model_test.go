package linktype

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

func TestReport_showsDriftOfNowBeforeDriftOfTheNextBoot(t *testing.T) {
	for name, tc := range map[string]struct {
		known string
		port  ops.Port
		want  string
	}{
		"as configured":            {"ib", ops.Port{Configured: "ib", Persistent: "ib"}, "ib"},
		"changed now":              {"ib", ops.Port{Configured: "eth", Persistent: "ib"}, "eth"},
		"changed at the next boot": {"ib", ops.Port{Configured: "ib", Persistent: "eth"}, "eth"},
		"nothing keeps it":         {"ib", ops.Port{Configured: "ib"}, "ib"},
		"after an import":          {"", ops.Port{Configured: "ib", Persistent: "eth"}, "ib"},
	} {
		if got := report(tc.known, tc.port); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestModel_observeKeepsToTheConfiguredPorts(t *testing.T) {
	ref := attribute.CardRef{Host: "intel9"}
	state := ops.State{StoredIn: "modprobe.d", Ports: map[int]ops.Port{
		1: {Port: 1, Shown: "ib", Configured: "ib", Effective: "ib", Persistent: "ib"},
		2: {Port: 2, Shown: "auto (eth)", Configured: "auto", Effective: "eth"},
	}}
	m := model{Ports: attribute.StringMap(map[string]string{"1": "eth"})}
	m.observe(ref, state)
	if len(m.Ports.Elements()) != 1 || !m.Ports.Elements()["1"].Equal(types.StringValue("ib")) ||
		len(m.Effective.Elements()) != 2 || len(m.NextBoot.Elements()) != 1 {
		t.Errorf("got %+v", m)
	}
	imported := model{Ports: types.MapNull(types.StringType)}
	imported.observe(ref, state)
	if len(imported.Ports.Elements()) != 2 {
		t.Errorf("an import has the ports %v", imported.Ports)
	}
}

// A port that no driver shows keeps what was read of it last. What the card itself stores is
// read without the driver.
func TestModel_observeKeepsWhatIsNotShown(t *testing.T) {
	was := func(text string) types.Map { return attribute.StringMap(map[string]string{"1": text}) }
	inCard := func(stored ib.LinkType) map[int]ops.Port {
		return map[int]ops.Port{1: {Port: 1, Persistent: stored, InCard: true}}
	}
	for name, tc := range map[string]struct {
		ports      map[int]ops.Port
		stored     ib.LinkType // of a ConnectX-3
		ports1     string
		rebootNull bool
	}{
		"no driver of a ConnectX-3":     {nil, "ib", "ib", false},
		"other type stored on its host": {nil, "eth", "eth", false},
		"stored in the card":            {inCard("ib"), "", "ib", true},
		"other type stored":             {inCard("eth"), "", "eth", true},
	} {
		m := model{Ports: was("ib"), Effective: was("ib"), NextBoot: was("ib")}
		m.observe(attribute.CardRef{Host: "intel9"}, ops.State{StoredIn: "mstconfig", Ports: tc.ports,
			NextBoot: map[int]ib.LinkType{1: tc.stored}})
		if !m.Ports.Equal(was(tc.ports1)) || !m.NextBoot.Equal(was(tc.ports1)) || !m.Effective.Equal(was("ib")) ||
			m.RebootRequired.IsNull() != tc.rebootNull {
			t.Errorf("%s: %+v", name, m)
		}
	}
	m := model{Ports: was("ib"), Effective: was("ib")}
	if m.observeDriver(ops.State{}); !m.Effective.Equal(was("ib")) {
		t.Errorf("mstconfig is silent too: %v", m.Effective)
	}
}

// A state that holds is kept where nothing shows the ports, and not where something shows others
// or the plan has more to do.
func TestAssessment_keeps(t *testing.T) {
	port := func(p ops.Port) ops.Look { return ops.Look{State: ops.State{Ports: map[int]ops.Port{1: p}}} }
	silent := port(ops.Port{Shown: "ib", Configured: "ib"})
	silent.Unanswered = "busy"
	gone := port(ops.Port{Persistent: "ib", InCard: true})
	for name, tc := range map[string]struct {
		now               ops.Look
		had, was, becomes string // the type that was seen last; activation
		planned           ib.PSID
		keeps             bool
	}{
		"all is shown":                       {now: port(ops.Port{Shown: "ib", Configured: "ib"}), had: "ib"},
		"mstconfig is silent":                {now: silent, had: "ib", keeps: true},
		"no driver":                          {now: ops.Look{}, had: "ib", keeps: true},
		"no driver, and firmware is planned": {now: ops.Look{}, had: "ib", planned: "MT_9000000001"},
		"ConnectX-4 without a driver":        {now: gone, had: "ib", was: "reboot", becomes: "reboot", keeps: true},
		"a restart is asked for now":         {now: gone, had: "ib", was: "none", becomes: "reboot"},
		"it waited for a restart":            {now: gone, had: "eth", was: "reboot", becomes: "reboot"},
	} {
		s := &step{Found: tc.now, Config: &model{OnCard: managed.OnCard{Activation: types.StringValue(cmp.Or(tc.becomes, "none"))}},
			State: &model{Effective: attribute.StringMap(map[string]string{"1": tc.had}), OnCard: managed.OnCard{Activation: attribute.OrNull(tc.was)}},
			Ask: ops.Ask{PlannedPSID: tc.planned,
				Request: safety.LinkTypeRequest{Ports: map[int]ib.LinkType{1: ib.LinkTypeIB}}}}
		if got := keeps(s); got != tc.keeps {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestModel_requestNamesThePortThatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		value types.String
		says  string
	}{
		"null":    {types.StringNull(), "port 2 has no link type"},
		"unknown": {types.StringValue("fc"), `port 2: invalid link type "fc"`},
	} {
		m := model{Ports: types.MapValueMust(types.StringType, map[string]attr.Value{"2": tc.value})}
		if _, err := m.request(); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOtherCards_areNamedByTheirAddresses(t *testing.T) {
	for text, valid := range map[string]bool{"0000:04:00.0": true, "nonsense": false, "04:00.0": false} {
		var resp validator.ListResponse
		for _, v := range consents()["other_cards"].(schema.ListAttribute).Validators {
			v.ValidateList(context.Background(), validator.ListRequest{ConfigValue: types.ListValueMust(types.StringType,
				[]attr.Value{types.StringValue(text)})}, &resp)
		}
		if resp.Diagnostics.HasError() == valid {
			t.Errorf("%s: %v", text, resp.Diagnostics)
		}
	}
}
