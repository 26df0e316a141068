package acctest

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// virtualFunction adds the virtual function at an address to the card of the Ubuntu host. Its
// interface v0 has an address of a network of its own.
func (w *Lab) virtualFunction(bdf string) {
	m := w.Machine(labs.Intel9)
	m.AddVirtualFunction(m.Cards()[0], bdf, labsim.Netdev{Name: "v0", Type: labsim.TypeEthernet, Up: true,
		Driver: "mlx4_core", Address: []byte{2, 0, 0, 0, 1, 0},
		Addrs: []netip.Prefix{netip.MustParsePrefix("198.51.100.2/24")}})
}

// What goes over a virtual function goes over its card, also if there are more of them than
// the slot of the card has functions.
func TestVirtualFunction_is_a_way_over_the_card(t *testing.T) {
	const nfs = "/dev/sda2 / ext4 rw 0 0\nnas:/tank /mnt/tank nfs4 rw,vers=4.2,addr=198.51.100.9 0 0\n"
	burn := func(w *Lab) Config { return w.burn(labs.Intel9, w.Image(ImageVPI), nil) }
	types := func(w *Lab) Config { return w.types(labs.Intel9, "ib", "eth") }
	off := func(w *Lab) Config { return w.port(map[string]any{"enabled": false}) }
	bought, flashed := func() []labs.Host { return boughtHost() }, func() []labs.Host { return vpi() }
	session := func(w *Lab) {
		w.edits(labs.Intel9, "/usr/sbin/ip", " get ",
			func(s string) string { return strings.ReplaceAll(s, "dev eno1", "dev v0") })
	}
	route := func(w *Lab) { w.Run(labs.Intel9, "ip route replace default via 198.51.100.1 dev v0") }
	mount := func(w *Lab) { w.Machine(labs.Intel9).FS.Put("/proc/mounts", nfs, 0o444) }
	for _, tt := range []struct {
		name, code, bdf string
		hosts           func() []labs.Host
		prepare         func(*Lab)
		config          func(*Lab) Config
	}{
		{"burn, session, beside the card", "HO001", "0000:01:00.1", bought, session, burn},
		{"burn, session", "HO001", "0000:01:01.0", bought, session, burn},
		{"burn, default route", "HO002", "0000:01:01.0", bought, route, burn},
		{"burn, storage", "HO012", "0000:02:01.0", bought, mount, burn},
		{"link types, session", "HO001", "0000:01:01.0", flashed, session, types},
		{"port, session", "PO004", "0000:01:00.1", flashed, session, off},
		{"port, storage", "PO004", "0000:01:01.0", flashed, mount, off},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: tt.hosts()})
			if tt.code == "PO004" {
				drivers(w)
			}
			w.virtualFunction(tt.bdf)
			tt.prepare(w)
			plan := mustPlan(t, w.Workspace(), tt.config(w))
			if len(plan.Diags.Errors().Find(tt.code, "v0", `management_path = ["v0"]`)) != 1 {
				t.Errorf("no error %s names v0:\n%s", tt.code, plan.Diags)
			}
		})
	}
}
