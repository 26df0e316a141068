package benchmark

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A limit of the wrong kind would look as if it did something.
func TestDesired_wantsLimitsOfTheTest(t *testing.T) {
	entry := map[string]attr.Type{"mode": types.StringType, "link": types.StringType, "min_gbps": types.Float64Type,
		"max_latency_us": types.Float64Type}
	for _, c := range []struct {
		test              string
		minGbps, maxDelay types.Float64
		says              string
	}{
		{"iperf3", types.Float64Value(35), types.Float64Null(), ""},
		{"tcp_lat", types.Float64Null(), types.Float64Value(20), ""},
		{"iperf3", types.Float64Null(), types.Float64Null(), "entry 1: the limit of iperf3 is min_gbps, and only that"},
		{"iperf3", types.Float64Value(35), types.Float64Value(20), "entry 1: the limit of iperf3 is min_gbps, and only that"},
		{"tcp_lat", types.Float64Value(35), types.Float64Null(),
			"entry 1: the limit of tcp_lat is max_latency_us, and only that"},
	} {
		m := asked{Server: types.StringValue("a"), Client: types.StringValue("b"), Test: types.StringValue(c.test),
			Limits: types.ListValueMust(types.ObjectType{AttrTypes: entry},
				[]attr.Value{types.ObjectValueMust(entry, map[string]attr.Value{
					"mode": types.StringNull(), "link": types.StringValue("QDR"), "min_gbps": c.minGbps, "max_latency_us": c.maxDelay,
				})})}
		_, at, err := m.request()
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.test, err)
		case c.says != "" && (err == nil || at != "limits" || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: at %q: %v", c.test, at, err)
		}
	}
}
