package change_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// A P_Key child is made, survives a restart, is changed and goes again.
func TestLab_Stacks_pkey(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.PKey = 0x8001
		d.Config = ipoib.Config{Mode: ib.ModeConnected, MTU: 65520, Addresses: prefixes("172.17.0.20/24")}
		if r := apply(t, l, d); r.Look.Name != "ibp1s0.8001" || r.Look.Parent != "ibp1s0" {
			t.Errorf("%+v", r.Look)
		}
		powerCycle(t, l)
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Fatalf("after a restart: %v", diff)
		}
		d.Config.Mode, d.Config.MTU = ib.ModeDatagram, 2044
		apply(t, l, d)
		if _, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{}); err != nil {
			t.Fatal(err)
		}
		if o := observe(t, l, d); o.Present || o.Persisted.Found {
			t.Errorf("after the removal: %+v", o)
		}
		nothingOfOurs(t, l)
		r, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		if err != nil || r.Changed {
			t.Errorf("where nothing is, something was removed: %+v, %v", r, err)
		}
		mustContain(t, strings.Join(r.Left, " "), "intel9 has no configuration of this resource", "names the right host")
	})
}

// A P_Key child comes and goes beside the interface of its port, which keeps all that
// it is configured with.
func TestLab_Stacks_pkey_beside_its_parent(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		parent, child := ubuntuDesired(), ubuntuDesired()
		child.PKey = 0x8001
		child.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.17.0.20/24")}
		apply(t, l, parent)
		stored := observe(t, l, parent).Persisted
		spared := func(when string) {
			t.Helper()
			if o := observe(t, l, parent); !o.Satisfies(parent.Config) || len(o.Persisted.Sources) != len(stored.Sources) {
				t.Errorf("%s: %v; stored in %q, was %q", when, o.Differences(parent.Config), o.Persisted.Sources, stored.Sources)
			}
		}
		apply(t, l, child)
		spared("with the child")
		if _, err := change.Remove(t.Context(), l.hosts["intel9"], child, change.Options{}); err != nil {
			t.Fatal(err)
		}
		spared("after the child")
	})
}

// Several children of a port need no order and no parent of their own: each is there after a
// restart, whichever was made first, and after the interface of the port or one of them was
// given up.
func TestLab_Stacks_pkeys_of_one_port(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		for _, order := range [][]uint16{{0x8001, 0x8002, 0x8003}, {0x8003, 0x8002, 0x8001}, {0, 0x8002, 0x8001}} {
			l := stackLab(t, c)
			var wanted []ipoib.Request
			holds := func(when string) {
				t.Helper()
				for _, d := range wanted {
					if o := observe(t, l, d); !o.Satisfies(d.Config) {
						t.Errorf("%#x, %s: %#04x: %v", order, when, d.PKey, o.Differences(d.Config))
					}
				}
			}
			for n, key := range order {
				d := ubuntuDesired()
				if key != 0 {
					d.PKey = key
					d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes(fmt.Sprintf("172.17.%d.20/24", n))}
				}
				apply(t, l, d)
				wanted = append(wanted, d)
				holds("after the apply of " + fmt.Sprint(n))
			}
			powerCycle(t, l)
			holds("after a restart")
			r, err := change.Remove(t.Context(), l.hosts["intel9"], wanted[0], change.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if said := fmt.Sprint(r.Left); strings.Contains(said, "parent of ibp1s0.") != (order[0] == 0) {
				t.Errorf("%#x: of the children the removal of the first says %s", order, said)
			}
			wanted = wanted[1:]
			holds("after the first was removed")
			powerCycle(t, l)
			holds("after another restart")
			for _, d := range wanted {
				if _, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			nothingOfOurs(t, l)
		}
	})
}

