package finding

// Rules of distributions and their kernels.
var (
	KernelWithoutDriver = &Rule{Code: "PF001", Severity: Refuse, Title: "Kernel of the host has no driver for its InfiniBand card",
		Meaning: "Without a driver there is no port: nothing that needs one can be configured on this host.",
		WayOut:  "Boot a kernel that has the driver, or put the card into another host."}
	KernelWithoutModule = &Rule{Code: "PF002", Severity: Refuse, Title: "Kernel of the host lacks a module that this needs",
		WayOut: "Boot a kernel that has the module."}
	ModulePackageInstalled = &Rule{Code: "PF003", Severity: Warn, Title: "Packages will be installed",
		Meaning: "The running kernel lacks a module that is in a package of its distribution; the apply installs it first. Nothing else is installed or upgraded."}
	KernelModulesGone = &Rule{Code: "PF004", Severity: Refuse, Title: "Modules of the running kernel are gone",
		Meaning: "The kernel was upgraded while the host ran: the files of the old one were removed, so that no module can be loaded any more.",
		WayOut:  "Restart the host, then plan again."}
)
