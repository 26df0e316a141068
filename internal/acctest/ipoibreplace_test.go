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

// An interface must lose a subnet before another one gets it, so create_before_destroy is
// refused. What the refusal says to do works, and a destroy never takes what the new
// object of the same interface has.
func TestIPoIB_madeBeforeTheOldOneIsGone(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	one, two := ipoib(host, nil), ipoib(host, map[string]any{"port_guid": portGUID(host, 2)})
	o := newOperator(t, w, one, buildProvider(t))
	use := func(cfg Config, block string) {
		head := `resource "infiniband_ipoib_interface" "it" {`
		o.write("main.tf", Required+strings.ReplaceAll(HCL(w.Provider(), cfg), head, block))
	}
	const cbd = "resource \"infiniband_ipoib_interface\" \"it\" {\n  lifecycle {\n    create_before_destroy = true\n  }\n"
	tells := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "), part) {
				t.Errorf("nothing says %q:\n%s", part, out)
			}
		}
	}
	settled := func() {
		t.Helper()
		o.says(0, "plan", "-detailed-exitcode")
		if out := w.Run(host, "ip addr show"); strings.Count(out, "172.16.0.20/24") != 1 {
			t.Errorf("the address is not on one interface:\n%s", out)
		}
	}
	use(one, cbd)
	o.says(0, "apply", "-auto-approve")
	use(two, cbd)
	tells(o.says(0, "plan"), "IP013 The interface that is replaced must lose the subnet first", "create_before_destroy")
	tells(o.says(1, "apply", "-auto-approve"), "IP013", "for port "+portGUID(host, 1), "create_before_destroy")
	// The old object is deposed now. Back again, it is made anew, and its own old object is
	// destroyed after that.
	use(one, cbd)
	tells(o.says(0, "apply", "-auto-approve"), "1 destroyed", "Not removed: configuration of IPoIB interface")
	settled()

	// Forward again, by what the refusal says.
	use(two, cbd)
	o.says(1, "apply", "-auto-approve")
	tells(o.says(1, "plan"), "IP013", "remove the block of this resource, apply, put it back")
	use(nil, cbd)
	o.says(0, "apply", "-auto-approve")
	use(two, cbd)
	o.says(0, "apply", "-auto-approve")
	settled()

	// A renamed block destroys under its old name what it makes under the new one.
	use(two, `resource "infiniband_ipoib_interface" "new" {`)
	o.says(0, "apply", "-auto-approve")
	settled()

	// Two objects of the state for one interface: the destroy of one would end both.
	use(two, `resource "infiniband_ipoib_interface" "it" {`)
	o.write("import.tf", "import {\n  to = infiniband_ipoib_interface.it\n  id = \""+host+"/"+portGUID(host, 2)+"\"\n}\n")
	tells(o.says(1, "plan"), "HO030", "Refusing to destroy what another object of the state manages", "terraform state rm")
	o.says(0, "state", "rm", "infiniband_ipoib_interface.new")
	o.says(0, "apply", "-auto-approve")
	settled()
}

// An address that somebody has typed is in the plan of a replacement: it ends with the old
// object, and does not keep the new one from being made.
func TestIPoIB_replaced_with_a_typed_address(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	o := newOperator(t, w, ipoib(host, nil), buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	w.Run(host, "ip addr add 10.9.9.9/24 dev ibp1s0")
	if out := o.says(0, "plan", "-replace=infiniband_ipoib_interface.it", "-out=p"); !strings.Contains(out, "10.9.9.9/24") {
		t.Errorf("the plan does not show the address:\n%s", out)
	}
	o.says(0, "apply", "p")
	o.says(0, "plan", "-detailed-exitcode")
	if out := w.Run(host, "ip addr show dev ibp1s0"); !strings.Contains(out, "172.16.0.20/24") || strings.Contains(out, "10.9.9.9") {
		t.Errorf("afterwards:\n%s", out)
	}
}
