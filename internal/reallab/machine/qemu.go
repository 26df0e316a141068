//go:build linux

package machine

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// slots is how many cards a machine can have. Every machine has the ports for them, with
// and without cards: a copy must be built as its original was, and ports cannot be plugged.
const slots = 4

// defaultMegabytes is the memory of a machine that asks for none: what a stock Debian boots
// in, and its update-initramfs runs.
const defaultMegabytes = 768

// ConsoleLog is the name of the file with all that a machine has printed.
const ConsoleLog = "console.log"

const (
	monitorSocket = "qmp"
	agentSocket   = "agent"
)

// chipset is the machine without what a lab does not use, and what a stock kernel would
// spend time on.
const chipset = "q35,memory-backend=m,smm=off,sata=off,smbus=off,i8042=off,vmport=off,hpet=off,graphics=off"

// processors are the model for each accelerator. Of what TCG can emulate the older is the
// faster: with AVX and five levels of page tables ("max") a boot takes a quarter more.
var processors = map[string]string{tcg: "Nehalem", kvm: "host"}

// commandLine is what every kernel is told. At a panic a machine stays as it is, as
// Debian's do. A kernel waits for some ticks of its timer (check_timer of
// arch/x86/kernel/apic/io_apic.c) and panics without them: a busy host is no broken timer.
const commandLine = "root=/dev/vda rw console=ttyS0 mitigations=off no_timer_check loglevel=5 "

// arguments are those of QEMU for the machine. What an original and its copies must have
// in common is in them.
func (m *Machine) arguments(accelerator string) []string {
	memory := strconv.Itoa(cmp.Or(m.Megabytes, defaultMegabytes))
	args := []string{
		"-M", chipset, "-accel", accelerators[accelerator], "-cpu", processors[accelerator], "-smp", "1", "-m", memory,
		// The card reads and writes this memory.
		"-object", "memory-backend-memfd,id=m,share=on,size=" + memory + "M",
		"-nodefaults", "-no-user-config", "-display", "none", "-action", "reboot=shutdown",
		"-chardev", "file,id=console,append=on,path=" + m.ConsoleFile(), "-serial", "chardev:console",
		"-chardev", "socket,id=agent,server=on,wait=off,path=" + m.path(agentSocket), "-serial", "chardev:agent",
		"-qmp", "unix:" + m.path(monitorSocket) + ",server=on,wait=off",
		// Flushes go no further than to the cache of this host, which a power cut of the machine spares.
		"-drive", "if=none,id=disk,format=raw,cache=unsafe,file=" + m.disk(),
		"-device", "virtio-blk-pci,drive=disk,addr=3",
		// What a machine could reach outside (this host, a mirror) would be different on each
		// host, and so would be what a test sees. The operator's way in is all there is.
		"-netdev", fmt.Sprintf("user,id=up,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", m.Port),
		"-device", "virtio-net-pci,netdev=up,addr=4,romfile=",
		"-device", "virtio-rng-pci,addr=5",
		// Tells the kernel of a copy that what it draws is no longer random.
		"-device", "vmgenid,guid=auto",
	}
	// The firmware does not align what it reserves for a card that is plugged in later: two
	// functions with a BAR of 32 MiB each need three times that, and more.
	for i := range slots {
		args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=rp%[1]d,chassis=%[1]d,slot=%[1]d,addr=%[2]d,pref64-reserve=128M", i+1, i+6))
	}
	return args
}

// patience is how long QEMU waits for an answer of a card.
const patience = 5 * time.Minute

// functions describes those of the card in the i-th slot, in the words of QEMU's "-device"
// and "device_add". The first function is the last: with it QEMU plugs all of a slot.
// QEMU takes a card that has not answered for five seconds for one that is gone: the driver
// reads ones, and resets it. A computer that is busy or was suspended is no reason for that.
func functions(i int, sockets []string) (all []map[string]any) {
	for n, socket := range slices.Backward(sockets) {
		all = append(all, map[string]any{"driver": "vfio-user-pci", "bus": fmt.Sprint("rp", i+1), "id": fmt.Sprintf("card%d.%d", i, n),
			"addr": fmt.Sprintf("0.%d", n), "multifunction": len(sockets) > 1, "x-msg-timeout": patience.Milliseconds(),
			"socket": map[string]any{"type": "unix", "path": socket}})
	}
	return all
}

// emulate is the command that runs QEMU. It runs from its own Debian, with that one's
// loader and libraries, and needs no rights.
func emulate(args ...string) *exec.Cmd {
	in := func(path string) string { return filepath.Join(emulator.dir(), path) }
	args = append([]string{"--library-path", in("usr/lib/x86_64-linux-gnu"), in("usr/bin/qemu-system-x86_64"),
		"-L", in("usr/share/qemu"), "-L", in("usr/share/seabios"), "-L", in("usr/lib/ipxe/qemu")}, args...)
	cmd := exec.Command(in("lib64/ld-linux-x86-64.so.2"), args...) //nolint:noctx,gosec // it outlives the call; paths of ours
	cmd.Env = append(os.Environ(), "QEMU_MODULE_DIR="+in("usr/lib/x86_64-linux-gnu/qemu"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
