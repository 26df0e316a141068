package finding

// Rules of GUIDs and MACs that were asked for.
var (
	GUIDInvalid = &Rule{Code: "GU001", Severity: Refuse, Title: "GUID or MAC cannot be one of a device",
		Meaning: "Zero means that there is none. Erased flash, and cards with Ethernet-only firmware, hold all ones. The " +
			"lowest bit of the first byte marks a group.", WayOut: "Write another value."}
	BaseTooHigh = &Rule{Code: "GU004", Severity: Refuse, Title: "Base value leaves no room",
		Meaning: "The values that are counted from the base would wrap around. mstflint does not check that.",
		WayOut:  "Choose a lower base."}
	PrefixUnknown = &Rule{Code: "GU005", Severity: Warn, Title: "GUID or MAC has a prefix of no known vendor",
		Meaning: "IEEE assigns the first three bytes to vendors. An invented prefix may collide with another card.",
		WayOut:  "Derive the values from the card's label or its MAC, for example with base_mac."}
	GUIDOfOtherCard = &Rule{Code: "GU006", Severity: Refuse, Title: "GUID or MAC belongs to another card",
		Meaning: "One duplicate GUID stops a whole subnet: the subnet manager never finishes its discovery. A ConnectX-3 " +
			"uses four GUIDs, counted from its base.",
		WayOut: "Choose other values for one of the two, and bases that are at least 4 apart. If the other card gets other " +
			"values in the same configuration, write depends_on with the address of its infiniband_guids into this resource."}
	GUIDsEqual = &Rule{Code: "GU009", Severity: Refuse, Title: "GUIDs or MACs of one card are equal to each other",
		Meaning: "The subnet manager would take both ports for one.", WayOut: "Write different values."}
	GUIDsIncomplete = &Rule{Code: "GU010", Severity: Refuse, Title: "Card needs GUIDs and MACs at once",
		Meaning: "The card is blank, and writing to it is not failsafe. Set GUIDs and MACs in one write.",
		WayOut:  "Set both, for example with base_mac alone."}
	GUIDsWouldChange = &Rule{Code: "GU011", Severity: NeedsConsent, Title: "Valid GUIDs or MACs would be replaced",
		Attribute: Allow, Consent: "guid_change",
		Meaning: "The values in flash are those of the factory, or somebody has set them. One wrong digit of base_mac " +
			"gives a healthy card another identity. Subnet manager configuration, partitions and addresses may name the old " +
			"values.",
		WayOut: "Compare the new values with the label of the card. If they are right, write into the resource:"}
	GUIDsUnsupported = &Rule{Code: "GU014", Severity: Refuse, Title: "GUIDs of this chip cannot be set",
		Attribute: "card_id",
		Meaning: "ConnectX-4 and later cards store one base GUID and one base MAC beside the firmware, and burns keep " +
			"them. The provider sets them on ConnectX-4 to ConnectX-6 Lx whose firmware takes them (fw_ctrl). " +
			"On any other card mstflint would write the flash behind the running firmware, with the flag -ocr, which can " +
			"hang it.",
		WayOut: "Leave infiniband_guids out for this card, or write the values that it has: the data source " +
			"infiniband_cards shows them. If they must change, burn firmware that updates itself first (fw_ctrl), or unload " +
			"the driver and use the vendor's own tool."}
	GUIDInFabric = &Rule{Code: "GU015", Severity: Refuse, Title: "GUID is in use in the fabric",
		Meaning: "A node outside of the configured hosts has this GUID, or the fabric could not be read. One duplicate " +
			"GUID stops a whole subnet: the subnet manager never finishes its discovery.",
		WayOut: "Choose other values. If `ibnetdiscover` shows that the node is this card, in a host that is not " +
			"configured, configure that host. If the fabric could not be read, fix what is named above."}
	GUIDUntilRestart = &Rule{Code: "GU016", Severity: Refuse, Title: "Another card uses the GUID until it restarts",
		Meaning: "That card has other GUIDs in flash, and uses the old ones until its host restarts. One duplicate GUID " +
			"stops a whole subnet: the subnet manager never finishes its discovery.",
		WayOut: "Restart the host of the other card first. Or write activation = \"reboot\" into the infiniband_guids of " +
			"the other card, and depends_on with its address into this one."}
)
