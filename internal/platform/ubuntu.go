package platform

import "github.com/ibfabric/terraform-provider-infiniband/internal/inventory"

// KindUbuntu is Ubuntu.
const KindUbuntu Kind = "ubuntu"

var ubuntu = Description{
	Kind: KindUbuntu, Title: "Ubuntu 24.04", Short: "Ubuntu",
	IDs: []string{"ubuntu"}, Releases: []string{"24.04"},
	called:    func(os inventory.OS) string { return "Ubuntu " + os.VersionID },
	Installer: &aptInstaller, Packages: commonPackages, kernelModules: ubuntuModules,
	Tools: []ToolAdvice{
		{Release: "24.04", Format: "FS2",
			Advice: "Ubuntu 24.04 has mstflint 4.26.0, which burns ConnectX-3 and cannot configure it: apt install mstflint. " +
				"To have both, " + debian12Mstflint},
	},
	Stacks: []string{"netplan with systemd-networkd",
		"netplan with NetworkManager"}, portTypes: modprobeStore{}, Initramfs: "update-initramfs",
	Note: "The GA kernel has the InfiniBand modules in `linux-modules-extra-…`.",
}

// ubuntuModules: the GA kernel 6.8 has mlx4_ib, ib_ipoib and ib_umad in a package
// of their own; from the 7.0 HWE kernel on they are in linux-modules.
func ubuntuModules(kernel string) []string {
	if major := majorVersion(kernel); major > 0 && major < 7 {
		return []string{"linux-modules-extra-" + kernel}
	}
	return nil
}
