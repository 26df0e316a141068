package finding

// Rules of a firmware image against the card.
var (
	ImageForOtherChip = &Rule{Code: "FW020", Severity: Refuse, Title: "Firmware image is for another chip", Attribute: "image_id",
		Meaning: "The silicon's own id decides, never a product name or a file name: ConnectX-3 and ConnectX-3 Pro are different chips, and marketing names mix them up.",
		WayOut:  "Use an image whose hardware ids name this chip."}
	ImageForOtherRevision = &Rule{Code: "FW021", Severity: Refuse, Title: "Firmware image is for another revision of the chip", Attribute: "image_id",
		Meaning: "Early and late silicon of one chip need different images.",
		WayOut:  "Use the image for this revision."}
	HardwareIDUnknown = &Rule{Code: "FW022", Severity: Refuse, Title: "Hardware id of the card is not known", Attribute: "card_id",
		Meaning: "Without it nothing says that the image fits the silicon.",
		WayOut:  "Run `mstflint -d <pci address> hw query` on the host and mend what it complains about."}
	PSIDWouldChange = &Rule{Code: "FW023", Severity: NeedsConsent, Title: "Burn would replace the PSID", Attribute: "allow_psid_change", ConsentAttribute: "allow_psid_change",
		Meaning: "The PSID names the board that the image was made for. An image for another board can leave ports without signal or a host that does not start; the hardware id does not protect from that.",
		WayOut:  "If this cross-flash is wanted, because both boards are known to be the same hardware, add to the resource:"}
	PSIDConsentDiffers = &Rule{Code: "FW024", Severity: NeedsConsent, Title: "allow_psid_change names another pair than the one observed", Attribute: "allow_psid_change", ConsentAttribute: "allow_psid_change",
		Meaning: "A consent holds for one pair of PSIDs only.",
		WayOut:  "Check that this is the card and the image that you mean. If so, write:"}
	PSIDUnknown = &Rule{Code: "FW025", Severity: Refuse, Title: "PSID of the card is not known", Attribute: "card_id",
		Meaning: "An empty PSID equals nothing; mstflint would skip its own PSID check here.",
		WayOut:  "Run `mstflint -d <pci address> q` on the host. A card without a readable PSID needs its vendor's own recovery."}
	VersionWouldBeOlder = &Rule{Code: "FW026", Severity: NeedsConsent, Title: "Burn would install an older version", Attribute: "allow_downgrade", ConsentAttribute: "allow_downgrade",
		Meaning: "Older firmware may lack fixes, and may not understand settings that the newer one stored.",
		WayOut:  "If the older version is wanted, add to the resource:"}
	DowngradeConsentDiffers = &Rule{Code: "FW027", Severity: NeedsConsent, Title: "allow_downgrade names another pair than the one observed", Attribute: "allow_downgrade", ConsentAttribute: "allow_downgrade",
		Meaning: "A consent holds for one pair of versions only.",
		WayOut:  "Check that this is the card and the image that you mean. If so, write:"}
	VersionWouldBeSame = &Rule{Code: "FW028", Severity: NeedsConsent, Title: "Burn would replace firmware of the same version by another content", Attribute: "allow_reinstall", ConsentAttribute: "allow_reinstall",
		Meaning: "Flash and image have the same PSID and version and yet differ: one of them was modified, or is an OEM's build.",
		WayOut:  "If the image is the right one, add to the resource:"}
	ReinstallConsentDiffers = &Rule{Code: "FW029", Severity: NeedsConsent, Title: "allow_reinstall names another version than the one observed", Attribute: "allow_reinstall", ConsentAttribute: "allow_reinstall",
		Meaning: "A consent holds for one version only.",
		WayOut:  "Check that this is the card and the image that you mean. If so, write:"}
	ImageFormatOfOtherChip = &Rule{Code: "FW030", Severity: Refuse, Title: "Format of the firmware image does not fit the chip", Attribute: "image_id",
		Meaning: "Each generation of chips boots one container format.",
		WayOut:  "Use an image for this generation."}
	ImageOfOtherVendor = &Rule{Code: "FW031", Severity: Warn, Title: "Image is another company's than the board", Attribute: "image_id",
		Meaning: "The PSID prefixes belong to different companies. OEM boards may have other LEDs, modules or temperature limits than the board the image was made for.",
		WayOut:  "Keep the backup. The OEM's own image is the way back."}
	ROMWouldChange = &Rule{Code: "FW032", Severity: Note, Title: "Burn replaces the expansion ROM by the image's",
		Meaning: "Both hold a boot ROM and neither states a product version, so mstflint asks which one to keep."}
	ImageForOtherModel = &Rule{Code: "FW033", Severity: Warn, Title: "Image was made for another model of the board", Attribute: "image_id",
		Meaning: "The part number in the card's vital product data and the board definition in the image name different models. Models of one chip differ in connectors, speeds and power.",
		WayOut:  "Look both part numbers up before the burn. Keep the backup."}
	ImageForOtherPortCount = &Rule{Code: "FW034", Severity: Warn, Title: "Image was made for another number of ports", Attribute: "image_id",
		Meaning: "Firmware for two ports on a board with one, or the other way round, is known to make ports misbehave.",
		WayOut:  "Use the image of a board with as many ports."}
	BranchWouldChange = &Rule{Code: "FW035", Severity: NeedsConsent, Title: "Burn would install firmware of another branch", Attribute: "allow_branch_change", ConsentAttribute: "allow_branch_change",
		Meaning: "Versions with four digits in the middle (12.1102.6630) state their branch in the last two. Between branches neither is the newer one, whatever the numbers say: fixes of one need not be in the other. " +
			"Versions in the present notation (12.28.2006) state no branch, nor does anything else in an image: mstflint knows branches of switches' firmware only. An OEM's own line shows in the PSID.",
		WayOut: "If the other branch is wanted, add to the resource:"}
	BranchConsentDiffers = &Rule{Code: "FW036", Severity: NeedsConsent, Title: "allow_branch_change names another pair than the one observed", Attribute: "allow_branch_change", ConsentAttribute: "allow_branch_change",
		Meaning: "A consent holds for one pair of versions only.",
		WayOut:  "Check that this is the card and the image that you mean. If so, write:"}
)
