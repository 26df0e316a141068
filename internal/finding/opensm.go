package finding

// Rules of subnet managers.
var (
	OpensmUnsupported = &Rule{Code: "SM001", Severity: Refuse, Title: "Refusing to run a subnet manager on this system", Attribute: "host",
		Meaning: "opensm is not part of TrueNAS, whose package management is disabled; what is added by force is lost at the next update.",
		WayOut:  "Run it on another host of the fabric: one SM serves all of them. It needs one InfiniBand port, on Ubuntu for example; a managed switch has one of its own."}
	OpensmPortUnknown = &Rule{Code: "SM002", Severity: Refuse, Title: "Refusing to run a subnet manager on an unknown port", Attribute: "port_guid",
		Meaning: "A subnet manager belongs to one port. opensm that is told a GUID it does not find ends without an error.",
		WayOut:  "Use port_guids of the infiniband_guids or infiniband_card resource; if the GUID is new, make this resource depend on infiniband_guids."}
	OpensmPortEthernet = &Rule{Code: "SM003", Severity: Refuse, Title: "Refusing to run a subnet manager on an Ethernet port", Attribute: "port_guid",
		Meaning: "Ethernet has no subnet manager.",
		WayOut:  "Set the port to \"ib\" with infiniband_link_type, and make this resource depend on it."}
	OpensmPriorityInvalid = &Rule{Code: "SM004", Severity: Refuse, Title: "Refusing an SM priority outside 0 to 15", Attribute: "priority",
		Meaning: "SMInfo has four bits for it."}
	OpensmPriorityEqual = &Rule{Code: "SM005", Severity: Warn, Title: "Two subnet managers have the same priority", Attribute: "priority",
		Meaning: "Of equal priorities the lower port GUID wins, and takes over from a running master: which one rules the fabric follows from hardware, not from the configuration. " +
			"Two that both run as masters are on two fabrics and are not named here.",
		WayOut: "Give those of one fabric a priority each."}
	OpensmInstalled = &Rule{Code: "SM006", Severity: Warn, Title: "The package opensm will be installed",
		Meaning: "It comes from the distribution, and stays when the resource is destroyed. Nothing else is upgraded."}
	OpensmPortsReplaced = &Rule{Code: "SM007", Severity: Warn, Title: "The list of ports with a subnet manager is replaced",
		Meaning: "PORTS=ALL, the package's default, runs an SM on every port. With two ports on one fabric these are two SMs that compete.",
		WayOut:  "Give each port that needs one an infiniband_opensm resource."}
	FabricHasSubnetManager = &Rule{Code: "SM008", Severity: Note, Title: "Another subnet manager serves this fabric already",
		Meaning: "If its priority is higher, ours waits as a standby; if it is lower, ours takes over. Both work."}
	OpensmPostponed = &Rule{Code: "SM009", Severity: Note, Title: "Checks of the subnet manager's port are postponed to apply", Attribute: "port_guid",
		Meaning: "The port gets its GUID or its link type from another resource of this plan. It is checked when it is there, before anything is changed."}
	OpensmTakenOver = &Rule{Code: "SM010", Severity: Warn, Title: "A subnet manager that runs on this port is taken over",
		Meaning: "Its priority is replaced by the configured one; it is restarted, which does not disturb connections in use."}
	OpensmUnfitForKernel = &Rule{Code: "SM011", Severity: Warn, Title: "This opensm may not work with this kernel",
		Meaning: "opensm 3.3.23 and Linux 6.11 or later are reported not to work together: \"Unable to register class 129\" (linux-rdma/opensm issue 37).",
		WayOut:  "If the apply reports that, boot the GA kernel of the release, or install an opensm that names the fix."}
	OpensmFileNotUnderstood = &Rule{Code: "SM012", Severity: Refuse, Title: "Refusing to edit a file that is not understood",
		WayOut: "Mend the PORTS line by hand: ALL, NONE, or GUIDs in quotes."}
	PartitionsWithoutDefault = &Rule{Code: "SM013", Severity: Refuse, Title: "Refusing partitions without the default one", Attribute: "partitions",
		Meaning: "opensm then makes every port but its own a limited member of the default partition, and limited members cannot talk to each other.",
		WayOut:  "Add the partition \"Default\" in so many words, for example: Default = { ipoib = true, full = [\"ALL\"] }."}
	DefaultPartitionWeak = &Rule{Code: "SM014", Severity: Warn, Title: "The default partition does not carry ordinary traffic", Attribute: "partitions",
		Meaning: "opensm prepares the broadcast group of IPoIB by itself only where there is no partition file; without it, or among limited members, IPoIB in the default partition stays down or silent.",
		WayOut:  "If that is not meant, write: Default = { ipoib = true, full = [\"ALL\"] }."}
	PartitionsContradict = &Rule{Code: "SM015", Severity: Refuse, Title: "Refusing partitions that contradict each other", Attribute: "partitions",
		Meaning: "opensm merges partitions of one P_Key under the first name, and of two entries for a port the last one counts: what it does is not what is written.",
		WayOut:  "Give each partition a P_Key of its own, and each port one entry in it."}
	BroadcastGroupUnfit = &Rule{Code: "SM016", Severity: Refuse, Title: "Refusing a broadcast group that a member cannot join", Attribute: "partitions",
		Meaning: "A host whose port has a smaller IB MTU or rate than the group is refused the join; its interface stays without carrier (\"multicast join failed, status -22\").",
		WayOut:  "Lower mtu or rate of the partition to what the weakest member has."}
	PartitionLimitedOnly = &Rule{Code: "SM017", Severity: Warn, Title: "Members of a partition cannot talk to each other", Attribute: "partitions",
		Meaning: "A limited member reaches full members only.",
		WayOut:  "Make one of the two a full member, if they are to talk."}
	SubnetManagerCompetes = &Rule{Code: "SM018", Severity: Warn, Title: "A subnet manager that Terraform does not manage competes with this one", Attribute: "priority",
		Meaning: "The higher priority rules, of equals the lower port GUID. Its partitions are then in force and not these; the subnet manager of a switch may also hold keys of the fabric.",
		WayOut:  "Choose a priority that says which one is to rule, or switch the other one off."}
	FabricGUIDTwice = &Rule{Code: "SM019", Severity: Refuse, Title: "Refusing to start a subnet manager on a fabric with a duplicate GUID", Attribute: "port_guid",
		Meaning: "opensm then starts its discovery over and over (ERR 0D01), and no port of the fabric becomes active; back to back it ends at once.",
		WayOut:  "Give one of the cards GUIDs of its own with infiniband_guids, and make this resource depend on it."}
	OpensmPortHeld = &Rule{Code: "SM020", Severity: Refuse, Title: "Refusing a second subnet manager on one port", Attribute: "port_guid",
		Meaning: "A port has room for one. opensm that finds the port taken ends with status 0.",
		WayOut:  "Stop the other one (pgrep -a opensm), or import it if it is an instance of opensm@.service."}
	OpensmConfIgnored = &Rule{Code: "SM021", Severity: Warn, Title: "Options in the host's opensm.conf do not apply to this subnet manager", Attribute: "host",
		Meaning: "It gets a file of options of its own, because all instances of a host share that one.",
		WayOut:  "Put those that matter into this resource."}
	FabricKeysDropped = &Rule{Code: "SM022", Severity: Refuse, Title: "Refusing to drop the keys of a fabric", Attribute: "host",
		Meaning: "The host's opensm.conf sets keys by which ports and other subnet managers know this one. A subnet manager that starts without them cannot change ports that are protected.",
		WayOut:  "This resource does not manage keys. Leave this subnet manager as it is, or take the keys out of the fabric first."}
	PartitionsDiffer = &Rule{Code: "SM023", Severity: Warn, Title: "Subnet managers of this configuration differ in their partitions", Attribute: "partitions",
		Meaning: "A hand-over then changes who may talk to whom.",
		WayOut:  "Use one value, for example a local, for all subnet managers of a fabric."}
	PartitionFileForeign = &Rule{Code: "SM024", Severity: Warn, Title: "A partition file of others is in force", Attribute: "partitions",
		Meaning: "Without partitions in this resource opensm reads its standard file.",
		WayOut:  "Declare the partitions here, or keep that file under your own care."}
	FabricCardWithoutGUIDs = &Rule{Code: "SM025", Severity: Warn, Title: "A card without GUIDs will be left out of the fabric", Attribute: "port_guid",
		Meaning: "opensm ignores a node with the GUID 0 (ERR 0D16); its port stays in Initializing.",
		WayOut:  "Set its GUIDs with infiniband_guids."}
	SubnetPrefixIneffective = &Rule{Code: "SM026", Severity: Warn, Title: "The subnet prefix may have no effect on this card", Attribute: "subnet_prefix",
		Meaning: "On ConnectX-4 and later (mlx5) Linux 6.1 and 6.8 are reported to keep the GIDs at fe80::/64 whatever opensm says; Linux 4.19 is reported to work, and so is ConnectX-3 (linux-rdma/opensm issue 36).",
		WayOut:  "Look after the apply with ibv_devinfo -v or at gids/0 of the port in /sys/class/infiniband. Programs that choose a fabric by its prefix take the two for one."}
	OpensmUnfitForNDR = &Rule{Code: "SM027", Severity: Warn, Title: "This opensm may not work on an NDR fabric", Attribute: "host",
		Meaning: "opensm of linux-rdma, which distributions have, is reported to leave NDR switches such that packets above some 400 bytes are lost (linux-rdma/opensm issue 38).",
		WayOut:  "Run the subnet manager of the vendor (of a managed switch, or its opensm), or set the links to HDR with infiniband_port. Prove it with infiniband_connectivity and packet_sizes."}
	CompetitionUnknown = &Rule{Code: "SM028", Severity: Warn, Title: "Whether another subnet manager competes is not known", Attribute: "priority",
		Meaning: "The fabric was asked and gave no answer that can be relied on. There may be a subnet manager that Terraform does not manage. " +
			"The higher priority rules, of equals the lower port GUID; a subnet manager that hangs keeps its role.",
		WayOut: "Run sminfo and saquery SMIR on the host as root and mend what they complain about. If there is another one, choose a priority that says which one is to rule."}
)
