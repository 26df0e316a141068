package recording

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry is a file of an archive that is made by hand.
type entry struct {
	name, text string
	kind       byte
	size       int64 // if it is not that of the text
}

func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: 0o644, Size: int64(len(e.text))}
		if e.kind != 0 {
			h.Typeflag, h.Linkname, h.Size = e.kind, "/etc/passwd", 0
		}
		var data io.Reader = strings.NewReader(e.text)
		if e.size != 0 {
			h.Size, data = e.size, io.LimitReader(zeros{}, e.size)
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.Copy(w, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

const answerName = "hosts/host1/01.output"

func good(text string) entry {
	sum := sha256.Sum256([]byte(text))
	return entry{name: manifestName, text: fmt.Sprintf(`{"format": "infiniband-recording", "version": 1, "provider": "0.1.0",
"hosts": [{"name": "host1", "answers": [{"command": "uname", "status": 0, "output": %q}]}],
"files": [{"name": %q, "size": %d, "sha256": %q}]}`, answerName, answerName, len(text), hex.EncodeToString(sum[:]))}
}

func changed(e entry, old, with string) entry {
	e.text = strings.Replace(e.text, old, with, 1)
	return e
}

func TestOpen(t *testing.T) {
	t.Parallel()
	const text = "Linux\n"
	whole := pack(t, good(text), entry{name: answerName, text: text})
	open := func(data []byte) (*Lab, error) {
		name := filepath.Join(t.TempDir(), "lab.tar.gz")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		lab, err := Open(name)
		if err != nil {
			err = fmt.Errorf("%s", strings.Replace(err.Error(), name, "FILE", 1))
		}
		return lab, err
	}
	lab, err := open(whole)
	if err != nil || lab.Provider != "0.1.0" || lab.Hosts[0].Name != "host1" || lab.Hosts[0].Answers[0].Output != text {
		t.Fatalf("%+v: %v", lab, err)
	}
	bad := []struct {
		name, want string
		data       []byte
	}{
		{"empty", errCut.Error(), nil},
		{"no archive", errCut.Error(), []byte("hello")},
		{"edited", `"` + answerName + `" is not what was recorded; the recording was edited`,
			pack(t, good(text), entry{name: answerName, text: "Lunix\n"})},
		{"a file more", "it has 2 files, and its manifest names 1; the recording was edited",
			pack(t, good(text), entry{name: answerName, text: text}, entry{name: "x", text: text})},
		{"a file less", `"` + answerName + `" is missing; the recording was edited`, pack(t, good(text))},
		{"twice", `"` + answerName + `" is in it twice`, pack(t, good(text), entry{name: answerName, text: text},
			entry{name: answerName, text: text})},
		{"another file", `the manifest names "y", which is not in it; the recording was edited`,
			pack(t, changed(good(text), `"output": "`+answerName, `"output": "y`), entry{name: answerName, text: text})},
		{"another flash", `the manifest names "y", which is not in it; the recording was edited`,
			pack(t, changed(good(text), `"answers": [`, `"flashes": [{"card": "0000:01:00.0", "file": "y"}], "answers": [`),
				entry{name: answerName, text: text})},
		{"later", "its format has version 2, and this release reads version 1",
			pack(t, changed(good(text), `"version": 1`, `"version": 2, "more": []`))},
		{"another format", `its format is "x" and not infiniband-recording: it is no recording`,
			pack(t, changed(good(text), `infiniband-recording`, `x`))},
		{"no JSON", "its manifest cannot be read: invalid character 'x' looking for beginning of value",
			pack(t, entry{name: manifestName, text: "x"})},
		{"an unknown word", `its manifest cannot be read: json: unknown field "odd"`,
			pack(t, changed(good(text), `"version": 1`, `"version": 1, "odd": 1`))},
		{"no hosts", "it has no hosts", pack(t, entry{name: manifestName,
			text: `{"format":"infiniband-recording","version":1}`})},
		{"no manifest", `it begins with "x" and not with manifest.json: it is no recording`, pack(t, entry{name: "x",
			text: "x"})},
		{"a path out", `the path "../../etc/x" leads out of the recording`, pack(t, good(text), entry{name: "../../etc/x",
			text: text})},
		{"an absolute path", `the path "/etc/x" leads out of the recording`, pack(t, good(text), entry{name: "/etc/x",
			text: text})},
		{"a path of Windows", `the path "C:\\x" leads out of the recording`, pack(t, good(text), entry{name: `C:\x`,
			text: text})},
		{"a link", `"hosts" is neither a plain file nor a folder; pack manifest.json first, and then the files that it names`,
			pack(t, good(text), entry{name: "hosts", kind: tar.TypeSymlink})},
		{"a name with an escape", `"\x1b[2J" is neither a plain file nor a folder; pack manifest.json first, and then the ` +
			`files that it names`, pack(t, good(text), entry{name: "\x1b[2J", kind: tar.TypeFifo})},
		{"two hosts of one name", "two hosts are called host1", pack(t, changed(good(text), `"hosts": [`,
			`"hosts": [{"name": "host1", "answers": []},`), entry{name: answerName, text: text})},
		{"a bomb", fmt.Sprintf("unpacked it has more than %d bytes", mostUnpacked),
			pack(t, good(text), entry{name: answerName, size: mostUnpacked + 1})},
	}
	for _, c := range bad {
		if _, err = open(c.data); err == nil || err.Error() != "FILE cannot be used: "+c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	lab, err = open(pack(t, good(text), entry{name: "hosts/", kind: tar.TypeDir}, entry{name: answerName, text: text}))
	if err != nil || lab.Hosts[0].Answers[0].Output != text {
		t.Errorf("packed again, with folders: %+v: %v", lab, err)
	}
	for i := range len(whole) - 1 {
		if _, err := open(whole[:i]); err == nil || err.Error() != "FILE cannot be used: "+errCut.Error() {
			t.Errorf("cut behind %d of %d bytes: %v", i, len(whole), err)
		}
	}
}

// The name of a host stands in a configuration of ssh: none may bring lines, options or paths of its own.
func TestOpen_refuses_names_that_no_host_has(t *testing.T) {
	t.Parallel()
	const text = "Linux\n"
	const rule = " is no name of a host; it may have letters, digits, and . _ - : behind the first one, 253 in all"
	open := func(inManifest, stands string) error {
		file := filepath.Join(t.TempDir(), "lab.tar.gz")
		quoted, err := json.Marshal(inManifest)
		if err != nil {
			t.Fatal(err)
		}
		data := pack(t, changed(good(text), `"host1"`, string(quoted)), entry{name: answerName, text: text})
		if err = os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if stands != "" {
			table, bad := json.Marshal([]pair{{Is: inManifest, Stood: stands}})
			if err = errors.Join(bad, os.WriteFile(file+tableEnd, table, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = Open(file); err != nil {
			err = errors.New(strings.ReplaceAll(err.Error(), file, "FILE"))
		}
		return err
	}
	for _, name := range []string{"host1\n  ProxyCommand touch /tmp/pwned\n  User x", "-oProxyCommand=touch /tmp/pwned", "*",
		"../../evil", "..", "", "host1\x1b[2J", "a b", "a/b", "$(id)", strings.Repeat("a", 254), "häst"} {
		if err := open(name, ""); err == nil || err.Error() != fmt.Sprintf("FILE cannot be used: %q", name)+rule {
			t.Errorf("%q in the manifest: %v", name, err)
		}
		if name == "" {
			continue
		}
		want := fmt.Sprintf("FILE.names.json cannot be used: %q", name) + rule
		if strings.ContainsFunc(name, isUnprintable) {
			want = fmt.Sprintf("FILE.names.json cannot be used: the pair %q and %q is none of a recording", "host1",
				name)
		}
		if err := open("host1", name); err == nil || err.Error() != want {
			t.Errorf("%q in the table: %v, want %s", name, err, want)
		}
	}
	for _, name := range []string{"host1", "zeus.example.org", "fd00::7", "192.0.2.7:2222", "a_b-c"} {
		if err := errors.Join(open(name, ""), open("host1", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestOpen_a_file_that_is_too_large(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lab.tar.gz")
	f, err := os.Create(name)
	if err == nil {
		err = f.Truncate(10 << 30) // takes no space
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was made for its size
	want := fmt.Sprintf("%s has %d bytes; a recording has at most %d", name, int64(10<<30), mostPacked)
	if _, err = Open(name); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err = Open(t.TempDir()); err == nil || !strings.HasSuffix(err.Error(), "is no file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestReadNames(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lab.tar.gz")
	if n, err := ReadNames(name); n != nil || err != nil {
		t.Errorf("without a table: %v %v", n, err)
	}
	table := func(text string) {
		if err := os.WriteFile(name+".names.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table(`[{"is": "host1", "stands_for": "zeus"}, {"is": "e41d2d0300123400", "stands_for": "e41d2d0300abcd00"},
		{"is": "198.18.0.1", "stands_for": "192.0.2.7"}]`)
	n, err := ReadNames(name)
	if err != nil {
		t.Fatal(err)
	}
	const sent = "host1 host10 host1-ib 0xe41d2d0300123400 e41d:2d03:0012:3400 80:E4:1D:2D:03:00:12:34:00 198.18.0.1/24 198.18.0.10"
	const own = "zeus host10 zeus-ib 0xe41d2d0300abcd00 e41d:2d03:00ab:cd00 80:E4:1D:2D:03:00:AB:CD:00 192.0.2.7/24 198.18.0.10"
	if got := n.Own(sent); got != own {
		t.Errorf("got %s, want %s", got, own)
	}
	if got := n.Sent(own); got != sent {
		t.Errorf("got %s, want %s", got, sent)
	}
	table("[]")
	if n, err = ReadNames(name); err != nil || n.Own(sent) != sent {
		t.Errorf("an empty table: %v", err)
	}
	if err = os.Truncate(name+".names.json", 10<<30); err != nil { // takes no space
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s.names.json has %d bytes; a table has at most %d", name, int64(10<<30), mostTable)
	if _, err = ReadNames(name); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	table("{")
	if _, err = ReadNames(name); err == nil || err.Error() != name+".names.json cannot be read: unexpected end of JSON input" {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if lab, err := read(bytes.NewReader(data)); err == nil && len(lab.Hosts) == 0 {
			t.Error("a recording without hosts was read")
		}
	})
}
