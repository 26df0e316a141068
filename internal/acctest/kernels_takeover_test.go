//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// handMade is a definition as people write it, of the interface as config has it.
// %[1]s is its name, %[2]s its network, and %[3]s what netplan calls it.
type handMade struct {
	path, text string
	take       string // has the stack configure the interface by it
	anew       bool   // a takeover cannot leave the interface alone
}

const planByHand = "# ask Kim\nnetwork:\n  version: 2\n  ethernets:\n    %[3]s:\n      match: {name: %[1]s}\n      infiniband-mode: " +
	"connected\n      mtu: 65520\n      addresses: [%[2]s.20/24, \"fd00::20/64\"]\n      routes:\n        - {to: 10.20.0.0/16, " +
	"via: %[2]s.1}\n        - {to: \"fd01::/64\", via: \"fd00::1\"}\n"

// Neither netplan nor networkd set the mode of an interface that is there.
const modeByHand = "echo connected > /sys/class/net/%[1]s/mode\n"

var handMades = map[labsim.Stack]handMade{
	labsim.StackNetplan: {path: "/etc/netplan/70-storage.yaml", text: planByHand,
		take: modeByHand + "netplan generate && networkctl reload && networkctl reconfigure %[1]s"},
	labsim.StackNetplanNM: {path: "/etc/netplan/70-storage.yaml", text: planByHand,
		take: "netplan generate && nmcli connection reload && nmcli --wait 30 connection up id netplan-%[3]s ifname %[1]s"},
	labsim.StackNetworkManager: {path: "/etc/NetworkManager/system-connections/storage.nmconnection",
		text: "[connection]\nid=storage\nuuid=5f1d3c0e-7a52-4c1b-9d0a-0f6f1c2b3a4d\ntype=infiniband\ninterface-name=%[1]s\n\n" +
			"[infiniband]\nmtu=65520\ntransport-mode=connected\n\n[ipv4]\nmethod=manual\naddress1=%[2]s.20/24\n" +
			"route1=10.20.0.0/16,%[2]s.1\n\n[ipv6]\nmethod=manual\naddress1=fd00::20/64\nroute1=fd01::/64,fd00::1\n",
		take: "nmcli connection reload && nmcli --wait 30 connection up id storage ifname %[1]s"},
	labsim.StackNetworkd: {path: "/etc/systemd/network/20-storage.network",
		text: "[Match]\nName=%[1]s\n\n[Link]\nMTUBytes=65520\n\n[Network]\nAddress=%[2]s.20/24\nAddress=fd00::20/64\n\n" +
			"[Route]\nDestination=10.20.0.0/16\nGateway=%[2]s.1\n\n[Route]\nDestination=fd01::/64\nGateway=fd00::1\n",
		take: modeByHand + "networkctl reload && networkctl reconfigure %[1]s"},
	labsim.StackIfupdown: {path: "/etc/network/interfaces.d/storage",
		text: "auto %[1]s\niface %[1]s inet static\n\taddress %[2]s.20/24\n\tmtu 65520\n\tpre-up echo connected > " +
			"/sys/class/net/$IFACE/mode\n\tup ip route add 10.20.0.0/16 via %[2]s.1\n\niface %[1]s inet6 static\n\taddress " +
			"fd00::20/64\n\tup ip -6 route add fd01::/64 via fd00::1\n",
		take: "ifup --force %[1]s"},
}

// TestKernels_taken_over is what becomes of an IPoIB interface made by hand, on every network
// stack of Debian 12 and 13: a change that cannot be confirmed puts the file back, a takeover
// of what is as asked leaves the interface alone, and a restart brings back the same.
func TestKernels_taken_over(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	for system, id := range map[labsim.OS]string{labsim.Debian12: "", labsim.Debian13: "storage"} {
		for stack := range handMades {
			t.Run(fmt.Sprint(system, " ", stack), func(t *testing.T) {
				t.Parallel()
				h := labs.Server(theHost, system, "192.0.2.20", 0)
				h.Stack, h.Cmdline = stack, "mlx4_core.port_type_array=1,1"
				w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: stack, system: system}
				w.ws = w.workspace(nil, 0)
				w.fabric()
				made := w.byHand(id)
				w.takenOver(made)
				if system == labsim.Debian13 {
					w.handBack(made)
					w.takeoverCut(made)
				}
			})
		}
	}
}

// byHand defines the interface. netplan calls it id, or by its name.
func (w *stackLab) byHand(id string) handMade {
	w.t.Helper()
	made := handMades[w.stack]
	name := w.nameOrParent()
	if id == "" {
		id = name
	}
	fill := func(text string) string {
		return strings.NewReplacer("%[1]s", name, "%[2]s", w.Subnet(theHost), "%[3]s", id).Replace(text)
	}
	made.text, made.take = fill(made.text), fill(made.take)
	made.anew = w.stack == labsim.StackNetplanNM && id != name
	w.Put(theHost, made.path, made.text)
	if w.stack != labsim.StackNetworkd { // which does not run as root
		w.Run(theHost, "chmod 600 "+made.path)
	}
	w.Run(theHost, made.take)
	w.waitUntilSettled()
	return made
}

