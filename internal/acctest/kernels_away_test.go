//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// hangOnce has the next boot hang before there is a network. The one after it does not.
const hangOnce = `cat >/etc/systemd/system/hang-once.service <<'END'
[Unit]
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
ConditionPathExists=/etc/hang-once
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'rm /etc/hang-once && sync && exec sleep infinity'
[Install]
WantedBy=sysinit.target
END
systemctl enable -q hang-once && touch /etc/hang-once && sync`

// TestKernels_stays_away: a machine that does not come back from the restart that an apply
// asked for ends the apply with what is known and what to do. When somebody has switched
// it on again, the next apply ends the work without another restart.
func TestKernels_stays_away(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	h := connectX4Server(theHost, labsim.Debian12, 0)
	w := &newerCards{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t}
	w.ws = w.Workspace()
	cfg := w.wants("eth", "reboot")
	w.Run(theHost, hangOnce)

	patient := w.ws.Provider
	w.ws.Provider = w.hurried("1m", slowConnect)
	diags, err := w.ws.Apply(context.Background(), cleanPlan(t, w.ws, cfg))
	if err != nil {
		t.Fatal(err)
	}
	const away = "waiting for the host to answer with a new boot id"
	said := diags.Errors()
	if len(said) != 1 || len(said.Find("Link types of card "+theHost+"/0000:01:00.0 are stored; the restart failed",
		"The restart of host "+theHost+" failed after 1m", away, "The types are stored in the card",
		"Look at the host's console",
		"Run the same command again when the host answers. It does not write the card again.")) != 1 {
		t.Errorf("of a machine that stays away the apply says:\n%s", diags)
	}
	t.Log(said)
	w.ws.Provider = w.hurried("1m", "5s")
	if plan := mustPlan(t, w.ws, cfg); len(plan.Diags.Errors().Find("Unable to plan link types of card "+theHost+"/0000:01:00.0",
		"The host could not be reached. This step changed nothing")) != 1 {
		t.Errorf("of a machine that is away the plan says:\n%s", plan.Diags)
	}
	w.ws.Provider = patient
	w.Restart(theHost)
	w.shows("after it was switched on", "Ethernet")
	boots := w.Boots(theHost)
	mustApply(t, w.ws, cfg)
	emptyPlan(t, w.ws, cfg)
	if n := w.Boots(theHost); n != boots {
		t.Errorf("the apply that ends the work restarts the machine again: %d starts, %d before", n, boots)
	}
	if waits := w.ws.Get("infiniband_link_type.it", "reboot_required"); fmt.Sprint(waits) != "false" {
		t.Errorf("reboot_required is %v", waits)
	}
}

// hurried is the provider's configuration with limits for a machine that does not answer:
// of a restart, or of a connection.
func (w *newerCards) hurried(restart, connect string) map[string]any {
	p := w.Provider()
	entry := p["hosts"].(map[string]any)[theHost].(map[string]any)
	entry["reboot"], entry["connect_timeout"] = map[string]any{"allowed": true, "timeout": restart}, connect
	return p
}
