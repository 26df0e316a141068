package managed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

func Example() {
	speeds := managed.Setting{Tells: "it may negotiate", Had: "it could negotiate", Has: "can negotiate",
		Was: "SDR", Is: "SDR, DDR", Want: "SDR, DDR, QDR"}
	fmt.Println(managed.Differences(speeds))
	for _, f := range managed.Since("Port 1 has changed", managed.Changed(speeds)...) {
		fmt.Println(f.Rule.Code, f.Evidence)
	}
	// Output:
	// [it may negotiate SDR, DDR]
	// HO019 Port 1 has changed: it could negotiate SDR and can negotiate SDR, DDR.
}

// What somebody has changed is told, unless it is as it was, as it is asked for, or comes by itself.
func TestChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		s    managed.Setting
		want []string
	}{
		"as it was":         {managed.Setting{Was: "1", Is: "1", Want: "2"}, nil},
		"as asked for":      {managed.Setting{Was: "1", Is: "2", Want: "2"}, nil},
		"of the driver":     {managed.Setting{Was: "1", Is: "3", Want: "2", Fine: []string{"3"}}, nil},
		"by somebody":       {managed.Setting{Had: "it was", Has: "is", Was: "1", Is: "3", Want: "2"}, []string{"it was 1 and is 3"}},
		"set by somebody":   {managed.Setting{Had: "it was", Has: "is", Is: "3"}, []string{"it was not set and is 3"}},
		"unset by somebody": {managed.Setting{Had: "it was", Has: "is", Was: "1", Want: "2"}, []string{"it was 1 and is not set"}},
		"gone as asked for": {managed.Setting{Was: "1"}, nil},
	} {
		if got := managed.Changed(tt.s); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if found := managed.Since("It has changed"); found != nil {
		t.Errorf("nothing has changed: %v", found)
	}
	found := managed.Since("It has changed", "a", "b")
	if len(found) != 1 || found[0].Rule != finding.ChangedSincePlan || found[0].Evidence != "It has changed: a; b." {
		t.Errorf("%+v", found)
	}
}

// lost is a host that takes the first note, and no other.
type lost struct {
	host.Host
	sent []string
}

func (l *lost) Name() string { return "nas" }

func (l *lost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	l.sent = append(l.sent, host.Noted(ctx, cmd).String())
	if len(l.sent) > 1 {
		return host.Result{}, errors.New("no space left on device")
	}
	return host.Result{}, nil
}

// A change is noted with its first command. An end that cannot be noted is a warning, beside what
// the change says itself, and no failure.
func TestNoted(t *testing.T) {
	t.Parallel()
	h := &lost{}
	r, err := managed.Noted(t.Context(), h, changes.Change{What: changes.Port, Object: "0000:01:00.0 port 1", From: "a", To: "b"},
		func(ctx context.Context) (managed.Result[int], error) {
			_, err := h.Run(ctx, shellcmd.New("true").AsRoot().Changes())
			return managed.Result[int]{Changed: true, Look: 7, Warnings: []string{"own"}}, err
		})
	if err != nil || !r.Changed || r.Look != 7 || len(r.Warnings) != 2 || r.Warnings[0] != "own" ||
		!strings.Contains(r.Warnings[1], "not noted on nas") {
		t.Errorf("%+v, %v", r, err)
	}
	if len(h.sent) != 2 || !strings.Contains(h.sent[1], "0000:01:00.0 port 1") {
		t.Errorf("sent %q", h.sent)
	}
}
