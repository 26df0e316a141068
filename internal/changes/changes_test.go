package changes

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const fields = "\tby=eve@desk pid 7\twhat=opensm\tobject=port 1\tfrom=none\tto=priority 3"

func TestParse_says_how_each_change_ended(t *testing.T) {
	begun := func(id string) string { return "begun\ttime=T1\tid=" + id + fields + "\t." }
	end := func(event, id, text string) string { return event + "\ttime=T2\tid=" + id + fields + text + "\t." }
	const byHost = "undone\tid=a\ttime=T3\t."
	for name, tt := range map[string]struct {
		lines []string
		want  Outcome
		text  string
	}{
		"runs, or was interrupted":        {[]string{begun("a")}, Begun, NotNoted},
		"noted twice by a command resent": {[]string{begun("a"), begun("a")}, Begun, NotNoted},
		"proven":                          {[]string{begun("a"), end("verified", "a", "")}, Verified, ""},
		"its begin could not be noted":    {[]string{end("verified", "a", "")}, Verified, ""},
		"failed":                          {[]string{begun("a"), end("failed", "a", "\ttext=x=y")}, Failed, "x=y"},
		"undone, and said so":             {[]string{begun("a"), end("undone", "a", "\ttext=why")}, Undone, "why"},
		"undone by the host alone": {[]string{begun("a"), byHost}, Undone,
			"by the host itself, as nobody had confirmed the change"},
		"failed, undone by the host later": {[]string{begun("a"), end("failed", "a", "\ttext=why"), byHost}, Undone, "why"},
		"undone, then noted by the apply":  {[]string{begun("a"), byHost, end("failed", "a", "\ttext=why")}, Undone, "why"},
		"a note that a full disk has cut": {[]string{begun("a"), strings.TrimSuffix(end("verified", "a", ""), "\t.")},
			Begun, NotNoted},
		"an event of a later release": {[]string{begun("a"), end("renamed", "a", "")}, Begun, NotNoted},
		"another change between": {[]string{begun("a"), begun("b"), end("failed", "b", ""), end("verified", "a", "")},
			Verified, ""},
	} {
		got, damaged := Parse(append([]string{"", "junk", "begun\t."}, tt.lines...))
		if len(got) == 0 {
			t.Errorf("%s: nothing read", name)
			continue
		}
		want := Change{ID: "a", What: SM, Object: "port 1", From: "none", To: "priority 3", Operator: "eve@desk pid 7",
			Time: got[0].Time, Outcome: tt.want, Text: tt.text}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		lost := 2 // those before the lines
		if strings.Contains(name, "cut") || strings.Contains(name, "later release") {
			lost++
		}
		if damaged != lost {
			t.Errorf("%s: %d damaged lines, want %d", name, damaged, lost)
		}
		if strings.Contains(tt.lines[0], "begun") && got[0].Time != "T1" {
			t.Errorf("%s: time %s is not that of the begin", name, got[0].Time)
		}
	}
}

// machine runs scripts in a shell of this machine, on a directory of the test.
type machine struct {
	host.Host
	shell []string
	dir   string
	ran   []shellcmd.Command
}

func (m *machine) Name() string { return "nas" }

func (m *machine) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if err := ctx.Err(); err != nil {
		return host.Result{}, err
	}
	cmd = host.Noted(ctx, cmd)
	m.ran = append(m.ran, cmd)
	text, err := shellcmd.Compose(cmd, shellcmd.NewFrame(), shellcmd.Elevation{})
	if err != nil {
		return host.Result{}, err
	}
	text = strings.ReplaceAll(text, "/var/lib/terraform-provider-infiniband", m.dir)
	sh := exec.CommandContext(ctx, m.shell[0], m.shell[1:]...)
	sh.Stdin = strings.NewReader(text)
	out, err := sh.Output()
	if err == nil && !strings.Contains(string(out), " 0\n") {
		err = errors.New("the command failed: " + string(out))
	}
	return host.Result{Stdout: out}, err
}

