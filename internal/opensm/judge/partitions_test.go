package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

func TestCheckPartitions(t *testing.T) {
	standard := opensm.Partition{Name: "Default", PKey: opensm.DefaultPKey, IPoIB: true,
		Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}}
	ports := map[string]found.MemberPort{"0x1": {Where: "a", MTU: 2048, Rate: 400}}
	for _, tt := range []struct {
		name  string
		all   []opensm.Partition
		codes string
		text  string
	}{
		{"none", nil, "", ""},
		{"good", []opensm.Partition{standard}, "", ""},
		{"no default", []opensm.Partition{{Name: "a", PKey: 1, Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}}}, "SM013",
			"a and no"},
		{"limited default", []opensm.Partition{{Name: "Default", PKey: opensm.DefaultPKey, IPoIB: true,
			Members: []opensm.Member{{Port: "ALL", Membership: opensm.Limited}, {Port: "SELF", Membership: opensm.Full}}}}, "SM014", "full members"},
		{"one key twice", []opensm.Partition{standard, {Name: "a", PKey: 1, Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}},
			{Name: "b", PKey: 1, Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}}}, "SM015", "0x8001"},
		{"one port twice", []opensm.Partition{standard,
			{Name: "a", PKey: 1, Members: []opensm.Member{{Port: "0x1", Membership: opensm.Full}, {Port: "0x1", Membership: opensm.Limited}}}},
			"SM015", "twice"},
		{"MTU of a member", []opensm.Partition{standard,
			{Name: "a", PKey: 1, IPoIB: true, MTU: 4096, Members: []opensm.Member{{Port: "0x1", Membership: opensm.Full}}}}, "SM016",
			"IB MTU 2048, the group 4096"},
		{"MTU of somebody", []opensm.Partition{{Name: "Default", PKey: opensm.DefaultPKey, IPoIB: true, MTU: 4096,
			Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}}}, "SM016", "IB MTU 2048"},
		{"rate", []opensm.Partition{standard,
			{Name: "a", PKey: 1, IPoIB: true, Rate: 560, Members: []opensm.Member{{Port: "0x1", Membership: opensm.Full}}}}, "SM016",
			"40 Gb/s, the group 56"},
		{"limited only", []opensm.Partition{standard,
			{Name: "a", PKey: 1, Members: []opensm.Member{{Port: "0x1", Membership: opensm.Limited}, {Port: "0x2", Membership: opensm.Limited}}}},
			"", ""},
		{"a single limited one", []opensm.Partition{standard,
			{Name: "a", PKey: 1, Members: []opensm.Member{{Port: "0x1", Membership: opensm.Limited}}}}, "", ""},
	} {
		var codes, text []string
		for _, f := range CheckPartitions(tt.all, ports, 0) {
			codes, text = append(codes, f.Rule.Code), append(text, f.Evidence)
		}
		if strings.Join(codes, " ") != tt.codes || !strings.Contains(strings.Join(text, " "), tt.text) {
			t.Errorf("%s: %v %v", tt.name, codes, text)
		}
	}
}
