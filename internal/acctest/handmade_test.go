package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// An interface that somebody defined by hand is imported: the plan names the file and
// asks for the line that names it. With the line the engine plans the import and what
// becomes of the file, applies it, and has nothing left to do.
func TestBinary_interface_made_by_hand(t *testing.T) {
	t.Parallel()
	const file, kept = "/etc/netplan/70-storage.yaml", "/etc/netplan/.70-storage.yaml.before-infiniband-e41d2d0300e44ed1"
	const text = "# ask Kim\nnetwork:\n  version: 2\n  ethernets:\n    ibp1s0:\n      mtu: 65520\n      addresses: [172.16.0.20/24]\n"
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	w.Machine(host).FS.Put(file, text, 0o600)
	w.Run(host, "echo connected > /sys/class/net/ibp1s0/mode && ip link set dev ibp1s0 mtu 65520 && "+
		"ip link set dev ibp1s0 up && ip addr add 172.16.0.20/24 dev ibp1s0")
	want := ipoib(host, map[string]any{"mtu": 65520})
	o := newOperator(t, w, nil, buildProvider(t))
	block := "import {\n  to = infiniband_ipoib_interface.it\n  id = \"" + host + "/0xe41d2d0300e44ed1\"\n}\n"
	o.write("main.tf", Required+HCL(w.Provider(), want)+block)
	refused := o.says(1, "plan")
	for _, part := range []string{"IP042", file, "MTU 65520", "addresses 172.16.0.20/24", "keeps that file as " + kept,
		`adopt_files = ["` + file + `"]`} {
		if !strings.Contains(refused, part) {
			t.Errorf("the refusal does not say %q:\n%s", part, refused)
		}
	}
	before, _ := w.Machine(host).Netdev("ibp1s0")
	o.write("main.tf", Required+HCL(w.Provider(), want.With("infiniband_ipoib_interface.it",
		Allow("adopt_files", []any{file})))+block)
	if said := o.says(0, "plan", "-out=it.tfplan"); !strings.Contains(said, "1 to import, 0 to add, 1 to change, 0 to destroy") ||
		!strings.Contains(said, "nothing changes on the interface") {
		t.Errorf("the plan of the takeover:\n%s", said)
	}
	// A setting that somebody adds after the plan is not dropped.
	w.Machine(host).FS.Put(file, text+"      accept-ra: true\n", 0o600)
	if said := o.says(1, "apply", "it.tfplan"); !strings.Contains(said, "IP043") ||
		!strings.Contains(said, `adopt_without = ["accept-ra"]`) || !w.Machine(host).FS.Exists(file) {
		t.Errorf("the apply on a file with more in it:\n%s", said)
	}
	w.Machine(host).FS.Put(file, text, 0o600)
	if said := o.says(0, "apply", "-auto-approve"); !strings.Contains(said, file+" was taken over. It is kept as "+kept) {
		t.Errorf("the apply:\n%s", said)
	}
	o.says(0, "plan", "-detailed-exitcode")
	if now, _ := w.Machine(host).Netdev("ibp1s0"); now.Changes != before.Changes {
		t.Errorf("the interface was touched: %+v, was %+v", now, before)
	}
	if now := w.Machine(host).FS.Text(kept); now != text || w.Machine(host).FS.Exists(file) {
		t.Errorf("the file is not kept as it was:\n%s", now)
	}
	o.says(0, "destroy", "-auto-approve")
	if now := w.Machine(host).FS.Text(kept); now != text {
		t.Errorf("the destroy did not leave the kept file:\n%s", now)
	}
}
