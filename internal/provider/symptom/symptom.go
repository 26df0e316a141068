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
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
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
	Causes       []opensm.CauseKind
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
		Seen: "`ibstat` says `Link layer: Ethernet`; writing `ib` to `mlx4_port1` fails, or there is no `LINK_TYPE_P1`", Cause: "The firmware is an Ethernet-only build, or the type is set to ETH.",
		Findings: []*finding.Rule{finding.FirmwareEthernetOnly, finding.OpensmPortEthernet, finding.IPoIBPortEthernet}, Causes: []opensm.CauseKind{opensm.CauseEthernet},
		Do: "Set the type with `infiniband_link_type`. With LT001 the VPI firmware of the board comes first, with `infiniband_firmware`.",
	},
	{
		Seen: "The port is Ethernet again after a reboot", Cause: "The type was set at run time only (sysfs, devlink, sensing), and what is stored says another one.",
		Findings: []*finding.Rule{finding.LinkTypeWouldBeLost, finding.AutoNotLasting}, Do: "Apply `infiniband_link_type`: it stores the type. Its `by_place` shows what each place says.",
	},
	{
		Seen: "A second card of the host changes its type as well", Cause: "`port_type_array` of mlx4_core holds for every card.",
		Findings: []*finding.Rule{finding.OtherCardWouldChange, finding.ParameterShared}, Do: "Ask for the same types on both cards, or use mstflint up to 4.25, which stores them in each card.",
	},
	{
		Seen: "The type was changed and `ibstat` still shows the old one", Cause: "ConnectX-4 and later take it with a restart.",
		Findings: []*finding.Rule{finding.LinkTypeAwaitsRestart}, Do: "Restart the host, or write `activation = \"reboot\"`.",
	},
	{
		Seen: "`Cannot find device \"ib0\"` after a change of type, firmware or kernel", Cause: "The interface has another name now (`ibp1s0`); the port's GUID is the same.",
		Connectivity: []string{connectivity.NoInterface}, Do: "Name ports by `port_guid`, as `infiniband_ipoib_interface` does; the message lists the present names.",
	},
}

