package finding

// keepRunning comes first in what is said of a flash that may not start: a reboot is the
// next thing that people try.
const keepRunning = "Do not restart the host, and do not switch it off."

// earlierImages says where a whole image is.
const earlierImages = "The provider keeps the earlier ones in backup_dir, and on the host in " +
	"/var/lib/terraform-provider-infiniband/backups, named by their SHA-256."

// Rules of the card.
var (
	CardUnsupported = &Rule{Code: "FW040", Severity: Refuse, Title: "Card is not supported", Attribute: "card_id",
		Meaning: "The provider writes only to chips that it knows by vendor and device id.",
		WayOut:  "Check the PCI address."}
	CardInRecovery = &Rule{Code: "FW041", Severity: Refuse, Title: "Card is in recovery mode", Attribute: "card_id",
		Meaning: "The card found no firmware that boots (\"livefish\"), or a jumper keeps it from the firmware that it " +
			"has: both look alike. Its PSID and GUIDs cannot be proven. A burn would not be failsafe.",
		WayOut: "Look for a jumper first. Without one, restore the backup of this card by hand, as the message says step " +
			"by step, then plan again."}
	FirmwareSecure = &Rule{Code: "FW042", Severity: Refuse, Title: "Firmware of the card is secure", Attribute: "card_id",
		Meaning: "Secure firmware writes the flash itself. It accepts only images that its vendor signed for this PSID. " +
			"For another, mstflint answers \"Changing PSID is unsupported under Secure FW.\" It cannot be read back, so " +
			"there is no proven backup. No setting changes that.",
		WayOut: "Stay within the PSID. An update there needs an image of what the card runs now: name it as " +
			"`rollback_image_id`. GUIDs of such a card are not set."}
	FlashDamaged = &Rule{Code: "FW043", Severity: Refuse, Title: "Flash of the card does not verify", Attribute: "card_id",
		Meaning: "The image in flash is damaged. A backup of it would be damaged too, and there is no way back if the burn " +
			"fails.",
		WayOut: keepRunning + " Run `mstflint -d <pci address> v` on the host. Save what can be read. If the flash does not " +
			"verify, write a whole image while the card still runs. " + earlierImages}
	FlashUnreadable = &Rule{Code: "FW044", Severity: Refuse, Title: "Flash of the card cannot be read",
		Attribute: "card_id",
		Meaning:   "Nobody knows what a burn would replace.",
		WayOut: keepRunning + " Run `mstflint -d <pci address> q` on the host and fix what it reports. If it finds no valid " +
			"image, write a whole one while the card still runs. " + earlierImages}
	FlashNotRunning = &Rule{Code: "FW045", Severity: Refuse, Title: "Another image is in flash and does not run yet",
		Attribute: "card_id",
		Meaning: "The flash was changed after the card started: by this provider, if the message names a job, or by " +
			"somebody else. The running image is the last one that is known to work. A burn, or a change of GUIDs, would " +
			"overwrite it.",
		WayOut: "Run `mstflint -d <pci address> v` on the host. If the flash verifies, restart the host so that the card runs " +
			"what is in flash, and plan again. If it does not run after a reboot, switch the machine off and on. " +
			"`terraform-provider-infiniband history` says what this provider has written, and who ran it."}
	FlashGUIDsZero = &Rule{Code: "FW046", Severity: Warn, Title: "Card has zero GUIDs or MACs", Attribute: "card_id",
		Meaning: "The fabric ignores a card with zero GUIDs.",
		WayOut:  "Set them with an infiniband_guids resource."}
	FlashGUIDsNeverSet = &Rule{Code: "FW047", Severity: Refuse, Title: "GUIDs and MACs of the card were never set",
		Attribute: "card_id",
		Meaning:   "mstflint refuses to burn a card whose MACs are blank.",
		WayOut:    "Set both GUIDs and MACs first, with an infiniband_guids resource. Let infiniband_firmware depend on it."}
	FlashGUIDsShared = &Rule{Code: "FW049", Severity: Warn, Title: "Card shares a GUID or MAC with another card",
		Attribute: "card_id",
		Meaning:   "One duplicate GUID stops a whole subnet: the subnet manager never finishes its discovery.",
		WayOut:    "Give one of the cards other values with an infiniband_guids resource."}
	MstflintMissing = &Rule{Code: "FW051", Severity: Refuse, Title: "mstflint is not installed on the host",
		Attribute: "card_id",
		Meaning:   "The provider reads and writes firmware with mstflint only.",
		WayOut:    "Install the package mstflint."}
	MstflintUnsuitable = &Rule{Code: "FW052", Severity: Refuse, Title: "mstflint on the host does not suit this chip",
		Attribute: "card_id",
		Meaning: "Newer releases dropped or broke older chips. Very old releases, and those of unknown version, print " +
			"answers that the provider may misread.",
		WayOut: "Install a release that supports this chip."}
	CardOtherFunction = &Rule{Code: "FW054", Severity: Refuse, Title: "Device is not function 0 of its card",
		Attribute: "card_id",
		Meaning: "All functions of a card share one flash. It is written through function 0 only, and a virtual function " +
			"has none.",
		WayOut: "Name function 0 of the card."}
	// RunningUnknown asks for a consent of its own, and is not refused as FlashNotRunning is.
	// Without a driver no fact decides: mstflint reads the version that the running firmware
	// left in the card, prints it only if it differs from the flash, and prints nothing if
	// no firmware has run at all; a PSID is never shown. Kernels without the driver would
	// have no way to a first burn. The other consents do not serve: each names a
	// change of PSID or version that may be right and still go over untried firmware. Later
	// burns need none, because the journal shows that the host was restarted since.
	RunningUnknown = &Rule{Code: "FW055", Severity: NeedsConsent, Title: "What the card runs is not known",
		Attribute: "card_id", Consent: "unproven_flash",
		Meaning: "No driver shows the running firmware. Somebody may have burned what is in flash after the card started. " +
			"Then nothing proves that it works, nor that its backup is a way back.",
		WayOut: "Load the driver of the card and plan again: it starts what is in flash and shows it. If the host has no " +
			"driver for the card, restart the host and plan again. A card that cannot start what is in flash is then in " +
			"recovery mode (FW041). If it is not, write into the resource:"}
	FlashUnverified = &Rule{Code: "FW056", Severity: Refuse, Title: "Flash of the card has not been verified",
		Attribute: "card_id",
		Meaning:   "Nothing proves that the firmware in flash is whole.",
		WayOut:    keepRunning + " Run `mstflint -d <pci address> v` on the host and fix what it reports."}
	MstflintUnproven = &Rule{Code: "FW057", Severity: Warn,
		Title: "mstflint on the host is newer than proven for this chip", Attribute: "card_id",
		Meaning: "Few people have used it with this chip. The provider ignores fields that it does not know.",
		WayOut:  "For ConnectX-3 and ConnectX-3 Pro mstflint 4.25 or older is best."}
	CardWithoutDriver = &Rule{Code: "FW058", Severity: Warn, Title: "Kernel of the host has no driver for the card",
		Attribute: "card_id",
		Meaning:   "The card can be burned on this host. Without a driver nothing shows whether the new firmware runs.",
		WayOut:    "Move the card to a host whose kernel has the driver."}
	UpdateMethodUnknown = &Rule{Code: "FW059", Severity: Refuse, Title: "Update method of the card is not known",
		Attribute: "card_id",
		Meaning: "A ConnectX-4 or later is burned by mstflint itself (Legacy) or by its own firmware (fw_ctrl), and only " +
			"secure firmware cannot be read back. Without both facts no backup is proven, and nothing is burned.",
		WayOut: "Run `mstflint -d <pci address> q full` on the host. If it shows no `Default Update Method` or no `Security " +
			"Attributes`, install mstflint 4.21 or newer. If it takes more than a minute, a tool that was killed holds the " +
			"command interface of the card: restart the host, which resets the card."}
	BurnBypassesFirmware = &Rule{Code: "FW084", Severity: Warn, Title: "Burn bypasses the running firmware",
		Attribute: "image_id",
		Meaning: "The firmware of this card writes signed images with its own PSID itself (fw_ctrl), and checks them. " +
			"mstflint writes any other image directly, and nothing but this provider checks it.",
		WayOut: "If a signed image with the PSID of the card does what you want, use that. Until the card is started anew, " +
			"its firmware tells mstflint the version from before, and its GUIDs cannot be set: with infiniband_guids, write " +
			"activation = \"reboot\" here."}
	ImageNotForDriver = &Rule{Code: "FW085", Severity: Refuse, Title: "Driver of the card cannot write the image",
		Attribute: "image_id",
		Meaning: "No tool reaches the card, so its driver has the firmware write the image (devlink). That firmware takes " +
			"signed images with the PSID of the card.",
		WayOut: "Use a signed image with the PSID of the card, as image and as rollback image. For another PSID, install " +
			"mstflint and start the host without kernel lockdown."}
	FlashNotAsWritten = &Rule{Code: "FW090", Severity: Refuse,
		Title:     "Flash holds other firmware than the configuration says",
		Attribute: "flash_version",
		Meaning: "The configuration has flash_psid or flash_version and no image_id. It says what is in flash, and has " +
			"nothing to burn. A plan shows the difference. The apply refuses it, and writes nothing.",
		WayOut: "To keep what is in flash, write that into flash_psid and flash_version. To burn the card, write image_id " +
			"in their place."}
	ImageNotApproved = &Rule{Code: "FW091", Severity: Refuse, Title: "Image is not on the list of approved images",
		Attribute: "image_id",
		Meaning:   "The provider block names a list of the images that may be burned. Nobody has put this one there.",
		WayOut:    "Have the image approved: its SHA-256 on a line of that file. Or burn one that is on it."}
	FlashDividedOtherwise = &Rule{Code: "FW060", Severity: Refuse, Title: "Firmware image has another flash layout",
		Attribute: "image_id",
		Meaning: "mstflint would rearrange the flash first. That step is not failsafe: if it is interrupted, the card does " +
			"not boot.",
		WayOut: "Use an image of the same flash layout, or update with the vendor's own tool. Versions close to the " +
			"present one usually have the same layout."}
	ChipUnproven = &Rule{Code: "FW061", Severity: Refuse, Title: "Burning this chip has not been proven",
		Attribute: "card_id",
		Meaning: "The provider burns a chip only after tests with the real mstflint, interruptions included. ConnectX-6, " +
			"ConnectX-6 Dx and ConnectX-6 Lx were tried by their own firmware (fw_ctrl), which judges the image. They were " +
			"not tried past it.",
		WayOut: "Update with the vendor's own tool. You can still read and adopt the card."}
	RestartIntoDamagedFlash = &Rule{Code: "FW063", Severity: Refuse,
		Title: "Refusing a restart into firmware that is not known to be whole", Attribute: "activation",
		Meaning: "The card runs firmware that it loaded when the host started. After a restart it would load what is in " +
			"flash, and may not come back. A restart concerns every card of the host. So the flash of each one is " +
			"verified directly before it, after the drain commands.",
		WayOut: keepRunning + " Run `mstflint -d <pci address> v` on it. If the flash " +
			"does not verify, write a whole image while the card still runs. " + earlierImages +
			" If you know that each card is whole, set activation = \"none\" and restart the host yourself."}
	CardExchanged = &Rule{Code: "FW080", Severity: Refuse, Title: "Another card is in the slot", Attribute: "card_id",
		Meaning: "What was planned for one card is never written to another one, also by a resource that is tainted, " +
			"replaced or renamed. Only a plan with -refresh=false cannot know the recorded card if all its resources are " +
			"tainted.",
		WayOut: "If you exchanged the card, write the serial number of the new one into infiniband_card: expect = { " +
			"serial_number = \"…\" }. " +
			"The next apply adopts the new card and forgets the old one. Where card_id is written by hand, write " +
			"host/pci_address/serial_number of the new card there. The plan then replaces the other resources of the card: " +
			"the new one gets what they say, GUIDs and MAC addresses included. To drop a resource of the old card, use " +
			"terraform state rm. A destroy refuses an infiniband_firmware with on_destroy = \"restore\": take that out first. " +
			"Then terraform destroy -refresh=false removes what the others have set up on the host, and leaves the card " +
			"alone. If nobody exchanged a card, plan again: PCI addresses change when devices are added."}
	CardUndecided = &Rule{Code: "FW081", Severity: Refuse, Title: "Identity of the card cannot be checked",
		Attribute: "card_id",
		Meaning:   "Cards of one kind differ only in serial number, MACs and GUIDs. Too few of them can be compared here.",
		WayOut: "Install pciutils (for the serial number) and mstflint (for MACs and GUIDs). If the card still shows " +
			"nothing, compare its label with the recorded serial number, " +
			"remove its resources from the state with terraform state rm, and plan again."}
	CardMoved = &Rule{Code: "FW082", Severity: Refuse, Title: "Card has moved", Attribute: "card_id",
		Meaning: "The card has another PCI address now. Nothing was written.",
		WayOut:  "Correct the address of the card in the configuration."}
	CardWithoutSerialNumber = &Rule{Code: "FW083", Severity: Warn, Title: "No serial number tells the card from others",
		Attribute: "pci_address",
		Meaning: "Only MACs and GUIDs identify the card, and these can be changed. If they cannot be read either, nothing " +
			"is written to the card.",
		WayOut: "Install pciutils if lspci is missing. After a cross-flash the vital product data of some boards stay " +
			"unreadable, and boards are known that share a serial number."}
)
