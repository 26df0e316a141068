//go:build linux

package machine

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bzImage is a kernel file with something packed in it.
func bzImage(packed []byte) []byte {
	const setup, offset = 3, 700
	image := make([]byte, 512*(setup+1)+offset+len(packed)+4)
	image[0x1f1] = setup
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(image[0x248:], offset)
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(len(packed)+4))
	copy(image[512*(setup+1)+offset:], packed)
	copy(image[len(image)-4:], []byte{1, 2, 3, 4}) // its size
	return image
}

func TestUnpackKernel(t *testing.T) {
	kernel := bytes.Repeat([]byte("\x7fELF kernel "), 1000)
	for _, program := range unpackers {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("without %s: %v", program, err)
			continue
		}
		cmd := exec.Command(program, "-c")
		cmd.Stdin = bytes.NewReader(kernel)
		packed, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), kernelFile)
		if err := os.WriteFile(path, bzImage(packed), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpackKernel(t.Context(), path); err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, kernel) {
			t.Errorf("%s: %d bytes, %v", program, len(got), err)
		}
	}
}

func TestUnpackKernel_refuses(t *testing.T) {
	short := bzImage([]byte("\xfd7zXZ\x00 and more"))
	for name, c := range map[string]struct {
		image []byte
		want  string
	}{
		"no kernel": {[]byte("#!/bin/sh"), "no kernel with the boot protocol"},
		"cut off":   {short[:len(short)-5], "in a file of"},
		"no packer": {bzImage([]byte("BZh91AY&SY rest")), "unknown program: 42 5a 68"},
	} {
		path := filepath.Join(t.TempDir(), kernelFile)
		if err := os.WriteFile(path, c.image, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpackKernel(t.Context(), path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
