package labsim

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

// OS is a kind of host.
type OS string

// The simulated systems.
const (
	Ubuntu   OS = "ubuntu"   // 24.04
	TrueNAS  OS = "truenas"  // SCALE 25.10.3
	Debian12 OS = "debian12" // bookworm
	Debian13 OS = "debian13" // trixie
	RHEL9    OS = "rhel9"
	RHEL10   OS = "rhel10"
	Fedora43 OS = "fedora43"
	Arch     OS = "arch"
)

// PackageManager is what installs software on a system.
type PackageManager string

// Package managers.
const (
	PackagesNone   PackageManager = ""
	PackagesApt    PackageManager = "apt"
	PackagesDnf    PackageManager = "dnf"
	PackagesPacman PackageManager = "pacman"
)

// Stack is what configures the network of a host.
type Stack = netstack.Stack

// Network stacks.
const (
	StackNetplan        = netstack.Netplan
	StackNetplanNM      = netstack.NetplanNM
	StackIfupdown       = netstack.Ifupdown
	StackNetworkManager = netstack.NetworkManager
	StackNetworkd       = netstack.Networkd
	StackMiddleware     = Stack("middleware") // of TrueNAS
)

// System is what the lab knows of one kind of host as its installer leaves it.
type System struct {
	Release   string // /etc/os-release
	Kernel    string // of the first boot
	Systemd   int    // version
	Packages  PackageManager
	Stack     Stack
	MSTFlint  string // version that the distribution packages; empty: none
	ModuleExt string // how the kernel's package compresses modules
	// Modules are those that the kernel's own package holds.
	Modules []string
	// Initramfs says that the initramfs holds card drivers and a copy of
	// /etc/modprobe.d.
	Initramfs bool
}

// upstream are the modules of a kernel that leaves nothing out, up to 6.16: the merge
// window of 6.17 removed ib_qib.
var upstream = []string{
	"mlx4_core", "mlx4_en", "mlx4_ib", "mlx5_core", "mlx5_ib", "ib_qib", "ib_mthca",
	"ib_core", "ib_uverbs", "ib_umad", "ib_cm", "rdma_cm", "rdma_ucm", "ib_ipoib",
}

func without(list []string, names ...string) []string {
	var out []string
	for _, m := range list {
		if !contains(names, m) {
			out = append(out, m)
		}
	}
	return out
}

func contains(list []string, name string) bool {
	for _, have := range list {
		if have == name {
			return true
		}
	}
	return false
}

