package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// byService is a host on which the package runs an instance on the port.
func byService(files map[string]string) *inventory.Snapshot {
	return testHost(func(s *inventory.Snapshot) {
		s.Units[tool.Unit(testPort)] = inventory.Unit{ActiveState: "active"}
		s.Units[tool.Service] = inventory.Unit{ActiveState: "active", UnitFileState: "enabled"}
		s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=\"ALL\"\n"}
		s.Cards[0].Ports[0].IsSM = fact.Known(true)
		for path, text := range files {
			s.Files[path] = inventory.File{Content: text}
		}
	})
}

// What an instance of the package was started with is read from the files that it shares
// with others, as far as a resource can say it.
func TestCheck_made_by_hand(t *testing.T) {
	const conf, parts = "/etc/opensm/opensm.conf", "/etc/opensm/partitions.conf"
	const storage = "Default=0x7fff, ipoib, mtu=5 : ALL=full ;\nstorage=0x8001 : ALL=limited, SELF=full ;\n"
	for name, c := range map[string]struct {
		files      map[string]string
		want       opensm.Request
		from       string
		unreadable bool
		warns      string // codes
		says       string
	}{
		"standard": {nil, opensm.Request{}, "", false, "SM007 SM010", ""},
		"options": {map[string]string{conf: "sm_priority 10\nlog_max_size 20\nsminfo_polling_timeout 1000\n"},
			opensm.Request{Priority: 10, Tuning: opensm.Tuning{LogMaxSize: 20, PollingTimeout: 1000}}, conf, false, "SM007 SM010",
			"writes /etc/opensm/terraform-0xe41d2d0300e44ed1.conf, which it reads from then on"},
		"as opensm -c writes them": {map[string]string{conf: "guid 0x0000000000000000\nsm_priority 0\npolling_retry_number 4\n" +
			"log_flags 0x03\nrouting_engine (null)\nsubnet_prefix 0xfe80000000000000\npartition_config_file " + parts + "\n"},
			opensm.Request{}, conf, false, "SM007 SM010", ""},
		"what a resource cannot say": {map[string]string{conf: "sm_priority 3\nqos TRUE\nlog_flags 0x43\nrouting_engine chain\n"},
			opensm.Request{Priority: 3}, conf, false, "SM007 SM010 SM021", "sets log_flags, qos, routing_engine,"},
		"a priority that opensm does not take": {map[string]string{conf: "sm_priority 99\n"}, opensm.Request{}, conf, false,
			"SM007 SM010", ""},
		"partitions": {map[string]string{parts: storage}, opensm.Request{Partitions: []opensm.Partition{
			{Name: "Default", PKey: 0x7fff, IPoIB: true, MTU: 4096, SL: -1, Scope: -1, Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}},
			{Name: "storage", PKey: 1, SL: -1, Scope: -1, Members: []opensm.Member{{Port: "ALL", Membership: opensm.Limited}, {Port: "SELF", Membership: opensm.Full}}},
		}}, parts, false, "SM007 SM010", ""},
		"partitions elsewhere": {map[string]string{conf: "partition_config_file /etc/opensm/lab.conf\n",
			"/etc/opensm/lab.conf": "Default=0x7fff, ipoib : ALL=full ;\n"}, opensm.Request{Partitions: []opensm.Partition{
			{Name: "Default", PKey: 0x7fff, IPoIB: true, SL: -1, Scope: -1, Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}},
		}}, conf + " and /etc/opensm/lab.conf", false, "SM007 SM010", ""},
		"partitions that are not read": {map[string]string{conf: "partition_config_file /srv/lab.conf\n"}, opensm.Request{}, conf, false,
			"SM007 SM010 SM021", "sets partition_config_file"},
		"partitions with two definitions of a key": {map[string]string{parts: "Default=0x7fff, rate=3 : ALL=full ;\n" +
			"Default=0x7fff, ipoib, mtu=5, scope=2 : ALL=full ;\n"}, opensm.Request{}, parts, false, "SM007 SM010 SM024", ""},
		"partitions in error": {map[string]string{parts: "Default=0x7fff ipoib ALL=full ;\n"}, opensm.Request{}, parts, false,
			"SM007 SM010 SM024", "ignores the whole file"},
		// It is no instance of somebody else.
		"ours without its drop-in": {map[string]string{tool.ConfPath(testPort): found.Header() + "sm_priority 10\n"}, opensm.Request{}, "",
			false, "SM007 HO034", "the drop-in of " + tool.Unit(testPort) + " that this provider wrote is gone"},
		"a unit of somebody": {map[string]string{conf: "sm_priority 10\n",
			"/etc/systemd/system/opensm@.service.d/local.conf": "[Service]\nExecStart=\nExecStart=/usr/sbin/opensm -g %I -p 12\n"},
			opensm.Request{}, "", true, "SM007 SM010 SM021", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := byService(c.files)
			o := found.Of(s, testPort)
			want := c.want
			want.Host, want.PortGUID = "intel9", testPort
			if c.unreadable {
				want.Priority = -1
			}
			if o.Priority != want.Priority || o.Tuning != want.Tuning || strings.Join(o.From, " and ") != c.from ||
				tool.PartitionsText("", o.Partitions) != tool.PartitionsText("", want.Partitions) {
				t.Errorf("%d %+v %q %v", o.Priority, o.Tuning, o.From, o.Partitions)
			}
			if !fact.Yes(o.Enabled) || IsSettled(o, want) || Rereads(o, want) {
				t.Errorf("enabled %v, settled %t, rereads %t", o.Enabled, IsSettled(o, want), Rereads(o, want))
			}
			if want.Priority < 0 {
				want.Priority = 0
			}
			var codes []string
			text := ""
			for _, f := range Check(found.Of(s, want.PortGUID), want, PlanFacts{}) {
				codes = append(codes, f.Rule.Code)
				text += f.Detail() + "\n"
			}
			if got := strings.Join(codes, " "); got != c.warns || !strings.Contains(text, c.says) {
				t.Errorf("findings %s, want %s with %q:\n%s", got, c.warns, c.says, text)
			}
		})
	}
}

