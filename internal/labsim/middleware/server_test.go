package middleware

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustCall(t *testing.T, s *Server, argv ...string) string {
	t.Helper()
	rc, stdout, stderr := midclt(s, admin, append([]string{"call"}, argv...)...)
	if rc != 0 {
		t.Fatalf("midclt call %q: status %d: %s", argv, rc, stderr)
	}
	return strings.TrimSuffix(stdout, "\n")
}

// sample compares an answer with a sample file, byte for byte after removing
// insignificant blanks.
func sample(t *testing.T, file, got string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var want, have bytes.Buffer
	if err := json.Compact(&want, data); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&have, []byte(got)); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if want.String() != have.String() {
		t.Errorf("%s:\ngot  %s\nwant %s", file, have.String(), want.String())
	}
}

func request(t *testing.T, file string) []string {
	t.Helper()
	var params []json.RawMessage
	load(t, file, &params)
	args := make([]string, len(params))
	for i, p := range params {
		args[i] = string(p)
	}
	return args
}

func TestInterfaceQuerySamples(t *testing.T) {
	t.Run("unmanaged", func(t *testing.T) {
		s, _ := managedServer(t, eno1(), ibs4d1(false))
		sample(t, "interface.query.unmanaged.json", mustCall(t, s, "interface.query"))
	})
	t.Run("fresh", func(t *testing.T) {
		s := New(newFake(eno1(), ibs4d1(true)), Options{})
		sample(t, "interface.query.fresh-install-no-rows.json", mustCall(t, s, "interface.query"))
	})
	t.Run("managed", func(t *testing.T) {
		s, _ := managedServer(t, eno1(), ibs4d1(false))
		setRow(s, "ibs4d1", "ib fabric A", "10.10.10.2", 24, 4092)
		mustCall(t, s, "interface.commit", `{"rollback": false}`)
		sample(t, "interface.query.managed.json", mustCall(t, s, "interface.query"))
	})
	t.Run("drift", func(t *testing.T) {
		ib := ibs4d1(true)
		ib.Addrs = append([]Addr{{IP: "10.10.10.99", Prefix: 24, Broadcast: "10.10.10.255"}}, ib.Addrs...)
		s, _ := managedServer(t, eno1(), ib)
		setRow(s, "ibs4d1", "ib fabric A", "10.10.10.2", 24, 4092)
		sample(t, "interface.query.drift.json", mustCall(t, s, "interface.query", `[["id","=","ibs4d1"]]`))
	})
	t.Run("fake", func(t *testing.T) {
		s, _ := managedServer(t, eno1())
		setRow(s, "ibs4d1", "ib fabric A", "10.10.10.2", 24, 4092)
		sample(t, "interface.query.fake-device-missing.json", mustCall(t, s, "interface.query", `[["fake","=",true]]`))
	})
}

func TestOtherSamples(t *testing.T) {
	s, f := managedServer(t, eno1(), ibs4d1(false))
	s.db.nextScript, s.db.nextTunable = 7, 3
	f.now = time.UnixMilli(1788260523000)
	sample(t, "interface.update.response.json", mustCall(t, s,
		append([]string{"interface.update"}, request(t, "interface.update.request.json")...)...))
	mustCall(t, s, append([]string{"interface.commit"}, request(t, "interface.commit.request.json")...)...)
	sample(t, "initshutdownscript.create.response.json", mustCall(t, s,
		append([]string{"initshutdownscript.create"}, request(t, "initshutdownscript.create.request.json")...)...))
	mustCall(t, s, "initshutdownscript.create",
		`{"type":"COMMAND","when":"POSTINIT","timeout":30,"comment":"terraform:ib:ipoib mode",`+
			`"command":"for i in /sys/class/net/*; do [ \"$(cat $i/type)\" = 32 ] && [ -w $i/mode ] && echo connected > $i/mode; done; true"}`)
	sample(t, "initshutdownscript.query.json", mustCall(t, s, "initshutdownscript.query"))
	sample(t, "tunable.create.udev.response.json", mustCall(t, s,
		append([]string{"-j", "-jp", "description", "tunable.create"}, request(t, "tunable.create.udev.request.json")...)...))
	sample(t, "tunable.query.json", mustCall(t, s, "tunable.query"))
	mustCall(t, s, append([]string{"system.advanced.update"}, request(t, "system.advanced.update.request.json")...)...)
	sample(t, "system.advanced.config.json", mustCall(t, s, "system.advanced.config"))
}

