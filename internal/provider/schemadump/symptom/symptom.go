// Package symptom is the table of what people see when a link type, a subnet
// manager, IPoIB or the speed of a link is not right, with what the provider says
// of it. The troubleshooting guide is written from it, and a test of the
// acceptance tests holds each row to what shows it.
//
// It must not look at anything; nothing of the provider itself uses it.
package symptom

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
)

// Row is one symptom.
type Row struct {
	Number int
	Seen   string // what people see, texts of programs in backticks
	Cause  string // a sentence
	Do     string // what to do, short
	// What the provider says: findings of a plan, causes of an apply of
	// infiniband_opensm, kinds of problems of infiniband_connectivity and of
	// differences of infiniband_fabric.
	Findings     []*finding.Rule
	Causes       []change.CauseKind
	Connectivity []string
	Fabric       []string
	// Quiet says why the provider says nothing: the cause is gone with it.
	Quiet string
}

// Named reports whether the provider names the cause.
func (r Row) Named() bool {
	return len(r.Findings)+len(r.Causes)+len(r.Connectivity)+len(r.Fabric) > 0
}

// Part is a heading of the guide.
type Part struct {
	Title string
	Rows  []Row
}

// Parts are all symptoms, numbered through.
func Parts() []Part {
	parts := []Part{
		{"The port is in the wrong mode", linkTypes},
		{"The port does not become active, or the subnet manager does not work", managers},
		{"IP over InfiniBand does not work", interfaces},
		{"The link is slow", slow},
	}
	n := 0
	for _, p := range parts {
		for i := range p.Rows {
			n++
			p.Rows[i].Number = n
		}
	}
	return parts
}

var linkTypes = []Row{
	{
		Seen:     "`ibstat` says `Link layer: Ethernet`; writing `ib` to `mlx4_port1` fails, or there is no `LINK_TYPE_P1`",
		Cause:    "The firmware is an Ethernet-only build, or the link type is set to Ethernet.",
		Findings: []*finding.Rule{finding.FirmwareEthernetOnly, finding.PortEthernet}, Causes: []change.CauseKind{change.CauseEthernet},
		Do: "Set the type with `infiniband_link_type`. If the provider says LT001, first burn the VPI firmware of the " +
			"board with `infiniband_firmware`.",
	},
	{
		Seen: "The port is Ethernet again after a reboot",
		Cause: "The type was set at run time only (sysfs, devlink, sensing), and another type is stored for the next boot. " +
			"Or a parameter of the driver overrides the card.",
		Findings: []*finding.Rule{finding.LinkTypeWouldBeLost, finding.ParameterOverCard,
			finding.AutoNotLasting}, Do: "Apply `infiniband_link_type`, which stores the type. Its `by_place` shows the types " +
			"that each place stores.",
	},
	{
		Seen:     "A second card of the host changes its type as well",
		Cause:    "`port_type_array` of mlx4_core applies to every card of the host.",
		Findings: []*finding.Rule{finding.OtherCardWouldChange}, Do: "Ask for the same types on both cards, or use mstflint 4.25 or older, which stores " +
			"the types in each card.",
	},
	{
		Seen:     "The type was changed and `ibstat` still shows the old one",
		Cause:    "ConnectX-4 and later change the type only with a restart.",
		Findings: []*finding.Rule{finding.RestartNeeded}, Do: "Restart the host, or write `activation = \"reboot\"`.",
	},
	{
		Seen:         "`Cannot find device \"ib0\"` after a change of type, firmware or kernel",
		Cause:        "The interface has another name now, for example `ibp1s0`. The GUID of the port is the same.",
		Connectivity: []string{connectivity.NoInterface},
		Do:           "Use the port's GUID, as `infiniband_ipoib_interface` does. The message lists the present names.",
	},
}

