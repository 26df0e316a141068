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
	ModulePackageInstalled = &Rule{Code: "PF003", Severity: Warn, Title: "Packages will be installed",
		Meaning: "The running kernel lacks a module. The apply installs the package of the distribution that has the " +
			"module, and nothing else."}
	KernelModulesGone = &Rule{Code: "PF004", Severity: Refuse, Title: "Modules of the running kernel are gone",
		Meaning: "The kernel was upgraded while the host ran, and the files of the running one were removed. No module can " +
			"be loaded until the host restarts.",
		WayOut: "Restart the host, then plan again."}
	ModulesNotAtBoot = &Rule{Code: "PF005", Severity: Warn,
		Title: "Modules were taken out of the list that the boot loads",
		Meaning: "An apply had listed what this resource needs, and somebody has taken it out. Unless something else loads " +
			"these modules, the host has no port, no subnet manager or no interface after its next restart. The next apply " +
			"of this resource lists them again."}
)
