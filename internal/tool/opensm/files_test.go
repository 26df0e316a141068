package opensm

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

func TestConf_readsBack(t *testing.T) {
	for _, c := range []Conf{
		{Priority: 0},
		{Priority: 14, PartitionFile: PartitionsPath(port1), Tuning: Tuning{
			SubnetPrefix: 0xfec0000000000001, RoutingEngine: "ftree,updn", LogLevel: "verbose", LogMaxSize: 20,
			PollingTimeout: 1000, PollingRetries: 2,
		}},
	} {
		text := c.Text("# head\n")
		if diff := cmp.Diff(c, ParseConf(text)); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
	if c := ParseConf("sm_priority high\nsubnet_prefix x\nlog_flags 0x55\nbogus 1\nkey\n"); c.Priority != -1 ||
		c.Tuning != (Tuning{}) {
		t.Errorf("%+v of nonsense", c)
	}
}

func TestHandOver(t *testing.T) {
	for _, tt := range []struct {
		tuning Tuning
		want   int
	}{{Tuning{}, 60000}, {Tuning{PollingTimeout: 1000, PollingRetries: 2}, 4000}, {Tuning{PollingTimeout: 500}, 3000}} {
		if got := tt.tuning.HandOver(); got != tt.want {
			t.Errorf("%+v: %d ms", tt.tuning, got)
		}
	}
}

func TestNeedsRestart(t *testing.T) {
	base := Conf{Priority: 5}
	for name, tt := range map[string]struct {
		to   Conf
		want bool
	}{
		"nothing":        {base, false},
		"priority":       {Conf{Priority: 9}, false},
		"polling":        {Conf{Priority: 5, Tuning: Tuning{PollingTimeout: 100, PollingRetries: 1}}, false},
		"log":            {Conf{Priority: 5, Tuning: Tuning{LogLevel: "debug", LogMaxSize: 1}}, false},
		"routing engine": {Conf{Priority: 5, Tuning: Tuning{RoutingEngine: "updn"}}, true},
		"subnet prefix":  {Conf{Priority: 5, Tuning: Tuning{SubnetPrefix: 1}}, true},
		"partition file": {Conf{Priority: 5, PartitionFile: "/p"}, true},
	} {
		if got := NeedsRestart(base, tt.to); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestChosenAndKeys(t *testing.T) {
	const text = "# comment\nguid 0x0000000000000000\nsm_priority 3\nrouting_engine updn\nm_key 0x1234 \nsm_key 0x0000000000000001\nlmc 0\nqos TRUE\n"
	if got := nonDefault(text, PlacesIn(ConfDir)); !slices.Equal(got, []string{"m_key", "qos", "routing_engine", "sm_priority"}) {
		t.Errorf("chosen: %v", got)
	}
	for text, want := range map[string]string{text: "m_key", "": "", "m_key  \n": "", "sa_key zz\n": "sa_key?",
		"cc_key 7seven\ncc_key 0\n": "", "sm_key 0x1\nsm_key 2 # lab\n": "sm_key"} {
		var got []string
		for _, k := range Keys(text) {
			if fact.Yes(k.Set) {
				got = append(got, k.Name)
			} else if !k.Set.Known() {
				got = append(got, k.Name+"?")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q sets %v, want %q", text, got, want)
		}
	}
}

// What Fedora and RHEL ship: lines with groups of their own, after which no comma stands. opensm
// 3.3.23 takes them (tried on ibsim).
func TestParsePartitions_groups(t *testing.T) {
	all, err := ParsePartitions("# For reference\nDefault=0x7fff, rate=3, mtu=4, scope=2, defmember=full:\n\tALL, ALL_SWITCHES=full;\n" +
		"Default=0x7fff, ipoib, rate=3, mtu=4, scope=2:\n\tmgid=ff12:401b::ffff:ffff\t# IPv4 Broadcast address\n" +
		"\tmgid=ff12:601b::1,Q_Key=0x0b1b,scope=2\n\tSELF=full\n;\nlab=0x1:\n\tmgid=ff12:401b::1\n;\n")
	if err != nil || len(all) != 3 || all[0].Groups || !all[1].Groups || !all[2].Groups || len(all[0].Members) != 2 ||
		len(all[1].Members) != 1 || len(all[2].Members) != 0 {
		t.Errorf("%+v: %v", all, err)
	}
}

var storage = []Partition{
	{Name: "Default", PKey: 0x7fff, IPoIB: true, MTU: 4096, Rate: 400, SL: -1, Scope: -1,
		Members: []Member{{Port: "ALL", Membership: Full}}},
	{Name: "storage", PKey: 1, IPoIB: true, SL: -1, Scope: -1,
		Members: []Member{{Port: "ALL", Membership: Limited}, {Port: port1.String(), Membership: Full},
			{Port: port2.String(), Membership: Limited}}},
}

func TestPartitions_readBack(t *testing.T) {
	text := PartitionsText("# head\n", storage)
	want := "# head\nDefault=0x7fff, ipoib, rate=7, mtu=5 : ALL=full ;\n" +
		"storage=0x0001, ipoib : ALL=limited, 0xe41d2d0300e44ed1=full, 0xe41d2d0300e44ed2=limited ;\n"
	if text != want {
		t.Errorf("text:\n%s", text)
	}
	back, err := ParsePartitions(text)
	if diff := cmp.Diff(storage, back); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestParsePartitions_ofOthers(t *testing.T) {
	got, err := ParsePartitions("# x\nDefault , ipoib:ALL=full, SELF\n , ALL_SWITCHES=both;\n b=0x8002,indx0,mtu=1,rate=21,sl=3,scope=5,Q_Key=0x1,defmember=full : 0xe41d2d0300e44ed1 ; # end\n")
	want := []Partition{
		{Name: "Default", PKey: 0x7fff, IPoIB: true, SL: -1, Scope: -1,
			Members: []Member{{Port: "ALL", Membership: Full}, {Port: "ALL_SWITCHES", Membership: Both},
				{Port: "SELF", Membership: Limited}}},
		{Name: "b", PKey: 2, Index0: true, MTU: 256, Rate: 4000, SL: 3, Scope: 5, QKey: 1,
			Members: []Member{{Port: port1.String(), Membership: Full}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, part := range map[string]string{
		"a : ALL":                        "line 1: no ';'",
		"\n\nbroken 0x3 ipoib ;":         "line 3: no partition definition found",
		"a=0x1 : ALL;\nb=0x10000 : ALL;": `line 2: partition "b": "0x10000" is no P_Key`,
		"a=0x8000 : ALL;":                "is no P_Key",
		"a, mtu=9 : ALL;":                "mtu code 9 is not known",
		"a, mtux=4 : ALL;":               "unrecognized partition flag",
		"a : 0xzz;":                      "invalid GUID",
		"a : ALL=fully;":                 "is no membership",
		"a : ;":                          "has no members",
	} {
		if _, err := ParsePartitions(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKeysOf(t *testing.T) {
	for _, tt := range []struct {
		port     string
		keywords []string
		want     []uint16
	}{
		{port1.String(), []string{"ALL", "ALL_CAS"}, []uint16{0x8001, 0xffff}},
		{port2.String(), []string{"ALL", "ALL_CAS"}, []uint16{0x0001, 0xffff}},
		{"0x0000000000000009", []string{"ALL"}, []uint16{0x0001, 0xffff}},
		{"0x0000000000000009", nil, nil},
	} {
		if got := KeysOf(storage, tt.port, tt.keywords...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %04x", tt.port, got)
		}
	}
}

func TestSameGroups(t *testing.T) {
	change := func(f func(p []Partition)) []Partition {
		p := slices.Clone(storage)
		f(p)
		return p
	}
	for name, tt := range map[string]struct {
		to   []Partition
		want bool
	}{
		"same":       {storage, true},
		"membership": {change(func(p []Partition) { p[1].Members = []Member{{Port: "ALL", Membership: Full}} }), true},
		"new group":  {append(slices.Clone(storage), Partition{Name: "c", PKey: 3, IPoIB: true}), true},
		"MTU":        {change(func(p []Partition) { p[1].MTU = 4096 }), false},
		"group gone": {change(func(p []Partition) { p[1].IPoIB = false }), false},
	} {
		if got := SameGroups(storage, tt.to); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestParseLog_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata"), "opensm-log") {
		t.Run(c.Name, func(t *testing.T) {
			l := ParseLog(c.Text)
			fields := map[string]any{"states_entered": l.States, "subnet_up": l.SubnetUp, "port_down": l.PortDown,
				"exiting": l.Exiting}
			if len(l.Versions) > 0 {
				fields["versions"] = l.Versions
			}
			if diff := cmp.Diff(any(c.Expected), capture.Plain(t, fields)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Lines as opensm 3.3.23 printed them on ibsim, or as its source has them.
func TestParseLog_failures(t *testing.T) {
	const stamp = "Nov 21 19:45:52 248434 [37B5A740] "
	for name, tt := range map[string]struct {
		text string
		want Log
	}{
		"bind": {"Error from osm_opensm_bind (0x2A)\nPerhaps another instance of OpenSM is already running\nExiting SM\n",
			Log{CannotBind: true, Exiting: true}},
		"class": {stamp + "0x01 -> osm_vendor_bind: ERR 5426: Unable to register class 129 version 1\n",
			Log{NoClass: "129", Errors: []string{stamp +
				"0x01 -> osm_vendor_bind: ERR 5426: Unable to register class 129 version 1"}}},
		"no umad": {"ibwarn: [7] umad_init: can't read ABI version from /sys/class/infiniband_mad/abi_version (No such file or directory): is ib_umad module loaded?\n",
			Log{NoUMAD: "ibwarn: [7] umad_init: can't read ABI version from /sys/class/infiniband_mad/abi_version (No such file or directory): is ib_umad module loaded?"}},
		"cache": {stamp + "0x80 -> FATAL: Error restoring Guid-to-Lid persistent database\n",
			Log{Cache: "Guid-to-Lid"}},
		"mkey":   {"FATAL: Error restoring Guid-to-Mkey persistent database\n", Log{Cache: "Guid-to-Mkey"}},
		"links":  {"FATAL: Error restoring neighbor link persistent database\n", Log{Cache: "neighbor"}},
		"switch": {"Node 0xe41d2d0300e44ed0 port 1 is reachable from remote node 0x2c902004a1b00 port 1 and remote node 0x2c902004a1b00 port 2.\n", Log{Duplicated: true, Duplicate: []ib.GUID{0xe41d2d0300e44ed0}}},
		"port": {"x: ERR 0D15: Duplicate Port GUID 0x11! Found by the two directed routes:\n",
			Log{Duplicated: true, Duplicate: []ib.GUID{0x11},
				Errors: []string{"x: ERR 0D15: Duplicate Port GUID 0x11! Found by the two directed routes:"}}},
		"back to back": {"Errors on subnet. Duplicate GUID found by link from a port to itself. See verbose opensm.log for more details\n", Log{Duplicated: true, BackToBack: true}},
		"zero": {"ERR 0D16: Got Zero Node GUID! Found on the directed route:\n",
			Log{ZeroGUID: true, Errors: []string{"ERR 0D16: Got Zero Node GUID! Found on the directed route:"}}},
		"partitions": {"PARSE ERROR: line 5: no partition definition found\n",
			Log{Partitions: "PARSE ERROR: line 5: no partition definition found"}},
		"group": {"osm_prtn_add_mcgroup: Failed to create MC group (ff12:401b:8001::ffff:ffff) with pkey 0x8001\n",
			Log{Group: "osm_prtn_add_mcgroup: Failed to create MC group (ff12:401b:8001::ffff:ffff) with pkey 0x8001"}},
		"options":   {" Unrecognized token: \"bogus_key\"\n", Log{Options: []string{`Unrecognized token: "bogus_key"`}}},
		"port down": {"SM port is down\n", Log{PortDown: true}},
		"start": {"Entering DISCOVERING state\n\nEntering MASTER state\n" + stamp + "0x02 -> SUBNET UP\n",
			Log{States: []string{"DISCOVERING", "MASTER"}, SubnetUp: true}},
	} {
		if diff := cmp.Diff(tt.want, ParseLog(tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
