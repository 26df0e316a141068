package apt

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

func TestParseHalfway(t *testing.T) {
	got := ParseHalfway([]byte("opensm\tiF \t\nlibopensm9\tiU \t\nlibibumad3\tiHR\t\nbash\tii \t\nlibc-bin\tit \t\nold\trc \t\n" +
		"openssh-server\tiU \t1:9.2p1-2\ngone\trF \t1\nman-db\tiW \t2\nmstflint\thU \t4.21.0+1-1\n"))
	want := []Halfway{
		{Name: "opensm", New: true, Wanted: true, configured: true}, {Name: "libopensm9", New: true, Wanted: true},
		{Name: "libibumad3", New: true, Wanted: true, HalfInstalled: true}, {Name: "openssh-server", Wanted: true},
		{Name: "gone", configured: true}, {Name: "mstflint", Wanted: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseNeeded(t *testing.T) {
	got := ParseNeeded([]byte("opensm\n  Depends: libopensm9\n |Depends: awk\n  Depends: <virtual>\n    real\nlibopensm9\n<virtual>\nreal:amd64\n"))
	for _, name := range []string{"opensm", "libopensm9", "real"} {
		if !got[name] {
			t.Errorf("%s is missing in %v", name, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("needed: %v", got)
	}
}

// system is a directory that apt and dpkg take for a system, with a repository of the
// packages opensm, which depends on libopensm, and libopensm.
type system struct {
	t   *testing.T
	top string
}

func newSystem(t *testing.T) *system {
	t.Helper()
	for _, program := range []string{"apt-get", "apt-cache", "dpkg", "dpkg-query", "dpkg-deb"} {
		realtool.Path(t, program)
	}
	if os.Getuid() != 0 {
		realtool.ReportMissing(t, "dpkg installs as root only")
	}
	s := &system{t: t, top: t.TempDir()}
	for _, dir := range []string{"root/var/lib/dpkg/info", "root/var/lib/dpkg/updates", "root/var/lib/dpkg/triggers",
		"state/lists/partial", "cache/archives/partial", "log", "repo", "none"} {
		if err := os.MkdirAll(s.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write("root/var/lib/dpkg/status", "")
	list := s.pack("libopensm", "") + s.pack("opensm", "Depends: libopensm\n")
	s.write("repo/Packages", list)
	s.write("sources.list", "deb [trusted=yes] file:"+s.path("repo")+" ./\n")
	s.write("apt.conf", strings.NewReplacer("TOP", s.top).Replace(`Dir::State "TOP/state";
Dir::State::status "TOP/root/var/lib/dpkg/status"; Dir::Cache "TOP/cache"; Dir::Log "TOP/log";
Dir::Etc::sourcelist "TOP/sources.list"; Dir::Etc::sourceparts "TOP/none"; Dir::Etc::preferencesparts "TOP/none";
APT::Sandbox::User "root"; DPkg::Pre-Install-Pkgs ""; DPkg::Post-Invoke ""; DPkg::Pre-Invoke "";
APT::Update::Post-Invoke ""; APT::Update::Post-Invoke-Success "";
DPkg::Options { "--root=TOP/root"; "--force-script-chrootless"; "--log=TOP/dpkg.log"; };
`))
	if out, status := s.run(Update().Argv()); status != 0 {
		t.Fatalf("lists: %d\n%s", status, out)
	}
	return s
}

func (s *system) path(name string) string { return filepath.Join(s.top, name) }

func (s *system) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// pack builds a package whose scripts end dpkg as a power cut does, where a file tells
// them to. It returns the record of the package in the list of the repository.
func (s *system) pack(name, fields string) string {
	s.t.Helper()
	dir := "pack-" + name
	for _, sub := range []string{"/DEBIAN", "/usr/share/lab"} {
		if err := os.MkdirAll(s.path(dir+sub), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	control := "Package: " + name + "\nVersion: 1.0-1\nArchitecture: all\nMaintainer: lab <lab@example.org>\n" + fields +
		"Description: nothing, for a test\n"
	s.write(dir+"/DEBIAN/control", control)
	s.write(dir+"/usr/share/lab/"+name, name)
	for _, script := range []string{"preinst", "postinst"} {
		file := s.path(dir + "/DEBIAN/" + script)
		text := fmt.Sprintf("#!/bin/sh\nif [ -e %[1]s ]; then rm %[1]s; kill -9 $PPID; sleep 1; fi\n", s.path(script+"-"+name))
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	out, err := exec.Command("dpkg-deb", "-b", s.path(dir), s.path("repo/"+name+".deb")).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.ReadFile(s.path("repo/" + name + ".deb"))
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%sFilename: ./%s.deb\nSize: %d\nSHA256: %x\n\n", control, name, len(file), sha256.Sum256(file))
}

// run executes a command of this package on the system.
func (s *system) run(argv []string) (string, int) {
	s.t.Helper()
	if argv[0] == "env" {
		argv = argv[2:] // DEBIAN_FRONTEND
	}
	there := map[string][]string{
		"dpkg":       {"--root=" + s.path("root"), "--force-script-chrootless", "--log=" + s.path("dpkg.log")},
		"dpkg-query": {"--admindir=" + s.path("root/var/lib/dpkg")},
	}[argv[0]]
	cmd := exec.CommandContext(s.t.Context(), argv[0], append(there, argv[1:]...)...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+s.path("apt.conf"), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs a command that may not fail.
func (s *system) must(argv []string) string {
	s.t.Helper()
	out, status := s.run(argv)
	if status != 0 {
		s.t.Errorf("%q: status %d\n%s", argv, status, out)
	}
	return out
}

// TestInterrupted_realDpkg kills the real dpkg at each step of an installation. What the
// real programs say then is what the parsers and the simulated lab hold to be true, and the
// commands of this package end the work.
func TestInterrupted_realDpkg(t *testing.T) {
	for _, tt := range []struct {
		at    string
		state []string // of libopensm and opensm
	}{
		{"preinst-libopensm", []string{"libopensm half installed"}},
		{"preinst-opensm", []string{"libopensm unpacked, not configured", "opensm half installed"}},
		{"postinst-libopensm", []string{"libopensm half configured", "opensm unpacked, not configured"}},
		{"postinst-opensm", []string{"opensm half configured"}},
	} {
		t.Run(tt.at, func(t *testing.T) {
			s := newSystem(t)
			s.write(tt.at, "")
			if out, status := s.run(Install("opensm").Argv()); status != 100 {
				t.Fatalf("the installation that dpkg did not outlive: %d\n%s", status, out)
			}
			if out, status := s.run(Install("opensm").Argv()); status != 100 || !Interrupted(out) ||
				!strings.Contains(out, "E: "+said) {
				t.Errorf("the next one: %d\n%s", status, out)
			}
			var states, again []string
			for _, h := range ParseHalfway([]byte(s.must(ListStates().Argv()))) {
				states = append(states, h.Name+" "+h.State())
				if !h.New || !h.Wanted {
					t.Errorf("%+v", h)
				}
				if h.HalfInstalled {
					again = append(again, h.Name)
				}
			}
			if !slices.Equal(states, tt.state) {
				t.Errorf("states: %q, expected %q", states, tt.state)
			}
			out := s.must(Needed("opensm").Argv())
			if n := ParseNeeded([]byte(out)); len(n) != 2 || !n["libopensm"] || !n["opensm"] {
				t.Errorf("needed:\n%s", out)
			}
			s.must(ConfigureAll().Argv())
			if len(again) > 0 {
				s.must(Reinstall(again...).Argv())
			}
			s.must(Install("opensm").Argv())
			out = s.must(Query("opensm", "libopensm").Argv())
			if got := ParseQuery([]byte(out)); len(got) != 2 {
				t.Errorf("in the end:\n%s", out)
			}
		})
	}
}

// said is what apt-get says, with a blank at its end.
const said = "dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem. \n"
