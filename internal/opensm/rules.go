package opensm

import "github.com/ibfabric/terraform-provider-infiniband/internal/safety"

var (
	rulePlatform = safety.Rule{
		Code: "SM001", Severity: safety.Refuse, Title: "Refusing to run a subnet manager on this system", Attribute: "host",
		Meaning: "opensm is not part of TrueNAS, whose package management is disabled; what is added by force is lost at the next update.",
		WayOut:  "Run it on another host of the fabric: one SM serves all of them. It needs one InfiniBand port, on Ubuntu for example; a managed switch has one of its own.",
	}
	rulePort = safety.Rule{
		Code: "SM002", Severity: safety.Refuse, Title: "Refusing to run a subnet manager on an unknown port", Attribute: "port_guid",
		Meaning: "A subnet manager belongs to one port. opensm that is told a GUID it does not find ends without an error.",
		WayOut:  "Use port_guids of the infiniband_guids or infiniband_card resource; if the GUID is new, make this resource depend on infiniband_guids.",
	}
	ruleEthernet = safety.Rule{
		Code: "SM003", Severity: safety.Refuse, Title: "Refusing to run a subnet manager on an Ethernet port", Attribute: "port_guid",
		Meaning: "Ethernet has no subnet manager.",
		WayOut:  "Set the port to \"ib\" with infiniband_link_type, and make this resource depend on it.",
	}
	rulePriority = safety.Rule{
		Code: "SM004", Severity: safety.Refuse, Title: "Refusing an SM priority outside 0 to 15", Attribute: "priority",
		Meaning: "SMInfo has four bits for it.",
	}
	ruleEqual = safety.Rule{
		Code: "SM005", Severity: safety.Warn, Title: "Two subnet managers have the same priority", Attribute: "priority",
		Meaning: "Of equal priorities the lower port GUID wins, and takes over from a running master: which one rules the fabric follows from hardware, not from the configuration. " +
			"Two that both run as masters are on two fabrics and are not named here.",
		WayOut: "Give those of one fabric a priority each.",
	}
	rulePackage = safety.Rule{
		Code: "SM006", Severity: safety.Note, Title: "The package opensm will be installed",
		Meaning: "It comes from the distribution.",
	}
	ruleAll = safety.Rule{
		Code: "SM007", Severity: safety.Warn, Title: "The list of ports with a subnet manager is replaced",
		Meaning: "PORTS=ALL, the package's default, runs an SM on every port. With two ports on one fabric these are two SMs that compete.",
		WayOut:  "Give each port that needs one an infiniband_opensm resource.",
	}
	ruleOther = safety.Rule{
		Code: "SM008", Severity: safety.Note, Title: "Another subnet manager serves this fabric already",
		Meaning: "If its priority is higher, ours waits as a standby; if it is lower, ours takes over. Both work.",
	}
	rulePostponed = safety.Rule{
		Code: "SM009", Severity: safety.Note, Title: "Checks of the subnet manager's port are postponed to apply", Attribute: "port_guid",
		Meaning: "The port gets its GUID or its link type from another resource of this plan. It is checked when it is there, before anything is changed.",
	}
	ruleAdopt = safety.Rule{
		Code: "SM010", Severity: safety.Warn, Title: "A subnet manager that runs on this port is taken over",
		Meaning: "Its priority is replaced by the configured one; it is restarted, which does not disturb connections in use.",
	}
	ruleKernel = safety.Rule{
		Code: "SM011", Severity: safety.Warn, Title: "This opensm may not work with this kernel",
		Meaning: "opensm 3.3.23 and Linux 6.11 or later are reported not to work together: \"Unable to register class 129\" (linux-rdma/opensm issue 37).",
		WayOut:  "If the apply reports that, boot the GA kernel of the release, or install an opensm that names the fix.",
	}
	ruleFile = safety.Rule{
		Code: "SM012", Severity: safety.Refuse, Title: "Refusing to edit a file that is not understood",
		WayOut: "Mend the PORTS line by hand: ALL, NONE, or GUIDs in quotes.",
	}
)

// Rules are the findings of this package, for the catalogue.
var Rules = safety.Register(rulePlatform, rulePort, ruleEthernet, rulePriority, ruleEqual, rulePackage, ruleAll,
	ruleOther, rulePostponed, ruleAdopt, ruleKernel, ruleFile)
