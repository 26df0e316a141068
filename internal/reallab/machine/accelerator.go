//go:build linux

package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// What runs the instructions of a machine.
const (
	tcg = "tcg" // QEMU, one by one
	kvm = "kvm" // the processor itself
)

var accelerators = map[string]string{tcg: "tcg,thread=multi", kvm: "kvm"}

const (
	kvmDevice = "/dev/kvm"
	// trialMarker is what a kernel without a disk says when all else of its start went well.
	trialMarker = "VFS: Unable to mount root fs"
	trialLimit  = 15 * time.Second
)

var choosing sync.Mutex

// accelerator is the fastest thing that runs a stock kernel here. A KVM that can be opened
// may still not boot one (it does not where this host is itself a guest of some kinds), so
// only a trial tells. Its result is kept until this host restarts.
func accelerator(ctx context.Context) (string, error) {
	choosing.Lock()
	defer choosing.Unlock()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache(), "reallab-accelerator-"+strings.TrimSpace(string(boot)))
	//nolint:gosec // the kernel's own number
	if name, err := os.ReadFile(kept); err == nil && accelerators[string(name)] != "" {
		return string(name), nil
	}
	name, why := kvm, "a trial with KVM booted a stock kernel"
	if reason := tryKVM(ctx); reason != nil {
		name, why = tcg, "no KVM: "+reason.Error()
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	fmt.Fprintf(os.Stderr, "reallab: machines run on %s (%s)\n", strings.ToUpper(name), why)
	return name, os.WriteFile(kept, []byte(name), 0o600) //nolint:gosec // the kernel's own number
}

// tryKVM boots a stock kernel with KVM to the point where it looks for its disk.
func tryKVM(ctx context.Context) error {
	device, err := os.OpenFile(kvmDevice, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err = device.Close(); err != nil {
		return err
	}
	kernels, err := filepath.Glob(filepath.Join(guests[Bookworm].dir(), "boot", kernelFile+"-*"))
	if err != nil || len(kernels) == 0 {
		return fmt.Errorf("no kernel for a trial: %w", err)
	}
	dir, err := os.MkdirTemp("", "reallab-kvm")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	kernel := filepath.Join(dir, kernelFile)
	if err = run(ctx, "cp", kernels[0], kernel); err == nil {
		err = unpackKernel(ctx, kernel)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	cmd := emulate("-M", "q35", "-accel", accelerators[kvm], "-cpu", processors[kvm], "-m", "256", "-nodefaults", "-no-user-config",
		"-display", "none", "-no-reboot", "-serial", "stdio", "-kernel", kernel, "-append", "console=ttyS0 panic=-1")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err = cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	_ = cmd.Wait() // what counts is what it said
	if !strings.Contains(said.String(), trialMarker) {
		return fmt.Errorf("a stock kernel did not start within %s: %q", trialLimit, lastLines(said.String(), 3))
	}
	return nil
}
