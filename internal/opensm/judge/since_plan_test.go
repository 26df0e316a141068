package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

func storedOf(t *testing.T, s *inventory.Snapshot) opensm.Stored {
	t.Helper()
	seen, known := found.Of(s, testPort).Stored()
	if !known {
		t.Fatal("the files are not known")
	}
	return seen
}

// A file of ours that cannot be read has not changed: what it says is not known.
func TestStored_unread(t *testing.T) {
	t.Parallel()
	for _, path := range []string{tool.DropInPath(testPort), tool.ConfPath(testPort), tool.PartitionsPath(testPort)} {
		s := testHost(func(s *inventory.Snapshot) { s.Denied = map[string]bool{path: true} })
		if seen, known := found.Of(s, testPort).Stored(); known {
			t.Errorf("%s: %+v", path, seen)
		}
	}
}

// A key of the fabric is a secret: it is neither kept beside a state nor shown.
func TestStored_holdsNoKeys(t *testing.T) {
	t.Parallel()
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 8}
	host := func(added string) *inventory.Snapshot {
		return testHost(func(s *inventory.Snapshot) {
			s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
			s.Files[tool.ConfPath(testPort)] = inventory.File{Content: d.Conf().Text(found.Header()) + added}
		})
	}
	const keys = "m_key 0x1234\n# m_key 0x12345\n  sm_key\t0x1234\nkey_mgr_seed 0x1234\nm_key=0x1234\n"
	kept, err := json.Marshal(storedOf(t, host(keys)))
	if err != nil || strings.Contains(string(kept), "1234") || !strings.Contains(string(kept), ": m_key") {
		t.Errorf("beside the state: %s, %v", kept, err)
	}
	all := CheckSincePlan(found.Of(host(keys), testPort), storedOf(t, host("")), d)
	if len(all) != 1 || !strings.Contains(all[0].Evidence, ": m_key") || strings.Contains(all[0].Evidence, "1234") {
		t.Errorf("finding: %v", all)
	}
}

