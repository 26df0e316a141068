package sshhost

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

func randomFile(t *testing.T, size int) ([]byte, host.RemoteFile) {
	t.Helper()
	data := make([]byte, size)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return data, host.RemoteFile{Path: filepath.Join(t.TempDir(), "deep er", "it's.bin"), Mode: 0o640,
		SHA256: hex.EncodeToString(sum[:])}
}

// leftovers returns the files under dir whose names are not in want.
func leftovers(t *testing.T, dir string, want ...string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), "sudo-") {
			for _, w := range want {
				if p == w {
					return nil
				}
			}
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHost_UploadAndDownload(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	for _, size := range []int{0, 1, 32<<10 - 1, 32<<10 + 1, 3 << 20} {
		data, file := randomFile(t, size)
		for range 2 { // the second time over the first
			if err := h.Upload(t.Context(), bytes.NewReader(data), int64(size), file); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		st, err := os.Stat(file.Path)
		if err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("%v %v", st, err)
		}
		var back bytes.Buffer
		n, sum, err := h.Download(t.Context(), file.Path, &back)
		if err != nil || n != int64(size) || sum != file.SHA256 || !bytes.Equal(back.Bytes(), data) {
			t.Errorf("%d bytes came back as %d, %v", size, n, err)
		}
		if left := leftovers(t, filepath.Dir(file.Path), file.Path); left != nil {
			t.Errorf("left beside the target: %q", left)
		}
	}
	if left := leftovers(t, s.home); left != nil {
		t.Errorf("left in the home directory: %q", left)
	}
	st, err := os.Stat(filepath.Join(s.home, stagingDir))
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("staging directory: %v %v", st, err)
	}
}

// TestHost_transferTime holds the budget of 0.5 s for 16 MiB at a round trip of 20 ms.
func TestHost_transferTime(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	s := newServer(t)
	cfg := s.config()
	w := newWAN(t, s.listener.Addr().String(), 20*time.Millisecond)
	cfg.Port = w.port()
	h := mustHost(t, cfg)
	if _, err := h.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, file := randomFile(t, 16<<20)
	begin := time.Now()
	if err := h.Upload(t.Context(), bytes.NewReader(data), int64(len(data)), file); err != nil {
		t.Fatal(err)
	}
	up := time.Since(begin)
	begin = time.Now()
	if _, _, err := h.Download(t.Context(), file.Path, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	down := time.Since(begin)
	t.Logf("16 MiB at a round trip of 20 ms: up %s, down %s", up, down)
	// Client, server and proxy share this machine's cores; one request per round
	// trip would take 11 s.
	if up > 3*time.Second || down > 3*time.Second {
		t.Errorf("up %s, down %s", up, down)
	}
}

func TestHost_Upload_refusals(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	data, file := randomFile(t, 100)
	change := func(f func(*host.RemoteFile)) host.RemoteFile { c := file; f(&c); return c }
	tests := []struct {
		name string
		file host.RemoteFile
		size int64
		want string
	}{
		{"relative path", change(func(f *host.RemoteFile) { f.Path = "x" }), 100, "not the absolute path"},
		{"path with dots", change(func(f *host.RemoteFile) { f.Path = "/tmp/../x" }), 100, "not the absolute path"},
		{"no hash", change(func(f *host.RemoteFile) { f.SHA256 = "" }), 100, "not a SHA-256"},
		{"mode", change(func(f *host.RemoteFile) { f.Mode = 0o100644 }), 100, "permission bits"},
		{"other content", change(func(f *host.RemoteFile) { f.SHA256 = strings.Repeat("0", 64) }), 100,
			"the SHA-256 on the host is " + file.SHA256},
		{"source too short", file, 101, "the source has 100 bytes, not 101"},
		{"directory in the way", change(func(f *host.RemoteFile) { f.Path = s.home }), 100, "is a directory"},
		{"parent is a file", change(func(f *host.RemoteFile) { f.Path = filepath.Join(s.bin, "chown", "x") }), 100,
			"cannot make the directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := h.Upload(t.Context(), bytes.NewReader(data), tt.size, tt.file)
			var bad *host.TransferError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %T %v", err, err)
			}
			if left := leftovers(t, s.home); left != nil {
				t.Errorf("left in the home directory: %q", left)
			}
		})
	}
}

