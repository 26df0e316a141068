package change_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// stackCase is one network stack with the system that it is common on.
type stackCase struct {
	name  string
	os    labsim.OS
	lab   labsim.Stack
	stack ipoib.Stack
	file  string // of the interface of the port
}

var stackCases = []stackCase{
	{"netplan", labsim.Ubuntu, labsim.StackNetplan, ipoib.StackNetplan,
		"/etc/netplan/60-infiniband-e41d2d0300e44e01.yaml"},
	{"netplanNM", labsim.Ubuntu, labsim.StackNetplanNM, ipoib.StackNetplanNM,
		"/etc/netplan/60-infiniband-e41d2d0300e44e01.yaml"},
	{"networkd", labsim.Arch, labsim.StackNetworkd, ipoib.StackNetworkd,
		"/etc/systemd/network/60-infiniband-e41d2d0300e44e01.network"},
	{"NetworkManager", labsim.RHEL9, labsim.StackNetworkManager, ipoib.StackNM,
		"/etc/NetworkManager/system-connections/infiniband-e41d2d0300e44e01.nmconnection"},
	{"ifupdown", labsim.Debian12, labsim.StackIfupdown, ipoib.StackIfupdown,
		"/etc/network/interfaces.d/infiniband-e41d2d0300e44e01"},
}

// on gives the first host of the lab another system and network stack.
func on(c stackCase) labOption {
	return func(p *labPlan) { p.hosts[0].OS, p.hosts[0].Stack = c.os, c.lab }
}

// stackLab is a lab whose fabric is up without a subnet manager of ours.
func stackLab(t *testing.T, c stackCase, options ...labOption) *testLab {
	t.Helper()
	l := startLab(t, append([]labOption{on(c)}, options...)...)
	l.AddSM(&labsim.SM{Port: l.Machine("intel9").Cards()[0].Ports[0], Priority: 1, PKeys: map[uint16]int{0x0001: 2048}})
	if got := found.At(l.snapshot(t, "intel9"), ipoib.Ref{}).Stack; got != c.stack {
		t.Fatalf("detected %q, want %q", got, c.stack)
	}
	return l
}

// What is said of a distribution's network stacks is what its hosts are found with.
func TestLab_DetectStack_is_described(t *testing.T) {
	t.Parallel()
	for _, os := range []labsim.OS{labsim.Ubuntu, labsim.Debian13, labsim.RHEL9, labsim.Fedora43, labsim.Arch} {
		l := startLab(t, on(stackCase{os: os, lab: os.System().Stack}))
		about, got := platformOf(t, l, "intel9").About(), found.At(l.snapshot(t, "intel9"), ipoib.Ref{}).Stack
		if !slices.Contains(about.Stacks, string(got)) {
			t.Errorf("%s: %q is not among the stacks of %s: %q", os, got, about.Title, about.Stacks)
		}
	}
}

func eachStack(t *testing.T, test func(*testing.T, stackCase)) {
	t.Parallel()
	for _, c := range stackCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

func routes(texts ...string) []ipconf.Route {
	var all []ipconf.Route
	for i := 0; i < len(texts); i += 2 {
		r, err := ipconf.ParseRoute(texts[i], texts[i+1])
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
}

func observe(t *testing.T, l *testLab, d ipoib.Request) *found.Look {
	t.Helper()
	return found.At(l.snapshot(t, d.Host), d.Ref())
}

// Each stack: everything is set now and after a restart, a change of everything
// too, a second apply changes nothing, and a removal leaves nothing of ours.
func TestLab_Stacks_life(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.Config.Addresses = prefixes("172.16.0.20/24", "172.16.1.20/24", "fd00::20/64")
		d.Config.Routes = routes("10.20.0.0/16", "172.16.0.1", "fd01::/64", "fd00::1")
		apply(t, l, d)
		if f := l.snapshot(t, "intel9").Files[c.file]; !strings.HasPrefix(f.Content, platform.Owner) {
			t.Errorf("%s does not say whose it is: %+v", c.file, f)
		}
		if r := apply(t, l, d); r.Changed {
			t.Errorf("the second apply changed something: %+v", r)
		}
		powerCycle(t, l)
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Fatalf("after a restart: %v", diff)
		}
		d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.1.20/24", "172.16.2.20/24")}
		apply(t, l, d)
		powerCycle(t, l)
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Fatalf("after the change and a restart: %v", diff)
		}
		r, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Look.Persisted.Found || len(r.Look.Live.Addresses) > 0 {
			t.Errorf("after the removal: %+v", r.Look)
		}
		nothingOfOurs(t, l)
	})
}

