package platform

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// KindDebian is Debian, with Proxmox VE.
const KindDebian Kind = "debian"

// debian12Mstflint is the package of choice where a distribution's own does not suit
// ConnectX-3. Versions are those of the distributions' own archives.
const debian12Mstflint = "take Debian 12's package, mstflint 4.21.0+1-1: apt install " +
	"./mstflint_4.21.0+1-1_amd64.deb, then apt-mark hold mstflint."

var debian = Description{
	Kind: KindDebian, Title: "Debian 12 and 13, and Proxmox VE on them", Short: "Debian",
	IDs: []string{"debian"}, Releases: []string{"12", "13"},
	called: func(os inventory.OS) string {
		if strings.HasSuffix(os.Kernel, "-pve") {
			// Proxmox VE is Debian with a kernel of its own, and says so nowhere else.
			return "Proxmox VE on Debian " + os.VersionID
		}
		return "Debian " + os.VersionID
	},
	Installer: &aptInstaller, Packages: commonPackages,
	Tools: []ToolAdvice{
		{Release: "12", Format: "FS2",
			Advice: "Debian 12 has mstflint 4.21.0+1-1, which suits ConnectX-3: apt install mstflint."},
		{Release: "13", Format: "FS2",
			// apt on Debian 13 refuses the package alone: 13 has later ones of these two libraries.
			Advice: "Debian 13 has mstflint 4.31.0, which crashes on ConnectX-3; take Debian 12's package, mstflint " +
				"4.21.0+1-1, with two libraries that Debian 13 no longer has: apt install " +
				"./mstflint_4.21.0+1-1_amd64.deb ./libboost-filesystem1.74.0_1.74.0+ds1-21_amd64.deb " +
				"./libjsoncpp25_1.9.5-4_amd64.deb, then apt-mark hold mstflint."},
	},
	Gaps: []Gap{{
		Modules: []string{"ib_ipoib", "ib_qib", "ib_mthca"}, Named: "-cloud-",
		Why: "Debian's kernels for virtual machines (linux-image-cloud-…) are built without IPoIB and without the " +
			"drivers of older cards",
		WayOut: "Install linux-image-amd64 in place of linux-image-cloud-amd64 and restart.",
		Cards:  "InfiniHost and QLogic, and no IPoIB (cloud kernels)",
	}},
	Stacks: []string{"ifupdown", "ifupdown2"}, portTypes: modprobeStore{}, Initramfs: "update-initramfs",
}