var managers = []Row{
	{
		Seen: "`ibstat`: `State: Initializing`, `Physical state: LinkUp`", Cause: "No subnet manager serves this fabric.",
		Findings: []*finding.Rule{finding.PortWithoutSubnetManager}, Causes: []change.CauseKind{change.CauseNotRunning,
			change.CauseSM}, Connectivity: []string{connectivity.NoSM}, Fabric: []string{fabric.NoManager},
		Do: "Add an `infiniband_opensm` for one port of the fabric; ports that no cable joins need another one. If there is one " +
			"already, restart it as step 3 at the top of this page says: the error names the cause.",
	},
	{
		Seen: "`ibstat`: `Node GUID: 0x0000000000000000`, and `State: Initializing`",
		Cause: "The card has no GUIDs, as after a cross-flash of firmware for Ethernet only. A subnet manager leaves such a " +
			"card out.",
		Findings: []*finding.Rule{finding.FlashGUIDsZero}, Causes: []change.CauseKind{change.CauseZeroGUID},
		Do: "Set them with `infiniband_guids`: without values it takes those that follow from the MACs of the card.",
	},
	{
		Seen: "`ibstat`: `State: Down`, `Physical state: Polling` (or `Disabled`)",
		Cause: "Nothing answers at the other end. The cable is out or broken, the switch is off, or the other port is in " +
			"Ethernet mode. `Disabled` means that this port is switched off.",
		Findings: []*finding.Rule{finding.OpensmPortWithoutLink, finding.InterfaceNotActivated,
			finding.InterfaceWithoutCarrier},
		Causes: []change.CauseKind{change.CauseCable, change.CauseDisabled,
			change.CauseTraining}, Connectivity: []string{connectivity.NoCarrier}, Fabric: []string{fabric.NoLink, fabric.Missing},
		Do: "Check the cable and the other end. Both ends must be InfiniBand. Enable a disabled port with " +
			"`infiniband_port`. SM031 stands only in a plan that creates or changes the subnet manager, `missing` only where the fabric has " +
			"`expected_links`.",
	},
	{
		Seen: "opensm: `ERR 5426: Unable to register class 129 version 1`",
		Cause: "Some builds of opensm 3.3.23 are reported not to work with Linux 6.11 or later. Debian 13 (3.3.23, Linux " +
			"6.12) was seen to work.",
		Causes: []change.CauseKind{change.CauseKernel},
		Do:     "Boot the GA kernel of the release, or install an opensm that has the fix.",
	},
	{
		Seen: "opensm ends at boot; `can't open UMAD port`, `is ib_umad module loaded?`, or the unit is skipped " +
			"(`ConditionPathExists`)", Cause: "The kernel module `ib_umad` is not loaded yet.",
		Causes: []change.CauseKind{change.CauseUMAD,
			change.CauseNotBound}, Do: "Apply `infiniband_opensm`. It loads the module, now and at boot, and restarts opensm " +
			"until the port exists.",
	},
	{
		Seen:     "The first port is `Active`, the second stays in `Initializing`",
		Cause:    "opensm serves one port. The second port is on a fabric of its own.",
		Findings: []*finding.Rule{finding.SubnetManagerElsewhere},
		Do:       "Add an `infiniband_opensm` for the second port, or connect both ports to one switch.",
	},
	{
		Seen: "`sminfo` names another master than expected, or the master changes",
		Cause: "Two subnet managers have the same priority, or a subnet manager of a switch or another host has a higher " +
			"one.",
		Findings: []*finding.Rule{finding.OpensmPriorityEqual,
			finding.SubnetManagerCompetes}, Causes: []change.CauseKind{change.CauseOtherSM},
		Do: "Give each subnet manager its own `priority`. Stop the one that should not be there.",
	},
	{
		Seen: "opensm: `ERR 0D01: Found duplicated node GUID` again and again, or opensm ends with `Duplicate GUID " +
			"found by link from a port to itself`",
		Cause: "Two cards have the same GUID, for example after a burn of an image with GUIDs into both.",
		Findings: []*finding.Rule{finding.FabricGUIDTwice, finding.GUIDOfOtherCard, finding.GUIDUntilRestart,
			finding.FlashGUIDsShared}, Causes: []change.CauseKind{change.CauseDuplicate, change.CauseBackToBack},
		Fabric: []string{fabric.Duplicate, fabric.Silent},
		Do:     "Give one of the cards GUIDs of its own with `infiniband_guids`. For a GUID of zero (`ERR 0D16`) see FW046.",
	},
	{
		Seen:   "opensm: `FATAL: Error restoring Guid-to-Lid persistent database` after a power cut",
		Cause:  "A file in `/var/cache/opensm` was only half written.",
		Causes: []change.CauseKind{change.CauseCache},
		Do:     "Move the directory away and start opensm again, as the message says. LIDs may change.",
	},
	{
		Seen: "Hosts reach each other that should not; `smpquery pkeys` shows `0xffff` alone, " +
			"or a full key where a limited one was meant",
		Cause: "The partition file is not in force. If it has one error, opensm ignores the whole file " +
			"(`Partition configuration in error; retrying with default config`).",
		Findings: []*finding.Rule{finding.PartitionFileUnmanaged, finding.OpensmOlderThanFiles,
			finding.SubnetManagerCompetes}, Causes: []change.CauseKind{change.CausePKey},
		Do: "Declare `partitions` in `infiniband_opensm`. An apply that changes or restarts a master compares the P_Key " +
			"tables of the ports and names those that differ. The plan restarts an instance that may not have read its " +
			"files. To have the tables compared without a change, restart it as step 3 at the top of this page says.",
	},
	{
		Seen: "IPoIB is silent since there is a `partitions.conf`",
		Cause: "The file has no line for `Default`. Then all ports are limited members of that partition, and it has no " +
			"broadcast group.",
		Findings: []*finding.Rule{finding.PartitionsWithoutDefault, finding.DefaultPartitionWeak,
			finding.PartitionFileUnmanaged}, Do: "Write `Default = { ipoib = true, full = [\"ALL\"] }`.",
	},
	{
		Seen:     "`subnet_prefix` is set, and GIDs still begin with `fe80:`",
		Cause:    "ConnectX-4 and later keep the default prefix with recent kernels.",
		Findings: []*finding.Rule{finding.SubnetPrefixIneffective},
		Do:       "Do not rely on the prefix, or use ConnectX-3 on that fabric.",
	},
	{
		Seen:         "On NDR small pings pass and packets above some 400 bytes do not",
		Cause:        "The opensm of the distributions does not configure NDR switches completely.",
		Connectivity: []string{connectivity.Oversized},
		Do: "Run the subnet manager of the vendor (of a managed switch, or its opensm), or set the links to HDR with " +
			"`infiniband_port`. `packet_sizes` of `infiniband_connectivity` proves it (linux-rdma/opensm issue 38).",
	},
}

