package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// An apply of all kinds notes each change on its host. The data source reads that in one
// command, and a plan without changes notes nothing.
func TestHistory_of_an_apply_of_all_kinds(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: boughtHost()})
	ws, cfg := w.Workspace(), w.CrossFlash(labs.Intel9)
	cfg = append(cfg, w.port(Allow("management_path", []any{"ibp1s0"}))[0])
	cfg[len(cfg)-1].After = []string{"infiniband_ipoib_interface." + labs.Intel9}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	var value map[string]any
	cost := w.trips(labs.Intel9, func() {
		read, diags, err := ws.Data(t.Context(), "infiniband_history", map[string]any{"host": labs.Intel9})
		if err != nil || diags.HasError() {
			t.Fatalf("%v\n%s", err, diags)
		}
		value, _ = read.(map[string]any)
	})
	if want := (trips{connections: 1, commands: 1}); cost != want {
		t.Errorf("the data source cost %+v, want %+v", cost, want)
	}
	var got []string
	all, _ := value["changes"].([]any)
	for _, c := range all {
		c, _ := c.(map[string]any)
		got = append(got, strings.Join([]string{c["what"].(string), c["from"].(string), c["to"].(string),
			c["result"].(string)}, " | "))
		if by, _ := c["by"].(string); by != changes.Operator() {
			t.Errorf("changed by %q", by)
		}
	}
	want := []string{
		"burn | " + card.PSIDEN + " 2.40.5032 | " + card.PSIDVPI + " 2.42.5000 | verified",
		"guids | 0xffffffffffffffff, MAC e4:1d:2d:e4:4e:d0 | 0xe41d2d0300e44ed0, MAC e4:1d:2d:e4:4e:d0 | verified",
		"link_type | port 1 eth (not stored), port 2 eth (not stored) | port 1 ib, port 2 ib, stored in modprobe.d | verified",
		"opensm | none | priority 14, standard options | verified",
		"ipoib_interface | datagram, MTU 4092; nothing of Terraform at boot | connected, MTU 65520, 172.16.0.20/24 | " +
			"verified",
		"port | enabled, nothing at boot | enabled | verified",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