// nothingOfOurs holds that no file of ours is left but the list of modules.
func nothingOfOurs(t *testing.T, l *testLab) {
	t.Helper()
	for path, f := range l.snapshot(t, "intel9").Files {
		if platform.IsOurs(f.Content) && path != platform.ModulesLoadPath {
			t.Errorf("%s was left", path)
		}
	}
	if left := l.snapshot(t, "intel9").Undos; len(left) > 0 {
		t.Errorf("saved state was left: %v", left)
	}
}

func powerCycle(t *testing.T, l *testLab) {
	t.Helper()
	m := l.Machine("intel9")
	boots := m.Boots()
	l.hosts["intel9"].Drop()
	m.PowerCut()
	if err := m.AwaitBoot(t.Context(), boots+1); err != nil {
		t.Fatal(err)
	}
}

// Drift of each setting, live and persisted apart, is seen and mended.
func TestLab_Stacks_drift(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.Config.Routes = routes("10.20.0.0/16", "172.16.0.1")
		apply(t, l, d)
		m := l.Machine("intel9")
		edit := func(old, now string) func() {
			return func() {
				text := l.file("intel9", c.file)
				if !strings.Contains(text, old) {
					t.Fatalf("%q is not in\n%s", old, text)
				}
				m.FS.Put(c.file, strings.Replace(text, old, now, 1), 0o600)
			}
		}
		name := observe(t, l, d).Name
		for _, tt := range []struct {
			name  string
			spoil func()
			want  string
		}{
			{"mode", func() { runText(t, l, "echo datagram > /sys/class/net/"+name+"/mode") },
				"mode is datagram, not connected"},
			{"MTU", func() { run(t, l, "ip", "link", "set", "dev", name, "mtu", "9000") }, "MTU is 9000, not 65520"},
			{"address", func() { run(t, l, "ip", "addr", "del", "172.16.0.20/24", "dev", name) }, "addresses are none"},
			{"route", func() { run(t, l, "ip", "route", "del", "10.20.0.0/16", "via", "172.16.0.1", "dev", name) },
				"there is no route 10.20.0.0/16 via 172.16.0.1"},
			{"down", func() { run(t, l, "ip", "link", "set", "dev", name, "down") }, "is down"},
			{"MTU at boot", edit("65520", "4092"), "MTU at boot is 4092"},
			{"address at boot", edit("172.16.0.20/24", "172.16.0.21/24"), "addresses at boot are 172.16.0.21/24"},
			{"route at boot", edit("10.20.0.0/16", "10.30.0.0/16"), "routes at boot are 10.30.0.0/16 via 172.16.0.1"},
			{"file gone", func() { m.FS.Drop(c.file) }, "boot"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				tt.spoil()
				mustContain(t, strings.Join(observe(t, l, d).Differences(d.Config), "; "), tt.want)
				apply(t, l, d)
			})
		}
	})
}

// cutCase is a way in which a change is never confirmed.
type cutCase struct {
	name string
	then func(*testing.T, *testLab) // what happens after the connection is lost
	says string                     // what the next apply says
}

var cutCases = []cutCase{
	{"the host undoes it", func(_ *testing.T, l *testLab) { time.Sleep(4 * time.Second); l.reopen() },
		"it was undone by the host"},
	{"power cut in the window", func(t *testing.T, l *testLab) { powerCycle(t, l); l.reopen() }, "it was undone at boot"},
	{"restart in the window", func(t *testing.T, l *testLab) {
		boots := l.Machine("intel9").Boots()
		l.Machine("intel9").Reboot()
		if err := l.Machine("intel9").AwaitBoot(t.Context(), boots+1); err != nil {
			t.Fatal(err)
		}
		l.reopen()
	}, "it was undone at boot"},
	{"the next apply undoes it", func(_ *testing.T, l *testLab) { l.reopen() }, "it was undone first"},
}