const ibUpdate = `{"ipv4_dhcp":false,"ipv6_auto":false,"aliases":[{"type":"INET","address":"10.10.10.2","netmask":24}],"mtu":4092}`

func TestFirstRowTakesDownEveryOtherInterface(t *testing.T) {
	f := newFake(eno1(), ibs4d1(false))
	f.gateway = "192.0.2.1"
	s := New(f, Options{})
	mustCall(t, s, "interface.update", "ibs4d1", ibUpdate)
	mustCall(t, s, "interface.commit", `{"rollback":true,"checkin_timeout":60}`)
	if e := f.link("eno1"); e.Up || len(e.Addrs) != 0 {
		t.Errorf("the management interface survived: %+v", *e)
	}
	if f.gateway != "" {
		t.Errorf("default route kept: %s", f.gateway)
	}
	f.lease = map[string]Addr{"eno1": {IP: "192.0.2.10", Prefix: 24}}
	f.advance(61 * time.Second)
	if e := f.link("eno1"); !e.Up || len(e.Addrs) != 1 {
		t.Errorf("rollback did not bring the management interface back: %+v", *e)
	}
	if got := mustCall(t, s, "interface.has_pending_changes"); got != "False" {
		t.Errorf("pending after rollback: %s", got)
	}
}

func TestFreshHostInheritsDHCP(t *testing.T) {
	f := newFake(eno1(), ibs4d1(false))
	s := New(f, Options{})
	mustCall(t, s, "interface.update", "ibs4d1", `{"aliases":[{"address":"10.10.10.2","netmask":24}],"mtu":4092}`)
	mustCall(t, s, "interface.commit", `{"rollback":false}`)
	got := mustCall(t, s, "interface.query", `[["id","=","ibs4d1"]]`, `{"select":["ipv4_dhcp","aliases"],"get":true}`)
	if !strings.HasPrefix(got, `{"ipv4_dhcp": true, "aliases": [{`) {
		t.Errorf("row %s", got)
	}
	for _, a := range f.link("ibs4d1").Addrs {
		if a.IP == "10.10.10.2" {
			t.Error("the first alias gives way to DHCP and must not be applied")
		}
	}
}

func TestCommitOnlyLogsAndSkipsLinkUp(t *testing.T) {
	s, f := managedServer(t, eno1(), ibs4d1(false))
	mustCall(t, s, "interface.update", "ibs4d1", strings.Replace(ibUpdate, "4092", "9000", 1))
	if got := mustCall(t, s, "interface.commit", `{"rollback":false}`); got != "null" {
		t.Errorf("commit answered %s", got)
	}
	l := f.link("ibs4d1")
	if l.Up || len(l.Addrs) != 1 || l.MTU != 2044 {
		t.Errorf("want addresses on a link that is down: %+v", *l)
	}
	if len(f.logs) != 1 || !strings.Contains(f.logs[0], "Failed to configure ibs4d1") {
		t.Errorf("log %q", f.logs)
	}
}

func TestNullMTUMeans1500(t *testing.T) {
	s, f := managedServer(t, eno1(), ibs4d1(false))
	mustCall(t, s, "interface.update", "ibs4d1", strings.Replace(ibUpdate, "4092", "null", 1))
	mustCall(t, s, "interface.commit", `{"rollback":false}`)
	if l := f.link("ibs4d1"); l.MTU != 1500 || !l.Up {
		t.Errorf("%+v", *l)
	}
}

