package change_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// small gives the card of the first host ports of 2048 bytes.
func small(p *labPlan) { p.hosts[0].Cards[0].MaxIBMTU = 2048 }

// Where no driver shows what the port carries, the kernel refuses a larger MTU at apply. The error
// names the MTU, and does not guess at a connection that was cut.
func TestLab_Apply_MTU_above_the_port(t *testing.T) {
	t.Parallel()
	for _, c := range []stackCase{stackCases[0], stackCases[4]} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := stackLab(t, c, small)
			l.Machine("intel9").FS.Drop("/sys/bus/pci/devices/" + labCard + "/mlx4_port1_mtu")
			l.hosts["intel9"].Invalidate()
			d := ubuntuDesired()
			d.Config.Mode, d.Config.MTU, d.Config.Routes = ib.ModeDatagram, 4092, nil
			_, err := change.Apply(t.Context(), l.hosts["intel9"], d, change.Options{})
			var unconfirmed *change.UnconfirmedError
			if !errors.As(err, &unconfirmed) {
				t.Fatalf("%v", err)
			}
			said := unconfirmed.Explain()
			mustContain(t, said, "carries packets of fewer than 4096 bytes", "Use mtu = 2044", "was restored")
			if strings.Contains(said, "cut the connection") {
				t.Error(said)
			}
		})
	}
}

// The broadcast group needs more than the port carries: the apply sets the interface, and says
// that it has no carrier, and why.
func TestLab_Apply_without_the_broadcast_group(t *testing.T) {
	t.Parallel()
	l := startLab(t, on(stackCases[4]), small)
	l.AddSM(&labsim.SM{Port: l.Machine("intel9").Cards()[0].Ports[0], Priority: 1, GroupMTU: 4096})
	r := apply(t, l, ubuntuDesired())
	mustContain(t, strings.Join(r.Warnings, " "), "is Active, so the interface could not join the broadcast group")
	l.Disconnect(labsim.CardEnd("intel9", labCard, 1))
	l.hosts["intel9"].Invalidate()
	shows := ""
	for _, f := range judge.Check(found.At(l.snapshot(t, "intel9"), ubuntuDesired().Ref()), ubuntuDesired(), judge.PlanFacts{SM: true, Held: true}) {
		shows += f.Summary + ". " + f.Detail() + "\n"
	}
	mustContain(t, shows, "has no link (state Down, physical state Polling)", "Plug the cable in")
}
