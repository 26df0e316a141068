package change_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// handMade is a definition as people write it, of the interface and the settings of
// ubuntuDesired.
type handMade struct {
	path, text string
	take       string // has the stack configure the interface by it
}

const handName = "ibp1s0"

var handMades = map[ipoib.Stack]handMade{
	ipoib.StackNetplan: {"/etc/netplan/70-ib.yaml", "# storage network, ask Kim\nnetwork:\n  version: 2\n  ethernets:\n    " +
		handName + ":\n      mtu: 65520\n      addresses: [172.16.0.20/24]\n      routes:\n        - {to: 10.20.0.0/16, " +
		"via: 172.16.0.1}\n", "echo connected > /sys/class/net/" + handName + "/mode; netplan generate; networkctl reload; " +
		"networkctl reconfigure " + handName},
	ipoib.StackNetplanNM: {"/etc/netplan/70-ib.yaml", "network:\n  version: 2\n  ethernets:\n    " + handName +
		":\n      infiniband-mode: connected\n      mtu: 65520\n      addresses: [172.16.0.20/24]\n      routes:\n        - to: " +
		"10.20.0.0/16\n          via: 172.16.0.1\n", "netplan generate; nmcli connection reload; nmcli --wait 30 connection up id " +
		"netplan-" + handName + " ifname " + handName},
	ipoib.StackNM: {"/etc/NetworkManager/system-connections/storage.nmconnection", "[connection]\nid=storage\n" +
		"uuid=5f1d3c0e-7a52-4c1b-9d0a-0f6f1c2b3a4d\ntype=infiniband\ninterface-name=" + handName + "\n\n[infiniband]\nmtu=65520\n" +
		"transport-mode=connected\n\n[ipv4]\nmethod=manual\naddress1=172.16.0.20/24\nroute1=10.20.0.0/16,172.16.0.1\n\n[ipv6]\n" +
		"addr-gen-mode=default\nmethod=disabled\n\n[proxy]\n",
		"nmcli connection reload; nmcli --wait 30 connection up id storage ifname " + handName},
	ipoib.StackNetworkd: {"/etc/systemd/network/20-storage.network", "[Match]\nName=" + handName + "\n\n[Link]\nMTUBytes=65520\n\n" +
		"[Network]\nAddress=172.16.0.20/24\n\n[Route]\nDestination=10.20.0.0/16\nGateway=172.16.0.1\n",
		"echo connected > /sys/class/net/" + handName + "/mode; networkctl reload; networkctl reconfigure " + handName},
	ipoib.StackIfupdown: {"/etc/network/interfaces.d/storage", "auto " + handName + "\niface " + handName +
		" inet static\n\taddress 172.16.0.20/24\n\tmtu 65520\n\tpre-up echo connected > /sys/class/net/$IFACE/mode\n\tup ip route " +
		"add 10.20.0.0/16 via 172.16.0.1\n", "ifup --force " + handName},
}

func (c stackCase) hand(t *testing.T, l *testLab) handMade {
	t.Helper()
	made, ok := handMades[c.stack]
	if !ok {
		t.Fatalf("no definition made by hand for %s", c.stack)
	}
	l.Machine("intel9").FS.Put(made.path, made.text, 0o600)
	runText(t, l, made.take)
	return made
}

func handDesired() ipoib.Request {
	d := ubuntuDesired()
	d.Config.Routes = routes("10.20.0.0/16", "172.16.0.1")
	return d
}

func savedAs(made handMade) string {
	dir, base := made.path[:strings.LastIndex(made.path, "/")+1], made.path[strings.LastIndex(made.path, "/")+1:]
	return dir + "." + base + ".before-infiniband-e41d2d0300e44e01"
}

