package adoption

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// manager is a subnet manager of a host, with values by argument.
func manager(host string, values map[string]string) *Object {
	attrs := map[string]tftypes.Value{}
	for _, name := range kinds[smType].forms[0] {
		attrs[name] = tftypes.NewValue(tftypes.String, nil)
	}
	attrs["host"] = tftypes.NewValue(tftypes.String, host)
	for name, value := range values {
		attrs[name] = tftypes.NewValue(tftypes.String, value)
	}
	return &Object{Type: smType, Name: identifier(host), Host: host, ID: host + "/0x1", attrs: attrs}
}

// Objects become one block if three hosts have them and at most two values differ. What
// has another argument, or too many values of its own, stays as it was.
func TestGather_makesOneBlockOfWhatIsAlike(t *testing.T) {
	for name, c := range map[string]struct {
		of   []*Object
		want string
	}{
		"two hosts": {[]*Object{manager("a", nil), manager("b", nil)}, "a b"},
		"three hosts, equal": {[]*Object{manager("a", nil), manager("b", nil), manager("c", nil)},
			`hosts["a"] hosts["b"] hosts["c"]`},
		"another argument": {[]*Object{manager("a", nil), manager("b", nil), manager("c", nil),
			manager("d", map[string]string{"log_level": "3"})}, `hosts["a"] hosts["b"] hosts["c"] d`},
		"two values differ": {[]*Object{manager("a", map[string]string{"port_guid": "1", "log_level": "1"}),
			manager("b", map[string]string{"port_guid": "2", "log_level": "1"}),
			manager("c", map[string]string{"port_guid": "3", "log_level": "2"})}, `hosts["a"] hosts["b"] hosts["c"]`},
		"three values differ": {[]*Object{
			manager("a", map[string]string{"port_guid": "1", "log_level": "1", "routing_engine": "x"}),
			manager("b", map[string]string{"port_guid": "2", "log_level": "1", "routing_engine": "x"}),
			manager("c", map[string]string{"port_guid": "3", "log_level": "2", "routing_engine": "y"})}, "a b c"},
		"a host has the name": {[]*Object{manager("hosts", map[string]string{"log_level": "3"}), manager("a", nil),
			manager("b", nil), manager("c", nil)}, `hosts hosts_2["a"] hosts_2["b"] hosts_2["c"]`},
		"names that need quotes": {[]*Object{manager("a.x", nil), manager("b.x", nil), manager("for", nil)},
			`hosts["a.x"] hosts["b.x"] hosts["for"]`},
	} {
		f := &Lab{objects: c.of}
		f.gather(f.objects)
		var got []string
		for _, o := range f.objects {
			got = append(got, strings.TrimPrefix(o.Address(), smType+"."))
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%s: %s, want %s", name, all, c.want)
		}
	}
}

// Values that differ are in the map of the block, by name if they are two. What refers to an
// instance from elsewhere has its key.
func TestFiles_ofHostsThatAreAlike(t *testing.T) {
	f := &Lab{}
	for _, host := range []string{"a", "b", "c.x"} {
		values := map[string]string{"port_guid": "0x" + host, "log_level": "l" + host, "routing_engine": "updn"}
		f.objects = append(f.objects, manager(host, values))
	}
	f.gather(f.objects)
	files := f.Files()
	if got, want := string(files["fabric.tf"]), `resource "infiniband_opensm" "hosts" {
  for_each = {
    "a" = {
      port_guid = "0xa"
      log_level = "la"
    }
    "b" = {
      port_guid = "0xb"
      log_level = "lb"
    }
    "c.x" = {
      port_guid = "0xc.x"
      log_level = "lc.x"
    }
  }

  host           = each.key
  port_guid      = each.value.port_guid
  routing_engine = "updn"
  log_level      = each.value.log_level
}
`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, got, _ := strings.Cut(string(files["imports.tf"]), "\n\n")
	if want := `import {
  for_each = {
    "a"   = "a/0x1"
    "b"   = "b/0x1"
    "c.x" = "c.x/0x1"
  }

  to = infiniband_opensm.hosts[each.key]
  id = each.value
}
`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	to := argument{name: "port_guid", to: f.objects[2], path: ".port_guid"}
	for from, want := range map[*Object]string{
		{Host: "c.x"}:             `infiniband_opensm.hosts["c.x"].port_guid`,
		{Host: "c.x", Key: "c.x"}: `infiniband_opensm.hosts[each.key].port_guid`,
	} {
		if got := to.expression(from); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
