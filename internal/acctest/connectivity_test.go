package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// measurePing measures from the Ubuntu host to the other.
func measurePing(t *testing.T, ws *Workspace, attrs map[string]any) (any, string) {
	t.Helper()
	all := map[string]any{"from": labs.Intel9, "to": labs.Xeon2zfs}
	for k, v := range attrs {
		all[k] = v
	}
	v, diags, err := ws.Data(context.Background(), "infiniband_connectivity", all)
	if err != nil || diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	var problems []string
	list, ok := field(t, v, "problems").([]any)
	if !ok {
		t.Fatalf("%v", v)
	}
	for _, p := range list {
		problems = append(problems, fmt.Sprintf("%s: %s", field(t, p, "kind"), field(t, p, "message")))
	}
	return v, strings.Join(problems, "\n")
}

// The main scenario ends in two hosts that reach each other with packets of the
// whole MTU; then each thing that can go wrong is named.
func TestConnectivity_of_the_two_hosts(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws := w.Workspace()
	mustApply(t, ws, w.BothHosts())
	got, problems := measurePing(t, ws, map[string]any{"packets": 3, "packet_sizes": []any{1500}})
	for key, want := range map[string]string{"reachable": "true", "loss_percent": "0", "id": "intel9/xeon2zfs",
		"target": "172.16.0.10"} {
		if s := fmt.Sprint(field(t, got, key)); s != want {
			t.Errorf("%s is %s, expected %s\n%s", key, s, want, problems)
		}
	}
	// The middleware of TrueNAS takes no MTU above 9216; its interface receives more.
	if fmt.Sprint(field(t, got, "path_mtu")) != "65520" || !strings.Contains(problems, "has MTU 9216 and ") ||
		!strings.Contains(problems, "packets longer than 9216 may not pass in one piece") {
		t.Errorf("path MTU %v, problems:\n%s", field(t, got, "path_mtu"), problems)
	}
	if fmt.Sprint(field(t, got, "sizes", "1500", "received")) != "3" {
		t.Errorf("sizes: %v", field(t, got, "sizes"))
	}

	dev := fmt.Sprint(field(t, got, "interface"))
	peer := ""
	for _, d := range w.Machine(labs.Xeon2zfs).Netdevs() {
		for _, a := range d.Addrs {
			if a.Addr().String() == "172.16.0.10" {
				peer = d.Name
			}
		}
	}
	w.Run(labs.Xeon2zfs, "ip link set dev "+peer+" mtu 65520")
	ws = w.Workspace()
	got, problems = measurePing(t, ws, nil)
	if fmt.Sprint(field(t, got, "mtu_ok")) != "true" || fmt.Sprint(field(t, got, "path_mtu")) != "65520" ||
		problems != "" {
		t.Errorf("path MTU %v, problems:\n%s", field(t, got, "path_mtu"), problems)
	}
	w.Run(labs.Xeon2zfs, "echo datagram > /sys/class/net/"+peer+"/mode")
	_, problems = measurePing(t, w.Workspace(), nil)
	if !strings.Contains(problems, "oversized: Packets of the interface's MTU 65520 do not pass in one piece; the path MTU is 2044.") {
		t.Errorf("datagram mode at the other end:\n%s", problems)
	}
	w.Run(labs.Intel9, "ip addr flush dev "+dev)
	ws = w.Workspace()
	_, problems = measurePing(t, ws, map[string]any{"from_interface": dev})
	if !strings.Contains(problems, "no_address: "+dev+" of intel9 has no address of this family.") {
		t.Errorf("problems:\n%s", problems)
	}
	_, diags, err := ws.Data(context.Background(), "infiniband_connectivity", map[string]any{"from": labs.Intel9})
	if err != nil || !strings.Contains(diags.String(), "Neither `to` nor `address` is set.") {
		t.Errorf("%v %s", err, diags)
	}
}
