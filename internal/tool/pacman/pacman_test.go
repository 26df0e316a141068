package pacman

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

func TestParseQuery(t *testing.T) {
	got := ParseQuery([]byte("rdma-core 55.0-1\nerror: package 'opensm' was not found\niperf3 3.18-1\n"))
	if len(got) != 2 || got["rdma-core"] != "55.0-1" || got["iperf3"] != "3.18-1" {
		t.Errorf("installed: %v", got)
	}
}

// system is a directory that pacman takes for a system, with a repository that
// has rdma-core.
type system struct {
	t   *testing.T
	top string
}

func newSystem(t *testing.T) *system {
	t.Helper()
	realtool.Path(t, "pacman")
	s := &system{t: t, top: t.TempDir()}
	for _, dir := range []string{"repo", "root", "root/db", "cache"} {
		if err := os.MkdirAll(s.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const file = "rdma-core-55.0-1-any.pkg.tar.gz"
	s.pack("repo/"+file, ".PKGINFO",
		"pkgname = rdma-core\npkgver = 55.0-1\npkgdesc = Nothing, for a test\nsize = 0\narch = any\n", "made", "Nothing\n")
	s.pack("repo/lab.db", "rdma-core-55.0-1/desc",
		"%FILENAME%\n"+file+"\n\n%NAME%\nrdma-core\n\n%VERSION%\n55.0-1\n\n%ARCH%\nany\n\n")
	s.write("pacman.conf", "[options]\nArchitecture = auto\nSigLevel = Never\n[lab]\nServer = file://"+s.path("repo")+"\n")
	// The lists are read once, as an upgrade of the system does it.
	if out, status := s.run([]string{"pacman", "-Sy"}); status != 0 {
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

// pack writes an archive of files, each a name and a text: what a package and a list of
// packages are.
func (s *system) pack(archive string, files ...string) {
	s.t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	var err error
	for i := 0; i < len(files); i += 2 {
		text := files[i+1]
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(text))}))
		_, writeErr := w.Write([]byte(text))
		err = errors.Join(err, writeErr)
	}
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		s.t.Fatal(err)
	}
	s.write(archive, b.String())
}

func (s *system) run(argv []string) (string, int) {
	s.t.Helper()
	there := []string{"--root", s.path("root"), "--dbpath", s.path("root/db"), "--cachedir", s.path("cache"), "--config",
		s.path("pacman.conf"), "--logfile", s.path("log")}
	return realtool.Run(s.t, argv[0], append(there, argv[1:]...)...)
}

// The real pacman takes the commands and does what they are said to do.
func TestInstall_realPacman(t *testing.T) {
	if os.Getuid() != 0 {
		realtool.ReportMissing(t, "pacman installs as root only")
	}
	s := newSystem(t)
	if out, status := s.run(Query("rdma-core", "iperf3").Argv()); status != 1 || len(ParseQuery([]byte(out))) != 0 {
		t.Errorf("before: status %d\n%s", status, out)
	}
	for range 2 { // the second has nothing to do
		if out, status := s.run(Install("rdma-core").Argv()); status != 0 {
			t.Fatalf("install: %d\n%s", status, out)
		}
	}
	out, status := s.run(Query("rdma-core", "iperf3").Argv())
	if got := ParseQuery([]byte(out)); status != 1 || len(got) != 1 || got["rdma-core"] != "55.0-1" {
		t.Errorf("after: status %d\n%s", status, out)
	}
	if out, status := s.run(Install("opensm").Argv()); status == 0 {
		t.Errorf("a package that no list has: %s", out)
	}
}

// What pacman says of what an interrupted one has left: its lock, and files that no
// package has. Nothing of it goes away by itself.
func TestInstall_realPacmanInterrupted(t *testing.T) {
	if os.Getuid() != 0 {
		realtool.ReportMissing(t, "pacman installs as root only")
	}
	s := newSystem(t)
	s.write("root/db/db.lck", "")
	for range 2 {
		out, status := s.run(Install("rdma-core").Argv())
		if status != 1 || !Locked(out) || !strings.Contains(out, "running, you can remove "+s.path("root/db/db.lck")) {
			t.Errorf("with the lock: %d\n%s", status, out)
		}
	}
	if err := os.Remove(s.path("root/db/db.lck")); err != nil {
		t.Fatal(err)
	}
	s.write("root/made", "")
	out, status := s.run(Install("rdma-core").Argv())
	if status != 1 || !FilesInTheWay(out) {
		t.Errorf("with a file of the package: %d\n%s", status, out)
	}
	out, status = s.run([]string{"pacman", "-S", "--noconfirm", "--overwrite", "*", "rdma-core"})
	if status != 0 {
		t.Errorf("as our advice says: %d\n%s", status, out)
	}
}

func TestInstall_neverRefreshesLists(t *testing.T) {
	cmd := Install("rdma-core", "iperf3")
	argv := cmd.Argv()
	if i := slices.Index(argv, "--"); i < 0 || !slices.Equal(argv[i+1:], []string{"rdma-core", "iperf3"}) {
		t.Errorf("packages are not behind --: %q", argv)
	}
	if slices.ContainsFunc(argv, func(a string) bool { return a == "-Sy" || a == "-Syu" || a == "--refresh" }) {
		t.Errorf("a partial upgrade: %q", argv)
	}
	if !cmd.Root() || !cmd.Changing() || cmd.Timeout() == 0 {
		t.Error("an installation is a change by root with its own time limit")
	}
}
