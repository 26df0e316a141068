package finding

// Rules of IPoIB interfaces.
var (
	IPoIBUnsupported = &Rule{Code: "IP001", Severity: Refuse,
		Title: "Refusing to configure IPoIB on an unsupported system",
		Meaning: "Each system configures its network in its own way. The provider does not know how this system does it. " +
			"A change made in another way would be lost.",
		WayOut: "Use a supported system, or leave this interface out of Terraform."}
	PKeyInvalid = &Rule{Code: "IP002", Severity: Refuse, Title: "Refusing a P_Key that no interface can have",
		Attribute: "pkey",
		Meaning: "0x0000 and 0x8000 name no partition, and Linux refuses them. Linux sets bit 0x8000 in the key of every " +
			"P_Key interface. So 0x0005 and 0x8005 are one interface, and the provider takes both.",
		WayOut: "Use a key from 0x0001 to 0x7fff, with bit 0x8000 or without it, or leave pkey out."}
	MTUUnfit = &Rule{Code: "IP005", Severity: Refuse, Title: "Refusing an MTU that IPoIB cannot have", Attribute: "mtu",
		Meaning: "In datagram mode one InfiniBand packet must hold the IP packet and 4 bytes of IPoIB header (RFC 4391). " +
			"In connected mode Linux takes at most 65520: 65536 less 16 bytes of headroom. Below 1280 it removes IPv6 from " +
			"the interface, and the TrueNAS middleware fails.",
		WayOut: "Use mtu = 2044, or mode = \"connected\". Where the whole fabric has 4096-byte packets, 4092 is possible."}
	MTUAboveTrueNAS = &Rule{Code: "IP008", Severity: NeedsConsent, Title: "Refusing an MTU above 9216 on TrueNAS",
		Attribute: "mtu",
		Meaning: "The middleware's API accepts 68 to 9216 (TrueNAS 25.10, interface.update). A larger MTU needs a private " +
			"method that stores it in the middleware's database. " +
			"A later release may refuse that method.",
		Consent: "private_mtu"}
	ConnectedModeMissing = &Rule{Code: "IP009", Severity: Refuse, Title: "Refusing connected mode on a card that has none",
		Attribute: "mode",
		Meaning: "mlx5 (ConnectX-4 and later) supports datagram mode only. The kernel refuses connected mode with " +
			"\"Invalid argument\".",
		WayOut: "Use mode = \"datagram\" with mtu = 2044, or 4092 where the whole fabric has 4096-byte packets."}
	SessionOverInterface = &Rule{Code: "IP010", Severity: NeedsConsent,
		Title: "Refusing to change the interface that leads to this host",
		Meaning: "A mistake in this change would lock you out. If the provider cannot reach the host afterwards, " +
			"the host undoes the change by itself. Until then nobody can reach it.",
		Consent: "management_path"}
	InterfaceConfiguredElsewhere = &Rule{Code: "IP011", Severity: Refuse,
		Title: "Refusing to configure an interface that something else configures",
		Meaning: "Two configurations of one interface mix. Netplan merges its files, ifup runs all stanzas of an " +
			"interface, networkd takes the first file that matches, NetworkManager the profile " +
			"that was used last.",
		WayOut: "Remove the interface from that file, or from Terraform. A file of cloud-init comes back unless its " +
			"network part is disabled: network: {config: disabled} in /etc/cloud/cloud.cfg.d/99-disable-network-config.cfg."}
	InterfaceStoredByOthers = &Rule{Code: "IP012", Severity: NeedsConsent,
		Title: "Refusing to replace an interface configuration made by someone else",
		Meaning: "The middleware stores one configuration per interface. This change would replace the present one. " +
			"Somebody has made it, or has edited its description since Terraform did. A destroy plans first, too: apply " +
			"with the consent, then destroy.",
		Consent: "adopt_interface"}
	SubnetTwice = &Rule{Code: "IP013", Severity: Refuse,
		Title: "Refusing a subnet that another interface of this host has", Attribute: "addresses",
		Meaning: "Replies could leave through either interface. The TrueNAS middleware refuses it. On other systems " +
			"replies may leave through the wrong interface, and one port answers ARP for the address of the other (ARP flux).",
		WayOut: "Give each interface a subnet of its own. A subnet that moves from one resource to another needs two " +
			"applies: the first takes it from the one, the second gives it to the other. With create_before_destroy an " +
			"interface cannot replace another one of the same subnet."}
	TrueNASFirstInterface = &Rule{Code: "IP014", Severity: NeedsConsent,
		Title: "Refusing to store the first interface of this TrueNAS host",
		Meaning: "A fresh TrueNAS stores no interface and runs DHCP on all of them. Once one interface is stored, the " +
			"middleware clears and switches off " +
			"all others, including the one that leads to this host.", Consent: "keep_interface"}
	TrueNASOthersGoDown = &Rule{Code: "IP015", Severity: Refuse,
		Title:   "Refusing to store the first interface: other interfaces would go down",
		Meaning: "Only one interface of a TrueNAS host may use DHCP. The others cannot keep their addresses.",
		WayOut:  "Store them in the TrueNAS web interface (Network, Interfaces, Edit, Save, Test) first."}
	TrueNASChangePending = &Rule{Code: "IP016", Severity: Refuse,
		Title: "Refusing to change the network while another change is pending",
		Meaning: "The middleware commits and rolls back all pending interface changes together. A change that is not " +
			"checked in is rolled back. If the interface is as asked already, the plan only warns.",
		WayOut: "If another apply is at work on this host, wait for its end. Otherwise finish or revert the changes in " +
			"the TrueNAS web interface (Network: Test Changes, Save Changes or Revert). Then plan again."}
	TrueNASDeletesUdevRules = &Rule{Code: "IP017", Severity: Refuse,
		Title:   "Refusing to store a udev rule: other rules would be deleted",
		Meaning: "When a udev tunable changes, the middleware deletes every other file of /etc/udev/rules.d.",
		WayOut:  "Store those rules as udev tunables, or remove them."}
	MTUDependsOnFabric = &Rule{Code: "IP018", Severity: Warn, Title: "Datagram MTU above 2044 depends on the whole fabric",
		Attribute: "mtu",
		Meaning: "By default the subnet manager creates the broadcast group for packets of 2048 bytes. Linux then " +
			"silently uses 2044. If the port itself carries no more than 2048 bytes, Linux refuses the MTU. In both cases " +
			"the apply would fail. The plan compares the MTU with the group that the fabric has (saquery), and with the " +
			"partitions of the subnet managers that are planned before it. What they show to be too small is refused. The " +
			"warning is for a group that is not known; an interface that has joined it with this MTU ends it.",
		WayOut: "Write mtu = 4096 in the partition of infiniband_opensm, or use mtu = 2044."}
	NetworkServiceDown = &Rule{Code: "IP019", Severity: Refuse,
		Title:   "Refusing to configure IPoIB: the network service does not run",
		Meaning: "No service would read the configuration that the provider writes.",
		WayOut:  "Start the service, or configure this host in another way."}
	PortWithoutSubnetManager = &Rule{Code: "IP020", Severity: Warn, Title: "No subnet manager serves this port",
		Attribute: "port_guid",
		Meaning: "IPoIB has no carrier until a subnet manager has configured the port. The apply sets the addresses " +
			"anyway.",
		WayOut: "Run a subnet manager on the fabric, for example with infiniband_opensm. NetworkManager brings the " +
			"interface up only when there is one."}
	AddressInvalid = &Rule{Code: "IP021", Severity: Refuse, Title: "Refusing an address that an interface cannot have",
		Attribute: "addresses",
		Meaning:   "Network, broadcast and link-local addresses, and addresses that appear twice, do not work here.",
		WayOut:    "Give addresses of hosts with their prefix length, for example 172.16.0.20/24."}
	NetworkStackUnknown = &Rule{Code: "IP023", Severity: Refuse,
		Title:   "Refusing to configure IPoIB on a host without a known network stack",
		Meaning: "The provider found no network stack that it knows.",
		WayOut:  "Use a host with netplan, NetworkManager, systemd-networkd or ifupdown."}
	InterfaceOfTwoServices = &Rule{Code: "IP024", Severity: Refuse,
		Title:   "Refusing to configure an interface that two services manage",
		Meaning: "Each service undoes what the other one does.",
		WayOut:  "Choose one of them. Remove the interface from the configuration of the other."}
	NetworkFileNotRead = &Rule{Code: "IP025", Severity: Refuse,
		Title:   "Refusing to write a configuration that would not be read",
		Meaning: "Nothing reads the file at boot, so the interface would not come up.",
		WayOut: "Add \"source /etc/network/interfaces.d/*\" to /etc/network/interfaces. The provider changes only its own " +
			"files."}
	NetworkChangeUnconfirmed = &Rule{Code: "IP027", Severity: Warn,
		Title: "An earlier change of this interface was never confirmed",
		Meaning: "After that change the host could not be reached, the provider ended too early, the host restarted, or " +
			"another apply took over.",
		WayOut: "If another apply is at work on this interface, wait for its end. If the change is not undone yet, wait " +
			"two minutes and plan again: the host undoes it by itself, also if no apply follows. Then find out what cut the " +
			"connection before you apply the same change again. If the host could not put back every file, the message " +
			"names where it keeps what they held: remove the reason, such as a full disk, and apply."}
	RouteInvalid = &Rule{Code: "IP029", Severity: Refuse, Title: "Refusing a route that the interface cannot have",
		Attribute: "routes",
		Meaning:   "Linux would refuse this route.",
		WayOut:    "Give each destination one gateway, of the same IP version, in a subnet of this interface."}
	DefaultRouteTwice = &Rule{Code: "IP030", Severity: Refuse, Title: "Refusing a second default route",
		Attribute: "routes",
		Meaning: "Metrics decide between two default routes, and each network stack sets them in its own way. The host " +
			"may become unreachable.",
		WayOut: "Name the networks behind the gateway instead."}
	TrueNASCannotKeep = &Rule{Code: "IP031", Severity: Refuse, Title: "Refusing routes and P_Key interfaces on TrueNAS",
		Attribute: "routes",
		Meaning: "The middleware stores static routes apart from interfaces, and its rollback does not include them. It " +
			"cannot make P_Key interfaces, and switches off every interface that it has not stored.",
		WayOut: "Set routes in the TrueNAS web interface (Network, Static Routes). Leave pkey out, or use another host."}
	PKeyNameTooLong = &Rule{Code: "IP033", Severity: Refuse, Title: "Refusing a P_Key interface whose name is too long",
		Attribute: "pkey",
		Meaning:   "The name consists of the name of the port's interface and the key. Linux allows 15 characters.",
		WayOut: "Give the port's interface a shorter name with a udev rule (NAME=) that matches the last 8 bytes of its " +
			"address."}
	SubnetManagerElsewhere = &Rule{Code: "IP034", Severity: Warn,
		Title: "No subnet manager of the configuration is on this port's fabric", Attribute: "port_guid",
		Meaning: "Without a switch each cable is a fabric of its own and needs a subnet manager of its own. Without one " +
			"the port stays in Initializing and the interface without carrier.",
		WayOut: "Add an infiniband_opensm for this port or for the port at the other end, or connect the fabrics by a " +
			"switch."}
	InterfaceInBond = &Rule{Code: "IP035", Severity: Refuse,
		Title: "Refusing to configure an interface that is part of a bond or a bridge",
		Meaning: "IPoIB carries no Ethernet frames. Linux refuses it in a bridge, and allows it in a bond of mode " +
			"active-backup (1) only, never 802.3ad (4). In a bond the addresses belong to the bond.",
		WayOut: "Remove the interface from the bond or bridge, or from Terraform, or write the bond here (bond = { … }). " +
			"Without a bond, each of two ports needs a subnet of its own. Guests of a bridge need a route or their own card."}
	Ifupdown2TooOld = &Rule{Code: "IP036", Severity: Refuse,
		Title: "Refusing to use an ifupdown2 that fails on InfiniBand",
		Meaning: "With an InfiniBand interface ifupdown2 before 3.0 ends with \"Length of MACAddress attribute not " +
			"supported: 24\" and brings up no interface at all (CumulusNetworks/ifupdown2 issue 140).",
		WayOut: "Upgrade the package ifupdown2 to 3.0.0 or later. Debian 12 has it."}
	InterfaceWouldBeLost = &Rule{Code: "IP037", Severity: Warn,
		Title: "Settings of the interface would be lost at the next restart",
		Meaning: "Mode, MTU and addresses were set at run time only, with ip or sysfs. The apply stores them in the " +
			"host's network configuration."}
	StorageOverInterface = &Rule{Code: "IP040", Severity: NeedsConsent,
		Title: "Refusing to change an interface that carries storage",
		Meaning: "Mounts, iSCSI sessions and NVMe namespaces hang while the interface changes, and so do programs " +
			"that use them. If the new addresses do not reach the server, they hang for good. " + networkMounts,
		WayOut:  "Unmount it or log out of it before the change.",
		Consent: "management_path"}
	AddressTaken = &Rule{Code: "IP041", Severity: Refuse, Title: "Refusing an address that another host has",
		Attribute: "addresses",
		Meaning: "Two resources of this configuration give one address to two hosts. Other hosts of the subnet would " +
			"reach one or the other by chance.",
		WayOut: "Give each host addresses of its own."}
	InterfaceDefinedByHand = &Rule{Code: "IP042", Severity: NeedsConsent,
		Title: "Refusing to take over a definition made by hand",
		Meaning: "One interface has one definition. The file is saved beside its place, under a name that the network " +
			"stack does not read, and the file of this provider takes its place. If the change is not confirmed over a " +
			"new connection, the host puts the file back by itself. If the interface is as asked, and its network stack " +
			"has it from that file, the interface is left alone. Otherwise it is reconfigured; this message then says " +
			"that. Takeovers are proven with netplan, NetworkManager keyfiles, systemd-networkd and ifupdown of Debian 12 " +
			"and 13. They are not proven with ifcfg files and ifupdown2.",
		Consent: "adopt_files"}
	DefinitionLosesSettings = &Rule{Code: "IP043", Severity: NeedsConsent,
		Title: "Refusing to drop settings of a definition made by hand",
		Meaning: "This resource has arguments for mode, MTU, addresses and routes. Other settings end with the file, and " +
			"so do addresses and routes that are not asked for. They go at the next start of the host, or when the " +
			"interface is configured anew. The saved file still has what it had. The consent names each setting, address " +
			"and route, so an apply drops none that somebody has added after the plan. Addresses that somebody has given " +
			"to an interface without a file are asked for in the same way.",
		Consent: "adopt_without"}
	InterfaceNotActivated = &Rule{Code: "IP045", Severity: Warn,
		Title: "NetworkManager does not activate this interface now", Attribute: "port_guid",
		Meaning: "NetworkManager activates an interface only if it has a carrier. An IPoIB interface has one when its port " +
			"has a link and a subnet manager serves it. Until then the apply fails, and what was there before is restored.",
		WayOut: "Plug the cable in, see that the other end is on, and run a subnet manager on the fabric, for example with " +
			"infiniband_opensm. Then plan again."}
	DefinitionStays = &Rule{Code: "IP046", Severity: Warn,
		Title: "Another definition of the interface stays",
		Meaning: "A destroy removes the files of this resource, and no others. The network stack configures the interface " +
			"by the other file, at the next start of the host at the latest. It makes a P_Key interface again by it.",
		WayOut: "If the interface should have no configuration, remove it from that file."}
	ConfirmedChangeLeft = &Rule{Code: "IP047", Severity: Warn,
		Title: "What an earlier change of this interface has left is not put away",
		Meaning: "That change was confirmed and holds, now and for the next boot. What the host had saved to undo it is " +
			"still there. It has no effect any more.",
		WayOut: "Apply: it removes what is left, and leaves the interface alone. If another apply is at work on this " +
			"interface, wait for its end."}
	PKeyWithoutCarrier = &Rule{Code: "IP049", Severity: Warn,
		Title: "The interface of a partition has no carrier", Attribute: "pkey",
		Meaning: "The subnet manager serves the port, and the interface cannot join the broadcast group of its partition: " +
			"the subnet manager has no partition with this P_Key, the port is no member of it, or the partition has no " +
			"group for IPoIB. The interface carries nothing until then.",
		WayOut: "Write the partition in partitions of the infiniband_opensm that is master of this fabric, with this port " +
			"among its members and ipoib = true. The interface gets its carrier by itself, and the next plan shows it. If " +
			"this plan sets up the partition, nothing else has to be done. If the partition is written there already, " +
			"look at the plan of that subnet manager: another one may rule the fabric (SM018), or it may not have read " +
			"its files (SM034)."}
	InterfaceDrifts = &Rule{Code: "IP050", Severity: Warn,
		Title: "The interface or its files have changed on the host",
		Meaning: "Somebody has changed them, or the interface has got another name. Every attribute is as the " +
			"configuration asks, so the plan shows an update without a changed value. The apply writes the files anew, for " +
			"the present name, and configures the interface by them.",
		WayOut: "Apply. Or put back on the host what is named above, then plan again."}
	MTUAbovePort = &Rule{Code: "IP051", Severity: Refuse,
		Title: "Refusing a datagram MTU that the port cannot carry", Attribute: "mtu",
		Meaning: "In datagram mode an interface carries at most the largest IB MTU of its port, less 4. Linux refuses more " +
			"(RTNETLINK answers: Invalid argument). The driver of ConnectX-3 shows that IB MTU, others do not.",
		WayOut: "Use mtu = 2044, which every port carries. Or use mode = \"connected\" if the card supports it."}
	InterfaceWithoutCarrier = &Rule{Code: "IP052", Severity: Warn, Title: "The interface is up and has no carrier",
		Attribute: "port_guid",
		Meaning: "An IPoIB interface has a carrier when its port has a link, a subnet manager has made the port Active, " +
			"and the interface has joined the broadcast group of its partition. Until then it carries nothing. Mode, MTU and " +
			"addresses are set anyway.",
		WayOut: "Mend what is named above. The interface then gets its carrier by itself."}
	OtherInterfaceFileInvalid = &Rule{Code: "IP053", Severity: Warn, Title: "A file of another interface is not valid",
		Meaning: "ifup stops at the first line that it does not understand, and takes no interface up: neither this one " +
			"nor any other, and none at boot.",
		WayOut: "The infiniband_ipoib_interface of that file writes it anew with its next apply. If no configuration has " +
			"that interface any more, remove the file."}
	DHCPUnfit = &Rule{Code: "IP054", Severity: Refuse,
		Title:     "Refusing DHCP on a network stack that cannot have it on IPoIB",
		Attribute: "dhcp4",
		Meaning: "IPoIB needs a client identifier (RFC 4390), a lease in time, and no default route or name server from " +
			"the fabric.",
		WayOut: "Use fixed addresses, or netplan, NetworkManager or systemd-networkd."}
	BondUnfit = &Rule{Code: "IP055", Severity: Refuse, Title: "Refusing a bond that the host cannot have",
		Attribute: "bond",
		Meaning: "A bond is written for netplan, NetworkManager and systemd-networkd. It has the addresses, and its two " +
			"ports are on one fabric, in the default partition, and have nothing else.",
		WayOut: "Leave bond out, and give each port an interface with a subnet of its own."}
	BondWithoutBackup = &Rule{Code: "IP056", Severity: Warn, Title: "One port of the bond does not carry",
		Attribute: "bond",
		Meaning: "The other port has all traffic. If it fails too, the bond has none. A port carries when it has a link, a " +
			"subnet manager of the fabric has made it Active, and its interface has joined the broadcast group.",
		WayOut: "Mend the port that is named above. The bond then uses it by itself."}
)
