package finding

// Rules of link types.
var (
	FirmwareEthernetOnly = &Rule{Code: "LT001", Severity: Refuse, Title: "Firmware of the card knows Ethernet only",
		Attribute: "ports",
		Meaning: "An \"EN\" build of the firmware has no InfiniBand. No tool and no module parameter changes that. Only a " +
			"cross-flash to the board's VPI firmware does.",
		WayOut: "Burn the VPI image of this board with an infiniband_firmware resource that allows the PSID change, and " +
			"let this resource depend on it."}
	EthernetBeforeInfiniBand = &Rule{Code: "LT002", Severity: Refuse,
		Title: "Ethernet on port 1 with InfiniBand on port 2", Attribute: "ports",
		Meaning: "ConnectX-3 does not support this order. It supports InfiniBand on port 1 with Ethernet on port 2.",
		WayOut:  "Write ports = { \"1\" = \"ib\", \"2\" = \"eth\" } and swap the cables, or give both ports one type."}
	AutoNotLasting = &Rule{Code: "LT003", Severity: Refuse, Title: "Type auto cannot be stored", Attribute: "ports",
		Meaning: "Only the card's own configuration can store auto. The provider cannot write it on this host.",
		WayOut:  "Write ib or eth."}
	CardWithoutPort = &Rule{Code: "LT004", Severity: Refuse, Title: "Card has no such port", Attribute: "ports",
		Meaning: "The card has fewer ports.", WayOut: "Name ports that exist."}
	CardInfiniBandOnly = &Rule{Code: "LT005", Severity: Refuse, Title: "Ports of the card are InfiniBand only",
		Attribute: "card_id",
		Meaning: "Link types exist on ConnectX-3 (driver mlx4) and on later cards of the same maker (driver mlx5), and " +
			"only where the firmware knows both.",
		WayOut: "Leave infiniband_link_type out for this card. There is nothing to set."}
	OtherCardWouldChange = &Rule{Code: "LT007", Severity: NeedsConsent,
		Title:     "Another card of the host would change its type too",
		Attribute: "ports", Consent: "other_cards",
		Meaning: "The module parameter port_type_array holds for every mlx4 card of the host. The other card gets the " +
			"types of this one at the next restart of the host.",
		WayOut: "An mstflint release up to 4.25 has a mstconfig that stores the types in each card. To give both cards " +
			"these types, write an infiniband_link_type with the same ports for each of them, and let each name the other card:"}
	PortTypesNotShown = &Rule{Code: "LT008", Severity: Refuse, Title: "Kernel shows no port types for the card",
		Attribute: "card_id",
		Meaning: "The driver is not bound to the card, is too old, or lacks its part for InfiniBand. ConnectX-3 needs " +
			"mlx4_core. ConnectX-4 and later need mlx5_core, and mlx5_ib for InfiniBand. Without them no restart is planned, " +
			"because nothing would show its outcome.",
		WayOut: "Load the driver and look into the kernel's log. Ubuntu may have mlx5_ib in linux-modules-extra. On " +
			"ConnectX-4 and later activation = \"none\" stores the types without a restart."}
	LinkTypeNotLasting = &Rule{Code: "LT011", Severity: Refuse, Title: "Link type cannot be stored", Attribute: "ports",
		Meaning: "The link type would be lost at the next reboot.",
		WayOut:  "Fix what is named above, then plan again."}
	CardConfigUnreadable = &Rule{Code: "LT013", Severity: Refuse, Title: "Configuration of the card cannot be read",
		Attribute: "card_id",
		Meaning: "The card's own configuration may hold the link types. On ConnectX-4 and later nothing else does. Only " +
			"mstconfig reads and writes it. Without its answer nobody knows which place decides, so nothing is stored in " +
			"another one.",
		WayOut: "Plan again: a busy card may answer next time. If mstconfig is not installed, install mstflint. Else run " +
			"`mstconfig -d <pci address> q` on the host and fix what it reports."}
	LinkTypeWouldBeLost = &Rule{Code: "LT015", Severity: Warn, Title: "Link types would be lost at the next restart",
		Attribute: "ports",
		Meaning: "The ports are as asked now, and the place that decides at boot has another type. Either the present " +
			"types were set at run time only (sysfs, devlink, sensing), or somebody has set the other type since they were " +
			"stored. The apply stores the types of this resource.",
		WayOut: "The attribute by_place shows which types each place stores. If another setting overrides this one, remove " +
			"its line from its file."}
	LinkTypeOverridden = &Rule{Code: "LT016", Severity: Refuse,
		Title: "Another setting of the host decides on the link types", Attribute: "ports",
		Meaning: "Another setting of port_type_array of mlx4_core overrides this resource and the card's own " +
			"configuration. The types would last only until the next restart. A value of 0 leaves the type to the firmware. " +
			"A line that the provider does not understand may override this resource, too: an install line of mlx4_core, " +
			"or a value that the kernel refuses.",
		WayOut: "Remove the other setting and plan again. On the kernel command line: remove mlx4_core.port_type_array " +
			"from /etc/default/grub, run update-grub (with grubby: grubby --update-kernel=ALL --remove-args=…) and restart " +
			"the host. In a file of a directory modprobe.d: remove the line and rebuild the initial RAM disk " +
			"(update-initramfs -u). If the file is of a package: put an empty file of the same name into /etc/modprobe.d."}
	InitramfsOutdated = &Rule{Code: "LT017", Severity: Warn,
		Title: "The initial RAM disk is older than the settings of the driver", Attribute: "ports",
		Meaning: "At boot the driver reads the copies of its settings that the initial RAM disk has. They may set other " +
			"types than the files do. Somebody edited, added or removed a file there, somebody put back an old RAM disk, " +
			"an apply was interrupted, or the rebuild failed for one of the installed kernels.",
		WayOut: "The apply rebuilds the initial RAM disk."}
	InfiniBandInUse = &Rule{Code: "LT018", Severity: Warn, Title: "A port that is used as InfiniBand becomes Ethernet",
		Attribute: "ports",
		Meaning: "An Ethernet port has no IPoIB interface, and no subnet manager can serve it. An interface named above is " +
			"gone as long as the port is Ethernet. A subnet manager named above may go on running, and serves nothing: " +
			"if it is the only one of its fabric, ports that come up stay in Initializing. While a resource of one of them, " +
			"or an infiniband_port of the port, stays in the configuration, plans are refused (PF007). " +
			"Where the port waits for a restart, they are refused after it.",
		WayOut: "Remove these resources from the configuration, in the same apply or in an earlier one. Then nothing else " +
			"has to be done. Remove by hand what Terraform does not manage. To keep the interface and the subnet manager, " +
			"leave the port \"ib\"."}
	ParameterOverCard = &Rule{Code: "LT020", Severity: Warn,
		Title: "A module parameter overrides the types that are stored in the card", Attribute: "ports",
		Meaning: "The driver mlx4_core takes the type of a port from its parameter port_type_array. Only where that is 0, " +
			"or not set, the card's own configuration counts. So the apply sets the parameter to the same types. A setting " +
			"that somebody else made there is replaced or overridden. The parameter holds for every mlx4 card of the host, " +
			"except in mlx4.conf.",
		WayOut: "To have the types in the card only, remove the setting that is named above, then plan again."}
)

// BeforeRestart is about a port that is Ethernet only until the host restarts. To set its type
// again, which is the usual way out, changes nothing.
func (f Finding) BeforeRestart() Finding {
	f.Evidence += " It becomes InfiniBand with the next restart of the host, which this plan does not make."
	return f.WithWayOut("Write activation = \"reboot\" in infiniband_link_type. Its apply then restarts the host, " +
		"before it comes to this resource. Or restart the host yourself: if HO011 stands beside this, apply without this " +
		"resource first, so that the type is stored. Restart the host, then plan again with this resource.")
}