func (m *machine) records(t *testing.T) []Change {
	t.Helper()
	var lines []string
	for _, name := range []string{"changes.old", "changes"} {
		text, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	noted, _ := Parse(lines)
	return noted
}

// shells gives each shell that hosts have, as far as this machine has it.
func shells(t *testing.T, do func(t *testing.T, m *machine)) {
	t.Helper()
	ran := 0
	for _, shell := range [][]string{{"dash", "-s"}, {"bash", "-s"}, {"busybox", "sh", "-s"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		ran++
		t.Run(shell[0], func(t *testing.T) {
			do(t, &machine{shell: shell, dir: filepath.Join(t.TempDir(), "state")})
		})
	}
	if ran == 0 {
		t.Error("this machine has no shell")
	}
}

// The first command of a change notes that it has begun, and the end is one command more.
func TestNote_goes_with_the_first_command_of_a_change(t *testing.T) {
	shells(t, func(t *testing.T, m *machine) {
		ctx, note := Begin(t.Context(), Change{ID: "a", What: Network, Object: "port\t1", From: "no\ninterface",
			To: "MTU 2044"})
		for _, cmd := range []shellcmd.Command{shellcmd.New("true").AsRoot(), shellcmd.New("true").Changes()} {
			if _, err := m.Run(ctx, cmd); err != nil || len(m.records(t)) != 0 {
				t.Fatalf("%v, noted by a command that changes nothing as root: %v", err, m.records(t))
			}
		}
		if warning := note.Close(ctx, m, nil); warning != "" || len(m.ran) != 2 {
			t.Fatalf("the end of a change that never began: %q, %d commands", warning, len(m.ran))
		}
		for range 2 {
			if _, err := m.Run(ctx, shellcmd.New("true").AsRoot().Changes()); err != nil {
				t.Fatal(err)
			}
		}
		got := m.records(t)
		if len(got) != 1 || got[0].Outcome != Begun || got[0].Text != NotNoted || got[0].Object != "port 1" ||
			got[0].From != "no interface" || got[0].Operator != Operator() {
			t.Fatalf("%+v", got)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel() // as by Ctrl-C
		if warning := note.Close(ended, m, errors.New("why\nnot")); warning != "" || len(m.ran) != 5 {
			t.Errorf("%q, %d commands", warning, len(m.ran))
		}
		if got = m.records(t); len(got) != 1 || got[0].Outcome != Failed || got[0].Text != "why not" {
			t.Errorf("%+v", got)
		}
		st, err := os.Stat(filepath.Join(m.dir, "changes"))
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", st, err)
		}
	})
}

// A record that cannot be written stops nothing, and is told of at the end.
func TestNote_that_cannot_be_written_is_a_warning(t *testing.T) {
	shells(t, func(t *testing.T, m *machine) {
		if err := os.MkdirAll(filepath.Join(m.dir, "changes"), 0o700); err != nil { // where the file should be
			t.Fatal(err)
		}
		ctx, note := Begin(t.Context(), Change{ID: "a", What: Port, Object: "1", From: "x", To: "y"})
		if _, err := m.Run(ctx, shellcmd.New("true").AsRoot().Changes()); err != nil {
			t.Errorf("the change itself failed: %v", err)
		}
		if warning := note.Close(ctx, m, nil); !strings.Contains(warning, "not noted on nas") {
			t.Errorf("warning %q", warning)
		}
	})
}

// The records are bounded, and the newest are kept. A line that was cut spoils no other.
func TestScript_keeps_the_newest(t *testing.T) {
	shells(t, func(t *testing.T, m *machine) {
		run := func(id string, limit int) {
			t.Helper()
			args := slices.Concat(m.shell[1:len(m.shell)-1], []string{"-c", noteScript, "sh", m.dir, "changes", strconv.Itoa(limit),
				"verified", "id=" + id + fields})
			if out, err := exec.CommandContext(t.Context(), m.shell[0], args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		const limit = 500
		for n := range 20 {
			run("n"+strconv.Itoa(n), limit)
		}
		size := 0
		for _, name := range []string{"changes", "changes.old"} {
			text, err := os.ReadFile(filepath.Join(m.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			size += len(text)
		}
		if got := m.records(t); size > 2*(limit+200) || len(got) < 4 || got[len(got)-1].ID != "n19" {
			t.Errorf("%d bytes, %+v", size, got)
		}
		f, err := os.OpenFile(filepath.Join(m.dir, "changes"), os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("verified\tid=cut")
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		run("after", limit)
		if got := m.records(t); got[len(got)-1].ID != "after" || got[len(got)-2].ID != "n19" {
			t.Errorf("%+v", got)
		}
	})
}

// What has a state of its own is a root module of its own, whichever way the state was chosen.
func TestRootModule(t *testing.T) {
	dir, seen := t.TempDir(), map[string]bool{}
	differs := func() {
		t.Helper()
		if got := RootModule(); seen[got] || got != RootModule() {
			t.Errorf("%q was given before, of %v", got, seen)
		} else {
			seen[got] = true
		}
	}
	t.Setenv("TF_DATA_DIR", "")
	t.Setenv("TF_WORKSPACE", "")
	differs()
	t.Chdir(dir)
	differs()
	if err := errors.Join(os.Mkdir(".terraform", 0o700), os.WriteFile(".terraform/environment", []byte("rack1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	differs()
	t.Setenv("TF_WORKSPACE", "rack2")
	differs()
	t.Setenv("TF_DATA_DIR", "../rack1")
	differs()
}
