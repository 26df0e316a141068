package ipoib

import "github.com/ibfabric/terraform-provider-infiniband/internal/safety"

// Attributes of the resource, as findings name them.
const (
	attrPort      = "port_guid"
	attrMode      = "mode"
	attrMTU       = "mtu"
	attrAddresses = "addresses"
	attrPKey      = "pkey"
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
		Code: "IP002", Severity: safety.Refuse, Title: "Refusing a P_Key other than the default", Attribute: attrPKey,
		Meaning: "P_Key child interfaces are not managed yet.", WayOut: "Leave pkey out, or set it to 0xffff.",
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
	ruleForeign = safety.Rule{
		Code: "IP011", Severity: safety.Refuse, Title: "Refusing to configure an interface that something else configures",
		Meaning: "Netplan merges all files: addresses of both would be set, and the later file's MTU would win.",
		WayOut:  "Remove the interface from that file, or leave it out of Terraform.",
	}
	ruleAdopt = safety.Rule{
		Code: "IP012", Severity: safety.NeedsConsent, Title: "Refusing to replace an interface configuration made by someone else",
		Meaning: "The middleware has one configuration per interface; this change would replace it.", ConsentAttribute: ConsentAdopt,
	}
	ruleOverlap = safety.Rule{
		Code: "IP013", Severity: safety.Refuse, Title: "Refusing a subnet that another interface of this host has", Attribute: attrAddresses,
		Meaning: "Answers would leave through either interface. The TrueNAS middleware refuses it; Linux elsewhere sends them the wrong way.",
		WayOut:  "Give each port a subnet of its own.",
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
	ruleNetworkd = safety.Rule{
		Code: "IP019", Severity: safety.Refuse, Title: "Refusing to configure IPoIB: systemd-networkd does not run",
		Meaning: "The interface is configured through netplan and systemd-networkd, the default of Ubuntu Server.",
		WayOut:  "Start it (systemctl enable --now systemd-networkd), or configure this host in another way.",
	}
	ruleNoSM = safety.Rule{
		Code: "IP020", Severity: safety.Warn, Title: "No subnet manager serves this port", Attribute: attrPort,
		Meaning: "IPoIB has no carrier until a subnet manager has configured the port; addresses are set anyway.",
		WayOut:  "Run one SM on the fabric, for example with infiniband_opensm on an Ubuntu host.",
	}
	ruleAddress = safety.Rule{
		Code: "IP021", Severity: safety.Refuse, Title: "Refusing an address that an interface cannot have", Attribute: attrAddresses,
		WayOut: "Give addresses of hosts with their prefix length, for example 172.16.0.20/24.",
	}
	rulePostponed = safety.Rule{
		Code: "IP022", Severity: safety.Note, Title: "Checks of the IPoIB interface are postponed to apply", Attribute: attrPort,
		Meaning: "The port gets its GUID or its link type from another resource of this plan. What needs the interface is checked when it is there, before it is changed.",
	}
)

// Rules are the findings of this package, for the catalogue.
var Rules = safety.Register(
	rulePlatform, rulePKey, rulePort, ruleEthernet, ruleDatagramMTU, ruleMaxMTU, ruleMinMTU, ruleTrueNASMTU,
	ruleConnected, ruleSession, ruleForeign, ruleAdopt, ruleOverlap, ruleFirstRow, ruleOthersLost, rulePending,
	ruleUdevWipe, ruleGroupMTU, ruleNetworkd, ruleNoSM, ruleAddress, rulePostponed,
)
