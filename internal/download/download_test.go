package download

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var image = bytes.Repeat([]byte("firmware"), 4096)

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// zipped is an archive with members in the order given, each a name and its content.
func zipped(t *testing.T, members ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		h := &zip.FileHeader{Name: members[i].(string), Method: zip.Deflate}
		if target, link := members[i+1].(string); link {
			h.SetMode(os.ModeSymlink | 0o777)
			members[i+1] = []byte(target)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(members[i+1].([]byte))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tarred is the same as tar, or tar.gz.
func tarred(t *testing.T, packed bool, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	to := io.Writer(&b)
	if packed {
		g := gzip.NewWriter(&b)
		defer g.Close() //nolint:errcheck // closed below, too
		to = g
	}
	w := tar.NewWriter(to)
	for _, h := range headers {
		h.Mode = 0o600
		if h.Typeflag == 0 {
			h.Size = int64(len(image))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == 0 {
			_, _ = w.Write(image)
		}
	}
	_ = w.Close()
	if g, is := to.(*gzip.Writer); is {
		_ = g.Close()
	}
	return bytes.Clone(b.Bytes())
}

// site is a server of files by their path, and a folder for what is fetched from it.
func site(t *testing.T, files map[string][]byte) (*httptest.Server, *Folder) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, there := files[r.URL.Path]
		switch {
		case strings.HasPrefix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, "https://other.example/fw.bin", http.StatusFound)
		case r.URL.Path == "/plain":
			http.Redirect(w, r, "http://"+r.Host+"/fw.bin", http.StatusFound)
		case r.URL.Path == "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/fw.bin", http.StatusFound)
		case !there:
			http.NotFound(w, r)
		default:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}
	}))
	t.Cleanup(s.Close)
	return s, &Folder{Dir: t.TempDir(), Client: s.Client()}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s, f := site(t, map[string][]byte{
		"/fw.bin": image, "/fw.zip": zipped(t, "readme", []byte("x"), "a/fw.bin", image),
		"/fw.tar": tarred(t, false, &tar.Header{Name: "./a/fw.bin"}),
		"/fw.tgz": tarred(t, true, &tar.Header{Name: "a/fw.bin"}),
	})
	local := filepath.Join(t.TempDir(), "fw.zip")
	if err := os.WriteFile(local, zipped(t, "a/fw.bin", image), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Dir = t.TempDir()
	for _, from := range []string{local, local + ".gone"} { // what is kept here is no file of others
		if _, err := f.Get(t.Context(), Source{from, "a/fw.bin", sumOf(image)}); (err == nil) != (from == local) {
			t.Errorf("%s: %v", from, err)
		}
	}
	for _, src := range []Source{{Address: s.URL + "/fw.bin"}, {Address: s.URL + "/moved"},
		{Address: s.URL + "/fw.zip", Member: "a/fw.bin"}, {Address: s.URL + "/fw.tar", Member: "a/fw.bin"},
		{Address: s.URL + "/fw.tgz", Member: "a/fw.bin"}, {Address: local, Member: "a/fw.bin"}} {
		src.SHA256, f.Dir = strings.ToUpper(sumOf(image)), t.TempDir()
		path, err := f.Get(t.Context(), src)
		got, _ := os.ReadFile(path)
		if left, _ := os.ReadDir(f.Dir); err != nil || !bytes.Equal(got, image) || len(left) != 1 {
			t.Errorf("%+v: %v, %d bytes, %v", src, err, len(got), left)
		}
		// What is kept is fetched no more.
		again, err := f.Get(t.Context(), Source{Address: "https://gone.invalid/", SHA256: src.SHA256})
		if err != nil || again != path {
			t.Errorf("kept: %v", err)
		}
		_ = os.WriteFile(path, []byte("spoilt"), 0o600)
		if _, err = f.Get(t.Context(), src); err != nil {
			t.Errorf("a kept file that was spoilt is not fetched anew: %v", err)
		}
	}
}

