package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// An opensm that somebody has start with another partition file: what was declared
// is not in force, on ports of other hosts, and nothing but their tables shows it.
func TestSM_isolation_that_is_not_in_force(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	one, other := portGUID(labs.Intel9, 1), portGUID(labs.Xeon2zfs, 1)
	config := func(more map[string]any) Config {
		attrs := map[string]any{"partitions": map[string]any{
			"Default": everybody,
			"storage": map[string]any{"pkey": "0x8001", "full": []any{one}, "limited": []any{other}},
		}}
		for k, v := range more {
			attrs[k] = v
		}
		return sm(labs.Intel9, attrs)
	}
	mustApply(t, ws, config(nil))
	w.inForce(" 0xffff 0x8001 ", " 0xffff 0x0001 ")

	dropIn, file := "/etc/systemd/system/"+smUnit+".d/zz-site.conf", "/etc/opensm/site.conf"
	w.Put(labs.Intel9, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/opensm --config "+smConf+
		" --guid %I --log_file /var/log/opensm.%I.log --Pconfig "+file+"\n")
	for _, c := range []struct {
		name, engine, file, table string
		says                      []string
	}{
		{"full for limited", "updn", fmt.Sprintf("Default=0x7fff, ipoib : ALL=full ;\nstorage=0x0001 : %s=full, %s=full ;\n",
			one, other), " 0xffff 0x8001 ",
			[]string{"(" + other + ") is declared a limited (0x0001) member of partition \"storage\" and is a full (0x8001) one; it has 0xffff, 0x8001", labs.Xeon2zfs}},
		{"dropped", "ftree", "Default=0x7fff, ipoib : ALL=full ;\nbroken ;\n", " 0xffff ",
			[]string{"(" + one + ") is declared a full (0x8001) member of partition \"storage\" and is none; it has 0xffff.",
				"PARSE ERROR", labs.Intel9}},
	} {
		w.Put(labs.Intel9, file, c.file)
		diags, err := ws.Apply(context.Background(),
			cleanPlan(t, ws, config(map[string]any{"routing_engine": []any{c.engine}})))
		if err != nil {
			t.Fatal(err)
		}
		found := diags.Errors().Find("its partitions are not in force (cause: P_Key)", "systemctl cat "+smUnit)
		if len(found) != 1 || !containsAll(found[0].Text(), c.says) {
			t.Errorf("%s: %s", c.name, diags)
		}
		if table := w.pkeys(labs.Xeon2zfs); table != c.table {
			t.Errorf("%s: %s has the P_Keys%s", c.name, labs.Xeon2zfs, table)
		}
	}
	// The fabric shows what is in force, not what was declared.
	v, diags, err := ws.Data(context.Background(), "infiniband_fabric", map[string]any{"host": labs.Intel9})
	if err != nil || diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	if parts := fmt.Sprint(field(t, v, "partitions")); strings.Contains(parts, "0x8001") ||
		!strings.Contains(parts, "0xffff") {
		t.Errorf("partitions of the fabric: %s", parts)
	}
	w.Run(labs.Intel9, "rm "+dropIn)
	mustApply(t, ws, config(map[string]any{"routing_engine": []any{"minhop"}}))
	w.inForce(" 0xffff 0x8001 ", " 0xffff 0x0001 ")
}

// A P_Key interface that stays without carrier (LOWERLAYERDOWN): the table of its
// port says whether the port is no member or the partition has no group.
func TestConnectivity_of_a_partition(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	child := ipoib(labs.Intel9, map[string]any{"pkey": "0x8001", "addresses": []any{"172.17.0.20/24"}})
	with := func(storage map[string]any) Config {
		storage["pkey"] = "0x8001"
		return append(sm(labs.Intel9, map[string]any{"partitions": map[string]any{"Default": everybody, "storage": storage}}),
			child...)
	}
	for _, c := range []struct {
		name    string
		storage map[string]any
		says    string
	}{
		{"no member", map[string]any{"ipoib": true, "full": []any{portGUID(labs.Intel9, 2)}},
			"partition: ibp1s0.8001 of intel9 has no carrier although its port is up: the P_Key 0x8001 is not in the port's table, which has 0xffff. Make port " + portGUID(labs.Intel9, 1)},
		{"no group", map[string]any{"full": []any{portGUID(labs.Intel9, 1)}},
			"no_carrier: ibp1s0.8001 of intel9 has no carrier although its port is up and has the P_Key 0x8001: the partition has no broadcast group"},
	} {
		mustApply(t, ws, with(c.storage))
		v, diags, err := ws.Data(context.Background(), "infiniband_connectivity",
			map[string]any{"from": labs.Intel9, "from_interface": "ibp1s0.8001", "address": "172.17.0.99"})
		if err != nil || diags.HasError() {
			t.Fatalf("%v %v", err, diags)
		}
		if got := fmt.Sprint(field(t, v, "problems")); !strings.Contains(got, strings.SplitN(c.says, ": ", 2)[1]) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// A subnet prefix is read back from the port: ConnectX-3 takes it, ConnectX-4 not.
func TestSM_subnet_prefix(t *testing.T) {
	t.Parallel()
	const says = "The subnet prefix is not in force"
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	if diags := mustApply(t, w.Workspace(),
		sm(labs.Intel9, map[string]any{"subnet_prefix": "0xfec0000000000006"})); len(diags.Find(says)) > 0 {
		t.Errorf("%s", diags)
	}
	if w.testbed != nil {
		return // whose ports all are those of a ConnectX-3
	}
	if gid := w.Run(labs.Intel9, "cat /sys/class/infiniband/mlx4_0/ports/1/gids/0"); gid != "fec0:0000:0000:0006:e41d:2d03:00e4:4ed1\n" {
		t.Errorf("GID %s", gid)
	}
	w = Start(t, Options{Hosts: []labs.Host{labs.ConnectX4(labs.Intel9, "192.0.2.20", 0)}})
	drivers5(w)
	diags := mustApply(t, w.Workspace(), smWithPrefix(w))
	if found := diags.Find(says); len(found) != 1 ||
		!containsAll(found[0].Text(), []string{"begin with 0xfe80000000000000, not with 0xfec0000000000006", "SM026"}) {
		t.Errorf("%s", diags)
	}
}
