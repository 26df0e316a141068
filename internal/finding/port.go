package finding

// Rules of ports.
var (
	PortUnsupported = &Rule{Code: "PO001", Severity: Refuse, Title: "Refusing to set a port on this system",
		Attribute: "card_id",
		Meaning: "Setting a port needs ibportstate of infiniband-diags. This system does not have it and accepts no " +
			"packages.",
		WayOut: "Reload the driver to enable a port, or set the port of the switch from another host."}
	PortCarriesHost = &Rule{Code: "PO004", Severity: NeedsConsent,
		Title: "Port carries the SSH session, the default route or storage of the host", Attribute: Allow,
		Consent: "management_path",
		Meaning: "If the port is disabled, it is cut off for good. New speeds or widths cut it off until the link has " +
			"trained again. If the other end supports none of them, the link stays down.",
		WayOut: "Use another way to the host, move the default route, or unmount the storage. If losing it is acceptable, " +
			"write into the resource:"}
	PortSpeedUnsupported = &Rule{Code: "PO006", Severity: Refuse, Title: "Port does not support what is asked for",
		Attribute: "speeds",
		Meaning:   "The port ignores what it does not support, or its link stays down.",
		WayOut:    "Ask for a subset of what it supports."}
	PortLinkUnread = &Rule{Code: "PO012", Severity: Warn, Title: "Speeds and widths of the port cannot be read",
		Attribute: "port",
		Meaning: "ibportstate of rdma-core 56.0 to 60.0 opens no port that is down. Whether the port has the speeds and " +
			"widths of this resource is not known. An apply stores them for the next boot and does not set the port now. At " +
			"a boot they are set if the port gets a link within 30 seconds.",
		WayOut: "Plan again once this port, or another one of the card, has a link."}
	PortEnabledUnread = &Rule{Code: "PO013", Severity: Warn, Title: "It is not known whether the port is enabled",
		Attribute: "enabled",
		Meaning: "The kernel does not show the physical state of the port. The state holds no value for enabled. Every " +
			"apply sets the port anew, which interrupts a link that is up, and fails if the port still does not show what " +
			"it is.",
		WayOut: "Read phys_state of the port below /sys/class/infiniband on the host. If that is an error, see what the " +
			"kernel says with dmesg."}
)
