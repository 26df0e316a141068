package finding

// Rules of the way back.
var (
	BackupUnproven = &Rule{Code: "BK001", Severity: Refuse, Title: "Backup of the card is not proven",
		Meaning: "Nothing is written to a card without a proven backup on your machine: read twice with the same result, " +
			"verified by mstflint and by the provider, and of this card.",
		WayOut: "Nothing was written to the card. Fix what is named first in this message, then plan again."}
	BackupDirNotSet = &Rule{Code: "BK002", Severity: Refuse, Title: "No directory for backups is configured",
		Meaning: "The old firmware is kept on the operator's machine before anything is written.",
		WayOut:  "Set backup_dir in the provider configuration, for example backup_dir = \"${path.root}/firmware-backups\"."}
	BackupMissing = &Rule{Code: "BK003", Severity: Refuse, Title: "Backup to restore is missing",
		Meaning: "on_destroy = \"restore\" burns back the firmware that the card had before this resource. It needs the " +
			"backup that was taken then.",
		WayOut: "Put the backup back at the path named above. To leave the firmware as it is, write on_destroy = \"keep\" " +
			"and apply first."}
	BackupDamaged = &Rule{Code: "BK004", Severity: Refuse, Title: "Backup to restore does not verify",
		Meaning: "The folder does not hold the backup that was taken: its content was changed. It is not burned.",
		WayOut: "Put back an intact copy. The host keeps one in /var/lib/terraform-provider-infiniband/backups, named by " +
			"its SHA-256. To leave the firmware as it is, write on_destroy = \"keep\" and apply first."}
	BackupOfOtherCard = &Rule{Code: "BK005", Severity: Refuse, Title: "Backup to restore is of another card",
		Meaning: "A backup is burned only into the card that it was read from. Another card may be in the slot.",
		WayOut: "Check which card is in the slot. If it is the one that was burned, write on_destroy = \"keep\" and apply " +
			"first: that leaves the firmware as it is. If it is another one, use terraform state rm for the resource, or " +
			"adopt it by expect in infiniband_card."}
	FlashChangedSinceBurn = &Rule{Code: "BK006", Severity: Refuse,
		Title: "Card holds other firmware than the one to be undone",
		Meaning: "The card was burned after this state was stored: by a person, by another configuration, or by an apply " +
			"that an older state does not know. on_destroy = \"restore\" replaces only the firmware that this resource " +
			"burned.",
		WayOut: "Apply once more, then destroy. To leave the firmware as it is, write on_destroy = \"keep\" and apply first."}
	RestoreOfManagedCard = &Rule{Code: "BK007", Severity: Refuse,
		Title: "Another resource of the configuration has the card",
		Meaning: "The plan destroys a resource with on_destroy = \"restore\", and another one of its type manages the same " +
			"card. The restore would undo what the other resource sets. A renamed block, or a new key in for_each, looks like " +
			"this. Resources of two provider blocks are not compared with each other.",
		WayOut: "If the block was renamed or its key changed, write a moved block from the old address to the new one. " +
			"To give the card to the other resource, write on_destroy = \"keep\" into the old block and apply. Then remove " +
			"the old block."}
	BackupDirUnusable = &Rule{Code: "BK010", Severity: Refuse, Title: "Directory for backups cannot be used",
		Meaning: "The machine that runs Terraform keeps the old firmware there before anything is written. The host was " +
			"not changed.",
		WayOut: "Make the directory writable for you, or set another backup_dir in the provider configuration."}
)
