package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Another port, or another partition, is another interface, also if nothing else of
// the configuration changes. The address moves along: the interface that the plan
// removes is not in its way.
func TestIPoIB_anotherPortIsAnotherInterface(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	none := []any{}
	o := newOperator(t, w, ipoib(host, map[string]any{"addresses": none}), buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	for _, c := range []struct {
		name, id string
		attrs    map[string]any
	}{
		{"port", portGUID(host, 2), map[string]any{"addresses": none, "port_guid": portGUID(host, 2)}},
		{"partition", portGUID(host, 2) + "/0x8005",
			map[string]any{"addresses": none, "port_guid": portGUID(host, 2), "pkey": "0x8005"}},
		{"port with an address", portGUID(host, 2), map[string]any{"port_guid": portGUID(host, 2)}},
		{"back, with its address", portGUID(host, 1), nil},
	} {
		o.write("main.tf", Required+HCL(w.Provider(), ipoib(host, c.attrs)))
		if out := o.says(0, "plan", "-out=p"); !strings.Contains(out, "must be replaced") {
			t.Errorf("%s: no replacement is planned:\n%s", c.name, out)
		}
		o.says(0, "apply", "p")
		if out := o.says(0, "state", "show", "infiniband_ipoib_interface.it"); !strings.Contains(out, `"`+host+"/"+c.id+`"`) {
			t.Errorf("%s: the state has no %s:\n%s", c.name, c.id, out)
		}
		o.says(0, "plan", "-detailed-exitcode")
	}
	if out := w.Run(host, "ip addr show"); strings.Count(out, "172.16.0.20/24") != 1 {
		t.Errorf("the address is not on one interface:\n%s", out)
	}
}
