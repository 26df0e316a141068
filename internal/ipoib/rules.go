package ipoib

import "github.com/ibfabric/terraform-provider-infiniband/internal/safety"

// Attributes of the resource, as findings name them.
const (
	attrPort      = "port_guid"
	attrMode      = "mode"
	attrMTU       = "mtu"
	attrAddresses = "addresses"
	attrPKey      = "pkey"
	attrRoutes    = "routes"
)

// Attributes that hold a consent; each takes the token that the refusal prints.
const (
	ConsentSession    = "allow_session_interface"
	ConsentAdopt      = "adopt_interface"
	ConsentKeep       = "truenas_keep_interface"
	ConsentPrivateMTU = "truenas_private_mtu"
)

var (
	rulePlatform = safety.Rule{
		Code: "IP001", Severity: safety.Refuse, Title: "Refusing to configure IPoIB on an unsupported system",
		Meaning: "Each system has its own network configuration; a change made in another way would be lost or fought over.",
	}
	rulePKey = safety.Rule{
		Code: "IP002", Severity: safety.Refuse, Title: "Refusing a P_Key that no interface can have", Attribute: attrPKey,
		Meaning: "Linux gives every P_Key interface the key with bit 0x8000, whatever the port's membership, and refuses 0x0000 and 0x8000. " +
			"A key without that bit would be another interface's name for the same partition.",
		WayOut: "Use a key from 0x8001 to 0xfffe, or leave pkey out.",
	}
	rulePort = safety.Rule{
		Code: "IP003", Severity: safety.Refuse, Title: "Refusing to configure IPoIB on an unknown port", Attribute: attrPort,
		Meaning: "An IPoIB interface belongs to the port that carries this GUID; interface names change, GUIDs do not.",
	}
	ruleEthernet = safety.Rule{
		Code: "IP004", Severity: safety.Refuse, Title: "Refusing to configure IPoIB on an Ethernet port", Attribute: attrPort,
		Meaning: "There is no IPoIB interface while the port is in Ethernet mode.",
		WayOut:  "Set the port to \"ib\" with infiniband_link_type, and make this resource depend on it.",
	}
	ruleDatagramMTU = safety.Rule{
		Code: "IP005", Severity: safety.Refuse, Title: "Refusing an MTU that datagram mode cannot carry", Attribute: attrMTU,
		Meaning: "In datagram mode a packet and 4 bytes of IPoIB header (RFC 4391) must fit into one InfiniBand packet.",
	}
	ruleMaxMTU = safety.Rule{
		Code: "IP006", Severity: safety.Refuse, Title: "Refusing an MTU above the limit of IPoIB", Attribute: attrMTU,
		Meaning: "65520 is the largest MTU of IPoIB in Linux: 65536 less 16 bytes of headroom.",
	}
	ruleMinMTU = safety.Rule{
		Code: "IP007", Severity: safety.Refuse, Title: "Refusing an MTU below 1280", Attribute: attrMTU,
		Meaning: "IPv6 needs 1280 bytes; below that Linux takes IPv6 away from the interface, which the TrueNAS middleware cannot handle at all.",
	}
	ruleTrueNASMTU = safety.Rule{
		Code: "IP008", Severity: safety.NeedsConsent, Title: "Refusing an MTU above 9216 on TrueNAS", Attribute: attrMTU,
		Meaning: "The middleware's API takes 68 to 9216 (TrueNAS 25.10, interface.update). A larger one set in another way is undone by " +
			"every later network change, unless it is stored in the middleware's database by a private method, which a later release may refuse.",
		ConsentAttribute: ConsentPrivateMTU,
	}
	ruleConnected = safety.Rule{
		Code: "IP009", Severity: safety.Refuse, Title: "Refusing connected mode on a card that has none", Attribute: attrMode,
		Meaning: "mlx5 (ConnectX-4 and later) has IPoIB in its own driver, with datagram mode only; the kernel answers \"Invalid argument\".",
		WayOut:  "Use mode = \"datagram\" with mtu = 2044, or 4092 where the whole fabric has 4096-byte packets.",
	}
	ruleSession = safety.Rule{
		Code: "IP010", Severity: safety.NeedsConsent, Title: "Refusing to change the interface that leads to this host",
		Meaning:          "A mistake in it would lock you out. The host undoes the change by itself if it cannot be reached afterwards, but until then nobody can reach it.",
		ConsentAttribute: ConsentSession,
	}
	ruleStorage = safety.Rule{
		Code: "IP040", Severity: safety.NeedsConsent, Title: "Refusing to change an interface that carries storage",
		Meaning:          "Mounts, iSCSI sessions and NVMe namespaces stand still while the interface changes, and whoever uses them with them; for good if the server is not reached by the new addresses.",
		WayOut:           "Unmount it or log out of it for the time of the change.",
		ConsentAttribute: ConsentSession,
	}
	ruleTaken = safety.Rule{
		Code: "IP041", Severity: safety.Refuse, Title: "Refusing an address that another host has", Attribute: attrAddresses,
		Meaning: "Two resources of this configuration give one address to two hosts. The others of the subnet reach now one of them, now the other.",
		WayOut:  "Give each host addresses of its own.",
	}
	ruleForeign = safety.Rule{
		Code: "IP011", Severity: safety.Refuse, Title: "Refusing to configure an interface that something else configures",
		Meaning: "Netplan merges its files, ifup runs all stanzas of an interface, networkd takes the first file that matches, and NetworkManager the profile " +
			"that was used last: what the interface gets would depend on more than this configuration.",
		WayOut: "Take the interface out of that file, or leave it out of Terraform. A file of cloud-init comes back unless its network part is disabled: " +
			"network: {config: disabled} in /etc/cloud/cloud.cfg.d/99-disable-network-config.cfg.",
	}
	ruleAdopt = safety.Rule{
		Code: "IP012", Severity: safety.NeedsConsent, Title: "Refusing to replace an interface configuration made by someone else",
		Meaning: "The middleware has one configuration per interface; this change would replace it.", ConsentAttribute: ConsentAdopt,
	}
	ruleOverlap = safety.Rule{
		Code: "IP013", Severity: safety.Refuse, Title: "Refusing a subnet that another interface of this host has", Attribute: attrAddresses,
		Meaning: "Answers would leave through either interface. The TrueNAS middleware refuses it; Linux elsewhere sends them the wrong way, and answers ARP for the address of one port by the other (ARP flux).",
		WayOut:  "Give each interface a subnet of its own.",
	}
	ruleFirstRow = safety.Rule{
		Code: "IP014", Severity: safety.NeedsConsent, Title: "Refusing to store the first interface of this TrueNAS host",
		Meaning: "A fresh TrueNAS has no stored interface and runs DHCP everywhere. As soon as one is stored, the middleware clears and " +
			"switches off every interface that is not, the one that leads to this host included.", ConsentAttribute: ConsentKeep,
	}
	ruleOthersLost = safety.Rule{
		Code: "IP015", Severity: safety.Refuse, Title: "Refusing to store the first interface: other interfaces would go down",
		Meaning: "Only one interface of a TrueNAS host may use DHCP, so the others cannot be kept as they are.",
		WayOut:  "Store them in the TrueNAS web interface (Network, Interfaces, Edit, Save, Test) first.",
	}
	rulePending = safety.Rule{
		Code: "IP016", Severity: safety.Refuse, Title: "Refusing to change the network while another change is pending",
		Meaning: "The middleware commits and rolls back all pending interface changes together.",
		WayOut:  "Finish or revert them in the TrueNAS web interface (Network: Test Changes, Save Changes or Revert), then plan again.",
	}
	ruleUdevWipe = safety.Rule{
		Code: "IP017", Severity: safety.Refuse, Title: "Refusing to store a udev rule: foreign rules would be deleted",
		Meaning: "When a udev tunable changes, the middleware deletes every other file of /etc/udev/rules.d.",
		WayOut:  "Store those rules as udev tunables, or remove them.",
	}
	ruleGroupMTU = safety.Rule{
		Code: "IP018", Severity: safety.Warn, Title: "Datagram MTU above 2044 depends on the whole fabric", Attribute: attrMTU,
		Meaning: "The subnet manager creates the broadcast group, by default for 2048-byte packets; Linux then silently uses 2044.",
		WayOut:  "Configure the partition of the SM with mtu=5 (4096), or use mtu = 2044.",
	}
	ruleService = safety.Rule{
		Code: "IP019", Severity: safety.Refuse, Title: "Refusing to configure IPoIB: the network service does not run",
		Meaning: "The configuration would be written and nothing would read it.",
		WayOut:  "Start the service, or configure this host in another way.",
	}
	ruleNoSM = safety.Rule{
		Code: "IP020", Severity: safety.Warn, Title: "No subnet manager serves this port", Attribute: attrPort,
		Meaning: "IPoIB has no carrier until a subnet manager has configured the port; addresses are set anyway.",
		WayOut:  "Run one SM on the fabric, for example with infiniband_opensm. NetworkManager does not take an interface up before there is one.",
	}
	ruleElsewhere = safety.Rule{
		Code: "IP034", Severity: safety.Warn, Title: "No subnet manager of the configuration is on this port's fabric", Attribute: attrPort,
		Meaning: "Cables that no switch joins are fabrics of their own, and each needs a subnet manager; two cables between the two ports of two cards are two fabrics. Without one the port stays in Initializing and the interface without carrier.",
		WayOut:  "Add an infiniband_opensm for this port or for one that it reaches, or join the fabrics by a switch.",
	}
	ruleStacked = safety.Rule{
		Code: "IP035", Severity: safety.Refuse, Title: "Refusing to configure an interface that is part of a bond or a bridge",
		Meaning: "IPoIB carries no Ethernet frames: Linux takes it into no bridge, and into a bond in mode active-backup (1) only, never 802.3ad (4). What is part of a bond has its addresses on the bond.",
		WayOut:  "Take the interface out of it, or leave it out of Terraform. Two ports without a bond need a subnet each; guests of a bridge need a route, or a card of their own.",
	}
	ruleIfupdown2 = safety.Rule{
		Code: "IP036", Severity: safety.Refuse, Title: "Refusing to use an ifupdown2 that fails on InfiniBand",
		Meaning: "ifupdown2 before 3.0 ends with \"Length of MACAddress attribute not supported: 24\" as soon as there is an InfiniBand interface, and brings up none at all (CumulusNetworks/ifupdown2 issue 140).",
		WayOut:  "Upgrade the package ifupdown2 to 3.0.0 or later, as Debian 12 has it; that one notes the address and goes on.",
	}
	ruleFleeting = safety.Rule{
		Code: "IP037", Severity: safety.Warn, Title: "What the interface has would be lost at the next restart",
		Meaning: "Mode, MTU and addresses were set at run time only, by ip or through sysfs. The apply writes them where the host's network stack reads them at boot.",
	}
	ruleAddress = safety.Rule{
		Code: "IP021", Severity: safety.Refuse, Title: "Refusing an address that an interface cannot have", Attribute: attrAddresses,
		WayOut: "Give addresses of hosts with their prefix length, for example 172.16.0.20/24.",
	}
	rulePostponed = safety.Rule{
		Code: "IP022", Severity: safety.Note, Title: "Checks of the IPoIB interface are postponed to apply", Attribute: attrPort,
		Meaning: "The port gets its GUID or its link type from another resource of this plan. What needs the interface is checked when it is there, before it is changed.",
	}
	ruleStack = safety.Rule{
		Code: "IP023", Severity: safety.Refuse, Title: "Refusing to configure IPoIB on a host without a known network stack",
		Meaning: "What configures the network is found on the host; nothing that is known was found.",
		WayOut:  "Use a host with netplan, NetworkManager, systemd-networkd or ifupdown.",
	}
	ruleTwoManagers = safety.Rule{
		Code: "IP024", Severity: safety.Refuse, Title: "Refusing to configure an interface that two services manage",
		Meaning: "Each undoes what the other does, at the next change of the link, the next restart of a service or the next boot.",
		WayOut:  "Decide for one of them and take the interface out of the configuration of the other.",
	}
	ruleNotRead = safety.Rule{
		Code: "IP025", Severity: safety.Refuse, Title: "Refusing to write a configuration that would not be read",
		Meaning: "The file would be there, and the interface would not come up at boot.",
		WayOut:  "Add \"source /etc/network/interfaces.d/*\" to /etc/network/interfaces; this provider does not rewrite files that are not its own.",
	}
	ruleCloudInit = safety.Rule{
		Code: "IP026", Severity: safety.Warn, Title: "cloud-init owns the network configuration of this host",
		Meaning: "It writes its own files anew for a new instance id. Files of this provider are separate and stay.",
		WayOut:  "To keep it from ever changing the network, write network: {config: disabled} into /etc/cloud/cloud.cfg.d/99-disable-network-config.cfg.",
	}
	ruleUnconfirmed = safety.Rule{
		Code: "IP027", Severity: safety.Warn, Title: "An earlier change of this interface was never confirmed",
		Meaning: "The host could not be reached after it, the provider ended before it could confirm it, or the host was restarted in between.",
		WayOut:  "Find out what cut the connection before you apply the same change again.",
	}
	ruleSubnet = safety.Rule{
		Code: "IP028", Severity: safety.Warn, Title: "Interfaces of one IPoIB subnet differ", Attribute: attrMTU,
		Meaning: "Unicast between datagram and connected mode works, by ICMP, at the smaller MTU; multicast and broadcast have the limit of datagram. " +
			"Programs that set their packet size by the local MTU lose packets.",
		WayOut: "Give all interfaces of the subnet the same mode and mtu: those of the weakest card.",
	}
	ruleRoute = safety.Rule{
		Code: "IP029", Severity: safety.Refuse, Title: "Refusing a route that the interface cannot have", Attribute: attrRoutes,
		WayOut: "The gateway has to be another host of one of the subnets of this interface.",
	}
	ruleDefaultRoute = safety.Rule{
		Code: "IP030", Severity: safety.Refuse, Title: "Refusing a second default route", Attribute: attrRoutes,
		Meaning: "Which of two is used depends on metrics that every network stack sets in its own way; the host may become unreachable.",
		WayOut:  "Name the networks behind the gateway instead.",
	}
	ruleTrueNASRoutes = safety.Rule{
		Code: "IP031", Severity: safety.Refuse, Title: "Refusing routes on TrueNAS", Attribute: attrRoutes,
		Meaning: "The middleware keeps static routes apart from interfaces, and its rollback of a change does not include them.",
		WayOut:  "Set them in the TrueNAS web interface (Network, Static Routes).",
	}
	ruleTrueNASPKey = safety.Rule{
		Code: "IP032", Severity: safety.Refuse, Title: "Refusing a P_Key interface on TrueNAS", Attribute: attrPKey,
		Meaning: "The middleware does not make P_Key interfaces, and switches off every one that it has not stored.",
		WayOut:  "Leave pkey out, or use another host.",
	}
	ruleChildName = safety.Rule{
		Code: "IP033", Severity: safety.Refuse, Title: "Refusing a P_Key interface whose name is too long", Attribute: attrPKey,
		Meaning: "The name is that of the port's interface and the key, and Linux has 15 characters for it.",
		WayOut:  "Give the port's interface a shorter name with a udev rule (NAME=) that matches the last 8 bytes of its address.",
	}
)

// Rules are the findings of this package, for the catalogue.
var Rules = safety.Register(
	rulePlatform, rulePKey, rulePort, ruleEthernet, ruleDatagramMTU, ruleMaxMTU, ruleMinMTU, ruleTrueNASMTU,
	ruleConnected, ruleSession, ruleForeign, ruleAdopt, ruleOverlap, ruleFirstRow, ruleOthersLost, rulePending,
	ruleUdevWipe, ruleGroupMTU, ruleService, ruleNoSM, ruleAddress, rulePostponed, ruleStack, ruleTwoManagers, ruleNotRead,
	ruleCloudInit, ruleUnconfirmed, ruleSubnet, ruleRoute, ruleDefaultRoute, ruleTrueNASRoutes, ruleTrueNASPKey, ruleChildName,
	ruleElsewhere, ruleStacked, ruleIfupdown2, ruleFleeting, ruleStorage, ruleTaken,
)
