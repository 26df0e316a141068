package platform

// KindRHEL is Red Hat Enterprise Linux and what is built from its sources.
const KindRHEL Kind = "rhel"

var rhel = Description{
	Kind: KindRHEL, Title: "RHEL, AlmaLinux, Rocky Linux, CentOS Stream: releases 9 and 10", Short: "RHEL",
	IDs: []string{"rhel", "centos", "almalinux", "rocky"}, Releases: []string{"9", "10"},
	Installer: &dnfInstaller, Packages: commonPackages,
	Tools: []ToolAdvice{
		{Release: "9", Format: "FS2", Advice: "Release 9.4 has mstflint 4.25.0-1, the last that suits ConnectX-3; later " +
			"ones do not: dnf install mstflint-4.25.0-1."},
		{Release: "10", Format: "FS2",
			Advice: "Release 10 has no driver for ConnectX-3; move the card to a host with Debian 12, " +
				"Ubuntu 24.04 or release 9."},
	},
	Gaps: []Gap{
		// Red Hat's kernel configuration disables CONFIG_MLX4_CORE from release 10 on.
		{Modules: []string{"mlx4_core", "mlx4_ib"}, Release: 10,
			Why: "kernels of RHEL 10 and its rebuilds are built without mlx4, the driver of ConnectX to ConnectX-3 Pro",
			WayOut: "Put a ConnectX-4 or later into this host, or run a distribution whose kernel has the driver: Debian 13, " +
				"Ubuntu 24.04, RHEL 9 (ConnectX-3).",
			Cards: "ConnectX-3 and older (RHEL 10)"},
		{Modules: []string{"ib_mthca"}, Release: 9,
			Why:    "kernels of RHEL 9 and later are built without ib_mthca, the driver of InfiniHost cards",
			WayOut: "Use Debian or Ubuntu for this card.", Cards: "InfiniHost"},
		{Modules: []string{"ib_qib"}, Release: 9,
			Why:    "kernels of RHEL 9 and later are built without ib_qib, the driver of QLogic cards",
			WayOut: "Use Debian or Ubuntu (GA kernel) for this card.", Cards: "QLogic"},
		// rh_messages.h of RHEL 9's kernel: the ids of ConnectX and ConnectX-2 are on the
		// list of hardware that the driver must not touch.
		{Modules: []string{"mlx4_core"}, Old: true,
			Why:    "kernels of RHEL 9 and later keep mlx4_core from ConnectX and ConnectX-2 cards",
			WayOut: "Use Debian or Ubuntu for this card, or a ConnectX-3 or later.", Cards: "ConnectX-2"},
		smallInstallation("RHEL"),
	},
	Stacks: []string{"NetworkManager"}, portTypes: mlx4ConfStore{}, Initramfs: "dracut", OneSM: true,
	SMFiles: "/etc/rdma/",
}

// smallInstallation is the gap of systems that spread the modules of a kernel over
// several packages.
func smallInstallation(on string) Gap {
	return Gap{
		Why: "on " + on + " modules may be in packages that a small installation lacks (kernel-modules, " +
			"kernel-modules-extra)",
		WayOut: "Install kernel-modules and kernel-modules-extra of the running kernel (dnf install kernel-modules-$(uname " +
			"-r)), or restart into a kernel that has them.",
	}
}