// systems: kernels and module sets follow the support matrix of the packages
// (Debian, Ubuntu, RHEL-derived configurations); where a distribution's choice is
// not known, the module is left out.
var systems = map[OS]System{
	Ubuntu: {
		Release: "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\n" +
			"VERSION=\"24.04.1 LTS (Noble Numbat)\"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\n",
		Kernel: "6.8.0-49-generic", Systemd: 255, Packages: PackagesApt, Stack: StackNetplan, MSTFlint: "4.26.0",
		ModuleExt: ".ko.zst",
		Modules:   []string{"mlx4_core", "mlx4_en", "mlx5_core"}, Initramfs: true,
	},
	TrueNAS: {
		Release: "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n" +
			"VERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n",
		Kernel: "6.12.15-production+truenas", Systemd: 252, Stack: StackMiddleware, MSTFlint: "4.21.0", ModuleExt: ".ko",
		Modules: upstream, Initramfs: true,
	},
	Debian12: {
		Release: "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n" +
			"VERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n" + debianURLs,
		Kernel: "6.1.0-28-amd64", Systemd: 252, Packages: PackagesApt, Stack: StackIfupdown, MSTFlint: "4.21.0",
		ModuleExt: ".ko",
		Modules:   upstream, Initramfs: true,
	},
	Debian13: {
		Release: "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"13\"\n" +
			"VERSION=\"13 (trixie)\"\nVERSION_CODENAME=trixie\nID=debian\n" + debianURLs,
		Kernel: "6.12.48+deb13-amd64", Systemd: 257, Packages: PackagesApt, Stack: StackIfupdown, MSTFlint: "4.31.0",
		ModuleExt: ".ko.xz",
		Modules:   upstream, Initramfs: true,
	},
	RHEL9: {
		Release: "NAME=\"Red Hat Enterprise Linux\"\nVERSION=\"9.4 " +
			"(Plow)\"\nID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.4\"\n" +
			"PLATFORM_ID=\"platform:el9\"\nPRETTY_NAME=\"Red Hat Enterprise Linux 9.4 (Plow)\"\n",
		Kernel: "5.14.0-427.13.1.el9_4.x86_64", Systemd: 252, Packages: PackagesDnf, Stack: StackNetworkManager,
		MSTFlint: "4.25.0", ModuleExt: ".ko.xz",
		Modules: without(upstream, "ib_qib", "ib_mthca"), Initramfs: true,
	},
	RHEL10: {
		Release: "NAME=\"Red Hat Enterprise Linux\"\nVERSION=\"10.1 (Coughlan)\"\nID=\"rhel\"\nID_LIKE=\"centos " +
			"fedora\"\nVERSION_ID=\"10.1\"\n" +
			"PLATFORM_ID=\"platform:el10\"\nPRETTY_NAME=\"Red Hat Enterprise Linux 10.1 (Coughlan)\"\n",
		Kernel: "6.12.0-124.8.1.el10_1.x86_64", Systemd: 257, Packages: PackagesDnf, Stack: StackNetworkManager,
		MSTFlint: "4.28.0", ModuleExt: ".ko.xz",
		Modules: without(upstream, "mlx4_core", "mlx4_en", "mlx4_ib", "ib_qib", "ib_mthca"), Initramfs: true,
	},
	// The kernel's own list of packages puts mellanox into modules-core and InfiniBand
	// into modules; a server has both. Its configuration has mlx4 with the ids of ConnectX-2.
	Fedora43: {
		Release: "NAME=\"Fedora Linux\"\nVERSION=\"43 (Server " +
			"Edition)\"\nRELEASE_TYPE=stable\nID=fedora\nVERSION_ID=43\nVERSION_CODENAME=\"\"\n" +
			"PRETTY_NAME=\"Fedora Linux 43 (Server Edition)\"\n",
		Kernel: "6.17.7-300.fc43.x86_64", Systemd: 258, Packages: PackagesDnf, Stack: StackNetworkManager, MSTFlint: "4.34.0",
		ModuleExt: ".ko.xz",
		Modules:   upstream, Initramfs: true,
	},
	Arch: {
		// Arch keeps packages of the LTS kernel, which still has ib_qib.
		Release: "NAME=\"Arch Linux\"\nPRETTY_NAME=\"Arch " +
			"Linux\"\nID=arch\nBUILD_ID=rolling\nANSI_COLOR=\"38;2;23;147;209\"\n",
		Kernel: "6.12.57-1-lts", Systemd: 258, Packages: PackagesPacman, Stack: StackNetworkd, ModuleExt: ".ko.zst",
		Modules: upstream, Initramfs: true,
	},
}

// System returns what is known of a kind of host.
func (o OS) System() System { return systems[o] }

// modulesOf are the modules that a kernel's own package holds: those of the
// system, less what that very release lacks.
func (o OS) modulesOf(kernel string) []string {
	list := systems[o].Modules
	if strings.Contains(kernel, "-cloud-") { // Debian's kernel for virtual machines
		list = []string{"mlx4_core", "mlx4_en", "mlx4_ib", "mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs", "ib_umad", "ib_cm",
			"rdma_cm", "rdma_ucm"}
	}
	major, minor := 0, 0
	_, _ = fmt.Sscanf(kernel, "%d.%d", &major, &minor)
	if o == Ubuntu && major >= 7 { // the 7.0 HWE kernel has no package of extra modules
		list = upstream
	}
	if major > 6 || major == 6 && minor >= 17 {
		list = without(list, "ib_qib")
	}
	return list
}

// debianURLs are the last lines of Debian's os-release.
const debianURLs = "HOME_URL=\"https://www.debian.org/\"\nSUPPORT_URL=\"https://www.debian.org/support\"\n" +
	"BUG_REPORT_URL=\"https://bugs.debian.org/\"\n"