// A subnet manager that is no instance of its port's unit is not imported: the finding says
// what starts it, and the way.
func TestCheckImport_held_by_others(t *testing.T) {
	redHat := func(s *inventory.Snapshot) {
		s.OS = inventory.OS{ID: "rhel", VersionID: "9.4", Kernel: "5.14.0-427.el9.x86_64"}
		s.Files = map[string]inventory.File{}
		s.Units[tool.Service] = inventory.Unit{ActiveState: "active", UnitFileState: "enabled"}
		s.Cards[0].Ports[0].IsSM = fact.Known(true)
	}
	bound := func(s *inventory.Snapshot) { s.Cards[0].Ports[0].IsSM = fact.Known(true) }
	for name, c := range map[string]struct {
		s    *inventory.Snapshot
		says []string
	}{
		"of the distribution": {testHost(redHat), []string{"opensm.service runs", "GUIDS and PRIORITY of /etc/sysconfig/opensm",
			"systemctl disable --now opensm", "traffic goes on"}},
		"of somebody": {testHost(bound), []string{"pgrep -a opensm", "systemctl status", "a cron job", "apply at once"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := CheckImport(found.Of(c.s, testPort))
			if len(all) != 1 || all[0].Rule != finding.OpensmPortHeld || all[0].Severity != finding.Refuse {
				t.Fatalf("%+v", all)
			}
			for _, part := range c.says {
				if !strings.Contains(all[0].Detail(), part) {
					t.Errorf("no %q in\n%s", part, all[0].Detail())
				}
			}
		})
	}
	for name, s := range map[string]*inventory.Snapshot{"none": testHost(), "an instance": byService(nil)} {
		if all := CheckImport(found.Of(s, testPort)); len(all) > 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
