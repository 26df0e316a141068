package labsim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
)

// moduleInfo is what the lab knows of a kernel module.
type moduleInfo struct {
	dir  string   // below kernel/
	deps []string // loaded first
}

var knownModules = map[string]moduleInfo{
	"mlx4_core": {dir: "drivers/net/ethernet/mellanox/mlx4"},
	"mlx4_en":   {dir: "drivers/net/ethernet/mellanox/mlx4", deps: []string{"mlx4_core"}},
	"mlx5_core": {dir: "drivers/net/ethernet/mellanox/mlx5/core"},
	"ib_core":   {dir: "drivers/infiniband/core"},
	"ib_uverbs": {dir: "drivers/infiniband/core", deps: []string{"ib_core"}},
	"ib_umad":   {dir: "drivers/infiniband/core", deps: []string{"ib_core"}},
	"ib_cm":     {dir: "drivers/infiniband/core", deps: []string{"ib_core"}},
	"rdma_cm":   {dir: "drivers/infiniband/core", deps: []string{"ib_core", "ib_cm"}},
	"rdma_ucm":  {dir: "drivers/infiniband/core", deps: []string{"rdma_cm", "ib_uverbs"}},
	"mlx4_ib":   {dir: "drivers/infiniband/hw/mlx4", deps: []string{"mlx4_core", "ib_core", "ib_uverbs"}},
	"mlx5_ib":   {dir: "drivers/infiniband/hw/mlx5", deps: []string{"mlx5_core", "ib_core", "ib_uverbs"}},
	"ib_qib":    {dir: "drivers/infiniband/hw/qib", deps: []string{"ib_core", "ib_uverbs"}},
	"ib_mthca":  {dir: "drivers/infiniband/hw/mthca", deps: []string{"ib_core", "ib_uverbs"}},
	"ib_ipoib":  {dir: "drivers/infiniband/ulp/ipoib", deps: []string{"ib_core", "ib_cm"}},
	// Storage over RDMA, and what NVIDIA's driver brings.
	"rpcrdma":         {dir: "net/sunrpc/xprtrdma", deps: []string{"rdma_cm"}},
	"nfsd":            {dir: "fs/nfsd"},
	"target_core_mod": {dir: "drivers/target"},
	"ib_isert":        {dir: "drivers/infiniband/ulp/isert", deps: []string{"rdma_cm", "target_core_mod"}},
	"ib_srpt":         {dir: "drivers/infiniband/ulp/srpt", deps: []string{"rdma_cm", "target_core_mod"}},
	"nvmet":           {dir: "drivers/nvme/target"},
	"nvmet_rdma":      {dir: "drivers/nvme/target", deps: []string{"rdma_cm", "nvmet"}},
	"nvidia_peermem":  {dir: "../updates/dkms", deps: []string{"ib_core"}},
}

// InfiniBandModules are the modules that Ubuntu ships in linux-modules-extra.
var InfiniBandModules = []string{"ib_core", "ib_uverbs", "ib_umad", "ib_cm", "rdma_cm", "rdma_ucm", "mlx4_ib",
	"mlx5_ib", "ib_qib", "ib_mthca", "ib_ipoib"}

// ModuleFile is where a module of the running kernel lies; the extension is that
// of the system.
func (m *Machine) ModuleFile(name string) string {
	return path.Join("/usr/lib/modules", m.Kernel, "kernel", knownModules[name].dir, name+systems[m.OS].ModuleExt)
}

// AddModuleFiles installs modules, as a kernel package does.
func (m *Machine) AddModuleFiles(names ...string) {
	for _, n := range names {
		m.FS.Put(m.ModuleFile(n), "synthetic kernel module "+n+"\n", 0o644)
	}
}

// ModuleKnown says whether the running kernel has the module's file.
func (m *Machine) ModuleKnown(name string) bool {
	_, ok := knownModules[name]
	return ok && m.FS.Exists(m.ModuleFile(name))
}

// Modules returns the loaded modules in name order.
func (m *Machine) Modules() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.modules))
}

// ModuleLoaded says whether a module is loaded.
func (m *Machine) ModuleLoaded(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.modules[name]
}

// LoadModule loads a module with its dependencies and its options, as modprobe does. ENOENT means it is not there.
func (m *Machine) LoadModule(name string) error {
	return m.loadModule(strings.ReplaceAll(name, "-", "_"), m.modprobeFiles(modprobeParents...))
}

func (m *Machine) loadModule(name string, files map[string]string) error {
	if !m.ModuleKnown(name) {
		return syscall.ENOENT
	}
	if m.ModuleLoaded(name) {
		return nil
	}
	for _, dep := range knownModules[name].deps {
		if err := m.loadModule(dep, files); err != nil {
			return err
		}
	}
	options := readModprobe(files)
	options.addCommandLine(m.FS.Text("/proc/cmdline"))
	text, run := options.of(name)
	if !run {
		return nil // another program was run for it
	}
	if err := m.insert(name, text); err != nil {
		return err
	}
	m.publishModule(name)
	m.moduleArrived(name)
	for _, hook := range m.Hooks.OnModule {
		hook(m, name, true)
	}
	return nil
}

// UnloadModule removes a module; EBUSY while another uses it.
func (m *Machine) UnloadModule(name string) error {
	if !m.ModuleLoaded(name) {
		return syscall.ENOENT
	}
	for _, other := range m.Modules() {
		for _, dep := range knownModules[other].deps {
			if dep == name {
				return syscall.EBUSY
			}
		}
	}
	m.moduleLeaves(name)
	m.mu.Lock()
	delete(m.modules, name)
	m.mu.Unlock()
	m.FS.Drop("/sys/module/" + name)
	m.Lab.Recompute()
	for _, hook := range m.Hooks.OnModule {
		hook(m, name, false)
	}
	return nil
}

// ModuleUsers lists the loaded modules that depend on one.
func (m *Machine) ModuleUsers(name string) []string {
	var users []string
	for _, other := range m.Modules() {
		for _, dep := range knownModules[other].deps {
			if dep == name {
				users = append(users, other)
			}
		}
	}
	return users
}

// UpdateInitramfs copies mlx4.conf and the settings of the administrator and of packages into
// the initramfs, as initramfs-tools and the hook of kmod do.
func (m *Machine) UpdateInitramfs() {
	files := m.modprobeFiles("/etc", "/usr/lib", "/lib")
	files[MLX4Conf] = m.FS.Text(MLX4Conf)
	if m.OS != Arch { // its name has no release
		name := "initrd.img-" + m.Kernel
		if m.OS.System().Packages == PackagesDnf {
			name = "initramfs-" + m.Kernel + ".img"
		}
		m.FS.Put("/boot/"+name, "synthetic initial RAM disk\n", 0o644)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.initramfs = files
}

// Cmdline is /proc/cmdline of the next boot; change it with SetCmdline.
func (m *Machine) Cmdline() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.TrimSpace(fmt.Sprintf("BOOT_IMAGE=/boot/vmlinuz-%s root=/dev/sda2 ro %s", m.Kernel, m.Config.Cmdline))
}

// SetCmdline changes the kernel options of the next boot (TrueNAS
// kernel_extra_options).
func (m *Machine) SetCmdline(extra string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Config.Cmdline = extra
}