// What somebody writes into our files after the plan is not overwritten, unless it is what is
// asked for. What the plan has seen is, and what the port shows is no setting.
func TestCheckSincePlan(t *testing.T) {
	t.Parallel()
	conf, drop, parts := tool.ConfPath(testPort), tool.DropInPath(testPort), tool.PartitionsPath(testPort)
	members := func(port string) []opensm.Partition {
		return []opensm.Partition{{Name: "Default", PKey: opensm.DefaultPKey, SL: -1, Scope: -1,
			Members: []opensm.Member{{Port: port, Membership: opensm.Full}}}}
	}
	was := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 8, Partitions: members("ALL")}
	want := was
	want.Priority, want.Tuning.LogMaxSize = 9, 20
	host := func(edits ...func(*inventory.Snapshot)) *inventory.Snapshot {
		return testHost(append([]func(*inventory.Snapshot){func(s *inventory.Snapshot) {
			s.Files[drop] = inventory.File{Content: found.DropInText(testPort, false)}
			s.Files[conf] = inventory.File{Content: was.Conf().Text(found.Header())}
			s.Files[parts] = inventory.File{Content: tool.PartitionsText(found.Header(), was.Partitions)}
		}}, edits...)...)
	}
	adds := func(path, line string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			s.Files[path] = inventory.File{Content: s.Files[path].Content + line + "\n"}
		}
	}
	says := func(from, to string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			text := strings.Replace(s.Files[conf].Content, from, to, 1)
			s.Files[conf] = inventory.File{Content: text}
		}
	}
	for _, tt := range []struct {
		name         string
		before, then func(*inventory.Snapshot)
		changed      string // empty: nothing that the plan has not shown is overwritten
	}{
		{name: "nothing"},
		{name: "option", then: adds(conf, "routing_engine updn"), changed: "routing_engine was not set and is updn"},
		{name: "option that the plan shows", before: adds(conf, "routing_engine updn")},
		{name: "option that is asked for", then: adds(conf, "log_max_size 20")},
		{name: "priority", then: says("sm_priority 8", "sm_priority 3"), changed: "sm_priority was 8 and is 3"},
		{name: "priority that is asked for", then: says("sm_priority 8", "sm_priority 9")},
		{name: "option that no argument sets", then: adds(conf, "lmc 2"), changed: "new line in " + conf + ": lmc 2"},
		{name: "the same before", before: adds(conf, "lmc 2")},
		{name: "drop-in", then: adds(drop, "RestartSec=9"), changed: "new line in " + drop + ": RestartSec (value not shown)"},
		{name: "partitions", then: func(s *inventory.Snapshot) {
			s.Files[parts] = inventory.File{Content: tool.PartitionsText(found.Header(), members("SELF"))}
		}, changed: "partitions was Default"},
		{name: "partition that is not understood", then: adds(parts, "mine=oops, x : ;"), changed: "mine=oops"},
		{name: "another partition file", then: says(parts, "/etc/opensm/mine.conf"),
			changed: "partition_config_file /etc/opensm/mine.conf"},
		{name: "file gone", then: func(s *inventory.Snapshot) { delete(s.Files, conf) }},
		{name: "file gone, and a line in another one", changed: "RestartSec (value not shown)", then: func(s *inventory.Snapshot) {
			delete(s.Files, conf)
			adds(drop, "RestartSec=9")(s)
		}},
		{name: "unit of somebody else", then: func(s *inventory.Snapshot) { delete(s.Files, drop) }},
		{name: "what the port shows", then: func(s *inventory.Snapshot) {
			p := &s.Cards[0].Ports[0]
			p.State, p.LID, p.SMLID, p.IsSM = "Active", 7, 9, fact.Known(true)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			none := func(*inventory.Snapshot) {}
			before, then := tt.before, tt.then
			if before == nil {
				before = none
			}
			if then == nil {
				then = none
			}
			text, err := json.Marshal(storedOf(t, host(before))) // as it is kept beside a state
			var seen opensm.Stored
			if err != nil || json.Unmarshal(text, &seen) != nil {
				t.Fatal(err)
			}
			all := CheckSincePlan(found.Of(host(before, then), testPort), seen, want)
			if tt.changed == "" && len(all) > 0 || tt.changed != "" && (len(all) != 1 || all[0].Rule.Code != "HO019" ||
				!strings.Contains(all[0].Evidence, tt.changed)) {
				t.Errorf("got %v", all)
			}
		})
	}
}

// What somebody has stopped, or taken from the boot, is not started again by a plan that has
// not shown it. An opensm that has crashed, and one of a host that was restarted, is.
func TestCheckSincePlan_stopped(t *testing.T) {
	t.Parallel()
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 8}
	unit := tool.Unit(testPort)
	host := func(edits ...func(*inventory.Snapshot)) *inventory.Snapshot {
		return testHost(append([]func(*inventory.Snapshot){func(s *inventory.Snapshot) {
			s.BootID, s.Modules = "one", map[string]bool{"ib_umad": true}
			s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
			s.Files[tool.ConfPath(testPort)] = inventory.File{Content: d.Conf().Text(found.Header())}
			s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=\"" + testPort.String() + "\"\n"}
			s.Units[tool.Service] = inventory.Unit{ActiveState: "active", UnitFileState: "enabled"}
			s.Units[unit] = inventory.Unit{ActiveState: "active"}
		}}, edits...)...)
	}
	is := func(state string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) { s.Units[unit] = inventory.Unit{ActiveState: state} }
	}
	none := func(*inventory.Snapshot) {}
	for _, tt := range []struct {
		name         string
		before, then func(*inventory.Snapshot)
		changed      string
	}{
		{"runs", none, none, ""},
		{"stopped", none, is("inactive"), "it ran and was stopped"},
		{"stopped and forgotten", none, func(s *inventory.Snapshot) { delete(s.Units, unit) }, "it ran and was stopped"},
		{"disabled", none, func(s *inventory.Snapshot) {
			s.Units[tool.Service] = inventory.Unit{ActiveState: "active", UnitFileState: "disabled"}
		}, "it started at boot and does not any more"},
		{"not listed", none, func(s *inventory.Snapshot) {
			s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=NONE\n"}
		}, "it started at boot and does not any more"},
		{"stopped before the plan", is("inactive"), is("inactive"), ""},
		{"crashed", none, is("failed"), ""},
		{"starts again", none, is("activating"), ""},
		{"restarted host", none, func(s *inventory.Snapshot) {
			is("inactive")(s)
			s.BootID = "two"
		}, ""},
		{"module gone", none, func(s *inventory.Snapshot) {
			is("inactive")(s)
			s.Modules = nil
		}, ""},
		{"removed", none, func(s *inventory.Snapshot) {
			is("inactive")(s)
			delete(s.Files, tool.DropInPath(testPort))
			delete(s.Files, tool.ConfPath(testPort))
		}, ""},
		{"systemd is silent", none, func(s *inventory.Snapshot) { s.Units, s.UnitsWhy = nil, "no answer" }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := CheckSincePlan(found.Of(host(tt.then), testPort), storedOf(t, host(tt.before)), d)
			if tt.changed == "" && len(all) > 0 || tt.changed != "" && (len(all) != 1 || all[0].Rule.Code != "HO019" ||
				!strings.Contains(all[0].Evidence, tt.changed)) {
				t.Errorf("got %v", all)
			}
			if all := CheckRemovalSincePlan(found.Of(host(tt.then), testPort), storedOf(t, host(tt.before))); len(all) > 0 {
				t.Errorf("a destroy: %v", all)
			}
		})
	}
}