// A definition made by hand is reported as it is, and refused with the line that lets it
// be taken over. With that line the file is kept, ours takes its place, and nothing
// happens to an interface that is as asked; a restart brings back the same. What is
// destroyed later leaves the file where it is kept, and says so.
func TestLab_Takeover_life(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		made, d := c.hand(t, l), handDesired()
		o := observe(t, l, d)
		if shows := o.Report(nil); !shows.Same(d.Config) {
			t.Fatalf("an import would show %+v", shows)
		}
		_, err := change.Apply(t.Context(), l.hosts["intel9"], d, change.Options{})
		var refused *safety.RefusedError
		if !errors.As(err, &refused) || len(refused.Findings) != 1 ||
			refused.Findings[0].Consent != `adopt_files = ["`+made.path+`"]` {
			t.Fatalf("without consent: %v", err)
		}
		mustContain(t, err.Error(), "IP042", made.path, "addresses 172.16.0.20/24", "10.20.0.0/16 via 172.16.0.1",
			"keeps that file as "+savedAs(made), "writes "+c.file, "nothing changes on the interface")
		d.Consent.AdoptFiles = []string{made.path}
		before, _ := l.Machine("intel9").Netdev(handName)
		r := apply(t, l, d)
		mustContain(t, strings.Join(r.Warnings, " "), made.path+" was taken over", savedAs(made))
		if now, _ := l.Machine("intel9").Netdev(handName); now.Changes != before.Changes {
			t.Errorf("the interface was touched: %+v, was %+v", now, before)
		}
		if l.file("intel9", savedAs(made)) != made.text || l.file("intel9", made.path) != "" || len(r.Look.Unmanaged) > 0 {
			t.Errorf("the file was not kept aside, or is still read: %v", r.Look.Unmanaged)
		}
		if again := apply(t, l, d); again.Changed {
			t.Errorf("the second apply changed something: %+v", again)
		}
		powerCycle(t, l)
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Fatalf("after a restart: %v", diff)
		}
		r, err = change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		if err != nil || r.Look.Persisted.Found {
			t.Fatalf("remove: %v, %+v", err, r)
		}
		mustContain(t, strings.Join(r.Left, " "), "stays as "+savedAs(made), "move it back to "+made.path)
		if l.file("intel9", savedAs(made)) != made.text {
			t.Error("the kept file went with the resource")
		}
		nothingOfOurs(t, l)
	})
}

// A takeover that changes settings and that nobody confirms: the host puts back the file
// made by hand to the byte, and the interface as it was.
func TestLab_Takeover_unconfirmed(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c, speed(20))
		made, d := c.hand(t, l), handDesired()
		before := observe(t, l, d)
		d.Consent.AdoptFiles = []string{made.path}
		d.Consent.AdoptWithout = []string{"172.16.0.20/24", "10.20.0.0/16 via 172.16.0.1"}
		d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.9.20/24")}
		for _, cut := range cutCases {
			t.Run(cut.name, func(t *testing.T) {
				_ = applyCutOff(t, l, "intel9", d)
				cut.then(t, l)
				if cut.says == "it was undone first" {
					return // the next apply does it, below
				}
				after := observe(t, l, d)
				if l.file("intel9", made.path) != made.text || l.file("intel9", savedAs(made)) != "" || after.Persisted.Found {
					t.Errorf("not as before: %+v\n%s", after, l.file("intel9", made.path))
				}
				if !after.Live.Same(before.Live.Config) {
					t.Errorf("the interface has %+v, had %+v", after.Live, before.Live)
				}
			})
		}
		r := apply(t, l, d)
		mustContain(t, strings.Join(r.Warnings, " "), "was never confirmed", "was taken over")
		if l.file("intel9", savedAs(made)) != made.text {
			t.Error("the file made by hand is lost")
		}
	})
}

