package hosts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// bare is the smallest answer that is one.
const bare = `@begin 1
@uid 0
=/proc/sys/kernel/osrelease	6.8.0
=/proc/sys/kernel/random/boot_id	b1
@run 0	ip-addr
|[]
@.
@run 0	ip-route
|[]
@.
@run 0	df
|Filesystem 1024-blocks Used Available Capacity Mounted on
|/dev/sda1 100 50 50 50% /
@.
@end
`

func snapshot(t *testing.T, h *Host) *inventory.Snapshot {
	t.Helper()
	s, err := h.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHost_asks_once(t *testing.T) {
	f := &fakeHost{answer: bare}
	h := New(f)
	if h.Peek() != nil {
		t.Error("a host that was never asked has a snapshot")
	}
	first := snapshot(t, h)
	if snapshot(t, h) != first || h.Peek() != first || f.runs.Load() != 1 {
		t.Errorf("%d collections", f.runs.Load())
	}
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Fatal(err)
	}
	if h.Peek() != first {
		t.Error("a command that changes nothing made the snapshot stale")
	}
}

// A host that is down is asked once, until it answers or is changed. One whose connection broke is
// asked again, and so is one that answered something else.
func TestHost_asks_once_while_it_is_down(t *testing.T) {
	away := &host.UnreachableError{Host: "nas", Op: host.OpConnect, Err: errors.New("refused")}
	forget := map[string]func(*Host){
		"it answers":    func(h *Host) { _, _ = h.Run(context.Background(), shellcmd.New("true")) },
		"it is changed": (*Host).Invalidate, "it is dropped": (*Host).Drop,
	}
	for name, c := range map[string]struct {
		err  error
		once bool
	}{
		"no connection":  {away, true},
		"silent":         {&host.UnreachableError{Host: "nas", Op: host.OpRun, Silent: true, Err: errors.New("silent")}, true},
		"wrong key":      {&host.UnreachableError{Host: "nas", Op: host.OpVerify, Err: errors.New("key")}, true},
		"broken":         {&host.UnreachableError{Host: "nas", Op: host.OpRun, Err: errors.New("EOF")}, false},
		"not understood": {&host.OutputError{Host: "nas"}, false},
	} {
		f := &fakeHost{answer: bare, err: c.err}
		h := New(f)
		for range 2 {
			if _, err := h.Snapshot(t.Context()); !errors.Is(err, c.err) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if asked := f.runs.Load(); asked == 1 != c.once {
			t.Errorf("%s: asked %d times", name, asked)
		}
	}
	for name, event := range forget {
		f := &fakeHost{answer: bare, err: away}
		h := New(f)
		_, _ = h.Snapshot(t.Context())
		f.err = nil
		event(h)
		if _, err := h.Snapshot(t.Context()); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

func TestHost_forgets_after_a_change(t *testing.T) {
	change := shellcmd.New("mstflint", "sg").Changes()
	tests := map[string]func(h *Host) error{
		"a command": func(h *Host) error { _, err := h.Run(t.Context(), change); return err },
		"an upload": func(h *Host) error { return h.Upload(t.Context(), nil, 0, host.RemoteFile{}) },
		"a command over a fresh connection": func(h *Host) error {
			fresh, err := h.Fresh(t.Context())
			if err != nil {
				return err
			}
			_, err = fresh.Run(t.Context(), change)
			return err
		},
		"an upload over a fresh connection": func(h *Host) error {
			fresh, err := h.Fresh(t.Context())
			if err != nil {
				return err
			}
			return fresh.Upload(t.Context(), nil, 0, host.RemoteFile{})
		},
	}
	for name, do := range tests {
		for _, failure := range []error{nil, errRefused} {
			f := &fakeHost{answer: bare}
			h := New(f)
			first := snapshot(t, h)
			f.fail(failure)
			if err := do(h); !errors.Is(err, failure) {
				t.Errorf("%s: got error %v", name, err)
			}
			f.fail(nil)
			if h.Peek() != nil {
				t.Errorf("%s that ended with %v left the snapshot", name, failure)
			}
			if snapshot(t, h) == first || f.runs.Load() != 2 {
				t.Errorf("%s: the host was not asked anew", name)
			}
		}
	}
	h := New(&fakeHost{answer: bare})
	snapshot(t, h)
	h.Drop()
	if h.Peek() != nil {
		t.Error("a dropped connection left the snapshot")
	}
}

func TestHost_shares_one_collection(t *testing.T) {
	f := &fakeHost{answer: bare, wait: make(chan struct{}), started: make(chan struct{}, 1)}
	h := New(f)
	impatient, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := h.Snapshot(impatient) // the one that begins the collection
		gone <- err
	}()
	<-f.started
	var all sync.WaitGroup
	found := make([]*inventory.Snapshot, 8)
	for i := range found {
		all.Go(func() {
			s, err := h.Snapshot(t.Context())
			if err != nil {
				t.Error(err)
			}
			found[i] = s
		})
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller got %v", err)
	}
	close(f.wait)
	all.Wait()
	for _, s := range found {
		if s == nil || s != found[0] {
			t.Fatal("callers got different snapshots")
		}
	}
	if f.runs.Load() != 1 {
		t.Errorf("%d collections", f.runs.Load())
	}
}

// TestHost_does_not_keep_what_began_before_a_change changes the host while it
// is being asked.
func TestHost_does_not_keep_what_began_before_a_change(t *testing.T) {
	f := &fakeHost{answer: bare, wait: make(chan struct{}), started: make(chan struct{}, 2)}
	h := New(f)
	old := make(chan *inventory.Snapshot, 1)
	go func() {
		s, err := h.Snapshot(t.Context())
		if err != nil {
			t.Error(err)
		}
		old <- s
	}()
	<-f.started
	if _, err := h.Run(t.Context(), shellcmd.New("x").Changes()); err != nil {
		t.Fatal(err)
	}
	later := make(chan *inventory.Snapshot, 1)
	go func() {
		s, err := h.Snapshot(t.Context())
		if err != nil {
			t.Error(err)
		}
		later <- s
	}()
	<-f.started // the second caller did not join the first collection
	close(f.wait)
	before, after := <-old, <-later
	if before == after {
		t.Error("a caller after the change got what was found before it")
	}
	if h.Peek() != after {
		t.Error("what was found before the change is remembered")
	}
}

func TestHost_does_not_remember_failures(t *testing.T) {
	f := &fakeHost{answer: bare, err: errRefused}
	h := New(f)
	if _, err := h.Snapshot(t.Context()); !errors.Is(err, errRefused) {
		t.Fatalf("got %v", err)
	}
	f.fail(nil)
	snapshot(t, h)
}

func TestHost_says_what_was_not_understood(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want string }{
		"a cut answer": {bare[:len(bare)-len("@end\n")], "the answer is cut: it has no end mark"},
		"a broken section": {bare[:len(bare)-len("@end\n")] + "@run 0\tsystemctl\n|junk\n@.\n@end\n",
			`section "systemctl show": line 1: want Name=value: "junk"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(&fakeHost{answer: tt.answer}).Snapshot(t.Context())
			var out *host.OutputError
			if !errors.As(err, &out) || out.Problem != tt.want || out.Host != "intel9" {
				t.Errorf("got %v\nwant problem %q", err, tt.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	opened := 0
	set := NewSet(func(name string) (host.Host, error) {
		opened++
		if name != "intel9" {
			return nil, errRefused
		}
		return &fakeHost{answer: bare}, nil
	})
	a, err := set.Host("intel9")
	if err != nil {
		t.Fatal(err)
	}
	b, err := set.Host("intel9")
	if err != nil || a != b || opened != 1 {
		t.Errorf("opened %d times, %v", opened, err)
	}
	if _, err := set.Host("other"); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
}

// What was found on a host before another one was changed is not what it shows now. It is
// read once more, and not again for every reader.
func TestSet_ForgetOlder(t *testing.T) {
	fakes := map[string]*fakeHost{"a": {answer: bare}, "b": {answer: bare}}
	set := NewSet(func(name string) (host.Host, error) { return fakes[name], nil })
	read := func() (runs string) {
		t.Helper()
		set.ForgetOlder()
		for _, name := range []string{"a", "b"} {
			h, err := set.Host(name)
			if err != nil {
				t.Fatal(err)
			}
			snapshot(t, h)
			runs += fmt.Sprint(name, fakes[name].runs.Load(), " ")
		}
		return runs
	}
	if first, again := read(), read(); first != "a1 b1 " || again != first {
		t.Errorf("without a change: %s, %s", first, again)
	}
	a, err := set.Host("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = a.Run(t.Context(), shellcmd.New("systemctl", "start", "opensm").Changes()); err != nil {
		t.Fatal(err)
	}
	if first, again := read(), read(); first != "a2 b2 " || again != first {
		t.Errorf("after a change of a: %s, %s", first, again)
	}
}
