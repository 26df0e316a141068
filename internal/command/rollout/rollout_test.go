package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
)

// planOf is the JSON of a plan with some changes and more members.
func planOf(t *testing.T, more string, changes ...string) *plan {
	t.Helper()
	p, err := readPlan([]byte(`{"format_version": "1.2", "resource_changes": [` + strings.Join(changes, ",") + `]` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// resource is one of its changes. after and unknown are JSON.
func resource(module, kind, action, after, unknown string) string {
	address := strings.TrimPrefix(module+"."+kind+".it", ".")
	text, err := json.Marshal(map[string]any{"address": address, "module_address": module, "mode": "managed", "type": kind,
		"change": map[string]any{"actions": strings.Split(action, " "), "before": nil, "after": json.RawMessage(after),
			"after_unknown": json.RawMessage(unknown)}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func host1(kind, name, action string) string {
	return resource(`module.host["`+name+`"]`, kind, action, `{"host": "`+name+`"}`, `{}`)
}

func TestWaves(t *testing.T) {
	t.Parallel()
	all := []string{"a1", "a2", "a3", "b1", "b2", "b3"}
	racks := map[string]string{"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "b3": "b"}
	for name, c := range map[string]struct {
		rules
		canary string
		size   int
		want   string
	}{
		"one at a time":    {rules{}, "", 1, "a1 | a2 | a3 | b1 | b2 | b3"},
		"canary":           {rules{}, "b2", 4, "b2 | a1 a2 a3 b1 | b3"},
		"canary is done":   {rules{}, "c1", 6, "a1 a2 a3 b1 b2 b3"},
		"never a rack":     {rules{domains: racks}, "", 6, "a1 a2 b1 b2 | a3 b3"},
		"a rack of one":    {rules{domains: map[string]string{"a1": "x", "a2": "y"}}, "", 6, "a1 a3 b1 b2 b3 | a2"},
		"managers":         {rules{managers: map[string]bool{"a1": true, "a2": true, "b1": true}}, "", 6, "a1 a3 b2 b3 | a2 | b1"},
		"ends of one pair": {rules{partners: map[string]map[string]bool{"a1": {"b1": true}, "b1": {"a1": true}}}, "", 6, "a1 a2 a3 b2 b3 | b1"},
	} {
		var got []string
		for _, wave := range c.waves(all, c.canary, c.size) {
			got = append(got, strings.Join(wave, " "))
		}
		if text := strings.Join(got, " | "); text != c.want {
			t.Errorf("%s: %s, expected %s", name, text, c.want)
		}
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	got := instances(`module.rack["a.module.b\"]."].module.host["x"]`)
	if want := []string{`module.rack["a.module.b\"]."]`, `module.rack["a.module.b\"]."].module.host["x"]`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got = instances(""); got != nil {
		t.Errorf("the root module: %q", got)
	}
}

// Each change goes to the host whose module instance holds it; the outermost instance of a host alone is its target.
func TestByHost(t *testing.T) {
	t.Parallel()
	at := func(host string) string { return `module.rack["r"].module.host["` + host + `"].module.card` }
	l, err := byHost(planOf(t, `, "planned_values": {"outputs": {"failure_domains": {"value": {"x": "r"}}}},
		"prior_state": {"values": {"root_module": {"child_modules": [{"resources": [{"type": "infiniband_fabric", "values": {
			"nodes": {"0x1": {"host": "x"}, "0x2": {"host": "z"}},
			"links": [{"a": {"node_guid": "0x1"}, "b": {"node_guid": "0x2"}}, {"a": {"node_guid": "0x1"}, "b": null}]}}]}]}}}`,
		resource(at("x"), "infiniband_firmware", "create", `{"card_id": "x/0000:01:00.0/S1"}`, `{"id": true}`),
		resource(`module.rack["r"].module.host["x"]`, "random_id", "create", `{}`, `{}`),
		resource(at("y"), "infiniband_opensm", "no-op", `{"id": "y/0x1"}`, `{}`),
		resource("", "infiniband_benchmark", "create", `{"server": "x", "client": "y"}`, `{}`),
		resource("", "infiniband_card", "create", `{"host": "x"}`, `{}`),
		resource(at("y"), "infiniband_fabric_baseline", "create", `{"host": "z"}`, `{}`),
		resource("", "infiniband_opensm", "no-op", `{"host": "x"}`, `{}`)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`module.rack["r"].module.host["x"]`}, l.Hosts["x"].Targets); diff != "" {
		t.Error(diff)
	}
	if got := l.todo(); !slices.Equal(got, []string{"x", "y"}) || len(l.Hosts["x"].Pending) != 2 || len(l.Rest) != 2 {
		t.Errorf("to do: %v, %d, and %d others", got, len(l.Hosts["x"].Pending), len(l.Rest))
	}
	if !l.managers["x"] || !l.managers["y"] || !l.partners["x"]["y"] || !l.partners["z"]["x"] || l.partners["y"]["z"] || l.domains["x"] != "r" {
		t.Errorf("%+v", l.rules)
	}
}

func TestByHost_refuses(t *testing.T) {
	t.Parallel()
	flat := func(host string) string {
		return resource("module.lab", "infiniband_firmware", "create", `{"card_id": "`+host+`/0000:01:00.0/S"}`, `{"restarts": true}`)
	}
	for want, p := range map[string]*plan{
		`module.host["x"].infiniband_opensm.it is in module.host["x"], which also has ` +
			`module.host["x"].infiniband_ipoib_interface.it of host y.`: planOf(t, "",
			host1("infiniband_card", "x", "no-op"), host1("infiniband_opensm", "x", "update"),
			resource(`module.host["x"]`, "infiniband_ipoib_interface", "no-op", `{"host": "y"}`, `{}`)),
		"infiniband_ipoib_interface.it is in the root module.": planOf(t, "",
			resource("", "infiniband_ipoib_interface", "create", `{"host": "x"}`, `{}`)),
		"infiniband_guids.it is in the root module. A rollout plans one host at a time with -target": planOf(t, "",
			resource("", "infiniband_guids", "update", `{"card_id": "x/0000:01:00.0/S", "restarts": null}`, `{}`)),
		"module.lab.infiniband_firmware.it is in module.lab, which also has module.lab.infiniband_firmware.it of host y.": planOf(t, "",
			flat("x"), flat("y")),
		"module.lab.infiniband_firmware.it is in module.lab, of which no host is known.": planOf(t, "",
			resource("module.lab", "infiniband_firmware", "create", `{}`, `{"restarts": true, "card_id": true}`)),
		"the output failure_domains is no map of hosts": planOf(t, `, "planned_values": {"outputs": {"failure_domains": {"value": 3}}}`),
		"the output failure_domains has no text for host x": planOf(t,
			`, "planned_values": {"outputs": {"failure_domains": {"value": {"x": 3}}}}`),
	} {
		if _, err := byHost(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	for text, want := range map[string]string{`{`: "cannot be read", `{"format_version": "2.0"}`: `format "2.0"`} {
		if _, err := readPlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A later plan may do less than what was shown, and nothing else.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	const at = `module.host["x"]`
	shown := announce(planOf(t, "",
		resource(at, "infiniband_firmware", "create", `{"change": "A 1 -> A 2", "role": "old"}`, `{"backup": true, "seen": {"now": [true]}}`),
		resource(at, "infiniband_opensm", "update", `{"change": "writes /a; starts b", "priority": 1}`, `{}`)))
	for name, c := range map[string]struct{ change, want string }{
		"the same":       {resource(at, "infiniband_firmware", "create", `{"change": "A 1 -> A 2", "role": "old", "backup": "/x", "seen": {"now": [1]}}`, `{}`), ""},
		"the last step":  {resource(at, "infiniband_opensm", "update", `{"change": "again: starts b", "priority": 1}`, `{}`), ""},
		"nothing":        {resource(at, "infiniband_opensm", "no-op", `{"priority": 3}`, `{}`), ""},
		"another source": {resource(at, "infiniband_firmware", "create", `{"change": "A 0 -> A 2", "role": "old"}`, `{}`), "change would not be what"},
		"one step more":  {resource(at, "infiniband_opensm", "update", `{"change": "writes /a; writes /c", "priority": 2}`, `{}`), "change, priority would not be what"},
		"not known now":  {resource(at, "infiniband_opensm", "update", `{}`, `{"priority": true}`), "priority would not be what"},
		"an open job": {resource(at, "infiniband_opensm", "update", `{"priority": 1}`, `{"change": true, "restarts": true}`),
			"change, restarts cannot be known before the apply. An earlier apply may not have finished"},
		"a replacement":  {resource(at, "infiniband_opensm", "delete create", `{}`, `{}`), "is replaced; the plan that was shown said: writes /a; starts b"},
		"another object": {resource(at, "infiniband_guids", "create", `{"restarts": "x"}`, `{}`), "is created, restarts the host, and was not in the plan that was shown"},
		"an import":      {strings.Replace(resource(at, "infiniband_opensm", "update", `{}`, `{}`), `"actions"`, `"importing": {"id": "x/1"}, "actions"`, 1), "adopts x/1"},
	} {
		got := shown.beyond(planOf(t, "", c.change))
		if (len(got) > 0) != (c.want != "") || !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
	}
}

// A restart is said of the object that may make it: with activation = "host" that is another one.
func TestDoes_restart(t *testing.T) {
	t.Parallel()
	for activation, want := range map[string]string{"host": "is created", "none": "is created",
		"reboot": "is created, may restart the host", "least": "is created, may restart the host"} {
		p := planOf(t, "", resource("", "infiniband_firmware", "create", `{"activation": "`+activation+`"}`, `{"restarts": true}`))
		if got := p.Changes[0].does(); got != want {
			t.Errorf("%s: %s, expected %s", activation, got, want)
		}
	}
}

// Another card gets the firmware that the one before it got.
func TestDoes_another_card(t *testing.T) {
	t.Parallel()
	one := resource("", "infiniband_firmware", "delete create", `{"change": "A 1 -> B 2", "restarts": "x"}`, `{}`)
	p := planOf(t, "", strings.Replace(one, `"before":null`, `"before":{"change": "A 1 -> B 2", "restarts": "x"}`, 1))
	if got, want := p.Changes[0].does(), "A 1 -> B 2, restarts the host"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

// So is a reset of cards in place of it.
func TestDoes_reset(t *testing.T) {
	t.Parallel()
	p := planOf(t, "", resource("", "infiniband_activation", "update", `{"change": "activates firmware of 0000:81:00.0", "restarts": null,
		"activation": "least", "way": "reset by mstfwreset (level 3): 0000:81:00.0"}`, `{}`))
	if got, want := p.Changes[0].does(), "activates firmware of 0000:81:00.0, resets the card"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

// A destroy that gives back what the card had before says so.
func TestDoes_restore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, before, want string }{
		{"firmware", `{"on_destroy": "restore", "activation": "host", "original_backup_path": "/b", "restarts": null}`,
			"is removed, burns the firmware of before, restarts the host"},
		{"firmware", `{"on_destroy": "restore", "activation": "none", "original_backup_path": "/b"}`, "is removed, burns the firmware of before"},
		{"firmware", `{"on_destroy": "restore", "activation": "host"}`, "is removed"},
		{"firmware", `{"on_destroy": "keep", "activation": "host", "original_backup_path": "/b"}`, "is removed"},
		{"nv_config", `{"on_destroy": "restore"}`, "is removed, stores the settings of before in the card"},
	} {
		one := resource("", "infiniband_"+c.kind, "delete", `null`, `{}`)
		p := planOf(t, "", strings.Replace(one, `"before":null`, `"before":`+c.before, 1))
		if got := p.Changes[0].does(); got != c.want {
			t.Errorf("%s %s: %s, expected %s", c.kind, c.before, got, c.want)
		}
	}
}

// A canary that has nothing to change is named: no other host takes its place.
func TestShow_canary(t *testing.T) {
	t.Parallel()
	p := planOf(t, "", host1("infiniband_guids", "x", "create"), host1("infiniband_guids", "y", "no-op"))
	for canary, want := range map[string]string{"": "First: x\n", "x": "First: x\n",
		"y": "Host y has nothing to change, so there is no canary.\nFirst: x\n"} {
		r, err := (&order{canary: canary, wave: 1}).prepare(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r.out = &out
		if r.show(p); !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: %s", canary, out.String())
		}
	}
}

// A host that failure_domains does not name is not kept from the others of its domain, so it is named.
func TestShow_failure_domains(t *testing.T) {
	t.Parallel()
	changes := []string{host1("infiniband_guids", "x", "create"), host1("infiniband_guids", "y", "create")}
	for domains, want := range map[string]bool{`{"X": "a", "y": "a"}`: true, `{"x": "a", "y": "a"}`: false, `{}`: false} {
		p := planOf(t, `, "planned_values": {"outputs": {"failure_domains": {"value": `+domains+`}}}`, changes...)
		r, err := (&order{wave: 1}).prepare(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r.out = &out
		if r.show(p); strings.Contains(out.String(), "The output failure_domains does not name: x\n") != want {
			t.Errorf("%s: %s", domains, out.String())
		}
	}
}

// What does not work is said once it was well before.
func TestUnwell(t *testing.T) {
	t.Parallel()
	at := func(kind, after string) string { return resource(`module.host["x"]`, kind, "no-op", after, `{}`) }
	p := planOf(t, `, "checks": [{"instances": [{"address": {"to_display": "module.host[\"x\"].check.link"}, "status": "fail",
		"problems": [{"message": "no link"}]}, {"status": "pass"}]}]`,
		at("infiniband_firmware", `{"reboot_required": true}`), at("infiniband_opensm", `{"port_state": "Down"}`),
		at("infiniband_ipoib_interface", `{"carrier": false}`), at("infiniband_guids", `{"reboot_required": null}`))
	want := []string{
		`  module.host["x"].check.link: no link`,
		`  module.host["x"].infiniband_firmware.it: the host has to restart before the card runs what is in its flash`,
		`  module.host["x"].infiniband_ipoib_interface.it: the interface has no carrier`,
		`  module.host["x"].infiniband_opensm.it: the port is Down, not Active`,
	}
	r := &rollout{before: map[string]bool{}}
	if diff := cmp.Diff(want, r.worse(p)); diff != "" {
		t.Error(diff)
	}
	l := &lab{Hosts: map[string]*host{"x": {Name: "x", Targets: []string{`module.host["x"]`}}}}
	r.before = l.elsewhere(unwell(p))
	if bad := r.worse(p); len(bad) > 0 {
		t.Errorf("worse: %v", bad)
	}
	l.Hosts["x"].Pending = []*change{{}}
	if left := l.elsewhere(unwell(p)); len(left) > 0 {
		t.Errorf("of a host that changes, too: %v", left)
	}
}

// A plan of one host that changes another one as well is not applied.
func TestWithin(t *testing.T) {
	t.Parallel()
	all := planOf(t, "", host1("infiniband_guids", "x", "create"), host1("infiniband_guids", "y", "create"))
	l, err := byHost(all)
	if err != nil {
		t.Fatal(err)
	}
	r := &rollout{lab: l, seen: announce(all)}
	if err = r.within(planOf(t, "", host1("infiniband_guids", "x", "create")), []string{"x"}); err != nil {
		t.Error(err)
	}
	err = r.within(all, []string{"x"})
	if err == nil || !strings.Contains(err.Error(), `refer to other ones, and -target changes these as well:`) ||
		!strings.Contains(err.Error(), `module.host["y"].infiniband_guids.it: is created`) {
		t.Error(err)
	}
}

func TestCommand_lines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-wave", "0", dir}, "rollout: -wave is below 1"},
		{[]string{dir, dir}, "rollout: there is more than one DIR"},
		{[]string{dir + "/none"}, "none is no directory"},
		{[]string{"-stop-file", dir + "/none/stop", dir}, "rollout: -stop-file: nothing can be written there: "},
		{[]string{"-stop-file", dir, dir}, "rollout: -stop-file: " + dir + " is a directory"},
		{[]string{"-engine", "no-such-engine", dir}, "no-such-engine"},
	} {
		var out, bad bytes.Buffer
		got := Command.Run(t.Context(), c.args, command.Streams{In: strings.NewReader(""), Out: &out, Err: &bad})
		if got != command.Usage || !strings.Contains(bad.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: %d, %s", c.args, got, fmt.Sprint(&out, &bad))
		}
	}
}

// A failure is known to all rollouts that name the same file, until somebody removes it.
func TestStopFile(t *testing.T) {
	t.Parallel()
	file := stopFile(filepath.Join(t.TempDir(), "stop"))
	if err := errors.Join(file.check(), stopFile("").check()); err != nil || stopFile("").write(errors.New("x")) != "" {
		t.Error(err)
	}
	if got, want := file.write(errors.New("host1 failed")), "remove "+string(file); got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	var stopped *stopError
	if err := file.check(); !errors.As(err, &stopped) || !strings.HasSuffix(err.Error(), "which says:\nhost1 failed") {
		t.Error(err)
	}
	folder := stopFile(filepath.Dir(string(file)))
	if err := folder.check(); !errors.As(err, &stopped) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if got := folder.write(errors.New("x")); !strings.Contains(got, "stop other rollouts by hand, because ") {
		t.Error(got)
	}
}