var interfaces = []Row{
	{
		Seen:     "`echo connected > mode`: `Invalid argument`, or the mode is datagram again",
		Cause:    "ConnectX-4 and later support datagram mode only.",
		Findings: []*finding.Rule{finding.ConnectedModeMissing},
		Do:       "Write `mode = \"datagram\"` and `mtu = 2044`. For 4092 see below.",
	},
	{
		Seen:     "`ip link set mtu 65520`: `RTNETLINK answers: Invalid argument`",
		Cause:    "The interface is in datagram mode. Only connected mode has an MTU of 65520.",
		Findings: []*finding.Rule{finding.MTUUnfit, finding.MTUAbovePort}, Do: "Write `mode = \"connected\"`, or an MTU of at most 4092.",
	},
	{
		Seen:  "The host accepts MTU 4092 and shows 2044, or large packets are lost; `multicast join failed, status -22`",
		Cause: "The broadcast group was created for 2048-byte packets, or for larger packets than the port supports.",
		Findings: []*finding.Rule{finding.MTUDependsOnFabric,
			finding.InterfaceWithoutCarrier, finding.BroadcastGroupUnfit}, Connectivity: []string{connectivity.Oversized},
		Do: "If all ports support it, write `mtu = 4096` in the partition of `infiniband_opensm`. Otherwise write `mtu = " +
			"2044` for the interfaces.",
	},
	{
		Seen:         "Small packets pass, transfers stall between two hosts",
		Cause:        "The two interfaces have different modes or MTUs.",
		Connectivity: []string{connectivity.Mode, connectivity.MTU}, Do: "Give all interfaces of a subnet the same mode and MTU.",
	},
	{
		Seen: "Mode, MTU or addresses are gone after a reboot", Cause: "They were set at run time only, with `ip` or sysfs.",
		Findings: []*finding.Rule{finding.InterfaceWouldBeLost}, Do: "Apply `infiniband_ipoib_interface`, which stores them.",
	},
	{
		Seen:  "cloud-init or netplan does not match the interface, or writes its own configuration again",
		Cause: "cloud-init manages the network and does not support 20-byte addresses.",
		Findings: []*finding.Rule{
			finding.InterfaceConfiguredElsewhere},
		Do: "Write `network: {config: disabled}` into `/etc/cloud/cloud.cfg.d/99-disable-network-config.cfg`. Remove the " +
			"interface from the other files.",
	},
	{
		Seen: "The interface is configured by hand, and should be managed here from now on", Cause: "A file that somebody " +
			"wrote for the network stack defines it.",
		Findings: []*finding.Rule{finding.InterfaceDefinedByHand, finding.DefinitionLosesSettings},
		Do: "Import it. Write what it has into the resource, and name the file in `allow.adopt_files`. The plan says where the file " +
			"is kept, and which of its settings end. Name those in `allow.adopt_without`.",
	},
	{
		Seen:     "ifreload on Proxmox: `main exception: Length of MACAddress attribute not supported: 24`",
		Cause:    "ifupdown2 before 3.0 fails on any InfiniBand interface.",
		Findings: []*finding.Rule{finding.Ifupdown2TooOld}, Do: "Upgrade ifupdown2 to 3.0.0 or later.",
	},
	{
		Seen: "A P_Key interface has `LOWERLAYERDOWN` or `NO-CARRIER` while its port is `Active`",
		Cause: "The port is not a member of the partition, both ends are limited members, or the partition has no " +
			"broadcast group.",
		Findings: []*finding.Rule{finding.PKeyWithoutCarrier},
		Causes:   []change.CauseKind{change.CausePKey},
		Connectivity: []string{connectivity.Partition,
			connectivity.NoCarrier}, Do: "Correct the members in `partitions` of `infiniband_opensm`, and write `ipoib = true`.",
	},
	{
		Seen: "The interface cannot be added to a bridge (`Invalid argument`) or to a bond in mode 4 (`Only active-backup " +
			"mode is supported for infiniband slaves`)", Cause: "IPoIB carries no Ethernet frames.",
		Findings: []*finding.Rule{finding.InterfaceInBond}, Do: "Do not use a bridge. Write `bond` in `infiniband_ipoib_interface`.",
	},
	{
		Seen:     "Two ports of a host are in one subnet, and ping uses the wrong one",
		Cause:    "Linux answers ARP for both addresses on both ports.",
		Findings: []*finding.Rule{finding.SubnetTwice}, Do: "Give each port its own subnet.",
	},
	{
		Seen:  "A rule or a DHCP reservation by the 20-byte hardware address stops matching",
		Cause: "The first four bytes are flags and a queue number. They change each time the driver is loaded.",
		Quiet: "Nothing. Like NetworkManager, it compares only the last eight bytes, the port's GUID.",
		Do:    "Match by the last eight bytes.",
	},
}

