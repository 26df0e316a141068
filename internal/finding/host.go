package finding

// Rules of the machine around the card, and of the configuration as a whole.
// networkMounts says which mounts are storage of the network.
const networkMounts = "Mounts of NFS, SMB, Lustre, BeeGFS, CephFS, GlusterFS, sshfs and 9p count, by the addresses " +
	"of servers in /proc/mounts. The way to a server that stands there by name, or not at all, is not known."

var (
	SessionOverCard = &Rule{Code: "HO001", Severity: NeedsConsent, Title: "SSH session runs over this card",
		Attribute: Allow, Consent: "management_path",
		Meaning: "The change can cut the only way to the host. If the port becomes InfiniBand, it stays cut.",
		WayOut:  "Reach the host over another interface. If losing this one is acceptable, write into the resource:"}
	DefaultRouteOverCard = &Rule{Code: "HO002", Severity: NeedsConsent, Title: "Default route runs over this card",
		Attribute: Allow, Consent: "management_path",
		Meaning: "The change cuts the host off from other networks. If the port becomes InfiniBand, it stays cut off.",
		WayOut:  "Move the default route. If losing it is acceptable, write into the resource:"}
	KernelLockedDown = &Rule{Code: "HO003", Severity: Refuse, Title: "Kernel lockdown forbids access to the card",
		Meaning: "A locked-down kernel lets no tool access a PCI device. Secure Boot usually turns lockdown on. Plans " +
			"still show the firmware of a ConnectX-4 or later whose firmware writes the flash: its driver tells it " +
			"(devlink).",
		WayOut: "Start the host without lockdown before the change, or load a signed mstflint_access module."}
	FlashJobRunning = &Rule{Code: "HO004", Severity: Refuse, Title: "Another flash job is running on the host",
		Meaning: "Two writers on one host can destroy a card. An apply waits for a job of its own card that runs when it " +
			"begins (HO005). If another apply starts a job of that card later, this apply is refused: its verdict is out of " +
			"date. A backup and a restart of the host are refused while a job runs.",
		WayOut: "Wait until it ends and plan again."}
	FlashJobUnsettled = &Rule{Code: "HO005", Severity: Warn,
		Title: "Result of a flash job of this card is not recorded yet",
		Meaning: "The job began, and the provider has not read the card since. While it runs, the next apply waits for " +
			"its end. Then it reads the card and records the result."}
	HostWithoutSpace = &Rule{Code: "HO006", Severity: Refuse, Title: "No space for image and backup on the host",
		Meaning: "The backup needs space on the host's disk first. Nothing is burned without a backup.",
		WayOut:  "Make room in /var/lib/terraform-provider-infiniband."}
	RebootNotAllowed = &Rule{Code: "HO007", Severity: Refuse,
		Title: "Card needs a reboot, and the host does not allow one", Attribute: "activation",
		Meaning: "The card loads its firmware only when the host starts. The configuration asks for that reboot, and the " +
			"provider does not allow it for this host.",
		WayOut: "Write reboot = { allowed = true } into the host's entry of the provider's hosts, or into the provider " +
			"block for every host without a reboot of its own. Or restart the host yourself: write activation = \"none\", and " +
			"leave an infiniband_activation out."}
	HostObserved = &Rule{Code: "HO008", Severity: Refuse, Title: "Host is in observe mode",
		Meaning: "The provider says mode = \"observe\", in the host's entry or for all hosts. Such a host is read and " +
			"never changed. A plan shows what differs; its apply is refused.",
		WayOut: "To apply it, remove mode = \"observe\" from the host's entry, or from the provider where it stands for " +
			"all hosts."}
	SubnetManagerOnCard = &Rule{Code: "HO009", Severity: Warn, Title: "A subnet manager runs on this card",
		Meaning: "While the card or its port is out of service, its subnet manager is too. If it is the only one, ports " +
			"that come up stay in Initializing.",
		WayOut: "Let another subnet manager take over first."}
	HostLacksPrograms = &Rule{Code: "HO010", Severity: Refuse, Title: "Host lacks programs that the flash job needs",
		Meaning: "The host runs the burn as its own job, so that a lost connection cannot stop it. The job needs these " +
			"programs.",
		WayOut: "Install the programs named above."}
	RestartNeeded = &Rule{Code: "HO011", Severity: Warn,
		Title:     "What is written to the card will not run before a restart",
		Attribute: "activation",
		Meaning: "The card loads firmware, GUIDs and settings only when the host starts, ConnectX-4 and later also the " +
			"types of the ports. The resource does not ask for a reboot.",
		WayOut: "Restart the host, or write activation = \"reboot\". Firmware, GUIDs, link types and settings can leave it " +
			"to an infiniband_activation: write activation = \"host\" then."}
	StorageOverCard = &Rule{Code: "HO012", Severity: NeedsConsent, Title: "Storage of the host is reached over this card",
		Attribute: Allow, Consent: "management_path",
		Meaning: "Mounts, iSCSI sessions and NVMe namespaces hang while the card is down, and so do programs that use " +
			"them. If the port becomes InfiniBand, they hang for good. " + networkMounts,
		WayOut: "Unmount it or log out of it before the change. If losing it is acceptable, write into the resource:"}
	HostServesShares = &Rule{Code: "HO013", Severity: Refuse,
		Title: "Clients cannot reach the host's shares while it restarts", Attribute: "activation",
		Meaning: "The host serves files or blocks to other machines. While clients are connected, the restart is refused " +
			"unless the host's entry in the provider names their services. Without connected clients it is a warning: an " +
			"idle NFS client drops its connection and keeps its mount.",
		WayOut: "Choose a time at which the clients can wait, or write activation = \"none\" and restart the host " +
			"yourself. If connected clients can wait, name their services in the host's entry, for example with " +
			"reboot = { allowed = true, interrupts = [\"NFS\"] }."}
	HostScansPool = &Rule{Code: "HO014", Severity: Refuse, Title: "A ZFS pool is being scrubbed or resilvered",
		Attribute: "activation",
		Meaning: "A resilvering pool has lost a disk and depends on the others. A restart interrupts the resilver or " +
			"scrub and stresses the disks.",
		WayOut: "Wait until it ends (zpool status), pause a scrub with zpool scrub -p, or write activation = \"none\" and " +
			"restart the host yourself."}
	HostRunsOnBattery = &Rule{Code: "HO015", Severity: Refuse, Title: "Host runs on battery",
		Meaning: "A burn and a restart need power until they end. A battery may not last that long.",
		WayOut:  "Wait until mains power is back and the battery is charged (upsc says OL)."}
	HostInKubernetes = &Rule{Code: "HO016", Severity: Warn, Title: "Host is a node of a Kubernetes cluster",
		Attribute: "activation",
		Meaning:   "The restart kills the pods of this node.",
		WayOut: "Drain the node before, for example with reboot = { allowed = true, drain_commands = [\"…\"], " +
			"resume_commands = [\"…\"] } in the host's entry of the provider."}
	FlashJobUnreadable = &Rule{Code: "HO017", Severity: Refuse,
		Title: "The journal of a flash job cannot be read",
		Meaning: "Another version of the provider has left the job, or its files are damaged. What it wrote is not " +
			"known, so this version stops.",
		WayOut: "Apply once with the version of the provider that wrote it. If that version is gone, or the files are " +
			"damaged, close the job by hand: the message names the command."}
	EarlierCardFailed = &Rule{Code: "HO018", Severity: Refuse, Title: "Another card failed earlier in this apply",
		Meaning: "If the write of a card fails, no other one begins in this apply, because equal cards tend to fail " +
			"alike. A card that was refused before anything was written to it does not stop the others.",
		WayOut: "Read the error of that card and fix its cause. Then apply again."}
	ChangedSincePlan = &Rule{Code: "HO019", Severity: Refuse, Title: "Card or host has changed since the plan",
		Meaning: "Somebody changed the card or the host after the plan. An apply does only what its plan has shown.",
		WayOut: "Plan again, and read the new plan. Two plans do not see such a change: one with -refresh=false, and a " +
			"destroy with -target of something that others depend on. Run terraform apply -refresh-only before these."}
	ManagedTwice = &Rule{Code: "HO030", Severity: Refuse,
		Title: "Two resources of the configuration manage the same object",
		Meaning: "Each resource would undo the changes of the other one. This one has changed nothing. If the state has " +
			"both and a plan destroys one of them, what they manage would be removed for both. Resources of two provider " +
			"blocks are not compared with each other.",
		WayOut: "Keep one of the two blocks and remove the other one. If the removed one is in the state, its destroy " +
			"would undo or remove what the other one manages. To prevent that, first run " +
			"terraform state rm with its address, or write a removed block with lifecycle { destroy = false }. To destroy " +
			"both, use terraform destroy -refresh=false."}
	HostHasTwoNames = &Rule{Code: "HO032", Severity: Warn, Title: "Host has two names in the configuration",
		Meaning: "Resources under both names change the same cards. The provider counts each card once.",
		WayOut: "Keep one of the two entries of the provider's hosts. Write its key into all resources. If resources are " +
			"in the state under the other key, take them out with " +
			"terraform state rm, and import them under the key that stays."}
	FileEdited = &Rule{Code: "HO034", Severity: Warn, Title: "A file of this resource was changed by hand",
		Meaning: "The next apply of this resource writes the file anew, and a destroy removes it. The lines that somebody " +
			"has added go with it. A file with such lines is kept beside its place, where nothing reads it. Settings, " +
			"variables and keys are named without their values: one may be a password.",
		WayOut: "Write what is wanted as arguments of this resource. Other lines belong into a file of their own: a " +
			"drop-in of the unit (systemctl edit with its name), a file of /etc/modprobe.d, one of " +
			"/etc/systemd/resolved.conf.d. To keep what has no place elsewhere, take the resource out of the state with a " +
			"removed block and lifecycle { destroy = false }, and maintain the file by hand."}
	FileUnmanaged = &Rule{Code: "HO035", Severity: Refuse,
		Title: "Refusing to replace a file that does not say it is Terraform's",
		Meaning: "The first line of every file of this provider says so; in /etc/rdma/mlx4.conf it is the line above the " +
			"card, in a profile of NetworkManager the section [user]. Where that is missing, somebody has written the file, " +
			"or has replaced it since Terraform wrote it, also by a directory or a link to /dev/null. The provider leaves it " +
			"alone, so that no setting is lost.",
		WayOut: "Put what is wanted of it into this resource, and move the file away. Of /etc/rdma/mlx4.conf take only the " +
			"line of the card out. Then plan again."}
	ResumeOwed = &Rule{Code: "HO050", Severity: Warn, Title: "Resume commands have not run",
		Meaning: "The host was drained for a restart or another change, and nothing says that these resume_commands ran " +
			"afterwards. One failed, the apply was killed, or it still runs. What was drained may still be stopped. A later " +
			"apply runs them only if it drains the host and its configuration still has them.",
		WayOut: "Unless an apply or one of the commands runs now, run them on the host as root. Then remove the file " +
			"/var/lib/terraform-provider-infiniband/resume-owed."}
	BurnFailedElsewhere = &Rule{Code: "HO051", Severity: NeedsConsent, Title: "A burn of another card failed",
		Attribute: Allow, Consent: "after_failure",
		Meaning: "Equal cards tend to fail alike. The apply that failed has marked the hosts that it may change. A burn " +
			"that meets the mark is refused if it is of another root module or workspace, even one with the same hosts, or " +
			"of an apply that was running at that time.",
		WayOut: "Fix the cause and apply that card again: that removes the mark. The root module that failed may just " +
			"apply again, in the same directory. From any other, apply that card first, alone with -target. " +
			"If the failure says nothing about this card, write into the resource:"}
	CardInUse = &Rule{Code: "HO045", Severity: Refuse, Title: "Another program uses the card", Attribute: "card_id",
		Meaning: "Two programs that use one card at the same time disturb each other. Even a query can make a burn fail. " +
			"The provider leaves such a card alone and does not even read it. It sees programs that have the card open, the " +
			"vendor's tools, devlink dev flash and dev reload, ethtool --flash, and a process that has the card by VFIO, as " +
			"for a guest: what a guest does to its card cannot be seen from the host. It also asks the firmware of a " +
			"ConnectX-4 or later whether an update is under way, as a BMC can make one: a query by mstflint 4.21 to 4.26 " +
			"would cancel it.",
		WayOut: "Wait until the program has ended, and plan again. Shut down a guest that has the card. If a program " +
			"hangs, find out what it does before you end it. If you end a burn, the card keeps its old firmware, and the burn " +
			"must be repeated. If nobody makes an update that the firmware shows, a tool was killed in it: restart the host, " +
			"which resets the card."}
)