// networkd gives a P_Key child a hardware address with a made-up GUID, unless its file
// says MACAddress=none. It is a difference, now and at boot. The child is made anew, also
// after an apply that was cut off when the old one had gone.
func TestLab_Stacks_pkey_with_the_guid_of_no_port(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		if c.stack != ipoib.StackNetplan && c.stack != ipoib.StackNetworkd {
			t.Skip("networkd does not make the interface")
		}
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.PKey = 0x8001
		d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.17.0.20/24")}
		apply(t, l, d)
		if o := observe(t, l, d); !o.OtherGUID.IsZero() {
			t.Errorf("made with the GUID %s", o.OtherGUID)
		}
		m := l.Machine("intel9")
		netdev := "/etc/systemd/network/60-infiniband-e41d2d0300e44e01-8001.netdev"
		m.FS.Put(netdev, strings.ReplaceAll(m.FS.Text(netdev), "MACAddress=none\n", ""), 0o644)
		boot := strings.Join(observe(t, l, d).Differences(d.Config), "\n")
		mustContain(t, boot, netdev+" has no MACAddress=none, so networkd makes an interface at boot that never gets a carrier")
		m.RemoveNetdev("ibp1s0.8001")
		powerCycle(t, l)
		dead := observe(t, l, d)
		mustContain(t, strings.Join(dead.Differences(d.Config), "\n"),
			"the hardware address of ibp1s0.8001 has the GUID "+dead.OtherGUID.String()+
				", not that of the port, so it never gets a carrier")
		m.Faults.Set(labsim.FaultSpec{ExecHolds: "del dev ibp1s0.8001", CutAtExec: 1, CutWhen: labsim.CutAfter})
		if _, err := change.Apply(t.Context(), l.hosts["intel9"], d, change.Options{}); err == nil {
			t.Log("the answer came before the cut, and the apply went on with another connection")
		}
		apply(t, l, d)
		if o := observe(t, l, d); !o.OtherGUID.IsZero() || len(o.Differences(d.Config)) > 0 {
			t.Errorf("afterwards: %s, %q", o.OtherGUID, o.Differences(d.Config))
		}
		powerCycle(t, l)
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Errorf("after a restart: %q", diff)
		}
	})
}

// pkeyDesired is a P_Key child of the first host.
func pkeyDesired() ipoib.Request {
	d := ubuntuDesired()
	d.PKey = 0x8001
	d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.17.0.20/24")}
	return d
}

// Files of a P_Key child have the name of the interface of its port in their path. A removal
// finds them also where that interface has gone, or has another name by then.
func TestLab_Stacks_pkey_is_removed_without_its_parent(t *testing.T) {
	for name, away := range map[string]func(*testing.T, *testLab){
		"no ib_ipoib": func(t *testing.T, l *testLab) {
			if err := l.Machine("intel9").UnloadModule("ib_ipoib"); err != nil {
				t.Fatal(err)
			}
		},
		"the port is Ethernet": func(t *testing.T, l *testLab) {
			runText(t, l, "echo eth >/sys/bus/pci/devices/0000:01:00.0/mlx4_port1")
		},
		"another name": func(t *testing.T, l *testLab) {
			l.Machine("intel9").FS.Put("/etc/udev/rules.d/10-ib.rules", `ACTION=="add", SUBSYSTEM=="net", `+
				`ATTR{type}=="32", ATTR{address}=="?*e4:1d:2d:03:00:e4:4e:01", NAME="fabric0"`+"\n", 0o644)
			powerCycle(t, l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachStack(t, func(t *testing.T, c stackCase) {
				l, d := stackLab(t, c), pkeyDesired()
				apply(t, l, d)
				away(t, l)
				if o := observe(t, l, d); o.Name == "ibp1s0.8001" {
					t.Fatalf("the interface of the port is there: %+v", o)
				}
				if _, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{}); err != nil {
					t.Fatal(err)
				}
				nothingOfOurs(t, l)
			})
		})
	}
}

