package change_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// meddledHost does something when a command begins with some words.
type meddledHost struct {
	host.Host
	words  []string
	meddle func(context.Context, shellcmd.Command)
}

func (m *meddledHost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if argv := cmd.Argv(); len(argv) >= len(m.words) && slices.Equal(argv[:len(m.words)], m.words) {
		m.meddle(ctx, cmd)
	}
	return m.Host.Run(ctx, cmd)
}

func ifupdownCase() stackCase { return stackCases[len(stackCases)-1] }

// The network service takes an address away between the look at it and its removal.
func TestLab_Remove_addressThatGoesByItself(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase())
	d := ubuntuDesired()
	apply(t, l, d)
	met := 0
	h := hosts.New(&meddledHost{Host: l.hosts["intel9"].Host, words: []string{"ip", "addr", "del"},
		meddle: func(ctx context.Context, cmd shellcmd.Command) {
			met++
			if _, err := l.hosts["intel9"].Host.Run(ctx, cmd); err != nil {
				t.Error(err)
			}
		}})
	if _, err := change.Remove(t.Context(), h, d, change.Options{}); err != nil || met == 0 {
		t.Errorf("remove, with %d addresses that were faster: %v", met, err)
	}
	nothingOfOurs(t, l)
}

// A step that hangs until the host has undone the change, as one does whose
// connection comes back with the former configuration: nothing of the change is
// done after it, by this provider or by what it had sent.
func TestLab_Apply_stepsEndBeforeTheUndo(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase(), speed(2))
	d := ubuntuDesired()
	apply(t, l, d)
	next := d
	next.Config.Addresses = prefixes("172.16.9.20/24")
	var late shellcmd.Command
	h := hosts.New(&meddledHost{Host: l.hosts["intel9"].Host, words: []string{"ip", "addr", "del"},
		meddle: func(ctx context.Context, cmd shellcmd.Command) {
			late = cmd
			<-ctx.Done()
		}})
	_, err := change.Apply(t.Context(), h, next,
		change.Options{ConfirmTimeout: 6 * time.Second, SettleTimeout: time.Second})
	var unconfirmed *change.UnconfirmedError
	if !errors.As(err, &unconfirmed) {
		t.Fatalf("apply: %v", err)
	}
	mustContain(t, err.Error(), "no time is left before the host undoes the change")
	if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
		t.Errorf("not as before: %v", diff)
	}
	// While the decision is there, a late step does not run; it is checked by the
	// host, which knows nothing of this provider's time.
	dir := "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01/decided"
	runText(t, l, "mkdir -p "+dir)
	var exit *host.ExitError
	if _, err := l.hosts["intel9"].Host.Run(t.Context(), late); !errors.As(err, &exit) || exit.Status != 75 {
		t.Errorf("the late step: %v", err)
	}
	runText(t, l, "rm -r "+dir)
}

// Two applies change one interface at the same time: the later one has the
// interface, and the earlier one says so. It neither goes on nor says that the
// former configuration is back.
func TestLab_Apply_twoAtOnce(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase())
	d := ubuntuDesired()
	apply(t, l, d)
	earlier, later := d, d
	earlier.Config.Addresses, later.Config.Addresses = prefixes("172.16.9.20/24"), prefixes("172.16.7.20/24")
	h := hosts.New(&meddledHost{Host: l.hosts["intel9"].Host, words: []string{"ip", "addr", "del"},
		meddle: func(context.Context, shellcmd.Command) {
			r, err := change.Apply(t.Context(), hosts.New(l.hosts["intel9"].Host), later,
				change.Options{SettleTimeout: time.Second})
			if err != nil {
				t.Fatalf("the later apply: %v", err)
			}
			mustContain(t, strings.Join(r.Warnings, " "), "never confirmed; it was undone first")
		}})
	_, err := change.Apply(t.Context(), h, earlier, change.Options{SettleTimeout: time.Second})
	var unconfirmed *change.UnconfirmedError
	if !errors.As(err, &unconfirmed) {
		t.Fatalf("the earlier apply: %v", err)
	}
	mustContain(t, unconfirmed.Explain(), "Another apply undid it and changes the same interface")
	if strings.Contains(unconfirmed.Explain(), "restore") {
		t.Errorf("it speaks of a restored configuration:\n%s", unconfirmed.Explain())
	}
	if diff := observe(t, l, later).Differences(later.Config); len(diff) > 0 {
		t.Errorf("not what the later apply made: %v", diff)
	}
	if left := l.snapshot(t, "intel9").Undos; len(left) > 0 {
		t.Errorf("saved state was left: %v", left)
	}
}

