package finding

// Rules of IPoIB interfaces.
var (
	IPoIBUnsupported = &Rule{Code: "IP001", Severity: Refuse, Title: "Refusing to configure IPoIB on an unsupported system",
		Meaning: "Each system has its own network configuration; a change made in another way would be lost or fought over."}
	PKeyInvalid = &Rule{Code: "IP002", Severity: Refuse, Title: "Refusing a P_Key that no interface can have", Attribute: "pkey",
		Meaning: "Linux gives every P_Key interface the key with bit 0x8000, whatever the port's membership, and refuses 0x0000 and 0x8000. " +
			"A key without that bit would be another interface's name for the same partition.",
		WayOut: "Use a key from 0x8001 to 0xfffe, or leave pkey out."}
	IPoIBPortUnknown = &Rule{Code: "IP003", Severity: Refuse, Title: "Refusing to configure IPoIB on an unknown port", Attribute: "port_guid",
		Meaning: "An IPoIB interface belongs to the port that carries this GUID; interface names change, GUIDs do not."}
	IPoIBPortEthernet = &Rule{Code: "IP004", Severity: Refuse, Title: "Refusing to configure IPoIB on an Ethernet port", Attribute: "port_guid",
		Meaning: "There is no IPoIB interface while the port is in Ethernet mode.",
		WayOut:  "Set the port to \"ib\" with infiniband_link_type, and make this resource depend on it."}
	MTUAboveDatagram = &Rule{Code: "IP005", Severity: Refuse, Title: "Refusing an MTU that datagram mode cannot carry", Attribute: "mtu",
		Meaning: "In datagram mode a packet and 4 bytes of IPoIB header (RFC 4391) must fit into one InfiniBand packet."}
	MTUAboveIPoIB = &Rule{Code: "IP006", Severity: Refuse, Title: "Refusing an MTU above the limit of IPoIB", Attribute: "mtu",
		Meaning: "65520 is the largest MTU of IPoIB in Linux: 65536 less 16 bytes of headroom."}
	MTUBelowIPv6 = &Rule{Code: "IP007", Severity: Refuse, Title: "Refusing an MTU below 1280", Attribute: "mtu",
		Meaning: "IPv6 needs 1280 bytes; below that Linux takes IPv6 away from the interface, which the TrueNAS middleware cannot handle at all."}
	MTUAboveTrueNAS = &Rule{Code: "IP008", Severity: NeedsConsent, Title: "Refusing an MTU above 9216 on TrueNAS", Attribute: "mtu",
		Meaning: "The middleware's API takes 68 to 9216 (TrueNAS 25.10, interface.update). A larger one set in another way is undone by " +
			"every later network change, unless it is stored in the middleware's database by a private method, which a later release may refuse.",
		ConsentAttribute: "truenas_private_mtu"}
	ConnectedModeMissing = &Rule{Code: "IP009", Severity: Refuse, Title: "Refusing connected mode on a card that has none", Attribute: "mode",
		Meaning: "mlx5 (ConnectX-4 and later) has IPoIB in its own driver, with datagram mode only; the kernel answers \"Invalid argument\".",
		WayOut:  "Use mode = \"datagram\" with mtu = 2044, or 4092 where the whole fabric has 4096-byte packets."}
	SessionOverInterface = &Rule{Code: "IP010", Severity: NeedsConsent, Title: "Refusing to change the interface that leads to this host",
		Meaning:          "A mistake in it would lock you out. The host undoes the change by itself if it cannot be reached afterwards, but until then nobody can reach it.",
		ConsentAttribute: "allow_session_interface"}
	InterfaceConfiguredElsewhere = &Rule{Code: "IP011", Severity: Refuse, Title: "Refusing to configure an interface that something else configures",
		Meaning: "Netplan merges its files, ifup runs all stanzas of an interface, networkd takes the first file that matches, and NetworkManager the profile " +
			"that was used last: what the interface gets would depend on more than this configuration.",
		WayOut: "Take the interface out of that file, or leave it out of Terraform. A file of cloud-init comes back unless its network part is disabled: " +
			"network: {config: disabled} in /etc/cloud/cloud.cfg.d/99-disable-network-config.cfg."}
	InterfaceStoredByOthers = &Rule{Code: "IP012", Severity: NeedsConsent, Title: "Refusing to replace an interface configuration made by someone else",
		Meaning: "The middleware has one configuration per interface; this change would replace it.", ConsentAttribute: "adopt_interface"}
	SubnetTwice = &Rule{Code: "IP013", Severity: Refuse, Title: "Refusing a subnet that another interface of this host has", Attribute: "addresses",
		Meaning: "Answers would leave through either interface. The TrueNAS middleware refuses it; Linux elsewhere sends them the wrong way, and answers ARP for the address of one port by the other (ARP flux).",
		WayOut:  "Give each interface a subnet of its own."}
	TrueNASFirstInterface = &Rule{Code: "IP014", Severity: NeedsConsent, Title: "Refusing to store the first interface of this TrueNAS host",
		Meaning: "A fresh TrueNAS has no stored interface and runs DHCP everywhere. As soon as one is stored, the middleware clears and " +
			"switches off every interface that is not, the one that leads to this host included.", ConsentAttribute: "truenas_keep_interface"}
	TrueNASOthersGoDown = &Rule{Code: "IP015", Severity: Refuse, Title: "Refusing to store the first interface: other interfaces would go down",
		Meaning: "Only one interface of a TrueNAS host may use DHCP, so the others cannot be kept as they are.",
		WayOut:  "Store them in the TrueNAS web interface (Network, Interfaces, Edit, Save, Test) first."}
	TrueNASChangePending = &Rule{Code: "IP016", Severity: Refuse, Title: "Refusing to change the network while another change is pending",
		Meaning: "The middleware commits and rolls back all pending interface changes together.",
		WayOut:  "Finish or revert them in the TrueNAS web interface (Network: Test Changes, Save Changes or Revert), then plan again."}
	TrueNASDeletesUdevRules = &Rule{Code: "IP017", Severity: Refuse, Title: "Refusing to store a udev rule: foreign rules would be deleted",
		Meaning: "When a udev tunable changes, the middleware deletes every other file of /etc/udev/rules.d.",
		WayOut:  "Store those rules as udev tunables, or remove them."}
	MTUDependsOnFabric = &Rule{Code: "IP018", Severity: Warn, Title: "Datagram MTU above 2044 depends on the whole fabric", Attribute: "mtu",
		Meaning: "The subnet manager creates the broadcast group, by default for 2048-byte packets; Linux then silently uses 2044.",
		WayOut:  "Configure the partition of the SM with mtu=5 (4096), or use mtu = 2044."}
	NetworkServiceDown = &Rule{Code: "IP019", Severity: Refuse, Title: "Refusing to configure IPoIB: the network service does not run",
		Meaning: "The configuration would be written and nothing would read it.",
		WayOut:  "Start the service, or configure this host in another way."}
	PortWithoutSubnetManager = &Rule{Code: "IP020", Severity: Warn, Title: "No subnet manager serves this port", Attribute: "port_guid",
		Meaning: "IPoIB has no carrier until a subnet manager has configured the port; addresses are set anyway.",
		WayOut:  "Run one SM on the fabric, for example with infiniband_opensm. NetworkManager does not take an interface up before there is one."}
	AddressInvalid = &Rule{Code: "IP021", Severity: Refuse, Title: "Refusing an address that an interface cannot have", Attribute: "addresses",
		WayOut: "Give addresses of hosts with their prefix length, for example 172.16.0.20/24."}
	IPoIBPostponed = &Rule{Code: "IP022", Severity: Note, Title: "Checks of the IPoIB interface are postponed to apply", Attribute: "port_guid",
		Meaning: "The port gets its GUID or its link type from another resource of this plan. What needs the interface is checked when it is there, before it is changed."}
	NetworkStackUnknown = &Rule{Code: "IP023", Severity: Refuse, Title: "Refusing to configure IPoIB on a host without a known network stack",
		Meaning: "What configures the network is found on the host; nothing that is known was found.",
		WayOut:  "Use a host with netplan, NetworkManager, systemd-networkd or ifupdown."}
	InterfaceOfTwoServices = &Rule{Code: "IP024", Severity: Refuse, Title: "Refusing to configure an interface that two services manage",
		Meaning: "Each undoes what the other does, at the next change of the link, the next restart of a service or the next boot.",
		WayOut:  "Decide for one of them and take the interface out of the configuration of the other."}
	NetworkFileNotRead = &Rule{Code: "IP025", Severity: Refuse, Title: "Refusing to write a configuration that would not be read",
		Meaning: "The file would be there, and the interface would not come up at boot.",
		WayOut:  "Add \"source /etc/network/interfaces.d/*\" to /etc/network/interfaces; this provider does not rewrite files that are not its own."}
	CloudInitOwnsNetwork = &Rule{Code: "IP026", Severity: Warn, Title: "cloud-init owns the network configuration of this host",
		Meaning: "It writes its own files anew for a new instance id. Files of this provider are separate and stay.",
		WayOut:  "To keep it from ever changing the network, write network: {config: disabled} into /etc/cloud/cloud.cfg.d/99-disable-network-config.cfg."}
	NetworkChangeUnconfirmed = &Rule{Code: "IP027", Severity: Warn, Title: "An earlier change of this interface was never confirmed",
		Meaning: "The host could not be reached after it, the provider ended before it could confirm it, or the host was restarted in between.",
		WayOut:  "Find out what cut the connection before you apply the same change again."}
	SubnetInterfacesDiffer = &Rule{Code: "IP028", Severity: Warn, Title: "Interfaces of one IPoIB subnet differ", Attribute: "mtu",
		Meaning: "Unicast between datagram and connected mode works, by ICMP, at the smaller MTU; multicast and broadcast have the limit of datagram. " +
			"Programs that set their packet size by the local MTU lose packets.",
		WayOut: "Give all interfaces of the subnet the same mode and mtu: those of the weakest card."}
	RouteInvalid = &Rule{Code: "IP029", Severity: Refuse, Title: "Refusing a route that the interface cannot have", Attribute: "routes",
		WayOut: "The gateway has to be another host of one of the subnets of this interface."}
	DefaultRouteTwice = &Rule{Code: "IP030", Severity: Refuse, Title: "Refusing a second default route", Attribute: "routes",
		Meaning: "Which of two is used depends on metrics that every network stack sets in its own way; the host may become unreachable.",
		WayOut:  "Name the networks behind the gateway instead."}
	TrueNASRoutes = &Rule{Code: "IP031", Severity: Refuse, Title: "Refusing routes on TrueNAS", Attribute: "routes",
		Meaning: "The middleware keeps static routes apart from interfaces, and its rollback of a change does not include them.",
		WayOut:  "Set them in the TrueNAS web interface (Network, Static Routes)."}
	TrueNASPKey = &Rule{Code: "IP032", Severity: Refuse, Title: "Refusing a P_Key interface on TrueNAS", Attribute: "pkey",
		Meaning: "The middleware does not make P_Key interfaces, and switches off every one that it has not stored.",
		WayOut:  "Leave pkey out, or use another host."}
	PKeyNameTooLong = &Rule{Code: "IP033", Severity: Refuse, Title: "Refusing a P_Key interface whose name is too long", Attribute: "pkey",
		Meaning: "The name is that of the port's interface and the key, and Linux has 15 characters for it.",
		WayOut:  "Give the port's interface a shorter name with a udev rule (NAME=) that matches the last 8 bytes of its address."}
	SubnetManagerElsewhere = &Rule{Code: "IP034", Severity: Warn, Title: "No subnet manager of the configuration is on this port's fabric", Attribute: "port_guid",
		Meaning: "Cables that no switch joins are fabrics of their own, and each needs a subnet manager; two cables between the two ports of two cards are two fabrics. Without one the port stays in Initializing and the interface without carrier.",
		WayOut:  "Add an infiniband_opensm for this port or for one that it reaches, or join the fabrics by a switch."}
	InterfaceInBond = &Rule{Code: "IP035", Severity: Refuse, Title: "Refusing to configure an interface that is part of a bond or a bridge",
		Meaning: "IPoIB carries no Ethernet frames: Linux takes it into no bridge, and into a bond in mode active-backup (1) only, never 802.3ad (4). What is part of a bond has its addresses on the bond.",
		WayOut:  "Take the interface out of it, or leave it out of Terraform. Two ports without a bond need a subnet each; guests of a bridge need a route, or a card of their own."}
	Ifupdown2TooOld = &Rule{Code: "IP036", Severity: Refuse, Title: "Refusing to use an ifupdown2 that fails on InfiniBand",
		Meaning: "ifupdown2 before 3.0 ends with \"Length of MACAddress attribute not supported: 24\" as soon as there is an InfiniBand interface, and brings up none at all (CumulusNetworks/ifupdown2 issue 140).",
		WayOut:  "Upgrade the package ifupdown2 to 3.0.0 or later, as Debian 12 has it; that one notes the address and goes on."}
	InterfaceWouldBeLost = &Rule{Code: "IP037", Severity: Warn, Title: "What the interface has would be lost at the next restart",
		Meaning: "Mode, MTU and addresses were set at run time only, by ip or through sysfs. The apply writes them where the host's network stack reads them at boot."}
	StorageOverInterface = &Rule{Code: "IP040", Severity: NeedsConsent, Title: "Refusing to change an interface that carries storage",
		Meaning:          "Mounts, iSCSI sessions and NVMe namespaces stand still while the interface changes, and whoever uses them with them; for good if the server is not reached by the new addresses.",
		WayOut:           "Unmount it or log out of it for the time of the change.",
		ConsentAttribute: "allow_session_interface"}
	AddressTaken = &Rule{Code: "IP041", Severity: Refuse, Title: "Refusing an address that another host has", Attribute: "addresses",
		Meaning: "Two resources of this configuration give one address to two hosts. The others of the subnet reach now one of them, now the other.",
		WayOut:  "Give each host addresses of its own."}
)
