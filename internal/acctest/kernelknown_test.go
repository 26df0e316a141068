package acctest

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim"

// knownDifferences are the questions of a test that the simulated lab answers in another way
// than the recorded machines, with the reason; those of the system "" on every system. A
// question that is asked more than once has its number behind it.
var knownDifferences = map[recording]map[string]string{
	{contractTest, ""}: {
		// Where the emulated card or switch is no silicon; record anew when it has changed.
		"smpquery -D portinfo 0 2":                            downPort + "; LocalPort is that of the question instead of that of arrival",
		"ibportstate -D 0 2 query":                            downPort,
		"smpquery -D portinfo 0,1 0":                          "port 0 of the emulated switch has the values of its other ports; the simulated one those of ibsim",
		"ibnetdiscover -p":                                    downPort + ", as do the ports of the emulated switch",
		lnkCapQuestion:                                        "the emulated card has its Express capability behind the others and without ASPM, which silicon has",
		"ls /sys/bus/pci/devices/0000:01:00.0/infiniband (4)": noRoCE,
		typesQuestion1 + " (3)":                               noRoCE,
		typesQuestion2:                                        noRoCE,
		// Where the simulation is simpler.
		"smpquery -D nodeinfo 0,1": "the emulated switch holds 32 P_Keys, that of ibsim 8",
		"saquery -g":               "the simulated fabric has the groups for broadcast only, not those that IPv4 and IPv6 join",
		"ibqueryerrors --threshold-file /dev/null --skip-sl": "the emulated agents answer for all ports of a node at once, of which those without a cable " +
			"count as checked; those of ibsim, which the simulation has, are asked port by port",
	},
	{contractTest, labsim.Debian12}: {
		typesQuestion1 + " (2)":                               noRoCE,
		typesQuestion2 + " (2)":                               noRoCE,
		"ls /sys/bus/pci/devices/0000:01:00.0/infiniband (3)": noRoCE,
		"ibstat (2)": noRoCE,
	},
	{contractTest, labsim.Debian13}: {
		"what the provider collects":                          crash,
		"what the provider collects (2)":                      crash,
		"ls /sys/bus/pci/devices/0000:01:00.0/infiniband (3)": noDevice,
		typesQuestion1 + " (2)":                               noDevice,
		typesQuestion2 + " (2)":                               noDevice,
		"ibstat (2)":                                          noDevice,
	},
}

const (
	downPort = "firmware says of a link that is down that it has the best speed (the kernel knows that it lies), the simulation SDR"
	noRoCE   = "the emulated firmware has no RoCE, so that rdma-core calls the device rdma, not roce, and there are no GIDs"
	crash    = "mstflint 4.31 crashes on ConnectX-3 cards of silicon (its issues 590 and 1157), not on the emulated one"
	noDevice = "the emulated firmware has no RoCE, without which Linux 6.12 makes no device of Ethernet ports alone"
)
