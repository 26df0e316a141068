package hca

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage/synth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func shortSleep() { time.Sleep(10 * time.Millisecond) }

func TestParseLook(t *testing.T) {
	out, err := parseLook("j1", "unit inactive\nboot abc\nexit 75\nreason another job\nstate 1 requested T1\nstate 2 locked T2\nheld operator=bob = x\n\nsome\n\noutput\n")
	if err != nil {
		t.Fatal(err)
	}
	if !out.ended || out.exit != 75 || out.active || out.bootID != "abc" || out.last() != "locked" || out.held["operator"] != "bob = x" || out.output != "some\n\noutput\n" {
		t.Errorf("outcome %+v", out)
	}
	if out.wrote() {
		t.Error("a job that never reached burning has written")
	}
	for _, bad := range []string{"", "garbage\n", "unit active\nexit many\n"} {
		if got, err := parseLook("j1", bad); err == nil {
			t.Errorf("%q gives %+v", bad, got)
		}
	}
}

func TestJob_request_holds_one_line_a_value(t *testing.T) {
	var j job
	j.set("operator", "a\nimage_sha256=0")
	if got := j.requestText(); strings.Count(got, "\n") != 1 {
		t.Errorf("request %q", got)
	}
}

func backupImage(t *testing.T) ([]byte, BackupRecord) {
	t.Helper()
	set := synth.Placeholder()
	set.Node = 0xe41d2d0300e44ed0
	data, err := synth.FS2(synth.Options{PSID: "MT_9090111019", Chunk: 1 << 20, GUIDs: set})
	if err != nil {
		t.Fatal(err)
	}
	return data, BackupRecord{Host: "../intel9", PCI: ib.MustParsePCIAddress("0000:01:00.0"), PSID: "MT_9090111019", GUIDs: set}
}

func TestBackupStore_Save_never_overwrites(t *testing.T) {
	data, record := backupImage(t)
	root := t.TempDir()
	at := time.Date(2026, 5, 2, 3, 4, 5, 0, time.UTC)
	store := NewBackupStore(root, func() time.Time { return at })
	seen := map[string]bool{}
	for range 3 {
		dir, img, err := store.Save(record, func(w io.Writer) (string, error) {
			_, err := w.Write(data)
			return hashOf(data), err
		})
		if err != nil {
			t.Fatal(err)
		}
		if seen[dir] || !strings.HasPrefix(dir, root+string(filepath.Separator)) || img.PSID != "MT_9090111019" {
			t.Errorf("directory %s, image %s", dir, img.PSID)
		}
		seen[dir] = true
	}
	left, err := filepath.Glob(filepath.Join(root, "*", "*", ".incomplete-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBackupStore_Save_refuses_what_is_not_proven(t *testing.T) {
	data, record := backupImage(t)
	broken := append([]byte(nil), data...)
	broken[0x100] ^= 1
	for name, fetch := range map[string]func(io.Writer) (string, error){
		"cut":        func(w io.Writer) (string, error) { _, err := w.Write(data[:len(data)/2]); return hashOf(data), err },
		"other hash": func(w io.Writer) (string, error) { _, err := w.Write(data); return hashOf(broken), err },
		"damaged":    func(w io.Writer) (string, error) { _, err := w.Write(broken); return hashOf(broken), err },
		"no answer":  func(io.Writer) (string, error) { return "", errors.New("connection lost") },
	} {
		root := t.TempDir()
		if dir, _, err := NewBackupStore(root, time.Now).Save(record, fetch); err == nil {
			t.Errorf("%s: stored in %s", name, dir)
		}
		left, err := filepath.Glob(filepath.Join(root, "*", "*", "*"))
		if err != nil || len(left) != 0 {
			t.Errorf("%s: left behind %v, %v", name, left, err)
		}
	}
	if _, _, err := NewBackupStore("", time.Now).Save(record, nil); err == nil {
		t.Error("a store without a directory stores")
	}
}

func TestBackupStore_Save_disk_full(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full on this system")
	}
	err := writeToFull()
	if err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a full disk gives %v", err)
	}
}

func writeToFull() error {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close())
}

func ptr[T any](v T) *T { return &v }

func TestGUIDSpec_Resolve(t *testing.T) {
	mac := ib.MustParseMAC("e4:1d:2d:e4:4e:d0")
	guid := ib.MustParseGUID("0xe41d2d0300e44ed0")
	full := ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3, MAC1: mac, MAC2: mac + 1}
	for name, c := range map[string]struct {
		spec GUIDSpec
		want ib.GUIDSet
		bad  string
	}{
		"base MAC":            {spec: GUIDSpec{BaseMAC: &mac}, want: full},
		"base GUID":           {spec: GUIDSpec{BaseGUID: &guid}, want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3}},
		"both":                {spec: GUIDSpec{BaseGUID: ptr(guid + 16), BaseMAC: &mac}, want: ib.GUIDSet{Node: guid + 16, Port1: guid + 17, Port2: guid + 18, SystemImage: guid + 19, MAC1: mac, MAC2: mac + 1}},
		"one by one":          {spec: GUIDSpec{Node: &guid, Ports: []ib.GUID{guid + 5, guid + 6}, SystemImage: ptr(guid + 9)}, want: ib.GUIDSet{Node: guid, Port1: guid + 5, Port2: guid + 6, SystemImage: guid + 9}},
		"single port":         {spec: GUIDSpec{Node: &guid, Ports: []ib.GUID{guid + 1}}, want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid}},
		"base with exception": {spec: GUIDSpec{BaseGUID: &guid, SystemImage: &guid}, want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid}},
		"MACs":                {spec: GUIDSpec{MACs: []ib.MAC{mac}}, want: ib.GUIDSet{MAC1: mac, MAC2: mac + 1}},
		"nothing":             {bad: "no GUID"},
		"node alone":          {spec: GUIDSpec{Node: &guid}, bad: "port_guids"},
		"three ports":         {spec: GUIDSpec{Node: &guid, Ports: []ib.GUID{1, 2, 3}}, bad: "two"},
		"base at the end":     {spec: GUIDSpec{BaseGUID: ptr(^ib.GUID(0) - 2)}, bad: "64 bits"},
		"base MAC at the end": {spec: GUIDSpec{BaseMAC: ptr(ib.MAC(0xfffffffffffe))}, bad: "48 bits"},
	} {
		got, err := c.spec.Resolve()
		switch {
		case c.bad != "":
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || got.Want != c.want:
			t.Errorf("%s: %+v, %v; want %+v", name, got.Want, err, c.want)
		}
	}
}
