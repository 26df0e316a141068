package finding

// Rules of GUIDs and MACs that were asked for.
var (
	GUIDZero = &Rule{Code: "GU001", Severity: Refuse, Title: "GUID is zero",
		Meaning: "A zero GUID means that there is none.", WayOut: "Write another value."}
	GUIDAllOnes = &Rule{Code: "GU002", Severity: Refuse, Title: "GUID is all ones",
		Meaning: "All ones is what Ethernet-only cards and erased flash hold.", WayOut: "Write another value."}
	GUIDMulticast = &Rule{Code: "GU003", Severity: Refuse, Title: "GUID has a multicast prefix",
		Meaning: "The lowest bit of its first byte marks a group, not a device.", WayOut: "Write another value."}
	BaseTooHigh = &Rule{Code: "GU004", Severity: Refuse, Title: "Base value leaves no room",
		Meaning: "The values that follow the base would wrap around; mstflint does not check that.", WayOut: "Choose a lower base."}
	GUIDPrefixUnknown = &Rule{Code: "GU005", Severity: Warn, Title: "GUID has a prefix of no known vendor",
		Meaning: "The first three bytes are assigned by IEEE. Nothing stops an invented prefix from meeting another card's.",
		WayOut:  "Derive the values from the card's label or its MAC, for example with base_mac."}
	GUIDOfOtherCard = &Rule{Code: "GU006", Severity: Refuse, Title: "GUID or MAC belongs to another card",
		Meaning: "One duplicate GUID stops a whole subnet: the subnet manager never finishes its discovery.",
		WayOut:  "Choose other values for one of the two."}
	GUIDsOverlap = &Rule{Code: "GU007", Severity: Refuse, Title: "GUIDs overlap those of another card",
		Meaning: "A ConnectX-3 takes four GUIDs from its base on; bases must be at least 4 apart.",
		WayOut:  "Choose bases that are at least 4 apart."}
	MACNotUnicast = &Rule{Code: "GU008", Severity: Refuse, Title: "MAC is not a device's address",
		Meaning: "Zero, broadcast and group addresses are refused by the card.", WayOut: "Write another value."}
	GUIDsEqual = &Rule{Code: "GU009", Severity: Refuse, Title: "GUIDs or MACs of one card are equal to each other",
		Meaning: "Both ports would be one for the subnet manager.", WayOut: "Write different values."}
	GUIDsIncomplete = &Rule{Code: "GU010", Severity: Refuse, Title: "Card needs GUIDs and MACs at once",
		Meaning: "The card is blank. Setting only one half leaves it with half an identity, and there the write is not failsafe.",
		WayOut:  "Set both, for example with base_mac alone."}
	GUIDsWouldChange = &Rule{Code: "GU011", Severity: Note, Title: "Valid GUIDs of the card will be replaced",
		Meaning: "Subnet manager configuration, partitions and addresses that name the old ones have to follow."}
	MACPrefixUnknown = &Rule{Code: "GU012", Severity: Warn, Title: "MAC has a prefix of no known vendor",
		Meaning: "The first three bytes are assigned by IEEE.", WayOut: "Take the value from the card's label."}
	GUIDsBeforeFirstRun = &Rule{Code: "GU013", Severity: Warn, Title: "GUIDs go into firmware that has not run yet", Attribute: "card_id",
		Meaning: "The image in flash was burned and verified and waits for a restart. Writing GUIDs burns it once more; image and GUIDs take effect with the same restart.",
		WayOut:  "To see the new firmware run first, set activation = \"reboot\" on the infiniband_firmware resource."}
	GUIDsUnsupported = &Rule{Code: "GU014", Severity: Refuse, Title: "GUIDs of this chip are not set", Attribute: "card_id",
		Meaning: "From ConnectX-4 on a card has one base GUID and one base MAC, from which its firmware counts, in device data beside the firmware. Burns keep them. mstflint changes them at once and without a question, on ConnectX-4 only with -ocr, which goes past the running firmware and can make it hang; it is never passed.",
		WayOut:  "Remove the resource: the card's own GUIDs survive every burn, and infiniband_card shows them. If they must change, use the vendor's own tool while no driver is bound."}
	GUIDInFabric = &Rule{Code: "GU015", Severity: Refuse, Title: "GUID is in use in the fabric",
		Meaning: "A node of the fabric that is in no configured host has it, or the look at the fabric failed, and nobody knows. One duplicate GUID stops a whole subnet: the subnet manager never finishes its discovery.",
		WayOut:  "Choose other values, or look with `ibnetdiscover` whether the node is this card under another name: then run the provider against the host that it is in. If the look failed, mend what the evidence names."}
)