func (l *testLab) reopen() {
	l.Machine("intel9").Faults.Set(labsim.FaultSpec{})
	l.hosts["intel9"].Drop()
}

// Whatever happens between a change and its confirmation, the former
// configuration is back, live and for the next boot, and the next apply says so:
// of an interface that had none, and of one that was configured before.
func TestLab_Stacks_cuts(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c, speed(20))
		d := ubuntuDesired()
		for _, first := range []bool{true, false} {
			for _, cut := range cutCases {
				name := cut.name
				if first {
					name += ", first configuration"
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

// survive makes a change that nobody confirms, and applies d after it.
func survive(t *testing.T, l *testLab, c stackCase, d ipoib.Request, cut cutCase) {
	t.Helper()
	before, text := observe(t, l, d), l.file("intel9", c.file)
	next := d
	next.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.9.20/24"),
		Routes: routes("10.9.0.0/16", "172.16.9.1")}
	err := applyCutOff(t, l, "intel9", next)
	mustContain(t, err.Error(), "could not be confirmed", "restores the former configuration by itself")
	if strings.Contains(err.Error(), "othing has to be done") {
		t.Errorf("resume commands may be left: %v", err)
	}
	l.noted(t, changes.Begun, next)
	cut.then(t, l)
	after := observe(t, l, d)
	if cut.says != "it was undone first" {
		if diff := after.Differences(before.Live.Config); before.Persisted.Found && len(diff) > 0 {
			t.Errorf("not as before: %v", diff)
		}
		if !before.Persisted.Found && (after.Persisted.Found || len(after.Live.Addresses) > 0) {
			t.Errorf("something is left: %+v", after)
		}
		if now := l.file("intel9", c.file); now != text {
			t.Errorf("the file is not as before:\n%s\nbefore:\n%s", now, text)
		}
	}
	r := apply(t, l, d)
	mustContain(t, strings.Join(r.Warnings, " "), "was never confirmed", cut.says)
	l.noted(t, changes.Undone, next)
	if left := l.snapshot(t, "intel9").Undos; len(left) > 0 {
		t.Errorf("saved state was left: %v", left)
	}
}

// A change that takes away the address by which the operator is connected: the
// host comes back by itself.
func TestLab_Stacks_cutTheirOwnConnection(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c, speed(20))
		d := ubuntuDesired()
		apply(t, l, d)
		m, name := l.Machine("intel9"), observe(t, l, d).Name
		m.UpdateNetdev("eno1", func(d *labsim.Netdev) { d.SSH = false })
		m.UpdateNetdev(name, func(d *labsim.Netdev) { d.SSH = true })
		l.hosts["intel9"].Invalidate()
		next := d
		next.Config.Addresses = nil
		next.Consent.ManagementPath = []string{name}
		_, err := change.Apply(t.Context(), l.hosts["intel9"], next,
			change.Options{ConfirmTimeout: 60 * time.Second, SettleTimeout: time.Second})
		var unconfirmed *change.UnconfirmedError
		if !errors.As(err, &unconfirmed) {
			t.Fatalf("apply: %v", err)
		}
		time.Sleep(time.Until(unconfirmed.UndoneBy) / 15)
		l.reopen()
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Errorf("the host is not as before: %v (%v)", diff, err)
		}
	})
}

// What is said of a change that could not be confirmed is about the change first:
// the cause is often a host that could not be reached, of which nothing is known.
func TestUnconfirmedError_Explain(t *testing.T) {
	e := &change.UnconfirmedError{
		Host: "a", Interface: "ib0", Problem: "it could not be proved over a new connection", UndoneBy: time.Date(2026, 1,
			2, 3, 4, 5, 0, time.UTC),
		Err: &host.UnreachableError{Host: "a", Op: "connect", Err: errors.New("timed out")}, UndoErr: errors.New("no route"),
	}
	mustContain(t, e.Explain(), "change of ib0 was begun and could not be confirmed", "by itself at about 03:04:05 UTC",
		"timed out", "no route", "Host: a")
	e.Undone = true
	mustContain(t, e.Explain(), "The former configuration was restored")
}

