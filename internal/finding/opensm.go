package finding

// Rules of subnet managers.
var (
	OpensmUnsupported = &Rule{Code: "SM001", Severity: Refuse, Title: "Refusing to run a subnet manager on this system",
		Attribute: "host",
		Meaning:   "A subnet manager here is the program opensm, in a package of the distribution or installed by hand.",
		WayOut: "Run it on another host of the fabric, on Ubuntu for example, or use the subnet manager of a managed " +
			"switch. One serves the whole fabric."}
	OpensmPriorityEqual = &Rule{Code: "SM005", Severity: NeedsConsent, Consent: "equal_priority",
		Title: "Two subnet managers have the same priority", Attribute: "priority",
		Meaning: "With equal priorities the lower port GUID wins, also over a running master. The hardware then decides " +
			"which one rules the fabric, not the configuration. Where the other one is seen to rule the same fabric, a plan " +
			"that gives this one its priority asks for a consent; else this is a warning. On separate fabrics they do not " +
			"compete. A plan sees that while both ports have a link: each is the master of its fabric, or a host with " +
			"infiniband-diags looks at it.",
		WayOut: "Give each subnet manager of a fabric its own priority. If each has a fabric of its own, name both in " +
			"fabrics of the provider block."}
	OpensmPortsReplaced = &Rule{Code: "SM007", Severity: Warn,
		Title:   "The list of ports with a subnet manager is replaced",
		Meaning: "PORTS=ALL, the package's default, runs a subnet manager on every port. Two on one fabric compete.",
		WayOut:  "Give each port that needs one an infiniband_opensm resource."}
	OpensmTakenOver = &Rule{Code: "SM010", Severity: Warn, Title: "A subnet manager that runs on this port is taken over",
		Meaning: "It gets the configured options in a file of its own and is restarted. Traffic goes on meanwhile; ports " +
			"that come up wait."}
	OpensmFileNotUnderstood = &Rule{Code: "SM012", Severity: Refuse,
		Title:   "Refusing to edit a file that cannot be parsed",
		Meaning: "The provider edits only files that it can read in full, so that no setting is lost.",
		WayOut:  "Fix the PORTS line by hand: ALL, NONE, or GUIDs in quotes."}
	PartitionsWithoutDefault = &Rule{Code: "SM013", Severity: Refuse,
		Title: "Refusing partitions without the default partition", Attribute: "partitions",
		Meaning: "Without it opensm makes every port but its own a limited member of the default partition. Limited " +
			"members cannot talk to each other.",
		WayOut: "Add the partition \"Default\", for example: Default = { ipoib = true, full = [\"ALL\"] }."}
	DefaultPartitionWeak = &Rule{Code: "SM014", Severity: Warn,
		Title: "The default partition does not carry ordinary traffic", Attribute: "partitions",
		Meaning: "With a partition file opensm makes the broadcast group of IPoIB only where ipoib = true. Without the " +
			"group IPoIB stays down. Limited members reach no other limited member.",
		WayOut: "If that is not meant, write: Default = { ipoib = true, full = [\"ALL\"] }."}
	PartitionsContradict = &Rule{Code: "SM015", Severity: Refuse, Title: "Refusing partitions that contradict each other",
		Attribute: "partitions",
		Meaning: "opensm merges partitions of one P_Key under the first name. Of two entries for a port it uses the last " +
			"one. The result is not what is written.",
		WayOut: "Give each partition a P_Key of its own, and each port one entry in it."}
	BroadcastGroupUnfit = &Rule{Code: "SM016", Severity: Refuse,
		Title: "Refusing a broadcast group that a member cannot join", Attribute: "partitions",
		Meaning: "A port with a smaller IB MTU or rate than the group cannot join it. Its interface stays without carrier " +
			"(\"multicast join failed, status -22\"). The plan refuses a group that a named member cannot join, or the " +
			"port of this subnet manager. Another port that a word such as ALL brings in is a warning: it may be on " +
			"another fabric, or may need no IPoIB. A port whose IB MTU could not be read is a warning too.",
		WayOut: "Lower mtu or rate_gbps of the partition to what the weakest member has."}
	SubnetManagerCompetes = &Rule{Code: "SM018", Severity: Warn,
		Title: "A subnet manager that Terraform does not manage competes with this one", Attribute: "priority",
		Meaning: "The subnet manager with the higher priority rules. With equal priorities the lower port GUID decides. If " +
			"the other one rules, its partitions are in force, and not those of this resource. The apply succeeds all the " +
			"same: this one is the standby. The subnet manager of a switch may also hold keys of the fabric.",
		WayOut: "Choose a priority that decides which one rules, or stop the other one."}
	FabricGUIDTwice = &Rule{Code: "SM019", Severity: Refuse,
		Title: "Refusing to start a subnet manager on a fabric with a duplicate GUID", Attribute: "port_guid",
		Meaning: "opensm restarts its discovery over and over (ERR 0D01), and no port of the fabric becomes active. " +
			"Between two cards without a switch it ends at once.",
		WayOut: "Give one of the cards GUIDs of its own with infiniband_guids, and make this resource depend on it."}
	OpensmPortHeld = &Rule{Code: "SM020", Severity: Refuse, Title: "Refusing a second subnet manager on one port",
		Attribute: "port_guid",
		Meaning:   "A port can have one subnet manager. opensm ends with status 0 if the port is taken.",
		WayOut: "Find it on the host with pgrep -a opensm, and what starts it with systemctl status and its process " +
			"number: " +
			"a unit, a cron job or a script. Write its options into this resource. Stop it, take away what starts it, and " +
			"apply at once. Until then traffic goes on, and ports that come up wait."}
	OpensmConfIgnored = &Rule{Code: "SM021", Severity: Warn,
		Title: "Options in the host's opensm.conf do not apply to this subnet manager", Attribute: "host",
		Meaning: "This subnet manager gets its own file of options. All instances of a host share opensm.conf.",
		WayOut:  "Write the options that you need into this resource."}
	FabricKeysDropped = &Rule{Code: "SM022", Severity: Refuse, Title: "Refusing to drop the keys of a fabric",
		Attribute: "host",
		Meaning: "Ports and other subnet managers recognise the subnet manager of their fabric by such a key. One that " +
			"starts without the key cannot change protected ports.",
		WayOut: "Write the same values into keys of this resource, or keys_version = 0 if the fabric is to have none."}
	PartitionsDiffer = &Rule{Code: "SM023", Severity: Warn,
		Title: "Subnet managers of this configuration differ in their partitions", Attribute: "partitions",
		Meaning: "If another subnet manager takes over, it may allow other hosts to talk to each other than this one " +
			"does.",
		WayOut: "Use one value, for example a local, for all subnet managers of a fabric. If they are on two fabrics, name " +
			"both in fabrics of the provider block."}
	PartitionFileUnmanaged = &Rule{Code: "SM024", Severity: Warn,
		Title: "A partition file that no resource manages is in force", Attribute: "partitions",
		Meaning: "This resource has no partitions, so opensm reads its standard file. Somebody made that file, or the " +
			"package of opensm brought it.",
		WayOut: "If the partitions in the file are the wanted ones, nothing has to be done. Otherwise declare the " +
			"partitions here."}
	SubnetPrefixIneffective = &Rule{Code: "SM026", Severity: Warn,
		Title: "The subnet prefix is not in force", Attribute: "subnet_prefix",
		Meaning: "On ConnectX-4 and later (mlx5) Linux 6.1 and 6.8 are reported to keep the GIDs at fe80::/64, whatever " +
			"opensm says. Linux 4.19 and ConnectX-3 are reported to work (linux-rdma/opensm issue 36).",
		WayOut: "Leave subnet_prefix out, or use a ConnectX-3 on that fabric. Programs that choose a fabric by its prefix " +
			"may confuse two fabrics."}
	CompetitionUnknown = &Rule{Code: "SM028", Severity: Warn, Title: "Provider could not check for another subnet manager",
		Attribute: "priority",
		Meaning: "The fabric gave no reliable answer. There may be a subnet manager that Terraform does not manage. " +
			"The subnet manager with the higher priority rules. With equal priorities the lower port GUID decides. A subnet " +
			"manager that hangs keeps its role.",
		WayOut: "Run sminfo and saquery SMIR on the host as root and fix what they report. If there is another one, choose " +
			"a priority that decides which one rules."}
	OpensmPortWithoutLink = &Rule{Code: "SM031", Severity: Warn, Title: "The port of this subnet manager has no link",
		Attribute: "port_guid",
		Meaning: "A subnet manager serves its port over the cable. The apply sets this one up and waits for the port. It " +
			"fails if the port has no link by then. What it has set up stays and starts at boot. After a create that failed " +
			"no state has it, so that taking the block out does not remove it.",
		WayOut: "Plug the cable in, and see that the other end is on and in InfiniBand mode. If this apply brings the link " +
			"up, nothing has to be done. Otherwise add this resource when the port has a link. To remove what a failed create " +
			"has left, keep the block and import it by host/port_guid. Then take the block out and apply."}
	OpensmMasked = &Rule{Code: "SM032", Severity: Refuse,
		Title: "Refusing to start a subnet manager that somebody has masked",
		Meaning: "systemd starts no unit that is masked, neither now nor at boot. Somebody decided that with systemctl " +
			"mask. If Terraform manages the subnet manager already, the plan warns and the apply is refused. A destroy " +
			"starts nothing: it removes what is Terraform's and leaves the mask.",
		WayOut: "If the subnet manager is wanted, run the command above on the host, then plan again. Otherwise take this " +
			"resource out, or destroy it."}
	OpensmCommandReplaced = &Rule{Code: "SM033", Severity: Warn,
		Title: "A drop-in of somebody else sets the command of this subnet manager",
		Meaning: "systemd reads drop-ins in the order of their names, and the last command counts. opensm runs with the " +
			"options of that command. The state shows those of this resource's own file, which may not be in effect.",
		WayOut: "Compare with the unit as systemd reads it: systemctl cat, and the name of the unit. If the options of " +
			"this resource are to count, take the ExecStart lines out of the drop-in, run systemctl daemon-reload, and " +
			"restart the unit."}
	OpensmOlderThanFiles = &Rule{Code: "SM034", Severity: Warn,
		Title: "The running subnet manager may not have what its files say",
		Meaning: "opensm reads its files when it starts, and when it is told to. This one has not done so since a file " +
			"was changed last. The file says what this resource writes, but it may have said something else when opensm " +
			"read it: another priority, for example, or other partitions. The apply restarts the instance. Traffic goes on " +
			"meanwhile; ports that come up wait.",
		WayOut: "Apply. To see first what it runs with, compare sminfo on the host, and the P_Key tables of the ports, " +
			"with this resource."}
	OpensmOthersStart = &Rule{Code: "SM035", Severity: Warn,
		Title: "Other subnet managers of the host will start at boot, too",
		Meaning: "On Debian and Ubuntu one service, opensm.service, starts a subnet manager on every listed port at boot. " +
			"It is not enabled now. The apply enables it for this subnet manager, and so for the others of the list. The " +
			"apply itself starts none of them, unless it installs the package: that starts the service at once.",
		WayOut: "If one of them is not to run, take its port out of PORTS in /etc/default/opensm on the host, then plan " +
			"again."}
	OpensmBeside = &Rule{Code: "SM036", Severity: Warn,
		Title: "A subnet manager of this host has no resource",
		Meaning: "It has the options that all instances of the host share. On one fabric the higher priority rules, of " +
			"equals the lower port GUID. If the other one rules, the partitions of this resource are not in force.",
		WayOut: "If it is to run, give it an infiniband_opensm resource. If not, stop its unit and take its port out of " +
			"PORTS in /etc/default/opensm. In the place of ALL write the ports that are to have one."}
	OpensmLastLeaves = &Rule{Code: "SM039", Severity: NeedsConsent,
		Title: "Refusing to remove the only subnet manager of a fabric that hosts depend on",
		Meaning: "What runs over the fabric goes on without a subnet manager for a while. After the next restart or loss " +
			"of a link the port stays in Initializing. The SSH session, the default route or the storage that goes over it " +
			"is lost then.",
		WayOut: "Let another subnet manager take over first. If losing them is acceptable, write into the resource and " +
			"apply, so that the state holds it:", Attribute: Allow, Consent: "last_manager"}
	FabricKeysDiffer = &Rule{Code: "SM040", Severity: Refuse,
		Title: "Refusing subnet managers of one fabric with different keys", Attribute: "keys",
		Meaning: "Subnet managers with different values of sm_key ignore each other: each takes itself for the only one, " +
			"and both rule. With another m_key the one that takes over cannot set up the ports.",
		WayOut: "Use one value, for example a variable, for all subnet managers of a fabric. If they are on two fabrics, " +
			"name both in fabrics of the provider block."}
	FabricKeysSameVersion = &Rule{Code: "SM041", Severity: Refuse,
		Title: "Refusing to change the keys of a fabric without a new keys_version", Attribute: "keys_version",
		Meaning: "Keys are write-only, so a plan shows a change of them as a new version only. Either the values in the " +
			"configuration were changed, or somebody has changed the file on the host. The values are not shown.",
		WayOut: "If the values of the configuration are right, raise keys_version for all subnet managers of the fabric. " +
			"Otherwise write the values that the fabric has."}
	FabricClosed = &Rule{Code: "SM042", Severity: Warn, Title: "Diagnostics will need the M_Key of the fabric",
		Attribute: "m_key_protection_level",
		Meaning: "At m_key_protection_level 2 and 3 ports answer only those who know the M_Key. ibnetdiscover, iblinkinfo, " +
			"smpquery and sminfo need it, and infiniband_fabric and the comparisons of this provider with the fabric do not " +
			"work. Level 1 protects from changes as well, and lets everybody read.",
		WayOut: "Use level 1, or give the tools the key on each host: m_key = 0x… in /etc/infiniband-diags/ibdiag.conf, " +
			"readable by root only."}
	FabricWithoutLease = &Rule{Code: "SM043", Severity: Warn, Title: "Lost keys will lock the ports of the fabric",
		Attribute: "m_key_lease_period",
		Meaning: "Without a lease period ports keep the protection of their M_Key until they are powered off. If the key " +
			"is lost, no subnet manager can set them up before that.",
		WayOut: "Write m_key_lease_period = 60, or keep the keys where they cannot be lost."}
	FabricsAreOne = &Rule{Code: "SM038", Severity: Warn,
		Title: "Ports that the configuration puts on two fabrics are on one", Attribute: "port_guid",
		Meaning: "The provider's fabrics say which ports are on which fabric. Subnet managers and addresses of two fabrics " +
			"are not compared, so a plan does not say where these compete.",
		WayOut: "Look at the cables, or correct fabrics in the provider block."}
)