// The only copy of a file is never written over, also if it came after the last look.
func TestLab_Takeover_nameTaken(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		made, d := c.hand(t, l), handDesired()
		d.Consent.AdoptFiles = []string{made.path}
		put := func() { l.Machine("intel9").FS.Put(savedAs(made), "an older one\n", 0o600) }
		untouched := func() {
			t.Helper()
			if l.file("intel9", savedAs(made)) != "an older one\n" || l.file("intel9", made.path) != made.text {
				t.Error("a file was changed")
			}
		}
		_, err := change.Apply(t.Context(), hosts.New(&savingHost{Host: l.hosts["intel9"].Host, put: put}), d, change.Options{})
		if err == nil {
			t.Fatal("it was taken over")
		}
		mustContain(t, err.Error(), savedAs(made)+" is there already", "Nothing was changed", "Move that file away")
		untouched()
		l.hosts["intel9"].Invalidate()
		_, err = change.Apply(t.Context(), l.hosts["intel9"], d, change.Options{})
		var refused *safety.RefusedError
		if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Rule.Code != "IP011" {
			t.Fatalf("the second time: %v", err)
		}
		mustContain(t, refused.Findings[0].WayOut, savedAs(made)+" is there already", "Move that file away, then plan again")
		untouched()
	})
}

// savingHost is a host on which somebody keeps a file just before the takeover asks for its name.
type savingHost struct {
	host.Host
	put func()
}

func (h *savingHost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if strings.Contains(cmd.String(), "look-for-saved-file") {
		h.put()
	}
	return h.Host.Run(ctx, cmd)
}

// What the interface has and the file does not say would be lost when networkd reads its files
// again: it is configured anew at once, and the finding says so.
func TestLab_Takeover_notFromTheFile(t *testing.T) {
	t.Parallel()
	l := stackLab(t, stackCases[0])
	made, d := stackCases[0].hand(t, l), handDesired()
	runText(t, l, "ip addr add 172.16.0.21/24 dev "+handName+"; ip addr del 172.16.0.20/24 dev "+handName)
	d.Config.Addresses = prefixes("172.16.0.21/24")
	_, err := change.Apply(t.Context(), l.hosts["intel9"], d, change.Options{})
	if err == nil {
		t.Fatal("it was taken over without consent")
	}
	mustContain(t, err.Error(), "IP042", "systemd-networkd does not have them from that file", "configured anew")
	d.Consent.AdoptFiles, d.Consent.AdoptWithout = []string{made.path}, []string{"172.16.0.20/24"}
	before := len(l.Machine("intel9").Journal())
	if diff := apply(t, l, d).Look.Differences(d.Config); len(diff) > 0 {
		t.Errorf("after the apply: %v", diff)
	}
	var ran []string
	for _, e := range l.Machine("intel9").Journal()[before:] {
		ran = append(ran, strings.Join(e.Args, " "))
	}
	mustContain(t, strings.Join(ran, "\n"), "networkctl reconfigure "+handName)
}

// `netplan set` writes the file that defines the interface anew, without comments: our mark
// is gone with them. Consent takes the file back.
func TestLab_Takeover_ownFileWithoutMark(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l, d := stackLab(t, c), handDesired()
		apply(t, l, d)
		var bare []string
		for line := range strings.Lines(l.file("intel9", c.file)) {
			if !strings.HasPrefix(line, "#") {
				bare = append(bare, line)
			}
		}
		l.Machine("intel9").FS.Put(c.file, strings.Join(bare, ""), 0o600)
		o := observe(t, l, d)
		if c.stack == ipoib.StackNM { // which writes keyfiles anew by itself: ours has its UUID
			if !o.Persisted.Found || len(o.Unmanaged) > 0 {
				t.Errorf("our profile is not known by its UUID: %+v", o)
			}
			return
		}
		_, err := change.Apply(t.Context(), l.hosts["intel9"], d, change.Options{})
		var refused *safety.RefusedError
		if !errors.As(err, &refused) || refused.Findings[0].Consent != `adopt_files = ["`+c.file+`"]` {
			t.Fatalf("a file without the mark was taken for ours: %v", err)
		}
		mustContain(t, err.Error(), "IP042", "Terraform wrote a file of this name. The comment that says so is gone")
		d.Consent.AdoptFiles = []string{c.file}
		apply(t, l, d)
		if again := apply(t, l, d); again.Changed || len(again.Look.Unmanaged) > 0 {
			t.Errorf("the second apply changed something: %+v", again)
		}
		if l.file("intel9", savedAs(handMade{path: c.file})) != strings.Join(bare, "") {
			t.Error("the file without the mark was not kept")
		}
		if _, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