// Routes that others have added outlive a change, confirmed or undone, though network
// services drop them as they configure. One whose gateway is out of reach is named.
func TestLab_Stacks_routesOfOthers(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.Config.Addresses, d.Config.Routes = prefixes("172.16.0.20/24"), routes("10.20.0.0/16", "172.16.0.1")
		apply(t, l, d)
		name := observe(t, l, d).Name
		others := routes("10.50.0.0/16", "172.16.0.9", "10.51.0.7/32", "172.16.0.9")
		for _, r := range others {
			runText(t, l, fmt.Sprintf("ip route add %s via %s dev %s proto bird", r.To, r.Via, name))
		}
		hold := func(when string, want ...ipconf.Route) {
			t.Helper()
			l.hosts["intel9"].Invalidate()
			if got := observe(t, l, d).Live.Routes; !slices.Equal(got, ipconf.SortedRoutes(want)) {
				t.Errorf("%s the routes are %v, want %v", when, got, want)
			}
		}
		failed := d
		failed.Config.Addresses = prefixes("172.16.0.20/24", "172.16.4.20/24")
		_ = applyCutOff(t, l, "intel9", failed)
		l.reopen()
		d.Config.Addresses = append(d.Config.Addresses, prefixes("172.16.1.20/24")...)
		d.Config.Routes = nil
		if r := apply(t, l, d); strings.Contains(strings.Join(r.Warnings, " "), "Routes") {
			t.Errorf("warned of %v", r.Warnings)
		}
		hold("after the undo and the change", others...)
		d.Config.Addresses = prefixes("172.16.1.20/24")
		r := apply(t, l, d)
		mustContain(t, strings.Join(r.Warnings, " "), "Routes that others had added to "+name+" ended",
			"10.50.0.0/16 via 172.16.0.9 proto bird", "10.51.0.7", "(Error: Nexthop has invalid gateway.)")
		hold("after the gateway went")
	})
}

// A change of the interface keeps what others have added to the uplink: networkd does not
// configure the uplink anew for a file of netplan that says what it has said, and where it
// does so for an edit that waits for a reload, the routes are put back, as by an undo.
func TestLab_Stacks_routesOnTheUplink(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		if c.lab != labsim.StackNetplan && c.lab != labsim.StackNetworkd {
			return
		}
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.Config.Addresses = prefixes("172.16.0.20/24")
		apply(t, l, d)
		m := l.Machine("intel9")
		uplink, _ := m.Netdev("eno1")
		via := uplink.Addrs[0].Masked().Addr().Next()
		runText(t, l, fmt.Sprintf("ip route add 10.61.0.0/16 via %s dev eno1 proto bird", via))
		stamp := func() string {
			for _, file := range m.FS.Glob("/run/systemd/network/10-netplan-eno1.network") {
				i, err := m.FS.Stat(vfs.Root, file, true)
				return fmt.Sprint(i.Ino, i.Modified, err)
			}
			return ""
		}
		read := stamp()
		hold := func(when string) {
			t.Helper()
			if got, _ := m.Netdev("eno1"); len(got.Routes) != 1 {
				t.Errorf("%s the routes of the uplink are %v", when, got.Routes)
			}
		}
		d.Config.Addresses = prefixes("172.16.0.21/24")
		apply(t, l, d)
		hold("after a change of the interface")
		if got := stamp(); got != read {
			t.Errorf("networkd has to read the file of the uplink anew: %s, it was %s", got, read)
		}
		edit := "printf '# edited\\n' >>/etc/systemd/network/20-eno1.network"
		if c.lab == labsim.StackNetplan {
			edit = "printf '      optional: true\\n' >>/etc/netplan/50-cloud-init.yaml"
		}
		runText(t, l, edit)
		d.Config.Addresses = prefixes("172.16.0.22/24")
		apply(t, l, d)
		hold("after a reload that took an edit along")
		runText(t, l, strings.ReplaceAll(edit, "optional: true", "mtu: 1500"))
		d.Config.Addresses = prefixes("172.16.0.23/24")
		_ = applyCutOff(t, l, "intel9", d)
		l.reopen()
		hold("after an undo")
	})
}