// Between the look for an open change and the saving of the own one another apply
// can have begun: nothing is changed then, and its saved state stays.
func TestLab_Apply_openChangeIsNotReplaced(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase())
	d := ubuntuDesired()
	apply(t, l, d)
	const dir = "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01"
	next := d
	next.Config.Addresses = prefixes("172.16.9.20/24")
	h := hosts.New(&meddledHost{Host: l.hosts["intel9"].Host, words: []string{"save-interface"},
		meddle: func(context.Context, shellcmd.Command) {
			runText(t, l, "mkdir -p "+dir+" && echo other >"+dir+"/change.other")
		}})
	_, err := change.Apply(t.Context(), h, next, change.Options{SettleTimeout: time.Second})
	if err == nil {
		t.Fatal("the saved state of another apply was replaced")
	}
	mustContain(t, err.Error(), "another apply changes", "nothing was changed")
	if l.file("intel9", dir+"/change.other") != "other\n" {
		t.Error("the saved state of the other apply is gone")
	}
	if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
		t.Errorf("not as before: %v", diff)
	}
}

// brokenHost loses its line behind a command that begins with some words, once.
type brokenHost struct {
	host.Host
	words []string
	after func()
}

func (b *brokenHost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	r, err := b.Host.Run(ctx, cmd)
	if argv := cmd.Argv(); err == nil && b.words != nil && len(argv) >= len(b.words) &&
		slices.Equal(argv[:len(b.words)], b.words) {
		b.words = nil
		b.after()
		return host.Result{}, &host.UnreachableError{Host: b.Name(), Op: "run", MayHaveRun: true, Err: io.EOF}
	}
	return r, err
}

// The line is lost while the timer of the undo is started: the change is not begun. What
// was prepared is taken back without an undo, which would configure the interface anew;
// if the host has begun one, no text says that nothing was changed.
func TestLab_Apply_lineLostBeforeTheChange(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase())
	d := ubuntuDesired()
	apply(t, l, d)
	next := d
	next.Config.Addresses = prefixes("172.16.9.20/24")
	name := observe(t, l, d).Name
	// An undo would take it away with the rest that is not in the file.
	runText(t, l, "ip addr add 172.16.8.20/24 dev "+name)
	for _, c := range []struct {
		after func()
		says  []string
		never string
	}{
		{func() {}, []string{"was not begun", "are as they were. Apply again"}, "not known"},
		{func() {
			runText(t, l, "cd /var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01 && mv undecided decided")
		},
			[]string{"was not begun", "It is not known whether the host will undo", "Taking it back"}, "as they were"},
	} {
		h := hosts.New(&brokenHost{Host: l.hosts["intel9"].Host, words: []string{"systemd-run"}, after: c.after})
		_, err := change.Apply(t.Context(), h, next, change.Options{})
		var notBegun *explain.Failure
		if !errors.As(err, &notBegun) {
			t.Fatalf("apply: %v", err)
		}
		mustContain(t, notBegun.Explain(), c.says...)
		if strings.Contains(notBegun.Explain(), c.never) || strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("it says too much:\n%s\n%v", notBegun.Explain(), err)
		}
		l.hosts["intel9"].Invalidate()
		if live := observe(t, l, d).Live.Addresses; len(live) != len(d.Config.Addresses)+1 {
			t.Errorf("the interface was configured: it has %v", live)
		}
		if left := l.snapshot(t, "intel9").Undos; (len(left) > 0) != (c.never == "as they were") {
			t.Errorf("what was prepared: %v", left)
		}
	}
}

// An undo puts files back. Where the interface was not as its file said, the text does not
// promise what it had.
func TestLab_Apply_undoOfAnInterfaceThatDiffered(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase())
	d := ubuntuDesired()
	apply(t, l, d)
	runText(t, l, "ip addr add 172.16.8.20/24 dev "+observe(t, l, d).Name)
	l.hosts["intel9"].Invalidate()
	next := d
	next.Config.Addresses = prefixes("172.16.9.20/24")
	h := hosts.New(&brokenHost{Host: l.hosts["intel9"].Host, words: []string{"ifup"}, after: func() {}})
	_, err := change.Apply(t.Context(), h, next, change.Options{})
	var unconfirmed *change.UnconfirmedError
	if !errors.As(err, &unconfirmed) {
		t.Fatalf("apply: %v", err)
	}
	mustContain(t, unconfirmed.Explain(), "was not as its file says (addresses are ", "172.16.8.20/24", "The file is as it was")
}
