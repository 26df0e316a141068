package finding

// Rules of a firmware image against the card.
var (
	ImageForOtherChip = &Rule{Code: "FW020", Severity: Refuse, Title: "Firmware image is for another chip",
		Attribute: "image_id",
		Meaning: "The hardware id of the silicon decides. Product names and file names do not: ConnectX-3 and ConnectX-3 " +
			"Pro are different chips with similar names.",
		WayOut: "Use an image whose hardware ids name this chip."}
	ImageForOtherRevision = &Rule{Code: "FW021", Severity: Refuse,
		Title: "Firmware image is for another revision of the chip", Attribute: "image_id",
		Meaning: "Early and late silicon of one chip need different images. hardware_ids of the image names the revisions " +
			"it is for; mstflint's hw query shows that of the card.",
		WayOut: "Use the image for this revision."}
	HardwareIDUnknown = &Rule{Code: "FW022", Severity: Refuse, Title: "Hardware id of the card is not known",
		Attribute: "card_id",
		Meaning:   "Without the id nothing proves that the image fits the silicon.",
		WayOut:    "Run `mstflint -d <pci address> hw query` on the host and fix what it reports."}
	PSIDWouldChange = &Rule{Code: "FW023", Severity: NeedsConsent, Title: "Burn would replace the PSID",
		Attribute: Allow, Consent: "psid_change",
		Meaning: "The PSID names the board that the image was made for. An image for another board can leave ports without " +
			"signal, or a host that does not start. The same device ID on both boards does not prevent that. A board of " +
			"another company may have other LEDs, modules or temperature limits, and its support ends.",
		WayOut: "If you know that both boards are the same hardware and want this cross-flash, write into the resource:"}
	PSIDUnknown = &Rule{Code: "FW025", Severity: Refuse, Title: "PSID of the card is not known", Attribute: "card_id",
		Meaning: "Without a PSID no image can be matched to the board. mstflint would skip its own PSID check.",
		WayOut: "Run `mstflint -d <pci address> q` on the host. A card without a readable PSID needs its vendor's own " +
			"recovery."}
	VersionWouldBeOlder = &Rule{Code: "FW026", Severity: NeedsConsent, Title: "Burn would install an older version",
		Attribute: Allow, Consent: "downgrade",
		Meaning: "Older firmware may lack fixes. It may not understand settings that newer firmware stored.",
		WayOut:  "If the older version is wanted, write into the resource:"}
	VersionWouldBeSame = &Rule{Code: "FW028", Severity: NeedsConsent,
		Title: "Image has the same version as the flash, but different content", Attribute: Allow,
		Consent: "reinstall",
		Meaning: "Flash and image have the same PSID and version but different content. One of them was modified, or is an " +
			"OEM's build.",
		WayOut: "If the image is the right one, write into the resource:"}
	ImageFormatOfOtherChip = &Rule{Code: "FW030", Severity: Refuse,
		Title: "Format of the firmware image does not fit the chip", Attribute: "image_id",
		Meaning: "Each generation of chips boots one container format.",
		WayOut:  "Use an image for this generation."}
	ImageForOtherModel = &Rule{Code: "FW033", Severity: Warn, Title: "Image was made for another model of the board",
		Attribute: "image_id",
		Meaning: "The part number in the card's vital product data and the board definition in the image name different " +
			"models. Models of one chip differ in connectors, speeds and power.",
		WayOut: "Look both part numbers up before the burn. Keep the backup."}
	ImageForOtherPortCount = &Rule{Code: "FW034", Severity: NeedsConsent,
		Title: "Image was made for another number of ports", Attribute: "image_id", Consent: "other_board",
		Meaning: "Firmware for another number of ports is known to make ports misbehave. Where the table of boards has " +
			"both boards, the burn needs a consent. Where only their part numbers tell, this is a warning.",
		WayOut: "Use the image of a board with as many ports. If the table is wrong about this card, write " +
			"into the resource:"}
	BranchWouldChange = &Rule{Code: "FW035", Severity: NeedsConsent,
		Title: "Burn would install firmware of another branch", Attribute: Allow,
		Consent: "branch_change",
		Meaning: "A version like 12.1102.6630 names its branch in the last two of the four digits: 02. Versions of two " +
			"branches cannot be compared. Each may have fixes that the other lacks. A version like 12.28.2006 names no " +
			"branch, and nothing else in the image names one. A branch of an OEM has its own PSID.",
		WayOut: "If the other branch is wanted, write into the resource:"}
	RollbackDiffers = &Rule{Code: "FW037", Severity: Refuse, Title: "Rollback image is not what the card has",
		Attribute: "rollback_image_id",
		Meaning: "Nobody can read the flash: its firmware is secure, or no tool reaches the card. The only way back is an " +
			"image of what is in flash now. This one differs from what the card says of itself.",
		WayOut: "Declare the vendor's image of what the card has with an infiniband_firmware_image. If an image waits for " +
			"a restart, restart the host first."}
	RollbackClosed = &Rule{Code: "FW038", Severity: Refuse, Title: "Burn would close the way back", Attribute: "image_id",
		Meaning: "The image has a higher security version than the rollback image. Once it has run, the card refuses " +
			"images with a lower one.",
		WayOut: "Use an image of the same security version. The tool of the vendor takes the other one."}
	FlashWithoutCopy = &Rule{Code: "FW039", Severity: NeedsConsent, Title: "No copy of the flash can be made",
		Attribute: "rollback_image_id", Consent: "without_copy",
		Meaning: "Nobody can read the flash: its firmware is secure, or no tool reaches the card. The rollback image " +
			"may be other bytes than those in flash, and the firmware may refuse to go back to it.",
		WayOut: "If you accept that, write into the resource:"}
	BootROMNotKept = &Rule{Code: "FW070", Severity: Refuse, Title: "Boot ROM of the card cannot be kept",
		Attribute: "boot_rom",
		Meaning: "The burn would replace the boot ROM. The vendor's tool has no safe way to keep it: the one that it has " +
			"for ConnectX-4 and later writes past the firmware, and mixes what the vendor releases as one.",
		WayOut: "Write `boot_rom = \"image\"` if the ROM of the image will do. Else use an image with the ROM that is wanted."}
	BootROMRemoved = &Rule{Code: "FW071", Severity: Warn, Title: "Burn removes the boot ROM of the card",
		Attribute: "image_id",
		Meaning:   "The image has no boot ROM. A host that starts over this card will not start any more.",
		WayOut: "If the host starts from a disk, write `boot_rom = \"image\"`, which says that this is meant. Else use an " +
			"image with a boot ROM."}
)
