package finding

// Rules of a firmware image alone.
var (
	ImageUnreadable = &Rule{Code: "FW001", Severity: Refuse, Title: "Firmware image cannot be read", Attribute: "image_id",
		Meaning: "What cannot be read cannot be checked.",
		WayOut:  "Check the path and the permissions of the file."}
	ImageTruncated = &Rule{Code: "FW002", Severity: Refuse, Title: "Firmware image is truncated", Attribute: "image_id",
		Meaning: "The image says that it is longer than the file. Half an image does not boot.",
		WayOut:  "Download the file again and compare its SHA-256 with the one its publisher gives."}
	ImageDamaged = &Rule{Code: "FW003", Severity: Refuse, Title: "Firmware image is damaged", Attribute: "image_id",
		Meaning: "A checksum inside the image is wrong. mstflint only prints some of these; here any of them refuses.",
		WayOut:  "Download the file again and compare its SHA-256 with the one its publisher gives."}
	ImageNotFirmware = &Rule{Code: "FW004", Severity: Refuse, Title: "File is not a firmware image", Attribute: "image_id",
		Meaning: "Vendors ship images inside archives and installers. Only the image itself, a .bin file, can be burned.",
		WayOut:  "Unpack the file and name the .bin inside it."}
	ImageHashDiffers = &Rule{Code: "FW005", Severity: Refuse, Title: "Firmware image has another SHA-256 than declared", Attribute: "image_id",
		Meaning: "The file is not the one that was reviewed.",
		WayOut:  "Find out why the file changed. If the new content is wanted, put its SHA-256 into the configuration."}
	ImageIsRawDump = &Rule{Code: "FW006", Severity: Refuse, Title: "File is a raw dump of a flash", Attribute: "image_id",
		Meaning: "A raw dump holds both slots of a flash with their addresses interleaved; burned as an image it leaves nothing that boots.",
		WayOut:  "Make an image of the card with mstflint's `ri` command, or use the vendor's .bin file."}
	ImageNotFailsafe = &Rule{Code: "FW007", Severity: Refuse, Title: "Non-failsafe image over a failsafe flash", Attribute: "image_id",
		Meaning: "Without the failsafe layout an interrupted burn leaves a card that does not boot. mstflint wants -nofs for it, which is never passed.",
		WayOut:  "Use the failsafe build of the image."}
	FlashNotFailsafe = &Rule{Code: "FW008", Severity: Refuse, Title: "Flash of the card is not in failsafe layout", Attribute: "card_id",
		Meaning: "The old image cannot stay bootable while the new one is written, so that an interrupted burn leaves a card that does not boot.",
		WayOut:  "Such a card has to be burned once by hand, with the card's own vendor's instructions at hand."}
	ImageWithoutPSID = &Rule{Code: "FW009", Severity: Refuse, Title: "Firmware image names no board", Attribute: "image_id",
		Meaning: "An image without a readable PSID cannot be matched to a board, and mstflint skips its own PSID check for it.",
		WayOut:  "Use an image that has a PSID."}
	ImageFormatUnsupported = &Rule{Code: "FW010", Severity: Refuse, Title: "Format of the firmware image is not supported", Attribute: "image_id",
		Meaning: "This release burns FS2 (ConnectX-3, ConnectX-3 Pro), FS3 (ConnectX-4) and FS4 (ConnectX-5 and later) images. FS5, of ConnectX-8, and others are neither read nor burned.",
		WayOut:  "Use the vendor's tool for this card."}
	ImageWithoutHardwareID = &Rule{Code: "FW011", Severity: Refuse, Title: "Firmware image lists no hardware", Attribute: "image_id",
		Meaning: "Nothing in the image says which silicon it is for.",
		WayOut:  "Use an image that lists its hardware ids; every released one does."}
	ImageMalformed = &Rule{Code: "FW012", Severity: Refuse, Title: "Firmware image is malformed", Attribute: "image_id",
		Meaning: "A structure inside the image does not make sense.",
		WayOut:  "Download the file again and compare its SHA-256 with the one its publisher gives."}
	ImageHasGUIDs = &Rule{Code: "FW013", Severity: Note, Title: "Firmware image carries the identity of one card", Attribute: "image_id",
		Meaning: "It was read from a card. The burn keeps the GUIDs and MACs of the card it goes to; those in the image are not used."}
	ImageEncrypted = &Rule{Code: "FW014", Severity: Refuse, Title: "Firmware image is encrypted", Attribute: "image_id",
		Meaning: "Only the chip that it is for can read it, so that nobody can tell before the burn whether it is whole.",
		WayOut:  "Use the vendor's image that is not encrypted; cards with life cycle and key management need the vendor's own tool."}
	ImageUnusual = &Rule{Code: "FW015", Severity: Warn, Title: "Firmware image is unusual", Attribute: "source",
		Meaning: "It is whole, and what is said above does not keep it from being burned. Released images rarely have it: it may show that the file is not what it is taken for.",
		WayOut:  "Compare the file with its publisher's."}
)