func TestHost_Upload_noSpace(t *testing.T) {
	s := newServer(t)
	s.tool("cp", `head -c 10 "$1" >"$2"; echo "cp: error writing '$2': No space left on device" >&2; exit 1`)
	h := mustHost(t, s.config())
	data, file := randomFile(t, 100)
	err := h.Upload(t.Context(), bytes.NewReader(data), 100, file)
	var bad *host.TransferError
	if !errors.As(err, &bad) || !errors.Is(err, errNoSpace) || !strings.Contains(bad.Advice, "full") {
		t.Errorf("got %v", err)
	}
	if left := append(leftovers(t, s.home), leftovers(t, filepath.Dir(file.Path))...); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestHost_Upload_observeAndRefusedRoot(t *testing.T) {
	s := newServer(t)
	s.fakeSudo("exit 1")
	data, file := randomFile(t, 100)
	cfg := s.config()
	err := mustHost(t, cfg).Upload(t.Context(), bytes.NewReader(data), 100, file)
	var refused *host.PrivilegeError
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	if left := leftovers(t, s.home); left != nil {
		t.Errorf("left behind: %q", left)
	}
	cfg.Observe = true
	err = mustHost(t, cfg).Upload(t.Context(), bytes.NewReader(data), 100, file)
	var observe *host.ObserveError
	if !errors.As(err, &observe) {
		t.Errorf("got %v", err)
	}
}

// TestHost_Upload_cutAnywhere cuts the line after every so many bytes: the target
// is whole or absent, success is claimed only when it is whole.
func TestHost_Upload_cutAnywhere(t *testing.T) {
	s := newServer(t)
	base := s.config()
	data, file := randomFile(t, 100<<10)
	for _, cut := range []int64{3000, 5000, 6000, 32 << 10, 64 << 10, 100 << 10, 103 << 10, 106 << 10} {
		_ = os.Remove(file.Path)
		cfg := base
		w := newWAN(t, s.listener.Addr().String(), 0)
		w.cutAfter.Store(cut)
		cfg.Port = w.port()
		h := mustHost(t, cfg)
		err := h.Upload(t.Context(), bytes.NewReader(data), int64(len(data)), file)
		got, readErr := os.ReadFile(file.Path)
		var gone *host.UnreachableError
		switch {
		case err == nil && !bytes.Equal(got, data):
			t.Errorf("cut after %d: success, but the file is not whole (%v)", cut, readErr)
		case err != nil && !errors.As(err, &gone):
			t.Errorf("cut after %d: %T %v", cut, err, err)
		case readErr == nil && !bytes.Equal(got, data):
			t.Errorf("cut after %d: a part of the file is in place", cut)
		}
	}
}

func TestHost_Download_failures(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	file := filepath.Join(s.home, "f")
	write(t, file, "content")
	run := func(name, path, want string) {
		t.Run(name, func(t *testing.T) {
			_, _, err := h.Download(t.Context(), path, &bytes.Buffer{})
			var bad *host.TransferError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %T %v", err, err)
			}
		})
	}
	run("absent", filepath.Join(s.home, "none"), "none")
	run("directory", s.home, "is a directory")
	run("relative", "f", "not an absolute path")
	s.tool("sha256sum", "echo 0000000000000000000000000000000000000000000000000000000000000000\n")
	run("other hash", file, "may be changing")
	s.tool("sha256sum", "echo nonsense\n")
	run("malformed header", file, "size and SHA-256 expected")
	s.tool("sha256sum", "echo 'sha256sum: f: Permission denied' >&2; exit 1\n")
	run("unreadable", file, "Permission denied")
	_, _, err := h.Download(t.Context(), file, failingWriter{})
	if err == nil {
		t.Error("a full disk here goes unnoticed")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full here") }

func TestHost_transferToUnreachableHost(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.HostKeys = []string{"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
	h := mustHost(t, cfg)
	data, file := randomFile(t, 10)
	up := h.Upload(t.Context(), bytes.NewReader(data), 10, file)
	_, _, down := h.Download(t.Context(), "/etc/hostname", &bytes.Buffer{})
	for _, err := range []error{up, down} {
		var gone *host.UnreachableError
		if !errors.As(err, &gone) || gone.Op != "verify host key" || gone.MayHaveRun || gone.Command == "" {
			t.Errorf("the cause is hidden: %+v", err)
		}
	}
}

// What an apply needs is tried without writing anything.
func TestHost_ProveTransfer(t *testing.T) {
	for name, c := range map[string]struct {
		banner string
		before func(home string) error
		says   string
	}{
		"ready":             {},
		"a shell that says": {banner: "HELLO\n", says: `prints text before the file transfer begins: "HELL`},
		"a file in its place": {says: "not a directory", before: func(home string) error {
			return os.WriteFile(filepath.Join(home, ".cache"), nil, 0o600)
		}},
	} {
		s := newServer(t)
		s.banner = c.banner
		if c.before != nil {
			if err := c.before(s.home); err != nil {
				t.Fatal(err)
			}
		}
		before := leftovers(t, s.home)
		way, err := mustHost(t, s.config()).ProveTransfer(t.Context())
		var bad *host.TransferError
		if c.says == "" && (err != nil || way != "SFTP") || c.says != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
		if left := leftovers(t, s.home); len(left) != len(before) {
			t.Errorf("%s: written: %q", name, left)
		}
	}
}

// hideHome has root find nothing in the home directory, as on NFS with root_squash.
func (s *server) hideHome() {
	s.fakeSudo(`FAKE_ROOT=1; export FAKE_ROOT
sed 's|` + s.home + `|/hidden|g' | "$@"
exit $?`)
}

// A home directory that root cannot read is no place for files on their way.
func TestHost_Upload_homeThatRootCannotRead(t *testing.T) {
	s := newServer(t)
	s.hideHome()
	h := mustHost(t, s.config())
	for range 2 {
		data, file := randomFile(t, 100<<10)
		if err := h.Upload(t.Context(), bytes.NewReader(data), int64(len(data)), file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file.Path); err != nil || !bytes.Equal(got, data) {
			t.Errorf("not in place: %v", err)
		}
	}
	tries := 0
	for _, text := range s.scripts {
		if strings.Contains(text, "the user has staged") {
			tries++
		}
	}
	if tries != 3 {
		t.Errorf("%d tries for two files: the first one is to show the way", tries)
	}
	way, err := h.ProveTransfer(t.Context())
	if err != nil || way != "SFTP, by way of /var/tmp: root cannot read the home directory "+s.home {
		t.Errorf("%q %v", way, err)
	}
	_, file := randomFile(t, 1)
	if err = h.Upload(t.Context(), strings.NewReader("x"), 2, file); err == nil {
		t.Error("a source that is too short is not noticed")
	}
	s.tool("cp", "echo \"cp: cannot open '$1' for reading: Permission denied\" >&2; exit 1\n")
	err = h.Upload(t.Context(), strings.NewReader("x"), 1, file)
	if err == nil || !strings.Contains(err.Error(), "cannot write in "+filepath.Dir(file.Path)+"/: cp: cannot open '/var/tmp/") ||
		!strings.HasSuffix(err.Error(), "for reading: Permission denied") {
		t.Errorf("the tool's own line is missing: %v", err)
	}
	dirs, _ := filepath.Glob(awayDir + "/terraform-provider-infiniband-*")
	if left := append(leftovers(t, s.home), dirs...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Nor is one that the user cannot write, as an account has that was made without one.
func TestHost_Upload_homeThatTheUserCannotWrite(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	if err := os.WriteFile(filepath.Join(s.home, ".cache"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data, file := randomFile(t, 1000)
	if err := h.Upload(t.Context(), bytes.NewReader(data), int64(len(data)), file); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file.Path); err != nil || !bytes.Equal(got, data) {
		t.Errorf("not in place: %v", err)
	}
	s.files = filepath.Join(s.home, "none")
	way, err := h.ProveTransfer(t.Context())
	if err != nil || way != "SFTP, by way of /var/tmp: the user cannot write "+s.files {
		t.Errorf("%q %v", way, err)
	}
	dirs, _ := filepath.Glob(awayDir + "/terraform-provider-infiniband-*")
	if len(dirs) > 0 {
		t.Errorf("left behind: %q", dirs)
	}
}

// Root that can read neither place is named, with what to do.
func TestHost_transferError_ofRootThatReadsNothing(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	exit := &host.ExitError{Host: "lab1", Command: "install-upload", Status: notReadable,
		Stderr: "sudo: unable to resolve host lab1\nroot cannot read /var/tmp/t/upload, which the user has staged\n"}
	err := h.transferError("upload", "/etc/x", exit)
	if !strings.HasSuffix(err.Error(), "unable to upload /etc/x: root cannot read /var/tmp/t/upload, which the user has staged") ||
		!strings.Contains(err.Advice, "NFS with root_squash") {
		t.Errorf("%v\n%s", err, err.Advice)
	}
}

// The words of a login shell that runs nothing are shown, also of a script whose output may
// be a secret: that did not start.
func TestHost_Run_loginShellThatRunsNothing(t *testing.T) {
	s := newServer(t)
	s.login = "echo 'This account is currently not available.'; exit 1; "
	_, err := mustHost(t, s.config()).Run(t.Context(), shellcmd.Script("s", "true").Confidential())
	var odd *host.OutputError
	if !errors.As(err, &odd) || !strings.Contains(odd.Output, "This account is currently not available.") {
		t.Errorf("got %+v", err)
	}
}
