//go:build reallab && linux

package acctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// twoCards is a machine with a ConnectX-3 Pro and a ConnectX-3, whose link types the module
// parameter decides: no mstconfig of Debian 13 stores them in such a card.
type twoCards struct {
	*Lab
	t  *testing.T
	ws *Workspace
}

// TestKernels_link_types: what the provider says of link types after the next restart is
// what the stock driver and the real initial RAM disk make of it.
func TestKernels_link_types(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	h := labs.Server(theHost, labsim.Debian13, "192.0.2.20", 0)
	h.Cards = append(h.Cards, labs.Twin(h.Cards[0], 1))
	h.Cards[1].BDF, h.Cards[1].Chip, h.Cards[1].Image = "0000:02:00.0", card.ConnectX3, card.CX3()
	h.Cards[1].Product, h.Cards[1].PartNumber = "CX354A - ConnectX-3 QSFP", "MCX354A-FCBT"
	w := &twoCards{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t}
	w.noFlash()
	w.ws = w.Workspace()
	w.olderChip()

	both := w.wants("ib", "ib")
	if plan := mustPlan(t, w.ws, both); len(plan.Diags.Errors().Find("LT007", "other_cards = [")) != 2 {
		t.Errorf("two cards that share the module parameter:\n%s", plan.Diags)
	}
	mustApply(t, w.ws, w.consenting(both))
	emptyPlan(t, w.ws, both)
	w.shows("after the apply", "ib")
	w.Reboot(theHost)
	w.shows("after a restart", "ib")
	emptyPlan(t, w.ws, both)

	refused := mustPlan(t, w.ws, w.wants("eth", ""))
	if len(refused.Diags.Errors().Find("LT007")) != 1 {
		t.Errorf("one card of two, with one module parameter:\n%s", refused.Diags)
	}
	w.overridden(both)
	w.driver(both)
}

// olderChip: the stock driver takes a ConnectX-3 that is no Pro.
func (w *twoCards) olderChip() {
	w.t.Helper()
	const slot = "/sys/bus/pci/devices/0000:02:00.0"
	// With Ethernet ports alone Linux 6.12 makes no RDMA device of the emulated card.
	out := w.Run(theHost, "cd "+slot+" && cat device && basename $(readlink driver) && "+
		"lspci -n -s 02:00.0 | cut -d ' ' -f 3; ls net | wc -l")
	if want := "0x1003\nmlx4_core\n15b3:1003\n2\n"; out != want {
		w.t.Errorf("of a ConnectX-3 the kernel shows %q, want %q", out, want)
	}
}

// wants are both ports of each card with one type; no type leaves the card out.
func (w *twoCards) wants(types ...string) Config {
	var cfg Config
	cards := w.hostSpec(theHost).Cards
	for i, c := range cards {
		if types[i] != "" {
			cfg = append(cfg, Resource{Type: "infiniband_link_type", Name: fmt.Sprint("card", i), Attrs: map[string]any{
				"card_id": theHost + "/" + c.BDF, "ports": map[string]any{"1": types[i], "2": types[i]}}})
		}
	}
	return cfg
}

// consenting has each resource name the other card.
func (w *twoCards) consenting(cfg Config) Config {
	cards := w.hostSpec(theHost).Cards
	for i := range cards {
		cfg = cfg.With(fmt.Sprint("infiniband_link_type.card", i), Allow("other_cards", []any{cards[1-i].BDF}))
	}
	return cfg
}

// shows compares what the driver shows for the four ports.
func (w *twoCards) shows(when, want string) {
	w.t.Helper()
	got := strings.Fields(w.Run(theHost, "cat /sys/bus/pci/devices/0000:0[12]:00.0/mlx4_port[12]"))
	for i := range got {
		got[i] = strings.Trim(got[i], "()")
	}
	if strings.Join(got, " ") != strings.Join([]string{want, want, want, want}, " ") {
		w.t.Errorf("%s the driver shows %v, want %s", when, got, want)
	}
}

// overridden: the setting of somebody else that the provider says overrides its own one
// does so at the next boot, and without it the next boot has the provider's.
func (w *twoCards) overridden(both Config) {
	w.t.Helper()
	const other = "/etc/modprobe.d/zz-last.conf"
	w.Put(theHost, other, "options mlx4_core port_type_array=2,2\n")
	if plan := mustPlan(w.t, w.ws, both); len(plan.Diags.Errors().Find("LT016", other)) == 0 {
		w.t.Errorf("nothing is refused beside %s:\n%s", other, plan.Diags)
	}
	w.Run(theHost, "update-initramfs -u")
	w.Reboot(theHost)
	w.shows("with the setting of somebody else", "eth")
	w.Run(theHost, "rm "+other)
	// The initial RAM disk still has it, and the next boot would read it there.
	inDisk := "lsinitramfs /boot/initrd.img-$(uname -r) | grep -c " + strings.TrimPrefix(other, "/")
	if n, _ := w.Try(theHost, inDisk); strings.TrimSpace(n) != "1" {
		w.t.Errorf("the initial RAM disk has %s of %s, want one", strings.TrimSpace(n), other)
	}
	stale := cleanPlan(w.t, w.ws, w.consenting(both))
	if len(stale.Diags.Warnings().Find("LT017", "Host "+theHost+", modprobe.d")) != len(w.hostSpec(theHost).Cards) {
		w.t.Errorf("of the older copy of %s the plan says:\n%s", other, stale.Diags)
	}
	mustApply(w.t, w.ws, w.consenting(both))
	emptyPlan(w.t, w.ws, both)
	if n, _ := w.Try(theHost, inDisk); strings.TrimSpace(n) != "0" {
		w.t.Errorf("after the apply the initial RAM disk still has %s", other)
	}
	w.shows("after the apply that mends it", "ib")
	w.Reboot(theHost)
	w.shows("after the restart that follows", "ib")
	emptyPlan(w.t, w.ws, both)
}

// driver: a type that is changed by hand, now or in the file, is in the plan.
func (w *twoCards) driver(both Config) {
	w.t.Helper()
	for _, spoil := range []string{
		"echo eth >/sys/bus/pci/devices/0000:01:00.0/mlx4_port2; echo eth >/sys/bus/pci/devices/0000:01:00.0/mlx4_port1",
		"sed -i s/1,1/2,2/ /etc/modprobe.d/terraform-infiniband.conf",
	} {
		w.Run(theHost, spoil)
		if plan := cleanPlan(w.t, w.ws, both); plan.Actions()["infiniband_link_type.card0"] != Update {
			w.t.Errorf("%s: the plan is %v", spoil, plan.Actions())
		}
		mustApply(w.t, w.ws, w.consenting(both))
		emptyPlan(w.t, w.ws, both)
		w.shows("after "+spoil, "ib")
	}
}
