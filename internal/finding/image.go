package finding

// Rules of a firmware image alone.
var (
	ImageUnreadable = &Rule{Code: "FW001", Severity: Refuse, Title: "Firmware image cannot be read", Attribute: "image_id",
		Meaning: "What cannot be read cannot be checked.",
		WayOut:  "Check the path and the permissions of the file."}
	ImageDamaged = &Rule{Code: "FW003", Severity: Refuse, Title: "Firmware image is cut off or damaged",
		Attribute: "image_id",
		Meaning:   "A part of the image is missing, or a checksum inside it is wrong. Such firmware does not boot.",
		WayOut:    "Download the file again and compare its SHA-256 with the one its publisher gives."}
	ImageNotFirmware = &Rule{Code: "FW004", Severity: Refuse, Title: "File is not a firmware image", Attribute: "image_id",
		Meaning: "The host burns a bare image only, a .bin file. Vendors ship images inside archives and installers.",
		WayOut:  "Unpack the file and name the .bin inside it."}
	ImageHashDiffers = &Rule{Code: "FW005", Severity: Refuse, Title: "Firmware image has another SHA-256 than declared",
		Attribute: "image_id",
		Meaning:   "The file is not the one that the configuration declares.",
		WayOut:    "Find out why the file changed. If the new content is wanted, put its SHA-256 into the configuration."}
	ImageNotAsDeclared = &Rule{Code: "FW016", Severity: Refuse, Title: "Firmware image is not the declared one",
		Attribute: "psid",
		Meaning:   "Its PSID or version is not the one that the configuration says.",
		WayOut:    "Use the image that was meant, or correct what the configuration declares."}
	ImageIsRawDump = &Rule{Code: "FW006", Severity: Refuse, Title: "File is a raw dump of a flash", Attribute: "image_id",
		Meaning: "A raw dump holds both slots of a flash with their addresses interleaved. A card with a raw dump burned " +
			"as an image does not boot.",
		WayOut: "Make an image of the card with mstflint's `ri` command, or use the vendor's .bin file."}
	ImageNotFailsafe = &Rule{Code: "FW007", Severity: Refuse, Title: "Non-failsafe image over a failsafe flash",
		Attribute: "image_id",
		Meaning: "Such a burn is not failsafe: if it is interrupted, the card does not boot. mstflint asks for -nofs here; " +
			"the provider never passes it.",
		WayOut: "Use the failsafe build of the image."}
	FlashNotFailsafe = &Rule{Code: "FW008", Severity: Refuse, Title: "Flash of the card is not in failsafe layout",
		Attribute: "card_id",
		Meaning: "A burn would overwrite the old image before the new one is whole. If it is interrupted, the card does " +
			"not boot.",
		WayOut: "Burn the card once by hand, by the instructions of its vendor."}
	ImageWithoutPSID = &Rule{Code: "FW009", Severity: Refuse, Title: "Firmware image names no board",
		Attribute: "image_id",
		Meaning:   "The PSID says which board an image is for. Without it mstflint skips its own PSID check.",
		WayOut:    "Use an image that has a PSID."}
	ImageFormatUnsupported = &Rule{Code: "FW010", Severity: Refuse, Title: "Format of the firmware image is not supported",
		Attribute: "image_id",
		Meaning: "This release burns FS2 (ConnectX-3, ConnectX-3 Pro), FS3 (ConnectX-4) and FS4 (ConnectX-5, ConnectX-6) " +
			"images. It does not read or burn other formats, such as FS5 (ConnectX-8).",
		WayOut: "Use the vendor's tool for this card."}
	ImageWithoutHardwareID = &Rule{Code: "FW011", Severity: Refuse, Title: "Firmware image lists no hardware",
		Attribute: "image_id",
		Meaning:   "Nothing in the image says which silicon it is for.",
		WayOut:    "Use an image that lists its hardware ids. Every released image does."}
	ImageMalformed = &Rule{Code: "FW012", Severity: Refuse, Title: "Firmware image is malformed", Attribute: "image_id",
		Meaning: "A structure inside the image contradicts itself.",
		WayOut:  "Download the file again and compare its SHA-256 with the one its publisher gives."}
	ImageEncrypted = &Rule{Code: "FW014", Severity: Refuse, Title: "Firmware image is encrypted", Attribute: "image_id",
		Meaning: "Only its own chip can decrypt it. Nothing can prove before the burn that it is whole.",
		WayOut:  "Use the vendor's unencrypted image. Cards with life cycle and key management need the vendor's own tool."}
	ImageUnusual = &Rule{Code: "FW015", Severity: Warn, Title: "Firmware image is unusual", Attribute: "source",
		Meaning: "The image is whole and can be burned. Released images rarely look like this: the file may be another one " +
			"than you expect.",
		WayOut: "Compare the file with its publisher's."}
)