// Policy rules, nexthop objects and permanent neighbours of others outlive a change and an
// undo, though networkd drops them. A route keeps its nexthop object.
func TestLab_Stacks_rulesOfOthers(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.Config.Addresses = prefixes("172.16.0.20/24")
		apply(t, l, d)
		name := observe(t, l, d).Name
		runText(t, l, "ip rule add fwmark 0x5 lookup 200 prio 5000; ip -6 rule add from fd99::/64 lookup 201 prio 5001\n"+
			"ip nexthop add id 7 via 172.16.0.3 dev "+name+" proto zebra\nip route add 10.56.0.0/16 nhid 7 proto bird\n"+
			"ip neighbour add 172.16.0.7 lladdr 80:00:00:01 dev "+name+" nud permanent")
		hold := func(when, gateway string) {
			t.Helper()
			said := runText(t, l, "ip -4 rule show; ip -6 rule show; ip nexthop show dev "+name+"; ip route show dev "+name+
				"; ip -4 neighbour show dev "+name+" nud permanent")
			for _, want := range []string{"5000:\tfrom all fwmark 0x5 lookup 200\n", "5001:\tfrom fd99::/64 lookup 201\n",
				"from all lookup default\n",
				"172.16.0.7 lladdr 80:00:00:01 PERMANENT", gateway} {
				if strings.Count(said, want) != 1 {
					t.Errorf("%s %q is there %d times in\n%s", when, want, strings.Count(said, want), said)
				}
			}
		}
		d.Config.Addresses = append(d.Config.Addresses, prefixes("172.16.1.20/24")...)
		if r := apply(t, l, d); strings.Contains(strings.Join(r.Warnings, " "), "ended") {
			t.Errorf("warned of %v", r.Warnings)
		}
		hold("after a change", "10.56.0.0/16 nhid 7 via 172.16.0.3 proto bird")
		undone := d
		undone.Config.Addresses = prefixes("172.16.0.20/24")
		_ = applyCutOff(t, l, "intel9", undone)
		l.reopen()
		hold("after an undo", "id 7 via 172.16.0.3 dev "+name+" scope link proto zebra")
	})
}

// A file of ours for a port that the host had defines the interface still, by its name. It
// is found as a definition made elsewhere, and can be taken over.
func TestLab_Stacks_fileOfAnEarlierPort(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := ubuntuDesired()
		apply(t, l, d)
		earlier := func(text string) string { return strings.ReplaceAll(text, "e41d2d0300e44e01", "e41d2d0300e422a1") }
		text := strings.ReplaceAll(l.file("intel9", c.file), "172.16.0.20/24", "172.18.0.30/24")
		text = strings.ReplaceAll(earlier(text), "e4:1d:2d:03:00:e4:4e:01", "e4:1d:2d:03:00:e4:22:a1")
		if head, uuid, ok := strings.Cut(text, "uuid="); ok { // each port has its own
			text = head + "uuid=00000000" + uuid[8:]
		}
		l.Machine("intel9").FS.Put(earlier(c.file), text, 0o600)
		s := l.snapshot(t, "intel9")
		shows := func(p judge.PlanFacts) (text string) {
			for _, f := range judge.Check(found.At(s, d.Ref()), d, p) {
				if f.Severity.Blocks() {
					text += f.Rule.Code + f.Detail()
				}
			}
			return text
		}
		mustContain(t, shows(judge.PlanFacts{Held: true}), "IP042", earlier(c.file), "172.18.0.30/24",
			"this provider wrote it for port 0xe41d2d0300e422a1, which the host does not have any more")
		if text := shows(judge.PlanFacts{Leaving: []ipoib.Ref{{PortGUID: 0xe41d2d0300e422a1}}}); text != "" {
			t.Errorf("the plan removes the file before: %s", text)
		}
		d.Consent.AdoptFiles, d.Consent.AdoptWithout = []string{earlier(c.file)}, []string{"172.18.0.30/24"}
		apply(t, l, d)
		powerCycle(t, l)
		if o := observe(t, l, d); len(o.Unmanaged) > 0 || !slices.Equal(o.Live.Addresses, d.Config.Addresses) {
			t.Errorf("after a restart: %v, %v", o.Live.Addresses, o.Unmanaged)
		}
	})
}
