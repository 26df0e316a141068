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
			"storage": map[string]any{"pkey": "0x0001", "full": []any{one}, "limited": []any{other}},
		}}
		for k, v := range more {
			attrs[k] = v
		}
		return sm(labs.Intel9, attrs)
	}
	applied(t, ws, config(nil))
	w.inForce(" 0xffff 0x8001 ", " 0xffff 0x0001 ")

	dropIn, file := "/etc/systemd/system/"+smUnit+".d/zz-site.conf", "/etc/opensm/site.conf"
	w.Put(labs.Intel9, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/opensm --config "+smConf+" --guid %I --log_file /var/log/opensm.%I.log --Pconfig "+file+"\n")
	for _, c := range []struct {
		name, engine, file, table string
		says                      []string
	}{
		{"full for limited", "updn", fmt.Sprintf("Default=0x7fff, ipoib : ALL=full ;\nstorage=0x0001 : %s=full, %s=full ;\n", one, other), " 0xffff 0x8001 ",
			[]string{"(" + other + ") is declared a limited (0x0001) member of partition \"storage\" and is a full (0x8001) one; it has 0xffff, 0x8001", labs.Xeon2zfs}},
		{"dropped", "ftree", "Default=0x7fff, ipoib : ALL=full ;\nbroken ;\n", " 0xffff ",
			[]string{"(" + one + ") is declared a full (0x8001) member of partition \"storage\" and is none; it has 0xffff.", "PARSE ERROR", labs.Intel9}},
	} {
		w.Put(labs.Intel9, file, c.file)
		diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, config(map[string]any{"routing_engine": c.engine})))
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
	if parts := fmt.Sprint(field(t, v, "partitions")); strings.Contains(parts, "0x0001") || !strings.Contains(parts, "0x7fff") {
		t.Errorf("partitions of the fabric: %s", parts)
	}
	w.Run(labs.Intel9, "rm "+dropIn)
	applied(t, ws, config(map[string]any{"routing_engine": "minhop"}))
	w.inForce(" 0xffff 0x8001 ", " 0xffff 0x0001 ")
}
