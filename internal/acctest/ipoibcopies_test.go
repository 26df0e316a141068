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

// ownFile is where this provider keeps the interface of port 1 of the first host, by stack.
var ownFile = map[labsim.Stack]string{
	labsim.StackIfupdown: "/etc/network/interfaces.d/infiniband-e41d2d0300e44ed1",
	labsim.StackNetplan:  "/etc/netplan/60-infiniband-e41d2d0300e44ed1.yaml",
	labsim.StackNetworkManager: "/etc/NetworkManager/system-connections/infiniband-e41d2d0300e44ed1" +
		".nmconnection",
	labsim.StackNetworkd: "/etc/systemd/network/60-infiniband-e41d2d0300e44ed1.network",
}

// fileEdit is what somebody does to that file, and what the plan then says of it.
type fileEdit struct {
	name     string
	stack    labsim.Stack
	old, now string // both empty: the whole file stands there twice
	says     string
}

// A line that somebody takes out of a file of an interface, or changes there, is an update that
// names the line, on every network stack.
func TestIPoIB_lines_that_somebody_has_changed(t *testing.T) {
	t.Parallel()
	editedFiles(t, "IP050", []fileEdit{
		{"ifupdown, not at boot", labsim.StackIfupdown, "auto ibp1s0\n", "", "lacks auto ibp1s0"},
		{"ifupdown, no addresses", labsim.StackIfupdown, "inet static", "inet manual", "lacks iface ibp1s0 inet static"},
		{"ifupdown, from Windows", labsim.StackIfupdown, "inet static\n", "inet static\r\n", "has the line ends of Windows"},
		{"netplan", labsim.StackNetplan, "      accept-ra: false\n", "", "lacks accept-ra=false"},
		{"NetworkManager", labsim.StackNetworkManager, "method=manual", "method=disabled", "lacks ipv4.method=manual"},
		{"networkd", labsim.StackNetworkd, "ConfigureWithoutCarrier=yes\n", "",
			"lacks Network.ConfigureWithoutCarrier=yes"},
	})
}

// A value that a file names twice is one value of the state: Terraform refuses a set that has
// it twice, and no plan would ever mend the file.
func TestIPoIB_value_that_stands_there_twice(t *testing.T) {
	t.Parallel()
	const route = "[Route]\nDestination=10.20.0.0/16\nGateway=172.16.0.1\n"
	editedFiles(t, "IP050", []fileEdit{
		{"ifupdown, the whole file", labsim.StackIfupdown, "", "", ""},
		{"netplan", labsim.StackNetplan, "        - \"172.16.0.20/24\"\n",
			"        - \"172.16.0.20/24\"\n        - \"172.16.0.20/24\"\n", ""},
		{"NetworkManager", labsim.StackNetworkManager, "address1=172.16.0.20/24\n",
			"address1=172.16.0.20/24\naddress2=172.16.0.20/24\n", ""},
		{"networkd", labsim.StackNetworkd, "Address=172.16.0.20/24\n",
			"Address=172.16.0.20/24\nAddress=172.16.0.20/24\n", ""},
		{"networkd, a route", labsim.StackNetworkd, route, route + "\n" + route, ""},
	})
}

// A file of an interface that its stack cannot read any more is written anew, as its first lines
// promise.
func TestIPoIB_file_without_sense(t *testing.T) {
	t.Parallel()
	editedFiles(t, "HO034", []fileEdit{
		{"ifupdown, no stanza", labsim.StackIfupdown, "iface ibp1s0 inet static\n", "",
			"has line 5: address, line 6: mtu"},
		{"ifupdown", labsim.StackIfupdown, "auto ibp1s0\n", "no sense\n", "has line 3: no"},
		{"netplan", labsim.StackNetplan, "network:\n", "network\n", "is not a netplan file"},
		{"NetworkManager", labsim.StackNetworkManager, "[ipv4]\n", "[ipv4\n",
			"line 16: neither a section nor an assignment"},
		{"networkd", labsim.StackNetworkd, "[Match]\n", "[Match\n", "line 3: neither a section nor an assignment"},
	})
}

// editedFiles holds for each edit that the plan is an update that says so with a code, and that an
// apply writes the file as it was.
func editedFiles(t *testing.T, code string, edits []fileEdit) {
	t.Helper()
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: withStack(e.stack)()})
			drivers(w)
			host, file := labs.Intel9, ownFile[e.stack]
			w.AddSM(&labsim.SM{Port: w.Machine(host).Cards()[0].Ports[0], Priority: 1})
			ws, cfg := w.Workspace(), ipoib(host, map[string]any{
				"routes": []any{map[string]any{"to": "10.20.0.0/16", "via": "172.16.0.1"}}})
			mustApply(t, ws, cfg)
			text := w.Run(host, "cat "+file)
			if !strings.Contains(text, e.old) {
				t.Fatalf("%q is not in\n%s", e.old, text)
			}
			edited := strings.Replace(text, e.old, e.now, 1)
			if e.old == "" {
				edited = text + text
			}
			w.Machine(host).FS.Put(file, edited, 0o600)
			plan := cleanPlan(t, ws, cfg)
			if len(plan.Changes) != 1 || plan.Changes[0].Action != Update || len(plan.Diags.Find(code, e.says)) != 1 {
				t.Errorf("%v\n%s", plan.Changes, plan.Diags)
			}
			mustApply(t, ws, cfg)
			if now := w.Run(host, "cat "+file); now != text {
				t.Errorf("after the apply:\n%s", now)
			}
			emptyPlan(t, ws, cfg)
		})
	}
}
