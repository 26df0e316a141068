package finding

// Family is a chapter of the catalogue: the rules whose codes begin with Prefix, in
// their order.
type Family struct {
	Prefix, Title, Text string
	Rules               []*Rule
}

// Families is the whole catalogue. What is not in it is no rule.
var Families = []Family{
	{"FW", "Firmware and cards", "For `infiniband_firmware_image`, `infiniband_firmware`, and every other resource that " +
		"writes to a card.", []*Rule{
		ImageUnreadable, ImageDamaged, ImageNotFirmware, ImageHashDiffers, ImageIsRawDump,
		ImageNotFailsafe, FlashNotFailsafe, ImageWithoutPSID, ImageFormatUnsupported, ImageWithoutHardwareID,
		ImageMalformed, ImageEncrypted, ImageUnusual, ImageNotAsDeclared, ImageForOtherChip, ImageForOtherRevision,
		HardwareIDUnknown, PSIDWouldChange, PSIDUnknown, VersionWouldBeOlder,
		VersionWouldBeSame, ImageFormatOfOtherChip,
		ImageForOtherModel, ImageForOtherPortCount, BranchWouldChange,
		RollbackDiffers, RollbackClosed, FlashWithoutCopy,
		CardUnsupported, CardInRecovery, FirmwareSecure, FlashDamaged, FlashUnreadable,
		FlashNotRunning, FlashGUIDsZero, FlashGUIDsNeverSet, FlashGUIDsShared,
		MstflintMissing, MstflintUnsuitable, CardOtherFunction, RunningUnknown,
		FlashUnverified, MstflintUnproven, CardWithoutDriver, UpdateMethodUnknown, FlashDividedOtherwise,
		ChipUnproven, RestartIntoDamagedFlash, BootROMNotKept, BootROMRemoved, CardExchanged, CardUndecided, CardMoved,
		CardWithoutSerialNumber, BurnBypassesFirmware, ImageNotForDriver, FlashNotAsWritten,
		ImageNotApproved,
	}},
	{"BK", "Backups", "The old firmware is kept on the operator's machine before anything is written.", []*Rule{
		BackupUnproven, BackupDirNotSet, BackupMissing, BackupDamaged, BackupOfOtherCard, FlashChangedSinceBurn,
		RestoreOfManagedCard, BackupDirUnusable,
	}},
	{"GU", "GUIDs and MACs", "For `infiniband_guids`.", []*Rule{
		GUIDInvalid, BaseTooHigh, PrefixUnknown, GUIDOfOtherCard,
		GUIDsEqual, GUIDsIncomplete, GUIDsWouldChange,
		GUIDsUnsupported, GUIDInFabric, GUIDUntilRestart,
	}},
	{"LT", "Link types", "For `infiniband_link_type`.", []*Rule{
		FirmwareEthernetOnly, EthernetBeforeInfiniBand, AutoNotLasting, CardWithoutPort, CardInfiniBandOnly,
		OtherCardWouldChange, PortTypesNotShown,
		LinkTypeNotLasting, CardConfigUnreadable, LinkTypeWouldBeLost,
		LinkTypeOverridden, InitramfsOutdated, InfiniBandInUse,
		ParameterOverCard,
	}},
	{"NV", "Settings of cards", "For `infiniband_nv_config`.", []*Rule{
		SettingUnknown, SettingValueUnfit, SettingsUnreadable, SettingsAwaitPowerCycle,
	}},
	{"PF", "Platforms", "What a distribution or its kernel cannot do. For every resource that needs an InfiniBand port.",
		[]*Rule{
			KernelWithoutDriver, KernelWithoutModule, PackagesInstalled, KernelModulesGone, ModulesNotAtBoot,
			PortUnknown, PortEthernet, FilesNotLasting, PackagesImpossible,
		}},
	{"HO", "Hosts", "The host of a card: which connections and services use the card, what runs on the host, what the " +
		"host allows.", []*Rule{
		SessionOverCard, DefaultRouteOverCard, KernelLockedDown, FlashJobRunning, FlashJobUnsettled,
		HostWithoutSpace, RebootNotAllowed, HostObserved, SubnetManagerOnCard, HostLacksPrograms, RestartNeeded,
		StorageOverCard, HostServesShares, HostScansPool, HostRunsOnBattery, HostInKubernetes,
		FlashJobUnreadable, EarlierCardFailed, ChangedSincePlan, ManagedTwice, HostHasTwoNames, FileEdited, FileUnmanaged,
		CardInUse, ResumeOwed, BurnFailedElsewhere,
	}},
	{"SM", "Subnet managers", "For `infiniband_opensm`.", []*Rule{
		OpensmUnsupported, OpensmPriorityEqual,
		OpensmPortsReplaced, OpensmTakenOver,
		OpensmFileNotUnderstood, PartitionsWithoutDefault, DefaultPartitionWeak,
		PartitionsContradict, BroadcastGroupUnfit, SubnetManagerCompetes, FabricGUIDTwice,
		OpensmPortHeld, OpensmConfIgnored, FabricKeysDropped, PartitionsDiffer, PartitionFileUnmanaged,
		SubnetPrefixIneffective, CompetitionUnknown,
		OpensmPortWithoutLink, OpensmMasked, OpensmCommandReplaced,
		OpensmOlderThanFiles, OpensmOthersStart, OpensmBeside, FabricsAreOne,
		OpensmLastLeaves, FabricKeysDiffer, FabricKeysSameVersion, FabricClosed, FabricWithoutLease,
	}},
	{"PO", "Ports", "For `infiniband_port`.", []*Rule{
		PortUnsupported, PortCarriesHost, PortSpeedUnsupported,
		PortLinkUnread, PortEnabledUnread,
	}},
	{"VF", "Virtual functions", "For `infiniband_virtual_functions`.", []*Rule{
		VirtualFunctionsUnsupported, VirtualFunctionsTooMany, VirtualFunctionsInUse, VirtualPortsUnsupported,
	}},
	{"BM", "Benchmarks", "For `infiniband_benchmark`.", []*Rule{
		BenchmarkUnavailable, BenchmarkMissed,
	}},
	{"IP", "IPoIB interfaces", "For `infiniband_ipoib_interface`.", []*Rule{
		IPoIBUnsupported, PKeyInvalid, MTUUnfit,
		MTUAboveTrueNAS, ConnectedModeMissing, SessionOverInterface, InterfaceConfiguredElsewhere,
		InterfaceStoredByOthers, SubnetTwice, TrueNASFirstInterface, TrueNASOthersGoDown, TrueNASChangePending,
		TrueNASDeletesUdevRules, MTUDependsOnFabric, NetworkServiceDown, PortWithoutSubnetManager,
		AddressInvalid, NetworkStackUnknown, InterfaceOfTwoServices, NetworkFileNotRead,
		NetworkChangeUnconfirmed, RouteInvalid, DefaultRouteTwice,
		TrueNASCannotKeep, PKeyNameTooLong, SubnetManagerElsewhere, InterfaceInBond, Ifupdown2TooOld,
		InterfaceWouldBeLost, StorageOverInterface, AddressTaken, InterfaceDefinedByHand,
		DefinitionLosesSettings, InterfaceNotActivated, DefinitionStays, ConfirmedChangeLeft,
		PKeyWithoutCarrier, InterfaceDrifts, MTUAbovePort,
		InterfaceWithoutCarrier, OtherInterfaceFileInvalid, DHCPUnfit, BondUnfit, BondWithoutBackup,
	}},
}

// All gives the rules of all families.
func All() []*Rule {
	var all []*Rule
	for _, f := range Families {
		all = append(all, f.Rules...)
	}
	return all
}
