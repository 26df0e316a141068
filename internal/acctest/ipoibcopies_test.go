package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// flat is the output of the engine without its frames and line breaks.
func flat(out string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " ")
}

// A copy of a file of this provider is named by the plan, and by that of a destroy, which does
// not promise that nothing is left.
func TestIPoIB_copies_of_our_files(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	o := newOperator(t, w, ipoib(host, nil), buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	w.Run(host, "cp /etc/netplan/60-infiniband-"+strings.TrimPrefix(portGUID(host, 1), "0x")+".yaml /etc/netplan/70-copy.yaml")
	tells(t, o.says(1, "plan"), "IP042", "/etc/netplan/70-copy.yaml defines ethernets.ibp1s0", "it is a copy")
	o.write("main.tf", Required+HCL(w.Provider(), nil))
	tells(t, o.says(0, "plan"), "Another definition of the interface stays", "/etc/netplan/70-copy.yaml")
	tells(t, o.says(0, "apply", "-auto-approve"), "/etc/netplan/70-copy.yaml stays")
}

// tells checks what an output has, wherever its lines break.
func tells(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(flat(out), part) {
			t.Errorf("nothing says %q:\n%s", part, out)
		}
	}
}

// The plan of a destroy speaks of what the refresh has found. Where nothing is left on the host,
// it does not say that an interface goes.
func TestIPoIB_removed_by_somebody_else(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	child := ipoib(host, map[string]any{"pkey": "0x8001", "mode": "datagram"})
	o := newOperator(t, w, child, buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	w.Run(host, "ip link del ibp1s0.8001; rm -r /etc/systemd/network/*infiniband-*; rm -rf /etc/systemd/network/*.network.d")
	o.write("main.tf", Required+HCL(w.Provider(), nil))
	out := o.says(0, "plan")
	if !strings.Contains(out, "No changes") || strings.Contains(out, "interface is removed") || strings.Contains(out, "It goes now") {
		t.Errorf("the plan promises what is not so:\n%s", out)
	}
}

// A file of an interface that somebody has changed is named, with what differs: the plan is an
// update that shows no changed value.
func TestIPoIB_files_that_somebody_has_changed(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	child := ipoib(host, map[string]any{"pkey": "0x8001", "mode": "datagram"})
	o := newOperator(t, w, child, buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	const parent = "/etc/systemd/network/95-infiniband-e41d2d0300e44ed1-8001-parent.network"
	w.Machine(host).FS.Drop(parent)
	tells(t, o.says(0, "plan"), "IP050", parent+" is not there")
	o.says(0, "apply", "-auto-approve")
	if out := o.says(0, "plan", "-detailed-exitcode"); strings.Contains(out, "IP050") {
		t.Errorf("after the apply:\n%s", out)
	}
}

// A line that somebody takes out of a file of an interface, or changes there, is an update that
// names the line, on every network stack.
func TestIPoIB_lines_that_somebody_has_changed(t *testing.T) {
	t.Parallel()
	const port = "e41d2d0300e44ed1"
	for _, c := range []struct {
		name           string
		stack          labsim.Stack
		file, old, now string
		says           string
	}{
		{"ifupdown, not at boot", labsim.StackIfupdown, "/etc/network/interfaces.d/infiniband-" + port, "auto ibp1s0\n", "",
			"lacks auto ibp1s0"},
		{"ifupdown, no addresses", labsim.StackIfupdown, "/etc/network/interfaces.d/infiniband-" + port, "inet static",
			"inet manual", "lacks iface ibp1s0 inet static"},
		{"ifupdown, from Windows", labsim.StackIfupdown, "/etc/network/interfaces.d/infiniband-" + port, "inet static\n",
			"inet static\r\n", "has the line ends of Windows"},
		{"netplan", labsim.StackNetplan, "/etc/netplan/60-infiniband-" + port + ".yaml", "      accept-ra: false\n", "",
			"lacks accept-ra=false"},
		{"NetworkManager", labsim.StackNetworkManager, "/etc/NetworkManager/system-connections/infiniband-" + port +
			".nmconnection", "method=manual", "method=disabled", "lacks ipv4.method=manual"},
		{"networkd", labsim.StackNetworkd, "/etc/systemd/network/60-infiniband-" + port + ".network",
			"ConfigureWithoutCarrier=yes\n", "", "lacks Network.ConfigureWithoutCarrier=yes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			editedFile(t, c.stack, c.file, c.old, c.now, "IP050", c.says)
		})
	}
}

// editedFile changes a file of an interface and holds that the plan is an update that says so, and
// that an apply writes the file as it was.
func editedFile(t *testing.T, stack labsim.Stack, file, old, now string, says ...string) {
	t.Helper()
	w := Start(t, Options{Hosts: withStack(stack)()})
	drivers(w)
	host := labs.Intel9
	w.AddSM(&labsim.SM{Port: w.Machine(host).Cards()[0].Ports[0], Priority: 1})
	ws, cfg := w.Workspace(), ipoib(host, map[string]any{
		"routes": []any{map[string]any{"to": "10.20.0.0/16", "via": "172.16.0.1"}}})
	mustApply(t, ws, cfg)
	text := w.Run(host, "cat "+file)
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not in\n%s", old, text)
	}
	edited := strings.Replace(text, old, now, 1)
	if old == "" {
		edited = text + text
	}
	w.Machine(host).FS.Put(file, edited, 0o600)
	plan := cleanPlan(t, ws, cfg)
	if len(plan.Changes) != 1 || plan.Changes[0].Action != Update || len(plan.Diags.Find(says...)) != 1 {
		t.Errorf("%v\n%s", plan.Changes, plan.Diags)
	}
	mustApply(t, ws, cfg)
	if now := w.Run(host, "cat "+file); now != text {
		t.Errorf("after the apply:\n%s", now)
	}
	emptyPlan(t, ws, cfg)
}

