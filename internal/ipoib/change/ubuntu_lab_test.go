package change_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	smchange "github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	smfound "github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	smjudge "github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

const (
	netplanFile = "/etc/netplan/60-infiniband-e41d2d0300e44e01.yaml"
	udevFile    = "/etc/udev/rules.d/70-infiniband-e41d2d0300e44e01.rules"
)

func ubuntuDesired() ipoib.Request {
	return ipoib.Request{Host: "intel9", PortGUID: ubuntuPort, Config: ipoib.Config{
		Mode: ib.ModeConnected, MTU: 65520, Addresses: prefixes("172.16.0.20/24"),
	}}
}

// withSM starts a lab whose fabric is up.
func withSM(t *testing.T, options ...labOption) *testLab {
	t.Helper()
	l := startLab(t, options...)
	r, err := applySM(t.Context(), l.hosts["intel9"],
		opensm.Request{Host: "intel9", PortGUID: ubuntuPort, Priority: 14}, smchange.Options{})
	if err != nil {
		t.Fatalf("opensm: %v", err)
	}
	if o := r.Look; !fact.Yes(o.Active) || !fact.Yes(o.Enabled) || !fact.Yes(o.IsSM) || o.SMLID == 0 ||
		o.State != "Active" || o.Priority != 14 {
		t.Fatalf("opensm: %+v", o)
	}
	return l
}