// What somebody has started is not restarted by a plan that was to start it. What systemd or a start of the host has
// started is, and so is what reads its files again.
func TestCheckSincePlan_started(t *testing.T) {
	t.Parallel()
	was := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 8}
	rereads, restarts := was, was
	rereads.Priority, restarts.Tuning.RoutingEngine = 9, "ftree"
	host := func(state, boot string) *found.Look {
		return found.Of(testHost(func(s *inventory.Snapshot) {
			s.BootID, s.Modules = boot, map[string]bool{"ib_umad": true}
			s.Cards[0].Ports[0].IsSM = fact.Known(state == "active")
			s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
			s.Files[tool.ConfPath(testPort)] = inventory.File{Content: was.Conf().Text(found.Header())}
			s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=\"" + testPort.String() + "\"\n"}
			s.Units[tool.Service] = inventory.Unit{ActiveState: "active", UnitFileState: "enabled"}
			s.Units[tool.Unit(testPort)] = inventory.Unit{ActiveState: state}
		}), testPort)
	}
	for _, tt := range []struct {
		name, before, now, boot string
		d                       opensm.Request
		refused                 bool
	}{
		{"started", "inactive", "active", "one", restarts, true},
		{"started, and reads its files again", "inactive", "active", "one", rereads, false},
		{"started, and is as asked", "inactive", "active", "one", was, false},
		{"still stopped", "inactive", "inactive", "one", restarts, false},
		{"ran", "active", "active", "one", restarts, false},
		{"started again by systemd", "activating", "active", "one", restarts, false},
		{"started with its host", "inactive", "active", "two", restarts, false},
	} {
		before, _ := host(tt.before, "one").Stored()
		all := CheckSincePlan(host(tt.now, tt.boot), before, tt.d)
		if tt.refused != (len(all) == 1) || tt.refused && (all[0].Rule.Code != "HO019" ||
			!strings.Contains(all[0].Evidence, "it was stopped and was started")) {
			t.Errorf("%s: %v", tt.name, all)
		}
	}
}

