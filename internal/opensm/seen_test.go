package opensm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

func look(t *testing.T, s *inventory.Snapshot) Seen {
	t.Helper()
	seen, known := SeenOf(s, testPort)
	if !known {
		t.Fatal("the files are not known")
	}
	return seen
}

// A file of ours that cannot be read has not changed: what it says is not known.
func TestSeenOf_unread(t *testing.T) {
	t.Parallel()
	for _, path := range []string{opensm.DropInPath(testPort), opensm.ConfPath(testPort), opensm.PartitionsPath(testPort)} {
		s := testHost(func(s *inventory.Snapshot) { s.Denied = map[string]bool{path: true} })
		if seen, known := SeenOf(s, testPort); known {
			t.Errorf("%s: %+v", path, seen)
		}
	}
}

// A key of the fabric is a secret: it is neither kept beside a state nor shown.
func TestSeen_holdsNoKeys(t *testing.T) {
	t.Parallel()
	d := Request{Host: "intel9", PortGUID: testPort, Priority: 8}
	host := func(added string) *inventory.Snapshot {
		return testHost(func(s *inventory.Snapshot) {
			s.Files[opensm.DropInPath(testPort)] = inventory.File{Content: dropInText(testPort)}
			s.Files[opensm.ConfPath(testPort)] = inventory.File{Content: d.conf().Text(header()) + added}
		})
	}
	const keys = "m_key 0x1234\n# m_key 0x12345\n  sm_key\t0x1234\nkey_mgr_seed 0x1234\nm_key=0x1234\n"
	kept, err := json.Marshal(look(t, host(keys)))
	if err != nil || strings.Contains(string(kept), "1234") || !strings.Contains(string(kept), ": m_key") {
		t.Errorf("beside the state: %s, %v", kept, err)
	}
	found := CheckSeen(host(keys), look(t, host("")), d)
	if len(found) != 1 || !strings.Contains(found[0].Evidence, ": m_key") || strings.Contains(found[0].Evidence, "1234") {
		t.Errorf("finding: %v", found)
	}
}

// What somebody writes into our files after the plan is not overwritten, unless it is what is
// asked for. What the plan has seen is, and what the port shows is no setting.
func TestCheckSeen(t *testing.T) {
	t.Parallel()
	conf, drop, parts := opensm.ConfPath(testPort), opensm.DropInPath(testPort), opensm.PartitionsPath(testPort)
	members := func(port string) []Partition {
		return []Partition{{Name: "Default", PKey: DefaultPKey, SL: -1, Scope: -1,
			Members: []Member{{Port: port, Membership: Full}}}}
	}
	was := Request{Host: "intel9", PortGUID: testPort, Priority: 8, Partitions: members("ALL")}
	want := was
	want.Priority, want.Tuning.LogMaxSize = 9, 20
	host := func(edits ...func(*inventory.Snapshot)) *inventory.Snapshot {
		return testHost(append([]func(*inventory.Snapshot){func(s *inventory.Snapshot) {
			s.Files[drop] = inventory.File{Content: dropInText(testPort)}
			s.Files[conf] = inventory.File{Content: was.conf().Text(header())}
			s.Files[parts] = inventory.File{Content: opensm.PartitionsText(header(), was.Partitions)}
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
		{name: "drop-in", then: adds(drop, "RestartSec=9"), changed: "new line in " + drop + ": RestartSec=9"},
		{name: "partitions", then: func(s *inventory.Snapshot) {
			s.Files[parts] = inventory.File{Content: opensm.PartitionsText(header(), members("SELF"))}
		}, changed: "partitions was Default"},
		{name: "partition that is not understood", then: adds(parts, "mine=oops, x : ;"), changed: "mine=oops"},
		{name: "another partition file", then: says(parts, "/etc/opensm/mine.conf"),
			changed: "partition_config_file /etc/opensm/mine.conf"},
		{name: "file gone", then: func(s *inventory.Snapshot) { delete(s.Files, conf) }},
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
			text, err := json.Marshal(look(t, host(before))) // as it is kept beside a state
			var seen Seen
			if err != nil || json.Unmarshal(text, &seen) != nil {
				t.Fatal(err)
			}
			found := CheckSeen(host(before, then), seen, want)
			if tt.changed == "" && len(found) > 0 || tt.changed != "" && (len(found) != 1 || found[0].Rule.Code != "HO019" ||
				!strings.Contains(found[0].Evidence, tt.changed)) {
				t.Errorf("got %v", found)
			}
		})
	}
}
