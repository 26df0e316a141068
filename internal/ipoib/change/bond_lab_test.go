package change_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// bondStacks are the stacks that bonds are written for.
func bondStacks(t *testing.T, test func(*testing.T, stackCase)) {
	t.Parallel()
	for _, c := range stackCases {
		if c.name != "ifupdown" {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				test(t, c)
			})
		}
	}
}

func bondDesired() ipoib.Request {
	d := ubuntuDesired()
	d.Bond = ipoib.Bond{Name: "ibbond0", Backup: ib.GUID(0xe41d2d0300e44e02)}
	d.Config.Routes = routes("10.20.0.0/16", "172.16.0.1")
	return d
}

// slaves are the ports of the bond, the one that carries first.
func slaves(l *testLab) (names []string) {
	b, _ := l.Machine("intel9").Netdev("ibbond0")
	for _, d := range l.Machine("intel9").Slaves("ibbond0") {
		names = append(names, d.Name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if x == b.Active {
			return -1
		}
		return strings.Compare(x, y)
	})
	return names
}

// On each stack a bond is set now and after a restart, a change of everything too, a second apply
// changes nothing, and a removal leaves nothing of ours.
func TestLab_Bond_life(t *testing.T) {
	bondStacks(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := bondDesired()
		for range 2 {
			apply(t, l, d)
			if got := slaves(l); !slices.Equal(got, []string{"ibp1s0", "ibp1s0d1"}) {
				t.Errorf("ports are %v", got)
			}
			if r := apply(t, l, d); r.Changed {
				t.Errorf("the second apply changed something: %+v", r)
			}
			powerCycle(t, l)
			if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
				t.Fatalf("after a restart: %v", diff)
			}
			d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.1.20/24", "fd00::20/64")}
		}
		r, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, there := l.Machine("intel9").Netdev("ibbond0"); there || r.Look.Persisted.Found {
			t.Errorf("after the removal: %+v", r.Look)
		}
		nothingOfOurs(t, l)
	})
}

// Whatever happens between a change and its confirmation, the host is as before: a new bond goes and its ports are
// as they were, and a bond that was there has its former settings.
func TestLab_Bond_cuts(t *testing.T) {
	bondStacks(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c, speed(20))
		m, d := l.Machine("intel9"), bondDesired()
		for _, first := range []bool{true, false} {
			for _, cut := range cutCases {
				name, undone := cut.name, cut.then
				if first {
					name += ", new bond"
					var before []labsim.Netdev
					for _, name := range []string{"ibp1s0", "ibp1s0d1"} {
						d, _ := m.Netdev(name)
						before = append(before, d)
					}
					cut.then = func(t *testing.T, l *testLab) {
						undone(t, l)
						if cut.says != "it was undone first" {
							portsAre(t, m, before)
						}
					}
				}
				t.Run(name, func(t *testing.T) { survive(t, l, c, d, cut) })
				if first {
					if _, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

// portsAre holds that there is no bond, and that the ports are as they were. A restart has changed the rest.
func portsAre(t *testing.T, m *labsim.Machine, before []labsim.Netdev) {
	t.Helper()
	if _, there := m.Netdev("ibbond0"); there {
		t.Error("the bond is there")
	}
	for _, was := range before {
		now, _ := m.Netdev(was.Name)
		if now.Mode != was.Mode || now.Master != "" || m.Boots() == 1 && (now.Up != was.Up || now.MTU > was.MTU) {
			t.Errorf("%s has mode %s, MTU %d, up %t, master %q; it had %s, %d, %t", now.Name, now.Mode, now.MTU, now.Up,
				now.Master, was.Mode, was.MTU, was.Up)
		}
	}
}

// What somebody does to a bond is seen, and mended by the next apply. A port that does not carry is named.
func TestLab_Bond_drift(t *testing.T) {
	bondStacks(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := bondDesired()
		apply(t, l, d)
		m := l.Machine("intel9")
		for _, drift := range []struct {
			does func()
			says string
		}{
			{func() { m.Release("ibp1s0d1") }, "ibp1s0d1 is not part of the bond"},
			{func() { m.UpdateNetdev("ibbond0", func(b *labsim.Netdev) { b.BondMode = "balance-rr" }) },
				"the bond has mode balance-rr, not active-backup"},
			{func() { m.RemoveNetdev("ibbond0") }, "there is no interface ibbond0"},
			{func() { _ = m.SetMode("ibp1s0d1", "datagram\n") }, "mode of ibp1s0d1 is datagram, not connected"},
		} {
			drift.does()
			if diff := strings.Join(observe(t, l, d).Differences(d.Config), "; "); !strings.Contains(diff, drift.says) {
				t.Errorf("%q, want %q", diff, drift.says)
			}
			apply(t, l, d)
		}

		l.Disconnect(labsim.End{Machine: "intel9", BDF: labCard, Port: 1})
		look := observe(t, l, d)
		if look.Netdev.Active != "ibp1s0d1" || !look.Live.Carrier || len(look.Differences(d.Config)) > 0 {
			t.Errorf("the backup does not carry: %+v %v", look.Netdev, look.Differences(d.Config))
		}
		all := judge.Check(look, d, judge.PlanFacts{})
		if i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.Rule.Code == "IP056" }); i < 0 ||
			!strings.Contains(all[i].Evidence, "ibp1s0 of intel9 has no carrier") {
			t.Errorf("findings: %v", all)
		}
	})
}