var slow = []Row{
	{
		Seen:     "Half of the rate or less; `lspci -vv` shows `LnkSta: Width x4`",
		Cause:    "The slot has fewer lanes than the card.",
		Findings: []*finding.Rule{finding.BenchmarkMissed}, Fabric: []string{fabric.Degraded}, Do: "Use another slot.",
	},
	{
		Seen:     "Half of the rate; `lspci -vv` shows `LnkSta: Speed 5GT/s` (`downgraded`)",
		Cause:    "The slot or a riser has an older PCIe generation, or the BIOS limits the speed.",
		Findings: []*finding.Rule{finding.BenchmarkMissed}, Fabric: []string{fabric.Degraded},
		Do: "Use another slot. Check the PCIe speed in the BIOS.",
	},
	{
		Seen:     "`ibstat`: `Rate: 10`; `iblinkinfo`: `1X`, `Could be 4X`",
		Cause:    "Only one of four lanes works. The cable, a plug or an adapter is bad.",
		Findings: []*finding.Rule{finding.BenchmarkMissed}, Fabric: []string{fabric.Degraded},
		Do: "Reseat or replace the cable.",
	},
	{
		Seen:   "40 instead of 56 Gb/s: `FDR10` or `QDR` between FDR ports",
		Cause:  "The cable is made for FDR10 or QDR, or one end supports no more.",
		Fabric: []string{fabric.Degraded},
		Do:     "Use a cable for FDR. If one end supports no more, `slow` of the link says so.",
	},
	{
		Seen: "Throughput varies, and packets are sent again", Cause: "A link has symbol errors.",
		Connectivity: []string{connectivity.Loss}, Fabric: []string{fabric.Errors,
			fabric.Growing}, Do: "Replace the cable between the two ports that the provider names.",
	},
	{
		Seen:     "One TCP stream over datagram IPoIB is far slower than the link",
		Cause:    "This is expected. Packets have at most 4092 bytes, and one CPU core handles the stream.",
		Findings: []*finding.Rule{finding.BenchmarkMissed},
		Do:       "Use more `streams` or connected mode, or lower the limit.",
	},
}