// waitUntilSettled waits until the interface has its addresses, and the kernel has proved them.
func (w *stackLab) waitUntilSettled() {
	w.t.Helper()
	w.await(20)
	w.Run(theHost, "n=0; while ip addr show dev "+w.nameOrParent()+" | grep -q tentative && [ $n -lt 100 ]; do "+
		"n=$((n+1)); sleep 0.1; done")
}

// handBack destroys the resource, and has the host configure the interface as before.
func (w *stackLab) handBack(made handMade) {
	w.t.Helper()
	mustApply(w.t, w.ws, nil)
	w.Run(theHost, "mv "+made.keptPath()+" "+made.path+"\n"+made.take)
	w.waitUntilSettled()
}

func (m handMade) keptPath() string {
	dir, base := path.Split(m.path)
	return dir + "." + base + ".before-infiniband-" + strings.TrimPrefix(stackPort, "0x")
}

func (m handMade) consent() map[string]any { return Allow("adopt_files", []any{m.path}) }

// takeoverCut: the host puts back the file made by hand, and the interface.
func (w *stackLab) takeoverCut(made handMade) {
	w.t.Helper()
	before := w.Run(theHost, "stat -c '%a %U %G %Y' "+made.path)
	cut := sync.OnceFunc(func() { w.Sever(theHost, true) })
	w.ws = w.workspace(func(e host.Event) {
		if e.Kind == "dial" && e.Fresh {
			cut()
		}
	}, soon)
	net := w.Subnet(theHost)
	other := w.config(21, map[string]any{"mode": "datagram", "mtu": 2044, "routes": nil,
		"allow": map[string]any{"adopt_without": []any{net + ".20/24", "10.20.0.0/16 via " + net + ".1", "fd01::/64 via fd00::1"}}})
	other = other.With(ipoibAddress, made.consent())
	diags, err := w.ws.Apply(context.Background(), cleanPlan(w.t, w.ws, other))
	if err != nil || !diags.HasError() || !strings.Contains(fmt.Sprint(diags), "could not be confirmed") {
		w.t.Fatalf("the takeover that was cut off: %v\n%s", err, diags)
	}
	w.await(20)
	w.Sever(theHost, false)
	w.Run(theHost, "n=0; while ls -d /var/lib/terraform-provider-infiniband/undo/* && ! ls /var/lib/terraform-provider-infiniband/undo/*/undone && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done >/dev/null 2>&1")
	if now := w.Run(theHost, "cat "+made.path); now != made.text {
		w.t.Errorf("the file was not put back:\n%s", now)
	}
	if now := w.Run(theHost, "stat -c '%a %U %G %Y' "+made.path); now != before {
		w.t.Errorf("the file is %s, was %s", now, before)
	}
	w.ws = w.workspace(nil, 0)
}

// takenOver: the plan names the file, and the apply leaves alone an interface that is as
// asked, now and after a restart.
func (w *stackLab) takenOver(made handMade) {
	w.t.Helper()
	cfg := w.config(20, nil)
	says := "nothing changes on the interface"
	if made.anew {
		says = "NetworkManager knows them as netplan-storage, a profile that goes with that file, so that the interface is " +
			"configured anew"
	}
	asked := mustPlan(w.t, w.ws, cfg).Diags.Errors()
	if len(asked.Find("Finding: IP042", made.path, says)) != 1 {
		w.t.Fatalf("the plan without consent:\n%s", asked)
	}
	cfg = cfg.With(ipoibAddress, made.consent())
	if diags, err := w.ws.Import(context.Background(), cfg[0], theHost+"/"+stackPort); err != nil || diags.HasError() {
		w.t.Fatalf("import: %v\n%s", err, diags)
	}
	watched := w.watch()
	mustApply(w.t, w.ws, cfg)
	if did := watched(); did != "" && !made.anew {
		w.t.Errorf("the takeover of an interface that is as asked changed it:\n%s", did)
	}
	emptyPlan(w.t, w.ws, cfg)
	w.answers(20)
	if now := w.Run(theHost, "cat "+made.keptPath()); now != made.text {
		w.t.Errorf("the file is kept as:\n%s", now)
	}
	w.Reboot(theHost)
	emptyPlan(w.t, w.ws, cfg)
	w.answers(20)
}

// watch notes what happens to the interface, its addresses and its routes.
func (w *stackLab) watch() func() string {
	w.t.Helper()
	name := w.nameOrParent()
	w.Run(theHost, "systemd-run --quiet --unit watch -p StandardOutput=file:/run/watch ip -o monitor link address route")
	return func() string {
		w.t.Helper()
		w.Run(theHost, "systemctl stop watch")
		var all []string
		for line := range strings.Lines(w.Run(theHost, "cat /run/watch")) {
			if strings.Contains(line, name) {
				all = append(all, line)
			}
		}
		return strings.Join(all, "")
	}
}