// Each is a clear error, and leaves nothing behind.
func TestGet_bad_input(t *testing.T) {
	t.Parallel()
	page := []byte("<!DOCTYPE html><html><body>Sign in</body></html>")
	var bomb bytes.Buffer
	z := zip.NewWriter(&bomb)
	huge := &zip.FileHeader{Name: "fw.bin", Method: zip.Deflate, UncompressedSize64: 1 << 40}
	if _, err := z.CreateRaw(huge); err != nil {
		t.Fatal(err)
	}
	_ = z.Close()
	damaged := zipped(t, "fw.bin", image)
	s, f := site(t, map[string][]byte{
		"/fw.bin": image, "/page": page, "/bomb.zip": bomb.Bytes(), "/cut.zip": damaged[:len(damaged)/2], "/empty": {},
		"/link.zip": zipped(t, "fw.bin", "/etc/passwd"), "/twice.zip": zipped(t, "fw.bin", image, "fw.bin", image),
		"/other.zip": zipped(t, "a.bin", image, "b.bin", image),
		"/link.tar":  tarred(t, false, &tar.Header{Name: "fw.bin", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
		"/hard.tar": tarred(t, false, &tar.Header{Name: "a"}, &tar.Header{Name: "fw.bin", Typeflag: tar.TypeLink,
			Linkname: "a"}),
		"/twice.tgz": tarred(t, true, &tar.Header{Name: "fw.bin"}, &tar.Header{Name: "fw.bin"}),
	})
	for address, want := range map[string][2]string{
		"/page":                         {"", "It is a web page, not a file"},
		"/fw.bin?other":                 {"", "and sha256 declares"},
		"/page#zip":                     {"fw.bin", "neither a zip nor a tar archive. It is a web page"},
		"/empty":                        {"fw.bin", "empty or very short"},
		"/bomb.zip":                     {"fw.bin", "has 1048576 MiB"},
		"/cut.zip":                      {"fw.bin", "zip archive is damaged"},
		"/link.zip":                     {"fw.bin", "is a link"},
		"/link.tar":                     {"fw.bin", "is a link"},
		"/hard.tar":                     {"fw.bin", "is a link to a"},
		"/twice.zip":                    {"fw.bin", "has fw.bin twice"},
		"/twice.tgz":                    {"fw.bin", "has fw.bin twice"},
		"/other.zip":                    {"fw.bin", "has no member fw.bin. It has: a.bin, b.bin"},
		"/gone":                         {"", "404 Not Found"},
		"/elsewhere":                    {"", "redirects to another host, https://other.example/fw.bin"},
		"/plain":                        {"", "redirects to another host, http://"},
		"/round":                        {"", "redirects again and again"},
		"http://x.invalid/fw.bin":       {"", "no https address"},
		"file:///etc/passwd":            {"", "no https address"},
		"https://me:secret@x.invalid/f": {"", "a name or a password in it"},
	} {
		src := Source{Address: address, Member: want[0], SHA256: sumOf([]byte("another file"))}
		if strings.HasPrefix(address, "/") {
			src.Address = s.URL + address
		}
		_, err := f.Get(t.Context(), src)
		if err == nil || !strings.Contains(err.Error(), want[1]) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
		if left, _ := os.ReadDir(f.Dir); len(left) > 0 {
			t.Errorf("%s leaves %v", address, left)
			_ = os.RemoveAll(f.Dir)
		}
	}
	for _, sum := range []string{"", "abc"} {
		if _, err := f.Get(t.Context(), Source{Address: s.URL + "/fw.bin", SHA256: sum}); err == nil ||
			!strings.Contains(err.Error(), "needs its sha256") {
			t.Errorf("sha256 %q: %v", sum, err)
		}
	}
}

// A transfer that breaks goes on where it was, in this run and in the next one; what another
// server has under the address by then is told by its hash, and fetched whole.
func TestGet_resumes(t *testing.T) {
	t.Parallel()
	var ranges []string
	breaks := tries
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		from, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"))
		if breaks == 0 {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(image))
			return
		}
		breaks--
		w.Header().Set("Content-Length", strconv.Itoa(len(image)-from))
		if from > 0 {
			w.Header().Set("Content-Range", "bytes "+strconv.Itoa(from)+"-"+strconv.Itoa(len(image)-1)+"/*")
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(image[from : from+1000])
	}))
	defer s.Close()
	f := &Folder{Dir: t.TempDir(), Client: s.Client()}
	src := Source{Address: s.URL + "/fw.bin", SHA256: sumOf(image)}
	if _, err := f.Get(t.Context(), src); err == nil || !strings.Contains(err.Error(), "the next run goes on") {
		t.Fatal(err)
	}
	path, err := f.Get(t.Context(), src)
	if got, _ := os.ReadFile(path); err != nil || !bytes.Equal(got, image) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	if want := " bytes=1000- bytes=2000- bytes=3000-"; strings.Join(ranges, " ") != want {
		t.Errorf("asked for %q", ranges)
	}
}

// What was kept of another file under the same address spoils one run only.
func TestGet_over_what_is_kept_of_another_file(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"/fw.bin": image}
	s, f := site(t, files)
	src := Source{Address: s.URL + "/fw.bin", SHA256: sumOf(image)}
	part := filepath.Join(f.Dir, sumOf([]byte(src.Address))+".part")
	for name, left := range map[string][]byte{"shorter": []byte("something else"), "longer": make([]byte, len(image)+7)} {
		if err := os.WriteFile(part, left, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Get(t.Context(), src); err != nil {
			if _, err = f.Get(t.Context(), src); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		_ = os.Remove(filepath.Join(f.Dir, src.SHA256+".bin"))
	}
}

// An archive that says less than it unpacks to is read as far as the limit.
func TestExtract_bombs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	two := tarred(t, false, &tar.Header{Name: "a"}, &tar.Header{Name: "fw.bin"})
	err := extractTar(&out, bytes.NewReader(two), "fw.bin", int64(len(image)))
	if err == nil || !strings.Contains(err.Error(), "unpacks to more than") {
		t.Error(err)
	}
	if err = copyLimited(&out, bytes.NewReader(image), 1000); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}
