//go:build reallab && linux

package acctest

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// realTwin is a lab that people set up by hand, on real network stacks: two cards, back to
// back with both ports. Each cable is a fabric.
type realTwin struct {
	stack  labsim.Stack
	names  []string // of both hosts
	byHand []string // what people typed on each
	files  []string // that a takeover takes, one a host
	edited string   // what a takeover edits on the first host
	engine string   // "terraform" or "tofu"
	asIs   int      // resources that are adopted as they are
	taken  int      // more resources with -take-over
	writes []string // what the configuration says
}

// What people type, with the name of the interface and its address to be filled in.
const (
	stanzaByHand = "auto ib0\niface ib0 inet static\n    address 10.0.0.1/24\n    mtu 65520\n" +
		"    pre-up echo connected > /sys/class/net/ib0/mode\n"
	nmcliByHand = "nmcli connection add type infiniband con-name 'NAME' ifname ib0 infiniband.transport-mode connected " +
		"infiniband.mtu 65520 ipv4.method manual ipv4.addresses 10.0.0.1/24 ipv6.method disabled\n" +
		"nmcli --wait 30 connection up 'NAME'\n"
)

func profileNamed(name string) string { return strings.ReplaceAll(nmcliByHand, "NAME", name) }

// managing starts a subnet manager on ports, as Debian's package is told to.
func managing(ports string) string {
	return "echo 'PORTS=\"" + ports + "\"' >/etc/default/opensm && systemctl enable -q --now opensm.service\n"
}

// realTwins are two habits: stanzas of ifupdown as a forum's answer has them, and profiles
// that nmcli has made.
func realTwins() map[string]realTwin {
	const stanzas, profiles = "/etc/network/interfaces.d/", "/etc/NetworkManager/system-connections/"
	return map[string]realTwin{
		"ifupdown": {
			stack: labsim.StackIfupdown, names: []string{"nas", "desk"}, engine: "terraform", asIs: 3, taken: 4,
			byHand: []string{
				"cat >" + stanzas + "20gbit <<'E'\n# the CX4 cable to the desk\n" + stanzaByHand + "E\nifup ib0\n" +
					"echo options mlx4_core port_type_array=1,1 >/etc/modprobe.d/mlx4-ib.conf\n" + managing("ALL"),
				"cat >" + stanzas + "ib <<'E'\n" + stanzaByHand + "E\nifup ib0\n",
			},
			files: []string{stanzas + "20gbit", stanzas + "ib"}, edited: "/etc/default/opensm",
		},
		"NetworkManager": {
			stack: labsim.StackNetworkManager, names: []string{"dell-r720", "gpu-1"}, engine: "tofu", asIs: 2, taken: 3,
			byHand: []string{
				"mkdir -p /etc/opensm && printf '# rack 4\nsm_priority 10\n' >/etc/opensm/opensm.conf\n" +
					managing(stackPort) + profileNamed("IB storage"),
				profileNamed("fabric"),
			},
			files:  []string{profiles + "IB storage.nmconnection", profiles + "fabric.nmconnection"},
			writes: []string{"priority = 10"},
		},
	}
}

// TestKernels_adopt is TestAdopt_labs_made_by_hand on real network stacks and
// with real subnet managers, once with Terraform and once with OpenTofu: what one command writes
// is planned as imports only and applied, and each host is after that what it was to the byte. With -take-over the files of
// people are kept, nothing changes on a wire, and all that is new in /etc has our marker.
func TestKernels_adopt(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	built := buildProvider(t)
	engines := bothEngines(t)
	for name, r := range realTwins() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := r.start(t)
			before := r.trees(w)
			o := newFolder(t, built)
			o.engine = engines[r.engine]
			o.adopts(w)
			o.imports(r.asIs, 0)
			if diff := cmp.Diff(before, r.trees(w)); diff != "" {
				t.Error("a host is not what it was:", diff)
			}
			r.takeOver(t, w, built, engines[r.engine])
		})
	}
}

// bothEngines are Terraform and OpenTofu by name.
func bothEngines(t *testing.T) map[string]string {
	t.Helper()
	engines := map[string]string{}
	for _, name := range []string{"terraform", "tofu"} {
		out, err := exec.CommandContext(t.Context(), "../tools/engine.sh", name).Output()
		if err != nil {
			t.Fatalf("find %s: %v", name, err)
		}
		engines[name] = strings.TrimSpace(string(out))
	}
	return engines
}