func apply(t *testing.T, l *testLab, d ipoib.Request) change.Result {
	t.Helper()
	r, err := change.Apply(t.Context(), l.hosts[d.Host], d, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := r.Look.Differences(d.Config); len(diff) > 0 {
		t.Fatalf("after apply: %v", diff)
	}
	return r
}

func TestLab_Apply_ubuntu(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	if r := apply(t, l, d); !r.Changed || len(r.Warnings) > 0 {
		t.Errorf("first apply: %+v", r)
	}
	if r := apply(t, l, d); r.Changed {
		t.Errorf("the second apply changed something: %+v", r)
	}
	s := l.snapshot(t, "intel9")
	if f := s.Files[netplanFile]; f.Mode != "600" || !strings.HasPrefix(f.Content, platform.Owner) {
		t.Errorf("netplan file: %+v", f)
	}
	mustContain(t, l.file("intel9", udevFile), `ATTR{address}=="?*e4:1d:2d:03:00:e4:4e:01"`,
		"echo connected > /sys$$DEVPATH/mode")
	if left := s.Units["infiniband-undo-e41d2d0300e44e01.timer"]; left.ActiveState == "active" {
		t.Errorf("the timer still runs: %+v", left)
	}
	if l.Machine("intel9").FS.Exists("/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01") {
		t.Error("the saved state was not removed after the confirmation")
	}
	// A change of everything at once, back to what is small.
	d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.1.20/24", "172.16.0.20/24")}
	apply(t, l, d)
}

func TestLab_Apply_ubuntuMendsDrift(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	apply(t, l, d)
	name := found.At(l.snapshot(t, "intel9"), ipoib.Ref{PortGUID: ubuntuPort}).Name
	m := l.Machine("intel9")
	for _, tt := range []struct {
		name  string
		spoil func()
		want  string
		diff  func(ipoib.Config) bool // what the state shows then
	}{
		{"MTU", func() { run(t, l, "ip", "link", "set", "dev", name, "mtu", "9000") }, "MTU is 9000, not 65520",
			func(c ipoib.Config) bool { return c.MTU == 9000 }},
		{"mode", func() { m.FS.Put("/tmp/m", "", 0o644); runText(t, l, "echo datagram > /sys/class/net/"+name+"/mode") },
			"mode is datagram, not connected",
			func(c ipoib.Config) bool { return c.Mode == ib.ModeDatagram }},
		{"address", func() { run(t, l, "ip", "addr", "del", "172.16.0.20/24", "dev", name) }, "addresses are none",
			func(c ipoib.Config) bool { return len(c.Addresses) == 0 }},
		{"extra address", func() { run(t, l, "ip", "addr", "add", "10.9.9.9/24", "dev", name) }, "10.9.9.9/24",
			func(c ipoib.Config) bool { return len(c.Addresses) == 2 }},
		{"down", func() { run(t, l, "ip", "link", "set", "dev", name, "down") }, "is down", nil},
		{"netplan file gone", func() { m.FS.Drop(netplanFile) }, "configuration for boot", nil},
		{"udev rule edited", func() {
			m.FS.Put(udevFile, strings.Replace(l.file("intel9", udevFile), "connected", "datagram", 1), 0o644)
		},
			`mode at boot is "datagram"`, func(c ipoib.Config) bool { return c.Mode == ib.ModeDatagram }},
		{"udev rule of an earlier version", func() {
			m.FS.Put(udevFile, strings.Replace(l.file("intel9", udevFile), "$$DEVPATH", "$devpath", 1), 0o644)
		},
			`mode at boot is "datagram"`, func(c ipoib.Config) bool { return c.Mode == ib.ModeDatagram }},
		{"netplan MTU edited", func() {
			m.FS.Put(netplanFile, strings.Replace(l.file("intel9", netplanFile), "65520", "4092", 1), 0o600)
		},
			"MTU at boot is 4092", func(c ipoib.Config) bool { return c.MTU == 4092 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spoil()
			o := found.At(l.snapshot(t, "intel9"), ipoib.Ref{PortGUID: ubuntuPort})
			mustContain(t, strings.Join(o.Differences(d.Config), "; "), tt.want)
			if report := o.Report(&d.Config); tt.diff != nil && !tt.diff(report) {
				t.Errorf("the state would show %+v", report)
			}
			apply(t, l, d)
		})
	}
}

// run runs a command on the Ubuntu host as root, and returns what it prints.
func run(t *testing.T, l *testLab, args ...string) string {
	t.Helper()
	m := l.Machine("intel9")
	var out strings.Builder
	p := &labsim.Proc{Machine: m, PPID: 1, Args: args, User: "root", Stdout: &out, Stderr: &out}
	if status := m.Exec(context.Background(), p); status != 0 {
		t.Fatalf("%v: status %d: %s", args, status, out.String())
	}
	return out.String()
}

func runText(t *testing.T, l *testLab, text string) string {
	t.Helper()
	return run(t, l, "/bin/sh", "-c", text)
}

func TestLab_Apply_ubuntuSurvivesReboot(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	apply(t, l, d)
	h := l.hosts["intel9"]
	before := l.snapshot(t, "intel9")
	plat, err := platform.Of(before)
	if err != nil {
		t.Fatal(err)
	}
	id, err := plat.Reboot(t.Context(), h,
		reboot.Policy{Timeout: 20 * time.Second, Poll: 50 * time.Millisecond,
			ResumeCommands: []string{"touch /tmp/resumed"}})
	if err != nil {
		t.Fatal(err)
	}
	after := l.snapshot(t, "intel9")
	if id == before.BootID || after.BootID != id {
		t.Errorf("boot ids: %s before, %s after, %s returned", before.BootID, after.BootID, id)
	}
	if !l.Machine("intel9").FS.Exists("/tmp/resumed") {
		t.Error("the resume command did not run")
	}
	if diff := found.At(after, ipoib.Ref{PortGUID: ubuntuPort}).Differences(d.Config); len(diff) > 0 {
		t.Errorf("after the reboot: %v", diff)
	}
	sm := opensm.Request{Host: "intel9", PortGUID: ubuntuPort, Priority: 14}
	if diff := smjudge.Differences(smfound.Of(after, ubuntuPort), sm); len(diff) > 0 {
		t.Errorf("opensm after the reboot: %v", diff)
	}
}

// A provider that dies after the change leaves the undo to the host.
func TestLab_Apply_hostUndoesWhatNobodyConfirms(t *testing.T) {
	t.Parallel()
	l := withSM(t, speed(20))
	d := ubuntuDesired()
	apply(t, l, d)
	before := l.file("intel9", netplanFile)
	next := d
	next.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.9.20/24")}
	err := applyUndone(t, l, "intel9", next)
	mustContain(t, err.Error(), "could not be")
	o := found.At(l.snapshot(t, "intel9"), ipoib.Ref{PortGUID: ubuntuPort})
	if diff := o.Differences(d.Config); len(diff) > 0 {
		t.Errorf("the host did not go back: %v\nerror was: %v", diff, err)
	}
	if l.file("intel9", netplanFile) != before {
		t.Errorf("the netplan file is not the former one:\n%s", l.file("intel9", netplanFile))
	}
	apply(t, l, next)
}

func TestLab_Apply_silentlyClampedMTU(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	apply(t, l, d)
	clamped := d
	clamped.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 4092, Addresses: d.Config.Addresses}
	_, err := change.Apply(t.Context(), l.hosts["intel9"], clamped, change.Options{SettleTimeout: time.Second})
	var unconfirmed *change.UnconfirmedError
	if !errors.As(err, &unconfirmed) || !unconfirmed.Undone {
		t.Fatalf("apply: %v", err)
	}
	mustContain(t, err.Error(), "MTU is 2044, not 4092", "broadcast group", "2044 + 4 = 2048", "mtu = 4096", "was restored")
	if diff := found.At(l.snapshot(t, "intel9"), ipoib.Ref{PortGUID: ubuntuPort}).Differences(d.Config); len(diff) > 0 {
		t.Errorf("the former configuration is not back: %v", diff)
	}
}