var managers = []Row{
	{
		Seen: "`ibstat`: `State: Initializing`, `Physical state: LinkUp`", Cause: "No subnet manager serves this fabric.",
		Findings: []*finding.Rule{finding.PortWithoutSubnetManager}, Causes: []opensm.CauseKind{opensm.CauseNotRunning, opensm.CauseSM}, Connectivity: []string{connectivity.NoSM}, Fabric: []string{fabric.NoManager},
		Do: "Add an `infiniband_opensm` for one port of the fabric. If there is one, its apply says why it does not work.",
	},
	{
		Seen: "`ibstat`: `State: Down`, `Physical state: Polling` (or `Disabled`)", Cause: "Nobody answers at the other end: cable, a switch that is off, a port in Ethernet mode; or the port is switched off.",
		Causes: []opensm.CauseKind{opensm.CauseCable, opensm.CauseDisabled, opensm.CauseTraining}, Connectivity: []string{connectivity.NoCarrier}, Fabric: []string{fabric.Silent},
		Do: "Check cable and other end; both have to be in InfiniBand mode. Enable a port with `infiniband_port`.",
	},
	{
		Seen: "opensm: `ERR 5426: Unable to register class 129 version 1`", Cause: "opensm 3.3.23 and Linux 6.11 or later do not work together.",
		Findings: []*finding.Rule{finding.OpensmUnfitForKernel}, Causes: []opensm.CauseKind{opensm.CauseKernel}, Do: "Boot the GA kernel of the release, or install an opensm with the fix.",
	},
	{
		Seen: "opensm ends at boot; `can't open UMAD port`, `is ib_umad module loaded?`, or the unit is skipped (`ConditionPathExists`)", Cause: "`ib_umad` is not loaded, or not yet.",
		Causes: []opensm.CauseKind{opensm.CauseUMAD, opensm.CauseNotBound}, Do: "Apply `infiniband_opensm`: it has the module loaded at boot and starts opensm again until the port is there.",
	},
	{
		Seen: "The first port is `Active`, the second stays in `Initializing`", Cause: "opensm serves one port; the second one is on a fabric of its own.",
		Findings: []*finding.Rule{finding.SubnetManagerElsewhere}, Do: "Add an `infiniband_opensm` for the second port, or join the fabrics by a switch.",
	},
	{
		Seen: "The master changes, `sminfo` names another one than expected", Cause: "Two subnet managers have one priority, or that of a switch or of another host has a higher one.",
		Findings: []*finding.Rule{finding.OpensmPriorityEqual, finding.SubnetManagerCompetes}, Causes: []opensm.CauseKind{opensm.CauseForeign}, Do: "Give each a `priority` of its own; switch off the one that should not be there.",
	},
	{
		Seen: "opensm: `ERR 0D01: Found duplicated node GUID` for ever, or `Duplicate GUID found by link from a port to itself` and it ends", Cause: "Two cards have one GUID, as after a burn from one image.",
		Findings: []*finding.Rule{finding.FabricGUIDTwice, finding.GUIDOfOtherCard, finding.FlashGUIDsShared}, Causes: []opensm.CauseKind{opensm.CauseDuplicate, opensm.CauseBackToBack}, Fabric: []string{fabric.Duplicate},
		Do: "Give one of the cards GUIDs of its own with `infiniband_guids`. A GUID of zero (`ERR 0D16`) is SM025.",
	},
	{
		Seen: "opensm: `FATAL: Error restoring Guid-to-Lid persistent database` after a power cut", Cause: "A file in `/var/cache/opensm` is half written.",
		Causes: []opensm.CauseKind{opensm.CauseCache}, Do: "Move the directory aside and start it again, as the message says; LIDs may change.",
	},
	{
		Seen: "Hosts reach each other that should not; `smpquery pkeys` shows `0xffff` alone, or a full key where a limited one was meant", Cause: "The partition file is not in force: opensm drops one with an error as a whole (`Partition configuration in error; retrying with default config`).",
		Findings: []*finding.Rule{finding.PartitionFileForeign}, Causes: []opensm.CauseKind{opensm.CausePKey}, Do: "Declare `partitions` in `infiniband_opensm`; its apply compares the tables of all ports and names those that differ.",
	},
	{
		Seen: "IPoIB is silent since there is a `partitions.conf`", Cause: "Without a rule for `Default` all ports are limited members of it, and there is no broadcast group.",
		Findings: []*finding.Rule{finding.PartitionsWithoutDefault, finding.DefaultPartitionWeak, finding.PartitionLimitedOnly}, Do: "Write `Default = { ipoib = true, full = [\"ALL\"] }`.",
	},
	{
		Seen: "`subnet_prefix` is set, and GIDs still begin with `fe80:`", Cause: "ConnectX-4 and later keep the default prefix under recent kernels.",
		Findings: []*finding.Rule{finding.SubnetPrefixIneffective}, Do: "Do not build on the prefix, or use ConnectX-3 on that fabric.",
	},
	{
		Seen: "On NDR small pings pass and packets above some 400 bytes do not", Cause: "opensm of the distributions does not set up NDR switches.",
		Findings: []*finding.Rule{finding.OpensmUnfitForNDR}, Do: "Use the vendor's subnet manager.",
	},
}