// A value that a file names twice is one value of the state: Terraform refuses a set that has
// it twice, and no plan would ever mend the file.
func TestIPoIB_value_that_stands_there_twice(t *testing.T) {
	t.Parallel()
	const port = "e41d2d0300e44ed1"
	for _, c := range []struct {
		name           string
		stack          labsim.Stack
		file, old, now string
	}{
		{"ifupdown, the whole file", labsim.StackIfupdown, "/etc/network/interfaces.d/infiniband-" + port, "", ""},
		{"netplan", labsim.StackNetplan, "/etc/netplan/60-infiniband-" + port + ".yaml", "        - \"172.16.0.20/24\"\n",
			"        - \"172.16.0.20/24\"\n        - \"172.16.0.20/24\"\n"},
		{"NetworkManager", labsim.StackNetworkManager, "/etc/NetworkManager/system-connections/infiniband-" + port +
			".nmconnection", "address1=172.16.0.20/24\n", "address1=172.16.0.20/24\naddress2=172.16.0.20/24\n"},
		{"networkd", labsim.StackNetworkd, "/etc/systemd/network/60-infiniband-" + port + ".network",
			"Address=172.16.0.20/24\n", "Address=172.16.0.20/24\nAddress=172.16.0.20/24\n"},
		{"networkd, a route", labsim.StackNetworkd, "/etc/systemd/network/60-infiniband-" + port + ".network", "[Route]\n",
			"[Route]\nDestination=10.20.0.0/16\nGateway=172.16.0.1\n\n[Route]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			editedFile(t, c.stack, c.file, c.old, c.now, "IP050")
		})
	}
}

// A file of an interface that its stack cannot read any more is written anew, as its first lines
// promise.
func TestIPoIB_file_without_sense(t *testing.T) {
	t.Parallel()
	const port = "e41d2d0300e44ed1"
	for _, c := range []struct {
		name           string
		stack          labsim.Stack
		file, old, now string
		says           string
	}{
		{"ifupdown, no stanza", labsim.StackIfupdown, "/etc/network/interfaces.d/infiniband-" + port,
			"iface ibp1s0 inet static\n", "", "has line 5: address, line 6: mtu"},
		{"ifupdown", labsim.StackIfupdown, "/etc/network/interfaces.d/infiniband-" + port, "auto ibp1s0\n", "no sense\n",
			"has line 3: no"},
		{"netplan", labsim.StackNetplan, "/etc/netplan/60-infiniband-" + port + ".yaml", "network:\n", "network\n",
			"is not a netplan file"},
		{"NetworkManager", labsim.StackNetworkManager, "/etc/NetworkManager/system-connections/infiniband-" + port +
			".nmconnection", "[ipv4]\n", "[ipv4\n", "line 16: neither a section nor an assignment"},
		{"networkd", labsim.StackNetworkd, "/etc/systemd/network/60-infiniband-" + port + ".network", "[Match]\n",
			"[Match\n", "line 3: neither a section nor an assignment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			editedFile(t, c.stack, c.file, c.old, c.now, "IP044", c.says)
		})
	}
}