// What somebody adds to any file of a P_Key child is named, and kept beside it by an apply
// and by a removal, also where the interface of the port has gone. Another child that the
// interface of the port has by our file is such a setting.
func TestLab_Stacks_pkey_files_with_added_settings(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		if c.stack != ipoib.StackNetplan && c.stack != ipoib.StackNetworkd {
			t.Skip("the child has one file")
		}
		l, d := stackLab(t, c), pkeyDesired()
		apply(t, l, d)
		m := l.Machine("intel9")
		edit := func() (files []string) {
			for path, f := range l.snapshot(t, "intel9").Files {
				if !platform.IsOurs(f.Content) || !strings.Contains(path, "-8001") {
					continue
				}
				more := "[Network]\nAddress=9.9.9.9/24\nIPoIB=ibp1s0.8002\n"
				if path == "/etc/systemd/network/60-infiniband-e41d2d0300e44e01-8001.network" {
					more = "[Network]\nIPoIB=ibp1s0.8002\n" // an address is drift
				}
				m.FS.Put(path, f.Content+more, 0o644)
				files = append(files, path)
			}
			return files
		}
		kept := func(when, number string, files []string) {
			t.Helper()
			for _, at := range files {
				dir, base := path.Split(at)
				saved := dir + "." + base + ".before-infiniband-e41d2d0300e44e01-8001" + number
				if !strings.Contains(l.file("intel9", saved), "IPoIB=ibp1s0.8002") {
					t.Errorf("%s: %s is not kept as %s", when, at, saved)
				}
			}
		}
		files := edit()
		if len(files) != 4 {
			t.Fatalf("the files are %q", files)
		}
		var said string
		for _, f := range judge.Check(found.At(l.snapshot(t, "intel9"), d.Ref()), d, judge.PlanFacts{Held: true}) {
			if f.Rule == finding.FileEdited {
				said += f.Evidence + "\n"
			}
		}
		for _, at := range files {
			mustContain(t, said, at+" has line ")
		}
		if n := strings.Count(said, "Network.IPoIB"); n != 4 {
			t.Errorf("%d of 4 lines IPoIB= are named: %s", n, said)
		}
		apply(t, l, d)
		kept("after an apply", "", files)
		if again := apply(t, l, d); again.Changed {
			t.Errorf("the second apply changed something: %+v", again)
		}
		files = edit()
		if err := m.UnloadModule("ib_ipoib"); err != nil {
			t.Fatal(err)
		}
		// The file that defines the child may be gone, too.
		main := func(at string) bool { return strings.HasSuffix(at, "-8001.network") || strings.HasSuffix(at, ".yaml") }
		for _, at := range files {
			if main(at) {
				m.FS.Drop(at)
			}
		}
		files = slices.DeleteFunc(files, main)
		said = fmt.Sprint(judge.CheckRemove(found.At(l.snapshot(t, "intel9"), d.Ref()), d))
		for _, at := range files {
			mustContain(t, said, at+" has line ")
		}
		r, err := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		kept("after a removal", ".2", files)
		for _, at := range files {
			mustContain(t, strings.Join(r.Left, "\n"), "The file "+at+" with what somebody had added")
		}
		nothingOfOurs(t, l)
	})
}

// An interface of a partition that the subnet manager does not have gets no carrier. The apply and
// each later plan say so, until the partition is there.
func TestLab_Stacks_pkey_without_partition(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		with, without := pkeyDesired(), pkeyDesired()
		without.PKey = 0x8007
		without.Config.Addresses = prefixes("172.18.0.20/24")
		if said := fmt.Sprint(apply(t, l, with).Warnings, checked(t, l, with)); strings.Contains(said, "no carrier") {
			t.Errorf("with a partition: %s", said)
		}
		mustContain(t, fmt.Sprint(apply(t, l, without).Warnings), "ibp1s0.8007 of intel9 is up and has no carrier", "IP049")
		mustContain(t, checked(t, l, without)["IP049"], "ibp1s0.8007", "the subnet manager has no partition")
	})
}

// A file of an interface that somebody has changed or removed is named, with what differs, where no
// attribute shows it.
func TestLab_Stacks_pkey_files_that_differ(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		if c.stack != ipoib.StackNetplan && c.stack != ipoib.StackNetworkd {
			t.Skip("the child has one file")
		}
		l, d := stackLab(t, c), pkeyDesired()
		apply(t, l, d)
		if shows := checked(t, l, d); shows["IP050"] != "" {
			t.Fatal(shows["IP050"])
		}
		const base = "/etc/systemd/network/60-infiniband-e41d2d0300e44e01-8001"
		m, hook := l.Machine("intel9"), observe(t, l, d).Persisted.Sources[3]
		for _, tt := range []struct{ file, old, now, says string }{
			{base + ".netdev", "PartitionKey=0x8001", "PartitionKey=0x8002", " has P_Key 0x8002, not 0x8001"},
			{"/etc/systemd/network/95-infiniband-e41d2d0300e44e01-8001-parent.network", "", "", " is not there"},
			{hook, "", "", " is not there"},
			{hook, "IPoIB=ibp1s0.8001\n", "", " has no IPoIB=ibp1s0.8001"},
		} {
			if tt.old == "" {
				m.FS.Drop(tt.file)
			} else {
				m.FS.Put(tt.file, strings.ReplaceAll(m.FS.Text(tt.file), tt.old, tt.now), 0o644)
			}
			mustContain(t, checked(t, l, d)["IP050"], tt.file+tt.says)
			apply(t, l, d)
			if shows := checked(t, l, d); shows["IP050"] != "" {
				t.Errorf("after the apply: %s", shows["IP050"])
			}
		}
	})
}