var interfaces = []Row{
	{
		Seen: "`echo connected > mode`: `Invalid argument`, or the mode is datagram again", Cause: "ConnectX-4 and later have datagram mode only.",
		Findings: []*finding.Rule{finding.ConnectedModeMissing}, Do: "`mode = \"datagram\"`, `mtu = 2044` (or 4092, see below).",
	},
	{
		Seen: "`ip link set mtu 65520`: `RTNETLINK answers: Invalid argument`", Cause: "Datagram mode; 65520 is for connected mode.",
		Findings: []*finding.Rule{finding.MTUAboveDatagram}, Do: "`mode = \"connected\"`, or at most 4092.",
	},
	{
		Seen: "MTU 4092 is taken and shown as 2044, or large packets vanish; `multicast join failed, status -22`", Cause: "The broadcast group was made for 2048-byte packets, or for more than the port has.",
		Findings: []*finding.Rule{finding.MTUDependsOnFabric, finding.BroadcastGroupUnfit}, Connectivity: []string{connectivity.Oversized}, Do: "`mtu = 4096` in the partition of `infiniband_opensm`, if all ports can; else `mtu = 2044`.",
	},
	{
		Seen: "Small packets pass, transfers stall between two hosts", Cause: "Their modes or MTUs differ.",
		Findings: []*finding.Rule{finding.SubnetInterfacesDiffer}, Connectivity: []string{connectivity.Mode, connectivity.MTU}, Do: "One mode and one MTU for all interfaces of a subnet.",
	},
	{
		Seen: "Mode, MTU or addresses are gone after a reboot", Cause: "They were set with `ip` or through sysfs only.",
		Findings: []*finding.Rule{finding.InterfaceWouldBeLost}, Do: "Apply `infiniband_ipoib_interface`.",
	},
	{
		Seen: "cloud-init or netplan does not match the interface, or writes its own configuration again", Cause: "cloud-init manages the network and does not know 20-byte addresses.",
		Findings: []*finding.Rule{finding.CloudInitOwnsNetwork, finding.InterfaceConfiguredElsewhere}, Do: "`network: {config: disabled}` in `/etc/cloud/cloud.cfg.d/99-disable-network-config.cfg`; take the interface out of others' files.",
	},
	{
		Seen: "ifreload on Proxmox: `main exception: Length of MACAddress attribute not supported: 24`", Cause: "ifupdown2 before 3.0 fails on any InfiniBand interface.",
		Findings: []*finding.Rule{finding.Ifupdown2TooOld}, Do: "Upgrade ifupdown2.",
	},
	{
		Seen: "A P_Key interface has `LOWERLAYERDOWN` or `NO-CARRIER` while its port is `Active`", Cause: "The port is no member of the partition, both ends are limited members, or the partition has no broadcast group.",
		Findings: []*finding.Rule{finding.PartitionLimitedOnly}, Causes: []opensm.CauseKind{opensm.CausePKey}, Connectivity: []string{connectivity.Partition, connectivity.NoCarrier}, Do: "Correct `partitions` of `infiniband_opensm`: members, and `ipoib = true`.",
	},
	{
		Seen: "The interface cannot be added to a bridge (`Invalid argument`) or to a bond in mode 4 (`Only active-backup mode is supported for infiniband slaves`)", Cause: "IPoIB carries no Ethernet frames.",
		Findings: []*finding.Rule{finding.InterfaceInBond}, Do: "No bridge; a bond in mode active-backup only.",
	},
	{
		Seen: "Two ports of a host in one subnet: ping goes and comes by the wrong one", Cause: "Linux answers ARP for either address by either port.",
		Findings: []*finding.Rule{finding.SubnetTwice}, Do: "A subnet for each port.",
	},
	{
		Seen: "A rule or a DHCP reservation by the 20-byte hardware address stops matching", Cause: "Its first four bytes are flags and a queue number, which change with each load of the driver.",
		Quiet: "Nothing: it compares the last eight bytes only, the port's GUID; so does NetworkManager with the address in its profile.", Do: "Match by the last eight bytes.",
	},
}

var slow = []Row{
	{
		Seen: "Half of the rate or less, `LnkSta: Width x4` in `lspci -vv`", Cause: "The slot has fewer lanes than the card.",
		Findings: []*finding.Rule{finding.BenchmarkMissed}, Fabric: []string{fabric.Degraded}, Do: "Use another slot.",
	},
	{
		Seen: "Half of the rate, `LnkSta: Speed 5GT/s` (`downgraded`)", Cause: "The slot, a riser or the BIOS is of an older PCIe generation.",
		Findings: []*finding.Rule{finding.BenchmarkMissed}, Fabric: []string{fabric.Degraded}, Do: "Use another slot; look for the setting in the BIOS.",
	},
	{
		Seen: "`ibstat`: `Rate: 10`; `iblinkinfo`: `1X`, `Could be 4X`", Cause: "One of four lanes is in use: cable, plug or adapter.",
		Findings: []*finding.Rule{finding.BenchmarkMissed}, Fabric: []string{fabric.Degraded}, Do: "Reseat or replace the cable.",
	},
	{
		Seen: "40 instead of 56 Gb/s: `FDR10` or `QDR` between FDR ports", Cause: "The cable is rated for FDR10 or QDR, or one end is older.",
		Fabric: []string{fabric.Degraded}, Do: "Use a cable for FDR. If one end can do no more, the link says so in `slow`.",
	},
	{
		Seen: "Throughput varies, retransmissions", Cause: "Symbol errors on a link.",
		Connectivity: []string{connectivity.Loss}, Fabric: []string{fabric.Errors, fabric.Growing}, Do: "Replace the cable between the two ports that are named.",
	},
	{
		Seen: "One TCP stream over datagram IPoIB is far below the link", Cause: "Expected: packets of at most 4092 bytes, one CPU core.",
		Findings: []*finding.Rule{finding.BenchmarkSingleStream}, Do: "More `streams`, connected mode, or a limit that fits.",
	},
}
