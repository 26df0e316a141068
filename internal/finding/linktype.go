package finding

// Rules of link types.
var (
	FirmwareEthernetOnly = &Rule{Code: "LT001", Severity: Refuse, Title: "Firmware of the card knows Ethernet only", Attribute: "ports",
		Meaning: "An \"EN\" build of the firmware has no InfiniBand in it, whatever the hardware can do. No tool and no module parameter changes that; only the VPI firmware of the same board does, a cross-flash.",
		WayOut:  "Burn the VPI image of this board with an infiniband_firmware resource that allows the PSID change, and let this resource depend on it."}
	EthernetBeforeInfiniBand = &Rule{Code: "LT002", Severity: Refuse, Title: "Ethernet on port 1 with InfiniBand on port 2", Attribute: "ports",
		Meaning: "ConnectX-3 does not support this order; the mixed form it has is InfiniBand on port 1 and Ethernet on port 2.",
		WayOut:  "Write ports = { \"1\" = \"ib\", \"2\" = \"eth\" } and swap the cables, or give both ports one type."}
	AutoNotLasting = &Rule{Code: "LT003", Severity: Refuse, Title: "Type auto cannot be made to last", Attribute: "ports",
		Meaning: "Sensing can only be stored in the card's own configuration, and that cannot be written here.",
		WayOut:  "Write ib or eth."}
	CardWithoutPort = &Rule{Code: "LT004", Severity: Refuse, Title: "Card has no such port", Attribute: "ports",
		Meaning: "The kernel shows fewer ports.", WayOut: "Name ports that exist."}
	CardInfiniBandOnly = &Rule{Code: "LT005", Severity: Refuse, Title: "Ports of the card are InfiniBand only", Attribute: "card_id",
		Meaning: "Link types exist on ConnectX-3 (driver mlx4) and on later cards of the same maker (driver mlx5).",
		WayOut:  "Remove the resource: there is nothing to set."}
	InterfacesGoDown = &Rule{Code: "LT006", Severity: Warn, Title: "Interfaces of both ports go down for a moment", Attribute: "ports",
		Meaning: "The driver takes the whole card out of service to change the type of one port; addresses that nothing configures again are lost."}
	OtherCardWouldChange = &Rule{Code: "LT007", Severity: Refuse, Title: "Another card of the host would change its type too", Attribute: "ports",
		Meaning: "The module parameter port_type_array holds for every mlx4 card of the host.",
		WayOut:  "Ask for the same types on both cards, or use an mstflint release up to 4.25, whose mstconfig stores the type in the card."}
	PortTypesNotShown = &Rule{Code: "LT008", Severity: Refuse, Title: "Kernel shows no port types for the card", Attribute: "card_id",
		Meaning: "The driver mlx4_core has not taken the card, or is too old.",
		WayOut:  "Load mlx4_core and look into the kernel's log."}
	MixedTypes = &Rule{Code: "LT009", Severity: Warn, Title: "Mixed types need a card that supports them", Attribute: "ports",
		Meaning: "Not every ConnectX-3 can run two types at once; the kernel refuses it then and says so."}
	ParameterShared = &Rule{Code: "LT010", Severity: Warn, Title: "Another card of the host shares the module parameter", Attribute: "ports",
		Meaning: "port_type_array holds for every mlx4 card of the host. The other card has the same types now and keeps them."}
	LinkTypeNotLasting = &Rule{Code: "LT011", Severity: Refuse, Title: "Link type cannot be made to last", Attribute: "ports",
		Meaning: "What is set at run time is gone after a reboot.",
		WayOut:  "See the evidence."}
	LinkTypePostponed = &Rule{Code: "LT012", Severity: Warn, Title: "Link type is checked at apply", Attribute: "ports",
		Meaning: "The firmware of the card is planned to change first; what it can do is known when it runs."}
	CardConfigUnreadable = &Rule{Code: "LT013", Severity: Refuse, Title: "Configuration of the card cannot be read", Attribute: "card_id",
		Meaning: "On ConnectX-4 and later only the card's own configuration decides between InfiniBand and Ethernet, and mstconfig is what reads and writes it.",
		WayOut:  "Install mstflint, and look at what the tool says on the host: mstconfig -d with the address of the card, then q."}
	LinkTypeAwaitsRestart = &Rule{Code: "LT014", Severity: Warn, Title: "Link types wait for the next restart", Attribute: "activation",
		Meaning: "ConnectX-4 and later take another type with a full reset only. Until then the ports are what they were.",
		WayOut:  "Restart the host when it suits, or write activation = \"reboot\"."}
	LinkTypeWouldBeLost = &Rule{Code: "LT015", Severity: Warn, Title: "Link types would be lost at the next restart", Attribute: "ports",
		Meaning: "They were set at run time only, through sysfs, devlink or sensing; what is stored says another type, and that is what comes back. The apply stores the types of this resource.",
		WayOut:  "See by_place for what each place says. Where the setting of somebody else overrides this one, take its line out of that file."}
	LinkTypeOverridden = &Rule{Code: "LT016", Severity: Refuse, Title: "Another setting of the host decides on the link types", Attribute: "ports",
		Meaning: "port_type_array of mlx4_core is also given where it wins over what this resource stores and over the card's own configuration. The types would be as asked until the next restart only.",
		WayOut: "Take it out there, and plan again. Of the kernel command line: remove mlx4_core.port_type_array from /etc/default/grub, run update-grub (with grubby: grubby --update-kernel=ALL --remove-args=…) and restart the host. " +
			"Of a file in /etc/modprobe.d: remove the line and rebuild the initial RAM disk (update-initramfs -u)."}
	InitramfsOutdated = &Rule{Code: "LT017", Severity: Warn, Title: "The initial RAM disk has an older setting of the link types", Attribute: "ports",
		Meaning: "The file of the setting is newer than the initial RAM disk of the running kernel, which loads the driver with its own copy: somebody has edited the file or put an old disk back, or an apply was cut before it was rebuilt.",
		WayOut:  "The apply rebuilds it."}
)