// A destroy does not remove what somebody has written after its plan; what is gone is no loss.
func TestCheckRemovalSincePlan(t *testing.T) {
	t.Parallel()
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 8, Tuning: opensm.Tuning{LogMaxSize: 20}}
	drop, conf := tool.DropInPath(testPort), tool.ConfPath(testPort)
	host := func(edit func(*inventory.Snapshot)) *inventory.Snapshot {
		return testHost(func(s *inventory.Snapshot) {
			s.Files[drop] = inventory.File{Content: found.DropInText(testPort, false)}
			s.Files[conf] = inventory.File{Content: d.Conf().Text(found.Header())}
		}, edit)
	}
	puts := func(path, from, to string) func(*inventory.Snapshot) {
		return func(s *inventory.Snapshot) {
			s.Files[path] = inventory.File{Content: strings.Replace(s.Files[path].Content, from, to, 1)}
		}
	}
	none := func(*inventory.Snapshot) {}
	for name, tt := range map[string]struct {
		before, then func(*inventory.Snapshot)
		changed      string
	}{
		"nothing":            {none, none, ""},
		"line":               {none, puts(conf, "log_max", "qos TRUE\nlog_max"), "new line in " + conf + ": qos TRUE"},
		"the same before":    {puts(conf, "log_max", "qos TRUE\nlog_max"), puts(conf, "log_max", "qos TRUE\nlog_max"), ""},
		"setting":            {none, puts(conf, "log_max", "routing_engine updn\nlog_max"), "routing_engine was not set and is updn"},
		"other value":        {none, puts(conf, "log_max_size 20", "log_max_size 40"), "log_max_size was 20 and is 40"},
		"setting gone":       {none, puts(conf, "log_max_size 20\n", ""), ""},
		"file gone":          {none, func(s *inventory.Snapshot) { delete(s.Files, conf) }, ""},
		"all gone":           {none, func(s *inventory.Snapshot) { s.Files = nil }, ""},
		"unit gone":          {none, func(s *inventory.Snapshot) { delete(s.Files, drop) }, ""},
		"line of the unit":   {none, puts(drop, "RestartSec=5", "RestartSec=5\nNice=5"), "Nice (value not shown)"},
		"file that was gone": {func(s *inventory.Snapshot) { delete(s.Files, conf) }, none, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := CheckRemovalSincePlan(found.Of(host(tt.then), testPort), storedOf(t, host(tt.before)))
			if tt.changed == "" && len(all) > 0 || tt.changed != "" && (len(all) != 1 || all[0].Rule.Code != "HO019" ||
				!strings.Contains(all[0].Evidence, tt.changed)) {
				t.Errorf("got %v", all)
			}
		})
	}
}

// What somebody has written into our files is named by every plan, without keys; the history
// of a change has it too.
func TestCheck_namesEdits(t *testing.T) {
	t.Parallel()
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 14}
	conf, drop, parts := tool.ConfPath(testPort), tool.DropInPath(testPort), tool.PartitionsPath(testPort)
	for name, tt := range map[string]struct {
		path, text string
		says       string // empty: nothing
		words      string // of the history
	}{
		"option":    {conf, d.Conf().Text(found.Header()) + "qos TRUE\n# my note 7\n", conf + " also has: qos TRUE; # my note 7.", "qos TRUE; # my note 7"},
		"key":       {conf, d.Conf().Text(found.Header()) + "# m_key 0x1234\n", "# m_key (value not shown)", "# m_key (value not shown)"},
		"unit":      {drop, found.DropInText(testPort, false) + "Nice=5\n", drop + " also has: Nice (value not shown).", "Nice (value not shown)"},
		"lost line": {drop, strings.Replace(found.DropInText(testPort, false), "RestartSec=5\n", "", 1), drop + " lacks: RestartSec=5.", "priority 14"},
		"no priority": {conf, strings.Replace(d.Conf().Text(found.Header()), "sm_priority 14\n", "", 1), conf + " lacks: sm_priority.",
			"no priority"},
		"partitions that nothing reads": {parts, found.Header() + "oops\n", "", "oops"},
		"nothing":                       {conf, d.Conf().Text(found.Header()), "", "priority 14, standard options"},
		"no file":                       {conf, "", conf + " of intel9 is gone.", "file of options not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testHost(func(s *inventory.Snapshot) {
				s.Files[drop] = inventory.File{Content: found.DropInText(testPort, false)}
				s.Files[conf] = inventory.File{Content: d.Conf().Text(found.Header())}
				s.Files[tt.path] = inventory.File{Content: tt.text}
				if tt.text == "" {
					delete(s.Files, tt.path)
				}
			})
			all := Check(found.Of(s, d.PortGUID), d, PlanFacts{})
			all = slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Rule.Code != "HO034" })
			if tt.says == "" && len(all) > 0 || tt.says != "" && (len(all) != 1 || !strings.Contains(all[0].Evidence, tt.says)) {
				t.Errorf("got %v", all)
			}
			if words := found.Of(s, testPort).Describe(); !strings.Contains(words, tt.words) || strings.Contains(words, "-1") {
				t.Errorf("history: %s", words)
			}
		})
	}
}
