package acctest

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// dhcpHost is a host of a stack whose fabric has a DHCP server, unless leases is nil.
func dhcpHost(t *testing.T, stack labsim.Stack, leases map[uint64]netip.Prefix) *stackLab {
	h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
	h.Stack, h.Cmdline = stack, "mlx4_core.port_type_array=1,1"
	w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: stack}
	w.needSimulated("needs a DHCP server on the fabric")
	w.fabric()
	w.ServeDHCP(leases)
	w.ws = w.Workspace()
	return w
}

const dhcpPort = 0xe41d2d0300e44ed1

func lease(text string) map[uint64]netip.Prefix {
	return map[uint64]netip.Prefix{dhcpPort: netip.MustParsePrefix(text)}
}

func dhcpConfig(more map[string]any) Config {
	return Config{Resource{Type: "infiniband_ipoib_interface", Name: "it", Attrs: map[string]any{
		"host": theHost, "port_guid": stackPort, "mode": "datagram", "mtu": 2044, "addresses": []any{}, "dhcp4": true,
	}}.With(more)}
}

var dhcpStacks = []labsim.Stack{labsim.StackNetplan, labsim.StackNetplanNM, labsim.StackNetworkManager,
	labsim.StackNetworkd}

// TestDHCP is an interface that a server of the fabric gives its address, on every stack that can.
func TestDHCP(t *testing.T) {
	t.Parallel()
	for _, stack := range dhcpStacks {
		t.Run(string(stack), func(t *testing.T) {
			t.Parallel()
			w := dhcpHost(t, stack, lease("10.7.0.5/24"))
			cfg := dhcpConfig(nil)
			route := w.Run(theHost, "ip route show default")
			mustApply(t, w.ws, cfg)
			if got := w.ws.Get(ipoibAddress, "dhcp_address"); got != "10.7.0.5/24" {
				t.Errorf("dhcp_address is %v", got)
			}
			emptyPlan(t, w.ws, cfg)
			if now := w.Run(theHost, "ip route show default"); now != route {
				t.Errorf("the server of the fabric has changed the default route: %s, before %s", now, route)
			}

			// Another address is an output, and no drift.
			w.ServeDHCP(lease("10.7.0.6/24"))
			w.Reboot(theHost)
			emptyPlan(t, w.ws, cfg)
			mustApply(t, w.ws, cfg)
			if got := w.ws.Get(ipoibAddress, "dhcp_address"); got != "10.7.0.6/24" {
				t.Errorf("dhcp_address is %v after a restart", got)
			}

			// A server that is silent later is none either.
			w.ServeDHCP(nil)
			w.Run(theHost, "ip addr del 10.7.0.6/24 dev "+w.name())
			emptyPlan(t, w.ws, cfg)
			w.ServeDHCP(lease("10.7.0.6/24"))

			w.importedDHCP(cfg)
			w.dhcpDrift(cfg)

			// The plan shows the lease. It is nothing new where somebody switches DHCP off after that.
			fixed := dhcpConfig(map[string]any{"dhcp4": nil, "addresses": []any{"10.7.0.20/24"}})
			plan := cleanPlan(t, w.ws, fixed)
			w.switchOff()
			if diags, err := w.ws.Apply(t.Context(), plan); err != nil || len(diags.Find("10.7.0.6/24")) != 0 {
				t.Errorf("apply: %v\n%s", err, diags)
			}
			mustApply(t, w.ws, fixed)
			if got := w.Run(theHost, "ip -4 -o addr show dev "+w.name()); !strings.Contains(got, "10.7.0.20") ||
				strings.Contains(got, "10.7.0.6") {
				t.Errorf("after the change to a fixed address: %s", got)
			}
			emptyPlan(t, w.ws, fixed)
			mustApply(t, w.ws, dhcpConfig(map[string]any{"addresses": []any{"fd00::20/64"}}))
			name := w.name()
			mustApply(t, w.ws, nil)
			if got := w.Run(theHost, "ip -4 -o addr show dev "+name); strings.Contains(got, "10.7.0") {
				t.Errorf("after the destroy: %s", got)
			}
		})
	}
}

// importedDHCP: an import reads DHCP back, and not the address that it has given.
func (w *stackLab) importedDHCP(cfg Config) {
	ws := w.Workspace()
	if diags, err := ws.Import(w.t.Context(), cfg[0], theHost+"/"+stackPort); err != nil || len(diags.Errors()) > 0 {
		w.t.Fatal(diags, err)
	}
	emptyPlan(w.t, ws, cfg)
}

// dhcpDrift: DHCP that somebody switches off in our file is in the plan, and an apply mends it.
func (w *stackLab) dhcpDrift(cfg Config) {
	w.switchOff()
	plan := cleanPlan(w.t, w.ws, cfg)
	if plan.Actions()[ipoibAddress] != Update {
		w.t.Errorf("DHCP that is off at boot: the plan is %v", plan.Actions())
	}
	mustApply(w.t, w.ws, cfg)
	emptyPlan(w.t, w.ws, cfg)
}

// switchOff takes DHCP out of our file. The interface keeps its lease.
func (w *stackLab) switchOff() {
	off := map[labsim.Stack]string{labsim.StackNetworkd: "s|DHCP=ipv4|DHCP=no|",
		labsim.StackNetworkManager: "s|method=auto|method=disabled|"}[w.stack]
	file := w.file()
	if off == "" {
		off = "s|dhcp4: true|dhcp4: false|"
	}
	w.Run(theHost, "t=$(sed '"+off+"' "+file+`) && printf '%s\n' "$t" >`+file)
}

