package platform

// KindFedora is Fedora Linux.
const KindFedora Kind = "fedora"

// The kernel's configuration for Fedora, other than Red Hat's, has mlx4 with the ids of
// ConnectX and ConnectX-2, and ib_mthca. rdma-core and opensm are packed as in RHEL.
var fedora = Description{
	Kind: KindFedora, Title: "Fedora 43 and later", Short: "Fedora",
	IDs: []string{"fedora"}, Oldest: 43,
	Installer: &dnfInstaller, Packages: commonPackages,
	Tools: []ToolAdvice{{Format: "FS2",
		Advice: "Fedora has mstflint 4.34.0, which crashes on ConnectX-3; build release 4.25.0, " +
			"or move the card to a host with Debian 12 for the time of the burn."}},
	Gaps:   []Gap{smallInstallation("Fedora")},
	Stacks: []string{"NetworkManager"}, portTypes: mlx4ConfStore{}, Initramfs: "dracut", OneSM: true,
	SMFiles: "/etc/rdma/",
	Note:    "Not the Atomic editions: dnf adds nothing to them.",
}
