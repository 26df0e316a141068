package change_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const (
	editManagement = `midclt call interface.update eno1 '{"description": "uplink"}'`
	editOurs       = `midclt call interface.update ibp1s0 '{"aliases": [{"type": "INET", "address": "10.9.8.7", "netmask": 24}]}'`
)

// A check-in would confirm what somebody stores in the web interface between commit and
// check-in. It does not come then, and nothing stays stored that nobody has tested.
func TestLab_Apply_truenasEditedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mtu    int
		commit int // which of the commits the edit follows
		edit   string
		says   []string
	}{
		"another interface": {4092, 1, editManagement, []string{`eno1: description "uplink" instead of "mgmt"`}},
		"the same interface": {4092, 1, editOurs, []string{
			`ibp1s0: aliases 10.9.8.7/24 instead of 172.16.5.10/24`}},
		"another and committed": {4092, 1, editManagement + ` && midclt call interface.commit '{}'`,
			[]string{`eno1: description "uplink"`}},
		"private MTU":     {65520, 1, editManagement, []string{`eno1: description "uplink"`}},
		"its own MTU":     {65520, 1, `midclt call interface.update ibp1s0 '{"mtu": 2044}'`, []string{"ibp1s0: mtu 2044 instead of 65520"}},
		"a row that goes": {4092, 1, `midclt call interface.delete eno1`, []string{"eno1: aliases nothing instead of 192.0.2.10/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withSM(t)
			d := truenasDesired()
			apply(t, l, d)
			d.Config.MTU, d.Consent.PrivateMTU, d.Config.Addresses = tt.mtu, 65520, prefixes("172.16.5.10/24")
			applyIsUndone(t, l, d, tt.commit, func() { onNAS(t, l, tt.edit) },
				append(tt.says, "Somebody else", "make the edit again")...)
		})
	}
}

// applyIsUndone holds that an apply is undone because of what happens before its check-in, and
// that the host has stored what it had.
func applyIsUndone(t *testing.T, l *testLab, d ipoib.Request, commit int, meanwhile func(), says ...string) {
	t.Helper()
	before := storedOn(t, l)
	wasUndone(t, applyMeanwhile(l, d, commit, meanwhile), says...)
	nothingWaits(t, l)
	if diff := cmp.Diff(before, storedOn(t, l)); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
}

// The second of two commits is undone with the first, which was confirmed.
func TestLab_Apply_truenasEditedAfterTheFirstCommit(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	before := storedOn(t, l)
	d := truenasDesired()
	d.Config.MTU, d.Consent.PrivateMTU = 65520, 65520
	err := applyMeanwhile(l, d, 2, func() { onNAS(t, l, editManagement) })
	wasUndone(t, err, `eno1: description "uplink"`)
	nothingWaits(t, l)
	for i, now := range storedOn(t, l) {
		if now.Name == "eno1" && cmp.Diff(before[i], now) != "" || len(now.Addresses()) > 0 && now.Name != "eno1" {
			t.Errorf("stored: %+v", now)
		}
	}
}

// Without an answer it is not known that nobody has edited anything.
func TestLab_Apply_truenasUnknownMeanwhile(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]labsim.ProgramFault{
		"refused": {Exit: true, Status: 1}, "cut short": {Truncate: true, Keep: 40}, "empty": {Truncate: true, Keep: 0},
		"no interface": {Says: func(*labsim.Proc, string) string { return "[]" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withSM(t)
			d := truenasDesired()
			apply(t, l, d)
			d.Config.Addresses = prefixes("172.16.5.10/24")
			applyIsUndone(t, l, d, 1, func() { l.Machine("xeon2zfs").Faults.Trap("call interface.query", 1, fault) })
		})
	}
}

// Who presses "Save Changes" confirms all that is pending, and has seen their own edit. Then
// nothing is left to confirm or to undo.
func TestLab_Apply_truenasConfirmedMeanwhile(t *testing.T) {
	t.Parallel()
	const save = " && midclt call interface.commit '{}' && midclt call interface.checkin"
	l := withSM(t)
	d := truenasDesired()
	apply(t, l, d)
	d.Config.Addresses = prefixes("172.16.5.10/24")
	if err := applyMeanwhile(l, d, 1, func() { onNAS(t, l, editManagement+save) }); err != nil {
		t.Error(err)
	}
	nothingWaits(t, l)
	d.Config.Addresses = prefixes("172.16.6.10/24")
	const mtu = `midclt call interface.update ibp1s0 '{"description": "mine"}'`
	err := applyMeanwhile(l, d, 1, func() { onNAS(t, l, mtu+save) })
	if err == nil {
		t.Fatal("somebody has changed our row, and apply says nothing")
	}
	mustContain(t, err.Error(), `ibp1s0: description "mine" instead of`, "Plan again", "ended the test")
	if strings.Contains(err.Error(), "restored") {
		t.Errorf("nothing was restored: %v", err)
	}
	nothingWaits(t, l)
}

// A removal is checked in, too.
func TestLab_Remove_truenasEditedMeanwhile(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	apply(t, l, d)
	before := storedOn(t, l)
	_, err := change.Remove(t.Context(), l.meanwhile("xeon2zfs", 1, func() { onNAS(t, l, editManagement) }), d, change.Options{})
	wasUndone(t, err, `eno1: description "uplink"`)
	nothingWaits(t, l)
	if diff := cmp.Diff(before, storedOn(t, l)); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
}

func wasUndone(t *testing.T, err error, says ...string) {
	t.Helper()
	var unconfirmed *change.UnconfirmedError
	if !errors.As(err, &unconfirmed) || !unconfirmed.Undone {
		t.Fatalf("apply: %v", err)
	}
	mustContain(t, unconfirmed.Explain(), says...)
}

func applyMeanwhile(l *testLab, d ipoib.Request, commit int, do func()) error {
	_, err := change.Apply(context.Background(), l.meanwhile("xeon2zfs", commit, do), d, change.Options{})
	return err
}

// meanwhile returns a host where something is done between the n-th commit and its check-in.
func (l *testLab) meanwhile(name string, n int, do func()) *hosts.Host {
	return hosts.New(&meanwhileHost{Host: l.hosts[name].Host, left: n, do: do})
}

type meanwhileHost struct {
	host.Host
	left int
	do   func()
}

func (m *meanwhileHost) Fresh(ctx context.Context) (host.FreshHost, error) {
	if m.left--; m.left == 0 {
		m.do()
	}
	return m.Host.Fresh(ctx)
}

// onNAS runs a command line of an administrator.
func onNAS(t *testing.T, l *testLab, text string) {
	t.Helper()
	var out strings.Builder
	p := &labsim.Proc{Machine: l.Machine("xeon2zfs"), PPID: 1, Args: []string{"/bin/sh", "-c", text}, User: "root",
		Stdout: &out, Stderr: &out}
	if status := p.Machine.Exec(context.Background(), p); status != 0 {
		t.Errorf("%s: status %d: %s", text, status, out.String())
	}
}

// nothingWaits checks that no change is pending and no guard is left.
func nothingWaits(t *testing.T, l *testLab) {
	t.Helper()
	n := l.snapshot(t, "xeon2zfs").TrueNAS
	if !fact.No(n.PendingChanges) || n.CheckinWaiting.Or(1) > 0 || string(n.InitScripts) != "[]" {
		t.Errorf("pending: %v, waiting: %v, guards: %s", n.PendingChanges, n.CheckinWaiting, n.InitScripts)
	}
}