func TestLab_Remove_ubuntu(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	unmanaged := "network: {version: 2, ethernets: {eno2: {dhcp4: true}}}\n"
	l.Machine("intel9").FS.Put("/etc/netplan/10-other.yaml", unmanaged, 0o600)
	apply(t, l, d)
	r, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Look.Persisted.Found || len(r.Look.Live.Addresses) > 0 || len(r.Left) == 0 {
		t.Errorf("after remove: %+v", r)
	}
	if l.file("intel9", "/etc/netplan/10-other.yaml") != unmanaged {
		t.Error("an unmanaged file was touched")
	}
	rm, err := stopSM(t.Context(), l.hosts["intel9"], ubuntuPort)
	if err != nil || !fact.No(rm.Look.Active) || !fact.No(rm.Look.Enabled) || rm.Look.Managed {
		t.Errorf("opensm after remove: %+v, %v", rm, err)
	}
	mustContain(t, l.file("intel9", "/etc/default/opensm"), "PORTS=NONE")
	mustContain(t, strings.Join(rm.Left, " "), "package opensm stays")
}

func TestLab_Check_unmanagedNetplan(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	name := found.At(l.snapshot(t, "intel9"), ipoib.Ref{PortGUID: ubuntuPort}).Name
	l.Machine("intel9").FS.Put("/etc/netplan/60-infiniband.yaml",
		"network:\n  version: 2\n  ethernets:\n    eno2: {dhcp4: true}\n    "+name+
			":\n      addresses: [172.16.0.20/24]\n      mtu: 65520\n", 0o600)
	_, err := change.Apply(t.Context(), l.hosts["intel9"], ubuntuDesired(), change.Options{})
	var refused *safety.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("apply: %v", err)
	}
	mustContain(t, err.Error(), "IP011", "/etc/netplan/60-infiniband.yaml defines ethernets."+name)
}

func TestLab_Apply_overTheSession(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	m := l.Machine("intel9")
	name := found.At(l.snapshot(t, "intel9"), ipoib.Ref{PortGUID: ubuntuPort}).Name
	m.UpdateNetdev("eno1", func(d *labsim.Netdev) { d.SSH, d.Gateway = false, netip.Addr{} })
	m.UpdateNetdev(name, func(d *labsim.Netdev) {
		d.SSH, d.Up, d.Gateway = true, true, netip.MustParseAddr("172.16.0.1")
		d.Addrs = append(d.Addrs, netip.MustParsePrefix("172.16.0.20/24"))
	})
	l.hosts["intel9"].Invalidate()
	d := ubuntuDesired()
	_, err := change.Apply(t.Context(), l.hosts["intel9"], d, change.Options{})
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Consent != `management_path = ["`+name+`"]` {
		t.Fatalf("apply without consent: %+v", err)
	}
	d.Consent.ManagementPath = []string{name}
	apply(t, l, d)
}

// A provider that was killed between a change and its confirmation: the next
// apply undoes it first, instead of waiting for the timer to fall into its own.
func TestLab_Apply_undoesWhatAKilledProviderLeft(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	apply(t, l, d)
	next := d
	next.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.9.20/24")}
	_, err := change.Apply(t.Context(), l.cutOff("intel9"), next,
		change.Options{ConfirmTimeout: time.Hour, SettleTimeout: time.Second})
	if err == nil {
		t.Fatal("the change was confirmed over a connection that there was not")
	}
	l.Machine("intel9").Faults.Set(labsim.FaultSpec{})
	l.hosts["intel9"].Drop()
	if diff := found.At(l.snapshot(t, "intel9"), ipoib.Ref{PortGUID: ubuntuPort}).Differences(d.Config); len(diff) == 0 {
		t.Fatal("nothing was left to undo")
	}
	r := apply(t, l, d)
	mustContain(t, strings.Join(r.Warnings, " "), "never confirmed; it was undone first")
	if r.Changed {
		t.Errorf("the undo alone should have sufficed: %+v", r)
	}
}
