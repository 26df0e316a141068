//go:build linux

package machine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// loadKernel takes kernel and initramfs out of the disk, as a boot loader does. What the
// system has made of them since counts.
func (m *Machine) loadKernel(ctx context.Context) error {
	if err := replayJournal(ctx, m.disk()); err != nil {
		return err
	}
	for _, name := range []string{kernelFile, initrdFile} {
		stat := exec.CommandContext(ctx, "debugfs", "-R", "stat /"+name, m.disk()) //nolint:gosec // a path of ours
		out, err := stat.CombinedOutput()
		if err != nil {
			return err
		}
		_, target, found := strings.Cut(string(out), `Fast link dest: "`)
		target, _, _ = strings.Cut(target, `"`)
		if !found || target == "" {
			return fmt.Errorf("the disk has no link /%s:\n%s", name, out)
		}
		_ = os.Remove(m.path(name))
		if err := run(ctx, "debugfs", "-R", "dump /"+target+" "+m.path(name), m.disk()); err != nil {
			return err
		}
		if !exists(m.path(name)) {
			return fmt.Errorf("the disk has no /%s", target)
		}
	}
	return unpackKernel(ctx, m.path(kernelFile))
}

// replayJournal does what a mount begins with. After a power cut, what the journal has and
// its place not yet is invisible to debugfs, and that can be the directory of the kernel.
// Nothing else is checked or mended here: that is the machine's own matter.
func replayJournal(ctx context.Context, disk string) error {
	err := run(ctx, "e2fsck", "-p", "-E", "journal_only", disk)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil // it had something to do, and has done it
	}
	return err
}

const (
	kernelFile = "vmlinuz"
	initrdFile = "initrd.img"
)

// unpackers are the programs for what a kernel is packed with, by how that begins.
var unpackers = map[string]string{"\xfd7zXZ\x00": "xz", "\x28\xb5\x2f\xfd": "zstd"}

// unpackKernel replaces a packed kernel by the one that is in it. QEMU starts that one
// (by the PVH entry that every Debian kernel has), and the emulated processor is spared
// the unpacking, which takes it seconds.
func unpackKernel(ctx context.Context, path string) error {
	image, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	packed, err := payload(image)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for magic, program := range unpackers {
		if !bytes.HasPrefix(packed, []byte(magic)) {
			continue
		}
		cmd := exec.CommandContext(ctx, program, "-d", "-c") //nolint:gosec // one of two
		var said bytes.Buffer
		cmd.Stdin, cmd.Stderr = bytes.NewReader(packed), &said
		kernel, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", program, err, said.Bytes())
		}
		return os.WriteFile(path, kernel, 0o600)
	}
	return fmt.Errorf("%s: packed with an unknown program: % x", path, packed[:8])
}

// payload is the packed kernel in a bzImage. The boot protocol (Documentation/arch/x86/boot.rst)
// has its place: setup_sects at 0x1f1, "HdrS" at 0x202, payload_offset and payload_length
// at 0x248, counted from the end of the setup. After the packed kernel stands its size,
// four bytes that an unpacker would take for garbage.
func payload(image []byte) ([]byte, error) {
	if len(image) < 0x250 || string(image[0x202:0x206]) != "HdrS" {
		return nil, errors.New("no kernel with the boot protocol of x86")
	}
	setup := uint64(image[0x1f1]) + 1
	if setup == 1 {
		setup = 5 // as of old
	}
	begin := 512*setup + uint64(binary.LittleEndian.Uint32(image[0x248:]))
	size := uint64(binary.LittleEndian.Uint32(image[0x24c:]))
	if size < 12 || begin+size > uint64(len(image)) {
		return nil, fmt.Errorf("a kernel of %d bytes at %d, in a file of %d", size, begin, len(image))
	}
	return image[begin : begin+size-4], nil
}
