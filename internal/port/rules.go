package port

import "github.com/ibfabric/terraform-provider-infiniband/internal/safety"

var (
	rulePlatform = safety.Rule{
		Code: "PO001", Severity: safety.Refuse, Title: "Refusing to set a port on this system", Attribute: "card_id",
		Meaning: "Setting a port needs ibportstate of infiniband-diags, which this system does not have and does not let be installed.",
		WayOut:  "Reload the driver to enable a port, or set the port of the switch from another host.",
	}
	rulePort = safety.Rule{
		Code: "PO002", Severity: safety.Refuse, Title: "Refusing to set a port that is not there", Attribute: "port",
		Meaning: "The kernel shows no RDMA port of this number for the card.",
		WayOut:  "Use the number of a port in ports of infiniband_card. If the driver's module is not loaded, an infiniband_ipoib_interface or infiniband_opensm on the card loads it.",
	}
	ruleEthernet = safety.Rule{
		Code: "PO003", Severity: safety.Refuse, Title: "Refusing to set an Ethernet port", Attribute: "port",
		Meaning: "Speeds, widths and administrative state of this kind belong to InfiniBand; Ethernet has ip link and ethtool.",
		WayOut:  "Set the port to \"ib\" with infiniband_link_type, and make this resource depend on it.",
	}
	ruleSession = safety.Rule{
		Code: "PO004", Severity: safety.NeedsConsent, Title: "Port carries what the host is reached by or depends on", Attribute: ConsentPath, ConsentAttribute: ConsentPath,
		Meaning: "A disabled port takes it away for good; new speeds and widths take it away until the link has trained anew, or for good if the other end allows none of them.",
		WayOut:  "Use another way to the host, move the default route, unmount the storage. If losing it is acceptable, add to the resource:",
	}
	ruleSM = safety.Rule{
		Code: "PO005", Severity: safety.Warn, Title: "A subnet manager runs on this port", Attribute: "port",
		Meaning: "While the port is down it manages nothing; if it is the only one, ports that come up in the meantime stay in Initializing.",
		WayOut:  "Let another host take over first.",
	}
	ruleSpeeds = safety.Rule{
		Code: "PO006", Severity: safety.Refuse, Title: "Port does not support what is asked for", Attribute: "speeds",
		Meaning: "The port names the speeds and widths that it has; the rest is ignored by it or keeps the link down.",
		WayOut:  "Ask for a subset of what it supports.",
	}
	rulePackage = safety.Rule{
		Code: "PO007", Severity: safety.Warn, Title: "The package infiniband-diags will be installed",
		Meaning: "It holds ibportstate, which sets ports. It comes from the distribution.",
	}
	ruleInterrupt = safety.Rule{
		Code: "PO008", Severity: safety.Warn, Title: "The link of the port goes down",
		Meaning: "Disabling ends all traffic on the port; new speeds or widths interrupt it for some seconds while the link trains.",
	}
	ruleForeign = safety.Rule{
		Code: "PO009", Severity: safety.Refuse, Title: "Refusing to overwrite a file of others", Attribute: "port",
		Meaning: "A unit or program of this name is there and does not say that Terraform wrote it.",
		WayOut:  "Look at it and move it away.",
	}
	rulePostponed = safety.Rule{
		Code: "PO010", Severity: safety.Note, Title: "Checks of the port are postponed to apply", Attribute: "port",
		Meaning: "Another resource of this plan makes the port InfiniBand. It is checked when it is, before anything is changed.",
	}
)

// Rules are the findings of this package, for the catalogue.
var Rules = safety.Register(rulePlatform, rulePort, ruleEthernet, ruleSession, ruleSM, ruleSpeeds, rulePackage,
	ruleInterrupt, ruleForeign, rulePostponed)
