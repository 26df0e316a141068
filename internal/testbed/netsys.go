//go:build testbed && linux

package testbed

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
)

// mirror serves what is at a path of a real file system.
func mirror(path string) entry {
	return dir(func() map[string]entry { return mirrorPath(path) })
}

func mirrorPath(path string) map[string]entry {
	list, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	all := map[string]entry{}
	for _, f := range list {
		at := filepath.Join(path, f.Name())
		switch f.Type() {
		case os.ModeDir:
			all[f.Name()] = mirror(at)
		case os.ModeSymlink:
			target, _ := os.Readlink(at)
			all[f.Name()] = entry{link: target}
		default:
			all[f.Name()] = entry{file: at}
		}
	}
	return all
}

func writeKernel(path, text string) syscall.Errno {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return errnoOf(err)
	}
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return errnoOf(err)
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return errno
	}
	return syscall.EIO
}

// devicesTree is what stands at /sys/devices of a host whose stack is on trial: its
// interfaces, and the processors, which programs count there. The machine's own
// devices are not shown: udev would ask the kernel to announce them again.
func (h *Host) devicesTree() entry {
	return dir(func() map[string]entry {
		return map[string]entry{
			"system":  mirror("/sys/devices/system"),
			"virtual": dir(func() map[string]entry { return map[string]entry{"net": dir(h.netFiles)} }),
		}
	})
}

// netdevs is where the kernel shows the interfaces of the host.
func (h *Host) netdevs() string { return h.path("sys/devices/virtual/net") }

func (h *Host) netFiles() map[string]entry {
	all := mirrorPath(h.netdevs())
	for _, w := range h.wires {
		if _, ok := all[w.Name]; !ok {
			continue
		}
		n := netdev{host: h, wire: w, dir: filepath.Join(h.netdevs(), w.Name)}
		all[w.Name] = dir(func() map[string]entry {
			files := mirrorPath(n.dir)
			maps.Copy(files, n.files())
			return files
		})
	}
	return all
}

// netLinks is what stands at /sys/class/net.
func (h *Host) netLinks() map[string]entry {
	all := mirrorPath(h.netdevs())
	for name := range all {
		all[name] = entry{link: "../../devices/virtual/net/" + name}
	}
	return all
}

// drivers are the modules of a host with a ConnectX-3, which its kernel is said to
// have compiled in: there is nothing to load.
var drivers = []string{"mlx4_core", "mlx4_ib", "ib_core", "ib_uverbs", "ib_umad", "ib_ipoib", "rdma_cm"}

// modulesTree is what stands at /sys/module: nothing else is asked for there.
func modulesTree() entry {
	return dir(func() map[string]entry {
		all := map[string]entry{}
		for _, m := range drivers {
			all[m] = dir(func() map[string]entry { return nil })
		}
		return all
	})
}
