package finding

// Rules of the card.
var (
	CardUnsupported = &Rule{Code: "FW040", Severity: Refuse, Title: "Card is not a supported one", Attribute: "card_id",
		Meaning: "Only chips in the provider's table are written to; mstflint itself looks at the device id alone and not at the vendor.",
		WayOut:  "Check the PCI address."}
	CardInRecovery = &Rule{Code: "FW041", Severity: Refuse, Title: "Card is in recovery mode", Attribute: "card_id",
		Meaning: "It found no firmware that boots (\"livefish\"). Its PSID and GUIDs cannot be proven, and a failsafe burn is not possible.",
		WayOut:  "Restore the backup of this card by hand, as the message says step by step, then plan again."}
	FirmwareSecure = &Rule{Code: "FW042", Severity: Refuse, Title: "Firmware of the card is secure", Attribute: "card_id",
		Meaning: "Secure firmware writes the flash itself and takes only images that its vendor signed for this PSID: mstflint answers \"Changing PSID is unsupported under Secure FW.\", and reading the firmware back (`ri`) \"is not supported\", so that no backup can be proven. There is no software override.",
		WayOut:  "Update within the same PSID with the card's vendor's own tool."}
	FlashDamaged = &Rule{Code: "FW043", Severity: Refuse, Title: "Flash of the card does not verify", Attribute: "card_id",
		Meaning: "The image that is in flash now is damaged, so that there is no way back if the burn fails, and no backup worth its name.",
		WayOut:  "Run `mstflint -d <pci address> v` on the host. Save what can be read before anything else."}
	FlashUnreadable = &Rule{Code: "FW044", Severity: Refuse, Title: "Flash of the card cannot be read", Attribute: "card_id",
		Meaning: "Nothing is known of what the burn would replace.",
		WayOut:  "Run `mstflint -d <pci address> q` on the host and mend what it complains about."}
	FlashNotRunning = &Rule{Code: "FW045", Severity: Refuse, Title: "Another image is in flash and does not run yet", Attribute: "card_id",
		Meaning: "The flash was changed since the card started. Burning over an image that has never run gives up the last one that is known to work.",
		WayOut:  "Restart the host so that the card runs what is in flash, and plan again. If it does not run after a reboot, switch the machine off and on."}
	FlashGUIDsZero = &Rule{Code: "FW046", Severity: Warn, Title: "Card has zero GUIDs or MACs", Attribute: "card_id",
		Meaning: "A card with zero GUIDs does not exist for the fabric.",
		WayOut:  "Set them with an infiniband_guids resource."}
	FlashGUIDsNeverSet = &Rule{Code: "FW047", Severity: Refuse, Title: "GUIDs and MACs of the card were never set", Attribute: "card_id",
		Meaning: "mstflint refuses to burn a card whose MACs are blank.",
		WayOut:  "Set both GUIDs and MACs first, with an infiniband_guids resource."}
	FlashWithoutGUIDs = &Rule{Code: "FW048", Severity: Note, Title: "Card has no GUIDs, as Ethernet-only firmware leaves it", Attribute: "card_id",
		Meaning: "Its GUIDs are all ones. A cross-flash keeps them so: InfiniBand needs GUIDs to be set afterwards.",
		WayOut:  "Add an infiniband_guids resource that depends on this one."}
	FlashGUIDsShared = &Rule{Code: "FW049", Severity: Warn, Title: "Card shares a GUID or MAC with another card", Attribute: "card_id",
		Meaning: "One duplicate GUID stops a whole subnet: the subnet manager never finishes its discovery.",
		WayOut:  "Give one of the cards other values with an infiniband_guids resource."}
	CardOfOEM = &Rule{Code: "FW050", Severity: Warn, Title: "Card is an OEM's board", Attribute: "card_id",
		Meaning: "Its vendor data stay in flash after a cross-flash, and support for it ends.",
		WayOut:  "Keep the backup. The OEM's own image is the way back."}
	MstflintMissing = &Rule{Code: "FW051", Severity: Refuse, Title: "mstflint is not installed on the host", Attribute: "card_id",
		Meaning: "Firmware is only read and written by the vendor's tool.",
		WayOut:  "Install the package mstflint."}
	MstflintUnsuitable = &Rule{Code: "FW052", Severity: Refuse, Title: "mstflint on the host does not suit this chip", Attribute: "card_id",
		Meaning: "Newer releases lost or damaged the support of older chips. What very old ones print, or one whose version is not known, this provider cannot be sure to understand.",
		WayOut:  "Install a release that suits it."}
	CardVirtualFunction = &Rule{Code: "FW053", Severity: Refuse, Title: "Device is a virtual function", Attribute: "card_id",
		Meaning: "A virtual function has no flash.",
		WayOut:  "Name the physical function of the card."}
	CardOtherFunction = &Rule{Code: "FW054", Severity: Refuse, Title: "Device is not the first function of its card", Attribute: "card_id",
		Meaning: "All functions of a card share one flash; it is written through function 0 only.",
		WayOut:  "Name function 0 of the card."}
	RunningUnknown = &Rule{Code: "FW055", Severity: Warn, Title: "What the card runs is not known", Attribute: "card_id",
		Meaning: "No driver shows its running firmware, so that it cannot be compared with the flash.",
		WayOut:  "Load the driver of the card and plan again."}
	FlashUnverified = &Rule{Code: "FW056", Severity: Refuse, Title: "Flash of the card has not been verified", Attribute: "card_id",
		Meaning: "The verification of the flash gave no answer.",
		WayOut:  "Run `mstflint -d <pci address> v` on the host and mend what it complains about."}
	MstflintUnproven = &Rule{Code: "FW057", Severity: Warn, Title: "mstflint on the host is newer than proven for this chip", Attribute: "card_id",
		Meaning: "It works by the experience of few. Fields that it invents are ignored.",
		WayOut:  "Version 4.25 or older is recommended for ConnectX-3."}
	CardWithoutDriver = &Rule{Code: "FW058", Severity: Warn, Title: "Kernel of the host has no driver for the card", Attribute: "card_id",
		Meaning: "The card can be burned there; nothing can run it afterwards, so that the result cannot be seen.",
		WayOut:  "Move the card to a host whose kernel has the driver."}
	FirmwareControlsUpdates = &Rule{Code: "FW059", Severity: Refuse, Title: "Firmware of the card controls its updates", Attribute: "card_id",
		Meaning: "With the update method fw_ctrl the running firmware writes the flash. mstflint then cannot read the firmware back: `ri` ends with \"Read image is not supported\", so that no backup can be proven, and nothing is burned without one. -no_fw_ctrl and -ocr, which go past the running firmware, are never passed: they can make it hang.",
		WayOut:  "Update with the vendor's own tool. To see the update method: `mstflint -d <pci address> q full`."}
	FlashDividedOtherwise = &Rule{Code: "FW060", Severity: Refuse, Title: "Firmware image divides the flash in another way", Attribute: "image_id",
		Meaning: "Before such a burn mstflint rearranges the flash, in a way that is not failsafe and must not be interrupted.",
		WayOut:  "Use an image of the same flash layout, most often a version that is closer to the present one, or update with the vendor's own tool."}
	ChipUnproven = &Rule{Code: "FW061", Severity: Refuse, Title: "Burning this chip has not been proven", Attribute: "card_id",
		Meaning: "Cards are burned only with chips for which the whole burn was shown to work with the real mstflint, interruptions included.",
		WayOut:  "Update with the vendor's own tool. Reading, adopting and backing up the card work."}
	SerialNumberUnknown = &Rule{Code: "FW062", Severity: Warn, Title: "Serial number of the card is not known", Attribute: "card_id",
		Meaning: "It tells this card from another one that may have come into its slot. Without it only GUIDs and MACs do, which firmware and people change.",
		WayOut:  "Install pciutils on the host."}
	CardExchanged = &Rule{Code: "FW080", Severity: Refuse, Title: "Another card is in the slot", Attribute: "card_id",
		Meaning: "A card is who it is, not where it sits: nothing of what was planned for one card is written to another.",
		WayOut: "If the card was exchanged on purpose, write the serial number of the new one into the configuration of infiniband_card, expect = { serial_number = \"…\" }: " +
			"the next apply adopts it, and forgets what was recorded of the first one. Where card_id is written by hand, write host/pci_address/serial_number of the new card there. A resource of a card that does not come back leaves the state with terraform state rm. " +
			"If nothing was exchanged, plan again: the addresses of cards change when devices are added."}
	CardUndecided = &Rule{Code: "FW081", Severity: Refuse, Title: "Card cannot be told from another one", Attribute: "card_id",
		Meaning: "Two cards of one kind look the same but for serial number, MACs and GUIDs. What cannot be read is no proof.",
		WayOut: "Have what is missing read: lspci is in the package pciutils, and mstflint reads MACs and GUIDs. If the card shows nothing at all, compare its label with the recorded serial number, " +
			"remove its resources from the state with terraform state rm, and plan again."}
	CardMoved = &Rule{Code: "FW082", Severity: Refuse, Title: "Card has moved", Attribute: "card_id",
		Meaning: "PCI addresses change when devices are added, and when cards change slots. Nothing was written.",
		WayOut:  "Correct the address of the card in the configuration."}
	CardWithoutSerialNumber = &Rule{Code: "FW083", Severity: Warn, Title: "Card has no serial number that can be read", Attribute: "pci_address",
		Meaning: "The card is known by its MACs and GUIDs alone, which anybody can set. While they cannot be read either, nothing is written to it.",
		WayOut:  "Install pciutils if lspci is missing. After a cross-flash the vital product data of some boards stay unreadable."}
)
