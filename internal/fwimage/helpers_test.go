package fwimage

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

func parse(data []byte) (*Image, error) { return Parse(bytes.NewReader(data), int64(len(data))) }

// sample reads a file of testdata, unpacked if it is compressed there.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	name = strings.TrimSuffix(name, ".gz")
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		return data
	}
	f, err := os.Open(filepath.Join("testdata", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func build(t testing.TB, o synth.Options) []byte {
	t.Helper()
	if o.PSID == "" && !o.NoPSID {
		o.PSID = "MT_9090111019"
	}
	data, err := synth.FS2(o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func buildFlash(t testing.TB, size, chunk int64, slots ...synth.Slot) []byte {
	t.Helper()
	data, err := synth.Flash(size, chunk, slots...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unique() ib.GUIDSet {
	return ib.GUIDSet{
		Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, Port2: 0xe41d2d0300e44ed2, SystemImage: 0xe41d2d0300e44ed3,
		MAC1: 0xe41d2de44ed0, MAC2: 0xe41d2de44ed1,
	}
}

// editedImage is a copy of an image with a change and, if sealed, right CRCs again.
func editedImage(t testing.TB, data []byte, sealed bool, change func(p []byte)) []byte {
	t.Helper()
	p := bytes.Clone(data)
	change(p)
	if sealed {
		if err := synth.Reseal(p); err != nil {
			t.Fatal(err)
		}
	}
	return p
}
