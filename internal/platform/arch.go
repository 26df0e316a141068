package platform

// KindArch is Arch Linux.
const KindArch Kind = "arch"

var arch = Description{
	Kind: KindArch, Title: "Arch Linux", Short: "Arch",
	IDs:       []string{"arch"},
	Installer: &pacmanInstaller,
	// Arch packs the diagnostics with rdma-core; opensm and mstflint are in its user
	// repository only, from which nothing is built here; so are qperf and perftest.
	Packages: map[Feature][]string{FeatureDiagnostics: {"rdma-core"}, FeatureRDMA: {"rdma-core"},
		FeatureIperf3: {"iperf3"}},
	ByHand: "from its user repository",
	Tools: []ToolAdvice{
		{Advice: "Arch has mstflint in its user repository only; build a release that suits the card."},
		{Format: "FS2", Advice: "Arch has mstflint in its user repository only; build release 4.25.0 for ConnectX-3."},
	},
	DropsModules: true,
	Stacks:       []string{"systemd-networkd"}, portTypes: modprobeStore{}, Initramfs: "mkinitcpio", OneSM: true,
	Note: "Packages are never added to a system that is upgraded in part.",
}