func TestCheckinAndRollback(t *testing.T) {
	s, f := managedServer(t, eno1(), ibs4d1(false))
	mustCall(t, s, "interface.update", "ibs4d1", ibUpdate)
	if got := mustCall(t, s, "interface.has_pending_changes"); got != "True" {
		t.Fatalf("pending: %s", got)
	}
	mustCall(t, s, "interface.commit", `{"checkin_timeout":30}`)
	mustCall(t, s, "interface.rollback")
	if l := f.link("ibs4d1"); l.Up || mustCall(t, s, "interface.has_pending_changes") != "False" {
		t.Errorf("rollback: %+v", *l)
	}
	mustCall(t, s, "interface.update", "ibs4d1", ibUpdate)
	mustCall(t, s, "interface.commit")
	mustCall(t, s, "interface.checkin")
	f.advance(2 * time.Minute)
	if f.link("ibs4d1").MTU != 4092 || mustCall(t, s, "interface.checkin_waiting") != "null" {
		t.Error("checkin must keep the change and stop the timer")
	}
}

func TestRestartInTheWindowKeepsTheChange(t *testing.T) {
	s, f := managedServer(t, eno1(), ibs4d1(false))
	mustCall(t, s, "interface.update", "ibs4d1", ibUpdate)
	mustCall(t, s, "interface.commit")
	s.Restart()
	f.advance(2 * time.Minute)
	if f.link("ibs4d1").MTU != 4092 || mustCall(t, s, "interface.has_pending_changes") != "False" {
		t.Error("timer and snapshot live in memory: a restart keeps the change for good")
	}
}

func TestUpdateWithoutCommitIsAppliedAtBoot(t *testing.T) {
	s, f := managedServer(t, eno1(), ibs4d1(false))
	mustCall(t, s, "interface.update", "ibs4d1", ibUpdate)
	if f.link("ibs4d1").Up {
		t.Fatal("update must not touch the kernel")
	}
	mustCall(t, s, "initshutdownscript.create", `{"type":"COMMAND","command":"echo post","when":"POSTINIT"}`)
	mustCall(t, s, "initshutdownscript.create", `{"type":"COMMAND","command":"echo pre","when":"PREINIT"}`)
	mustCall(t, s, "initshutdownscript.create", `{"type":"COMMAND","command":"echo off","when":"PREINIT","enabled":false}`)
	var states []string
	f.onScript = func(string) { states = append(states, mustCall(t, s, "system.state")) }
	s.Boot()
	if l := f.link("ibs4d1"); !l.Up || l.MTU != 4092 {
		t.Errorf("after boot: %+v", *l)
	}
	if !slices.Equal(f.ran, []string{"echo pre", "echo post"}) {
		t.Errorf("scripts ran: %q", f.ran)
	}
	if !slices.Equal(states, []string{"BOOTING", "READY"}) {
		t.Errorf("states while scripts ran: %q", states)
	}
}

func TestPrivateDatastoreTakesALargeMTU(t *testing.T) {
	s, _ := managedServer(t, eno1(), ibs4d1(false))
	mustCall(t, s, "interface.update", "ibs4d1", ibUpdate)
	if got := mustCall(t, s, "datastore.query", "network.interfaces", `[["int_interface","=","ibs4d1"]]`,
		`{"select":["id","int_mtu"]}`); got != `[{"id": 2, "int_mtu": 4092}]` {
		t.Fatalf("row %s", got)
	}
	mustCall(t, s, "datastore.update", "network.interfaces", "2", `{"int_mtu": 65520}`)
	if got := mustCall(t, s, "interface.update", "ibs4d1", `{"description":"x"}`); !strings.Contains(got,
		`"mtu": 65520, "lag_ports"`) {
		t.Errorf("an update without mtu keeps it: %s", got)
	}
}

func TestUdevTunablesWipeTheDirectory(t *testing.T) {
	s, f := managedServer(t, eno1())
	f.rules = map[string]string{"70-foreign.rules": "x"}
	mustCall(t, s, "-j", "tunable.create", `{"type":"UDEV","var":"80-a","value":"A"}`)
	if len(f.rules) != 1 || f.rules["80-a.rules"] != "A" {
		t.Errorf("rules %v", f.rules)
	}
	mustCall(t, s, "-j", "tunable.update", "1", `{"enabled":false}`)
	if len(f.rules) != 0 {
		t.Errorf("rules %v", f.rules)
	}
	mustCall(t, s, "-j", "tunable.create", `{"type":"UDEV","var":"81-b","value":"B"}`)
	mustCall(t, s, "-j", "tunable.delete", "2")
	if len(f.rules) != 0 {
		t.Errorf("rules of a deleted tunable: %v", f.rules)
	}
}
