package finding

// Rules of distributions and their kernels.
var (
	KernelWithoutDriver = &Rule{Code: "PF001", Severity: Refuse,
		Title:   "Kernel of the host has no driver for its InfiniBand card",
		Meaning: "Without a driver the card has no port, and nothing that needs one can be configured.",
		WayOut:  "Boot a kernel that has the driver, or put the card into another host."}
	KernelWithoutModule = &Rule{Code: "PF002", Severity: Refuse,
		Title:   "Kernel of the host lacks a module that this resource needs",
		Meaning: "Without the module the kernel cannot do what the resource configures.",
		WayOut:  "Boot a kernel that has the module."}
	PackagesInstalled = &Rule{Code: "PF003", Severity: Warn, Title: "Packages will be installed",
		Meaning: "They come from the distribution and stay when the resource is destroyed. Nothing else is upgraded."}
	KernelModulesGone = &Rule{Code: "PF004", Severity: Refuse, Title: "Modules of the running kernel are gone",
		Meaning: "The kernel was upgraded while the host ran, and the files of the running one were removed. No module can " +
			"be loaded until the host restarts.",
		WayOut: "Restart the host, then plan again."}
	ModulesNotAtBoot = &Rule{Code: "PF005", Severity: Warn,
		Title: "Modules were taken out of the list that the boot loads",
		Meaning: "An apply had listed what this resource needs, and somebody has taken it out. Unless something else loads " +
			"these modules, the host has no port, no subnet manager or no interface after its next restart. The next apply " +
			"of this resource lists them again."}
	FilesNotLasting = &Rule{Code: "PF008", Severity: Warn,
		Title: "A restart of the host undoes what this resource writes",
		Meaning: "The root of the host, or the part of it that gets the files, is made anew at each boot: a live image, a " +
			"diskless node, or an image-based system with a transient /etc. What the apply sets works until the next restart. " +
			"Until then the state shows it as stored and enabled at boot. The journal of this provider on the host is lost " +
			"too if /var is.",
		WayOut: "Put the files into the image that the host boots, or apply again after each restart."}
	PackagesImpossible = &Rule{Code: "PF009", Severity: Refuse, Title: "Packages cannot be installed on this host",
		Meaning: "The programs of an image-based system (ostree, bootc, a live image) come with its image. Its package " +
			"manager cannot change them while it runs.",
		WayOut: "Add the packages to the image, with rpm-ostree install or in the Containerfile of bootc, and start the " +
			"host with it. Then plan again."}
	PortUnknown = &Rule{Code: "PF006", Severity: Refuse, Title: "Refusing a port that is not there",
		Attribute: "port_guid",
		Meaning: "Subnet managers and IPoIB interfaces belong to the port that has their GUID: interface names change, " +
			"GUIDs do not. opensm ends without an error if it does not find the GUID.",
		WayOut: "Use port_guids[\"1\"] of infiniband_guids or infiniband_card; for infiniband_port the number of a port " +
			"there. If the GUID is new, make this resource depend on infiniband_guids. If the port is in " +
			"Ethernet mode, it shows no GUID: set it to \"ib\" with infiniband_link_type first."}
	PortEthernet = &Rule{Code: "PF007", Severity: Refuse, Title: "Refusing to use an Ethernet port as InfiniBand",
		Attribute: "port_guid",
		Meaning:   "Ethernet has no subnet manager and no IPoIB interface, and its ports are set with ip link and ethtool.",
		WayOut: "If the port is to be Ethernet, remove this resource from the configuration. Its destroy works on an " +
			"Ethernet port too. If the port is to be InfiniBand, set it to \"ib\" with infiniband_link_type, and make this " +
			"resource depend on it."}
)
