package finding

// Rules of the settings in a card's own configuration.
var (
	SettingUnknown = &Rule{Code: "NV001", Severity: Refuse, Title: "Card has no such setting", Attribute: "settings",
		Meaning: "mstconfig of this host does not show a setting of this name for this card. The names are those of the " +
			"tool, and differ by its version. A firmware has only a part of them. Some appear after " +
			"ADVANCED_PCI_SETTINGS = true and a restart.",
		WayOut: "Write a name that `mstconfig -d <pci address> q` prints on the host."}
	SettingValueUnfit = &Rule{Code: "NV002", Severity: Refuse, Title: "Setting does not take this value",
		Attribute: "settings",
		Meaning:   "mstconfig would refuse the value, and settings that were stored before it would stay.",
		WayOut:    "Write a value that is named above."}
	SettingsUnreadable = &Rule{Code: "NV003", Severity: Refuse, Title: "Settings of the card cannot be read",
		Attribute: "card_id",
		Meaning: "Only mstconfig reads and writes the card's own configuration. Without its answer nobody knows what the " +
			"card has, so nothing is written.",
		WayOut: "Plan again: a busy card may answer next time. If mstconfig is not installed, install mstflint; " +
			"ConnectX-3 needs a release up to 4.25. Else run `mstconfig -d <pci address> q` on the host and fix what it " +
			"reports."}
	SettingsAwaitPowerCycle = &Rule{Code: "NV004", Severity: Warn, Title: "Only a power cycle loads the settings",
		Attribute: "activation",
		Meaning: "The settings are stored. The card refused to load them at a restart, as mstconfig says. So the apply " +
			"does not restart the host.",
		WayOut: "Switch the machine off, wait half a minute, and switch it on. Until then write activation = \"none\": " +
			"a plan with \"reboot\" would restart the host, and the card would keep its old settings."}
)
