package finding

// Rules of the way back.
var (
	BackupUnproven = &Rule{Code: "BK001", Severity: Refuse, Title: "Backup of the card is not proven",
		Meaning: "No byte is written before the old firmware is on the operator's machine, read twice with the same result, verified by the vendor's tool and by the provider, and of this card.",
		WayOut:  "Read what failed below. Nothing was written to the card."}
	BackupDirNotSet = &Rule{Code: "BK002", Severity: Refuse, Title: "No directory for backups is configured",
		Meaning: "The old firmware is kept on the operator's machine before anything is written.",
		WayOut:  "Set backup_dir in the provider configuration, for example backup_dir = \"${path.root}/firmware-backups\"."}
	BackupMissing = &Rule{Code: "BK003", Severity: Refuse, Title: "Backup to restore is missing",
		Meaning: "on_destroy = \"restore\" burns back what the card had before the resource first burned it, from the backup that was taken then.",
		WayOut:  "Put the directory back where the evidence says. To leave the firmware as it is, write on_destroy = \"keep\" and apply first."}
	BackupDamaged = &Rule{Code: "BK004", Severity: Refuse, Title: "Backup to restore does not verify",
		Meaning: "A file that changed since it was written is not burned.",
		WayOut:  "Put back an intact copy; the host keeps one, named by its SHA-256, in /var/lib/terraform-provider-infiniband/backups. To leave the firmware as it is, write on_destroy = \"keep\" and apply first."}
	BackupOfOtherCard = &Rule{Code: "BK005", Severity: Refuse, Title: "Backup to restore is of another card",
		Meaning: "A backup goes back to the card that it was read from and to no other; the card in this slot may have been changed.",
		WayOut:  "Check which card is in the slot. To leave the firmware as it is, write on_destroy = \"keep\" and apply first."}
	FlashChangedSinceBurn = &Rule{Code: "BK006", Severity: Refuse, Title: "Card holds other firmware than the one to be undone",
		Meaning: "Somebody has burned the card since. on_destroy = \"restore\" allows one change only: from what the resource put into flash to what was there before.",
		WayOut:  "Apply once more, so that the card is as configured, and destroy then; or write on_destroy = \"keep\" and apply first."}
	RestoreOfManagedCard = &Rule{Code: "BK007", Severity: Refuse, Title: "Another resource of the configuration has the card",
		Meaning: "The plan destroys one infiniband_firmware of this card, which has on_destroy = \"restore\", and has another one of the same card. " +
			"The earlier firmware would go into a card that the other resource wants to have its own. A block that was renamed looks like this, and so does one with another key in for_each.",
		WayOut: "If the block was renamed or its key changed, write a moved block from the old address to the new one. " +
			"To give the card to the other resource, write on_destroy = \"keep\" into the old block and apply; then remove the old block."}
	BackupDirUnusable = &Rule{Code: "BK010", Severity: Refuse, Title: "Directory for backups cannot be used",
		Meaning: "The old firmware is kept there, on the machine that runs Terraform, before anything is written. The host was not changed.",
		WayOut:  "Make the directory, or let its owner give you the right to write there; or set another backup_dir in the provider configuration."}
)
