package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
)

// start runs the script that stores and starts the job, with this script as systemd-run, and
// gives its exit status.
func (s *shellJob) start(systemdRun string) int {
	s.t.Helper()
	s.put(filepath.Join(s.root, "bin", "systemd-run"), "#!/bin/sh\n"+systemdRun, 0o755)
	if err := os.Remove(s.dir); err != nil {
		s.t.Fatal(err)
	}
	files := []string{s.script(), s.requestText(), lines(s.argv), answerText(s.answers)}
	sum := sha256.Sum256([]byte(strings.Join(files, "")))
	run := s.shell(append([]string{"-c", startScript, "start-flash-job", s.root, "j1", "unit", s.lock(), s.holder(),
		hex.EncodeToString(sum[:])}, files...)...)
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%v: %s", err, out)
	}
	return run.ProcessState.ExitCode()
}

// systemd-run may fail although systemd has its request: the unit then starts later.
func TestStart_keeps_a_unit_from_starting_late(t *testing.T) {
	t.Parallel()
	s := newShellJob(t)
	if status := s.start("exit 1\n"); status != exitStart || strings.TrimSpace(s.read("exit")) != "76" {
		t.Fatalf("status %d, exit %q", status, s.read("exit"))
	}
	if exit := s.runUnit(); s.written() || s.states() != "requested failed" || exit != "76" {
		t.Errorf("the job that was said not to start: written %t, states %s, exit %s", s.written(), s.states(), exit)
	}
}

// Or the unit runs by then.
func TestStart_leaves_a_unit_that_runs_to_its_watcher(t *testing.T) {
	t.Parallel()
	s := newShellJob(t)
	status := s.start("while [ \"$1\" != /bin/sh ]; do shift; done\n\"$@\" >\"$FAKE/unit.log\" 2>&1\nexit 1\n")
	if status != 0 || !s.written() || s.states() != "requested locked inspected burning burned" ||
		strings.TrimSpace(s.read("exit")) != "0" {
		t.Errorf("status %d, written %t, states %s, exit %s", status, s.written(), s.states(), s.read("exit"))
	}
}

// A job that was not seen to begin is given up with a look that keeps it from beginning later.
func TestLook_keeps_a_job_from_beginning_late(t *testing.T) {
	t.Parallel()
	for _, claims := range []string{"", claim} {
		s := newShellJob(t)
		s.put(filepath.Join(s.root, "bin", "systemctl"), "#!/bin/sh\necho inactive\nexit 3\n", 0o755)
		if status := s.start("exit 0\n"); status != 0 {
			t.Fatalf("status %d", status)
		}
		look := answer.Functions + strings.ReplaceAll(cardusers.Functions+lookScript, "find_job '' ", "find_job '"+s.root+"' ")
		text, err := s.shell("-c", look, "look", s.dir, "unit", s.lock(), s.holder(), claims).Output()
		if err != nil {
			t.Fatal(err)
		}
		out, err := parseLook("j1", string(text))
		if err != nil || !fact.No(out.unit) || !out.mayBegin() {
			t.Errorf("%q: %+v, %v", claims, out, err)
		}
		if exit := s.runUnit(); s.written() != (claims == "") || exit != map[string]string{"": "0", claim: ""}[claims] {
			t.Errorf("%q: written %t, exit %q, states %s", claims, s.written(), exit, s.states())
		}
	}
}

// A journal that takes no claim, as on a full disk, is no claim of somebody else.
func TestJobScript_says_that_it_cannot_claim(t *testing.T) {
	s := newShellJob(t)
	s.put(filepath.Join(s.dir, "claim"), "a file in the way", 0o600)
	if exit := s.run(); exit != "72" || s.written() || !strings.Contains(s.read("reason"), "no space may be left") {
		t.Errorf("exit %s, written %t, reason %q", exit, s.written(), s.read("reason"))
	}
}

// answeringHost answers the looks at a job, one after the other, and the last one for ever.
type answeringHost struct {
	cards.Host
	answers []string
	asked   []string
	err     error // of each command
}

func (*answeringHost) Name() string { return "intel9" }
func (*answeringHost) Invalidate()  {}

func (h *answeringHost) Run(_ context.Context, cmd shellcmd.Command) (host.Result, error) {
	h.asked = append(h.asked, strings.Join(cmd.Argv(), " "))
	if h.err != nil {
		return host.Result{}, h.err
	}
	text := h.answers[0]
	if len(h.answers) > 1 {
		h.answers = h.answers[1:]
	}
	return host.Result{Stdout: []byte(whole(text))}, nil
}

func TestWatch_gives_no_job_up_that_may_begin_later(t *testing.T) {
	t.Parallel()
	const idle = "unit inactive\nboot b\nlock free\nstate 1 requested T\n"
	for name, tt := range map[string]struct {
		answers []string
		last    string
	}{
		"never begins": {[]string{idle}, "requested"},
		"begins late": {[]string{idle, "unit active\nboot b\nstate 1 requested T\nstate 4 burning T\n",
			"unit inactive\nboot b\nexit 0\nstate 1 requested T\nstate 4 burning T\nstate 5 burned T\n"}, "burned"},
	} {
		h := &answeringHost{answers: tt.answers}
		j := New(cards.New(cards.Config{Poll: time.Millisecond, Lost: time.Second, Deadline: 10 * time.Second}),
			cards.Card{Host: h}, journal.Entry{ID: "j1"})
		j.grace = 0
		out, err := j.watch(t.Context())
		if err != nil || out.last() != tt.last {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		if len(h.asked) < 2 || strings.HasSuffix(h.asked[0], " "+claim) || !strings.HasSuffix(h.asked[1], " "+claim) {
			t.Errorf("%s: looked %d times", name, len(h.asked))
		}
	}
}

// A start that was killed proves no more than one whose answer is lost.
func TestStart_that_was_killed_is_looked_for(t *testing.T) {
	t.Parallel()
	lost := &host.UnreachableError{Op: host.OpRun, MayHaveRun: true, Err: errors.New("EOF")}
	for name, tt := range map[string]struct {
		err    error
		begins bool
		says   string // if the host has no such job
	}{
		"killed":  {&host.ExitError{Status: 137, Signal: "KILL"}, true, "was killed before it had stored the job"},
		"cut":     {fmt.Errorf("start: %w", lost), true, "The connection was lost before"},
		"no room": {&host.ExitError{Status: 72}, false, ""},
		"claimed": {&host.ExitError{Status: exitStart}, false, ""},
	} {
		h := &answeringHost{err: tt.err, answers: []string{"unit inactive\nboot b\nlock free\nabsent\n"}}
		j := New(cards.New(cards.Config{Poll: time.Millisecond, Lost: time.Second, Deadline: 10 * time.Second}),
			cards.Card{Host: h}, journal.Entry{Kind: journal.GUIDs})
		if _, err := j.Start(t.Context(), &cards.Look{Snap: &inventory.Snapshot{}, Card: &inventory.Card{}}); (err == nil) != tt.begins {
			t.Errorf("%s: %v", name, err)
		}
		if h.err = nil; !tt.begins {
			continue
		}
		var e *cards.Error
		if _, err := j.end(t.Context()); !errors.As(err, &e) || !strings.Contains(e.What, tt.says) ||
			e.Means != "Nothing was written to the card." {
			t.Errorf("%s: %v", name, err)
		}
	}
}
