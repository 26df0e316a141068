// Package rdma holds what a simulated host does over RDMA beside IPoIB: the kernel's servers of
// storage with their files, GPUs, and the memory of GPUs that cards may read.
//
// The files are those of fs/nfsd/nfsctl.c, drivers/target/iscsi/iscsi_target_configfs.c,
// drivers/infiniband/ulp/srpt and drivers/nvme/target/configfs.c.
//
// It must not carry data: who connects to a server is not simulated.
package rdma

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// modules are those of a stock kernel; Ubuntu has them in its package of extra modules.
var modules = []string{"rpcrdma", "nfsd", "target_core_mod", "ib_isert", "ib_srpt", "nvmet", "nvmet_rdma"}

const target, nvmet = "/sys/kernel/config/target", "/sys/kernel/config/nvmet"

// AddModules installs them.
func AddModules(m *labsim.Machine) { m.AddModuleFiles(modules...) }

// InstallRping installs rping, which is there and runs for nobody.
func InstallRping(m *labsim.Machine) {
	m.Install("/usr/bin/rping", func(_ context.Context, p *labsim.Proc) int { return p.Unknown("rping") })
}

// StartNFS runs the kernel's NFS server with TCP, as nfs-server.service does without an rdma line in
// nfs.conf. One more port opens with a write of "rdma 20049" to portlist.
func StartNFS(m *labsim.Machine) error {
	if err := m.LoadModule("nfsd"); err != nil {
		return err
	}
	ports := []string{"tcp 2049"}
	m.FS.PutDynamic("/proc/fs/nfsd/threads", 0o600, func() (string, error) { return "8\n", nil }, nil)
	m.FS.PutDynamic("/proc/fs/nfsd/portlist", 0o644, func() (string, error) {
		var b strings.Builder
		for i := len(ports) - 1; i >= 0; i-- { // the newest first, one for each family
			fmt.Fprintf(&b, "%s\n%s\n", ports[i], ports[i])
		}
		return b.String(), nil
	}, func(text string) error {
		port := strings.TrimSpace(text)
		if !strings.HasPrefix(port, "rdma ") {
			return syscall.EPROTONOSUPPORT
		}
		if m.LoadModule("rpcrdma") != nil { // the server asks for svcrdma
			return syscall.EPROTONOSUPPORT
		}
		ports = append(ports, port)
		return nil
	})
	return nil
}

// AddPortal adds a portal of iSCSI, as targetcli does. Its file iser takes 0 and 1.
func AddPortal(m *labsim.Machine, iqn, address string) error {
	if err := m.LoadModule("target_core_mod"); err != nil {
		return err
	}
	group, iser := target+"/iscsi/"+iqn+"/tpgt_1", "0"
	m.FS.PutDir(target+"/iscsi/discovery_auth", 0o755, 0, 0)
	m.FS.PutDynamic(group+"/enable", 0o644, func() (string, error) { return "1\n", nil }, nil)
	m.FS.PutDynamic(group+"/np/"+address+"/iser", 0o644, func() (string, error) { return iser + "\n", nil },
		func(text string) error {
			text = strings.TrimSpace(text)
			if text == "1" && m.LoadModule("ib_isert") != nil {
				return syscall.EINVAL
			}
			iser = text
			return nil
		})
	return nil
}

// AddSRP adds a port of ib_srpt that is enabled or not; its name is its GID.
func AddSRP(m *labsim.Machine, gid, enabled string) error {
	if err := m.LoadModule("ib_srpt"); err != nil {
		return err
	}
	m.FS.PutDir(target+"/srpt/"+gid+"/fabric_statistics", 0o755, 0, 0)
	m.FS.Put(target+"/srpt/"+gid+"/"+gid+"/enable", enabled+"\n", 0o644)
	return nil
}

// AddNVMe adds port 1 of nvmet, with a subsystem if one is named.
func AddNVMe(m *labsim.Machine, transport, address, nqn string) error {
	if err := m.LoadModule("nvmet_" + transport); err != nil && transport == "rdma" {
		return err
	}
	port := nvmet + "/ports/1"
	for name, value := range map[string]string{"addr_trtype": transport, "addr_traddr": address, "addr_trsvcid": "4420",
		"addr_adrfam": "ipv4"} {
		m.FS.Put(port+"/"+name, value+"\n", 0o644)
	}
	m.FS.PutDir(port+"/subsystems", 0o755, 0, 0)
	if nqn != "" {
		m.FS.PutLink("../../../../nvmet/subsystems/"+nqn, port+"/subsystems/"+nqn)
	}
	return nil
}

// AddGPU puts a GPU of NVIDIA (Tesla T4) behind a root port of a host bridge, as "pci0000:00/0000:00:01.0".
func AddGPU(m *labsim.Machine, bdf, behind string, node int) {
	dir := "/sys/devices/" + behind + "/" + bdf
	for name, value := range map[string]string{"vendor": "0x10de", "device": "0x1eb8", "class": "0x030200",
		"numa_node": strconv.Itoa(node)} {
		m.FS.Put(dir+"/"+name, value+"\n", 0o444)
	}
	m.FS.PutDir("/sys/bus/pci/drivers/nvidia", 0o755, 0, 0)
	m.FS.PutLink("../../../../bus/pci/drivers/nvidia", dir+"/driver")
	m.FS.PutLink("../../../devices/"+behind+"/"+bdf, "/sys/bus/pci/devices/"+bdf)
	m.AddModuleFiles("nvidia_peermem")
}