// start makes the lab and has everything done in it that people did.
func (r realTwin) start(t *testing.T) *Lab {
	t.Helper()
	var hosts []labs.Host
	for i, name := range r.names {
		h := labs.Server(name, []labsim.OS{labsim.Debian12, labsim.Debian13}[i], fmt.Sprintf("192.0.2.%d", 20+i), i)
		h.Stack, h.Cmdline = r.stack, "mlx4_core.port_type_array=1,1"
		hosts = append(hosts, h)
	}
	hosts[0].Direct = hosts[1].Name
	w := Start(t, Options{Hosts: hosts})
	w.noFlash()
	for i, name := range r.names {
		w.Run(name, strings.NewReplacer("ib0", "ibp1s0", "10.0.0.1", r.address(w, i)).Replace(r.byHand[i]))
	}
	for i, name := range r.names {
		w.eventually(name, "ip -4 addr show dev ibp1s0 | grep -q 'inet "+r.address(w, i)+"/' && "+
			"! ip addr show dev ibp1s0 | grep -q tentative && grep -q ACTIVE /sys/class/infiniband/*/ports/1/state")
	}
	return w
}

func (r realTwin) address(w *Lab, i int) string {
	return fmt.Sprintf("%s.%d", w.Subnet(r.names[i]), 11+i)
}

// eventually waits until a command ends with 0.
func (w *Lab) eventually(host, command string) {
	w.t.Helper()
	for limit := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, status := w.Try(host, command)
		if status == 0 {
			return
		}
		if time.Now().After(limit) {
			state, _ := w.Try(host, "ip addr; head /sys/class/infiniband/*/ports/*/state; journalctl --no-pager -b -n 60")
			w.t.Fatalf("on %s this does not come to hold: %s\n%s\n%s", host, command, out, state)
		}
	}
}

// tree is what /etc of a host holds: of each file its mode, its owner, its time and a checksum.
func (w *Lab) tree(host string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	for line := range strings.Lines(w.Run(host, `find /etc ! -type d -printf '%p\t%y %m %u:%g %T@ %l\n'; `+
		`find /etc -type f -exec sha256sum {} + | sed 's/^\(\S*\)  \(.*\)/\2\t\1/'`)) {
		path, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		files[path] += what + " "
	}
	return files
}

// trees are those of both hosts.
func (r realTwin) trees(w *Lab) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, name := range r.names {
		all[name] = w.tree(name)
	}
	return all
}

// wire is what may not change when files are taken over.
func (r realTwin) wire(w *Lab) string {
	var b strings.Builder
	for _, name := range r.names {
		b.WriteString(w.Run(name, "ip -br addr; ip route; cat /sys/class/net/ibp1s0/mode /sys/class/net/ibp1s0/mtu; "+
			"head /sys/class/infiniband/*/ports/*/state"))
	}
	return b.String()
}

func (r realTwin) takeOver(t *testing.T, w *Lab, built, engine string) {
	t.Helper()
	before, wire := r.trees(w), r.wire(w)
	o := newFolder(t, built)
	o.engine = engine
	o.adopts(w, "-take-over")
	o.imports(r.asIs+r.taken, r.taken)
	o.holds(r.writes...)
	if diff := cmp.Diff(wire, r.wire(w)); diff != "" {
		t.Error("an interface or a port was touched:", diff)
	}
	for i, name := range r.names {
		if i > 0 {
			r.edited = ""
		}
		r.marked(t, w, name, r.files[i], before[name])
	}
}

// marked: of /etc of a host nothing is gone but the file that was taken over, which is kept
// beside its place as it was, nothing is changed, and what is new is ours.
func (r realTwin) marked(t *testing.T, w *Lab, host, taken string, before map[string]string) {
	t.Helper()
	now := w.tree(host)
	dir, base := filepath.Split(taken)
	for _, path := range slices.Sorted(maps.Keys(now)) {
		was, there := before[path]
		switch kept := strings.HasPrefix(path, dir+"."+base+".before-infiniband-"); {
		case there && was != now[path] && path != r.edited:
			t.Errorf("%s of %s was %s, is %s", path, host, was, now[path])
		case kept && now[path] != before[taken]:
			t.Errorf("%s of %s is kept as %s %s, was %s", taken, host, path, now[path], before[taken])
		case !there && !kept && !strings.Contains(now[path], "l ") && !platform.IsOurs(w.Run(host, "cat '"+path+"'")):
			t.Errorf("%s of %s is new, and not marked as ours", path, host)
		}
	}
	for path := range before {
		if now[path] == "" && path != taken {
			t.Errorf("%s of %s is gone", path, host)
		}
	}
	if now[taken] != "" {
		t.Errorf("%s of %s was not taken over", taken, host)
	}
}