// TestDHCP_no_server: without a lease the apply fails, says so, and leaves the interface as it was.
func TestDHCP_no_server(t *testing.T) {
	t.Parallel()
	for _, stack := range dhcpStacks {
		t.Run(string(stack), func(t *testing.T) {
			t.Parallel()
			w := dhcpHost(t, stack, nil)
			fixed := dhcpConfig(map[string]any{"dhcp4": nil, "addresses": []any{"10.7.0.20/24"}})
			mustApply(t, w.ws, fixed)
			diags, err := w.ws.Apply(t.Context(), cleanPlan(t, w.ws, dhcpConfig(nil)))
			if err != nil {
				t.Fatal(err)
			}
			said := "no DHCP server has given " + w.name() + " an address"
			if stack == labsim.StackNetplanNM || stack == labsim.StackNetworkManager {
				said = "IP configuration could not be reserved"
			}
			if len(diags.Errors().Find(said)) != 1 {
				t.Errorf("the apply says: %s", diags)
			}
			if got := w.Run(theHost, "ip -4 -o addr show dev "+w.name()); !strings.Contains(got, "10.7.0.20") {
				t.Errorf("after the undo: %s", got)
			}
			emptyPlan(t, w.ws, fixed)
		})
	}
}

// TestDHCP_refused: what a stack or a configuration cannot have is refused in the plan.
func TestDHCP_refused(t *testing.T) {
	t.Parallel()
	w := dhcpHost(t, labsim.StackIfupdown, lease("10.7.0.5/24"))
	if plan := mustPlan(t, w.ws, dhcpConfig(nil)); len(plan.Diags.Errors().Find("Finding: IP054",
		"it passes no client identifier to dhclient")) != 1 {
		t.Errorf("ifupdown: %s", plan.Diags)
	}
	w = dhcpHost(t, labsim.StackNetworkd, lease("10.7.0.5/24"))
	both := dhcpConfig(map[string]any{"addresses": []any{"10.7.0.20/24"}})
	if plan := mustPlan(t, w.ws, both); len(plan.Diags.Errors().Find("dhcp4 = true asks a server for one")) != 1 {
		t.Errorf("both: %s", plan.Diags)
	}
}

// TestDHCP_overlap: a lease is judged as a fixed address is. That of an apply is undone, and a later one is named by
// every plan and blocks none.
func TestDHCP_overlap(t *testing.T) {
	t.Parallel()
	for _, stack := range dhcpStacks {
		t.Run(string(stack), func(t *testing.T) {
			t.Parallel()
			w := dhcpHost(t, stack, lease("192.0.2.5/28"))
			fixed := dhcpConfig(map[string]any{"dhcp4": nil, "addresses": []any{"10.7.0.20/24"}})
			mustApply(t, w.ws, fixed)
			diags, err := w.ws.Apply(t.Context(), cleanPlan(t, w.ws, dhcpConfig(nil)))
			if err != nil {
				t.Fatal(err)
			}
			if len(diags.Errors().Find("The former configuration was restored", "IP013: The DHCP lease 192.0.2.5/28 overlaps "+
				"192.0.2.20/24 of eno1 on "+theHost)) != 1 {
				t.Errorf("the apply says: %s", diags)
			}
			if got := w.Run(theHost, "ip -4 -o addr show dev "+w.name()); !strings.Contains(got, "10.7.0.20") ||
				strings.Contains(got, "192.0.2") {
				t.Errorf("after the undo: %s", got)
			}
			emptyPlan(t, w.ws, fixed)

			w.ServeDHCP(lease("10.7.0.5/24"))
			cfg := dhcpConfig(nil)
			mustApply(t, w.ws, cfg)
			w.ServeDHCP(lease("192.0.2.5/28"))
			w.Reboot(theHost)
			mustApply(t, w.ws, cfg) // takes the address into the state
			plan := emptyPlan(t, w.ws, cfg)
			if len(plan.Diags.Warnings().Find("Finding: IP013", "The DHCP lease 192.0.2.5/28 overlaps 192.0.2.20/24 of eno1",
				"the DHCP server of the fabric")) != 1 {
				t.Errorf("a later lease: %s", plan.Diags)
			}
			mustApply(t, w.ws, fixed)
			if plan = emptyPlan(t, w.ws, fixed); len(plan.Diags.Find("IP013")) != 0 {
				t.Errorf("a fixed address: %s", plan.Diags)
			}
		})
	}
}

// TestAdopt_dhcp: an interface that this provider has set up with DHCP is adopted with DHCP, and its plan changes nothing.
func TestAdopt_dhcp(t *testing.T) {
	t.Parallel()
	w := dhcpHost(t, labsim.StackNetworkd, lease("10.7.0.5/24"))
	mustApply(t, w.ws, dhcpConfig(nil))
	o := newFolder(t, buildProvider(t))
	t.Log(o.adopts(w.Lab))
	text := strings.Join(strings.Fields(o.text("network.tf")), " ")
	if !strings.Contains(text, "addresses = [] dhcp4 = true") ||
		strings.Contains(text, "changed it since") {
		t.Errorf("network.tf is\n%s", o.text("network.tf"))
	}
	if said := o.says(0, "plan"); !strings.Contains(said, " 0 to change") {
		t.Errorf("the plan is %s", said)
	}
}
