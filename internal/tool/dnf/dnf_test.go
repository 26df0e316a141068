package dnf

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

func TestParseQuery(t *testing.T) {
	got := ParseQuery([]byte("opensm\t3.3.24-2.el9\npackage mstflint is not installed\nkernel-core\t5.14.0-427.el9\nkernel-core\t5.14.0-503.el9\n"))
	want := map[string]string{"opensm": "3.3.24-2.el9", "kernel-core": "5.14.0-503.el9"}
	if len(got) != len(want) || got["opensm"] != want["opensm"] || got["kernel-core"] != want["kernel-core"] {
		t.Errorf("installed: %v", got)
	}
}

const spec = `Name: NAME
Version: 3.3.24
Release: 2.test
Summary: Nothing, for a test
License: none
BuildArch: noarch
REST
%description
Nothing.
SCRIPTS%files
`

// system is a directory that dnf and rpm take for a system, with a repository of
// the packages opensm, which recommends wished, and wished.
type system struct {
	t                     *testing.T
	root, conf, repo, top string
}

func newSystem(t *testing.T) *system {
	t.Helper()
	for _, program := range []string{"dnf", "rpm", "rpmbuild", "createrepo_c"} {
		realtool.Path(t, program)
	}
	top := t.TempDir()
	s := &system{t: t, top: top, root: filepath.Join(top, "root"), conf: filepath.Join(top, "dnf.conf"),
		repo: filepath.Join(top, "repo")}
	s.build("opensm", "Recommends: wished", "")
	s.build("wished", "", "")
	s.must("createrepo_c", "--quiet", s.repo)
	s.write(s.conf, "[main]\nreposdir="+top+"/none\ncachedir="+top+"/cache\nlogdir="+top+"/log\npersistdir="+top+
		"/persist\nplugins=0\n"+
		"[lab]\nname=lab\nbaseurl=file://"+s.repo+"\ngpgcheck=0\n")
	return s
}

func (s *system) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) must(name string, args ...string) {
	s.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (s *system) build(name, rest, scripts string) {
	s.t.Helper()
	file := filepath.Join(s.top, name+".spec")
	s.write(file, strings.NewReplacer("NAME", name, "REST", rest, "SCRIPTS", scripts).Replace(spec))
	s.must("rpmbuild", "-bb", "--quiet", "--define", "_topdir "+s.top+"/build", "--define", "_rpmdir "+s.repo, "--dbpath",
		s.top+"/builddb", file)
}

// run executes a command of this package on the system and returns its output
// and status.
func (s *system) run(argv []string) (string, int) {
	s.t.Helper()
	argv = s.argv(argv)
	return realtool.Run(s.t, argv[0], argv[1:]...)
}

// argv has a command work on the system.
func (s *system) argv(argv []string) []string {
	there := []string{argv[0], "--installroot=" + s.root, "--config=" + s.conf, "--releasever=9"}
	if argv[0] == "rpm" {
		there = []string{argv[0], "--root", s.root}
	}
	return append(there, argv[1:]...)
}

// The real dnf and rpm take the commands and do what they are said to do.
func TestInstall_realDnf(t *testing.T) {
	if os.Getuid() != 0 {
		realtool.ReportMissing(t, "dnf installs as root only")
	}
	s := newSystem(t)
	if out, status := s.run(Refresh().Argv()); status != 0 {
		t.Fatalf("refresh: %d\n%s", status, out)
	}
	if out, status := s.run(Query("opensm", "wished").Argv()); status != 2 || len(ParseQuery([]byte(out))) != 0 {
		t.Errorf("before: status %d\n%s", status, out)
	}
	if out, status := s.run(Install("opensm").Argv()); status != 0 {
		t.Fatalf("install: %d\n%s", status, out)
	}
	out, status := s.run(Query("opensm", "wished").Argv())
	if got := ParseQuery([]byte(out)); status != 1 || len(got) != 1 || got["opensm"] != "3.3.24-2.test" {
		t.Errorf("after: status %d\n%s", status, out)
	}
	if out, status := s.run(Install("no-such-package").Argv()); status == 0 {
		t.Errorf("a package that does not exist: %s", out)
	}
}

func TestInstall(t *testing.T) {
	cmd := Install("opensm", "mstflint")
	argv := cmd.Argv()
	if i := slices.Index(argv, "--"); i < 0 || !slices.Equal(argv[i+1:], []string{"opensm", "mstflint"}) {
		t.Errorf("packages are not behind --: %q", argv)
	}
	if !cmd.Root() || !cmd.Changing() || cmd.Timeout() == 0 {
		t.Error("an installation is a change by root with its own time limit")
	}
}
