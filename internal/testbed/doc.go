// Package testbed is the second grade of the lab: hosts that boot Debian with
// systemd in containers, with the real sshd, mstflint and lspci, and a card that
// exists only as registers. The card's flash is the model of labsim/card; here
// the vendor's own tool reads and writes it, through the configuration space of
// a PCI function whose "config" file is served by FUSE.
//
// It needs Linux and root, and is compiled with the build tag "testbed" only.
// It must not decide what the provider should do, nor hold a second model of a
// card; the shipped binary must never link it. What it makes ends with its process,
// but for the installed systems and the machine's limit of inotify instances, which it
// raises (sandbox.go).
//
// Machines whose kernel is real, too, are in package reallab. What they do better is here
// for one of two reasons: the time that it takes there, or a chip without a model there.
// The scenarios are the same (acctest), the model of a flash and that of a fabric as well.
// Times, on two cores that had other work:
//
//	                                                here       machines
//	a boot, until sshd answers                      4 s        23 s; two copies of a booted one 15 s
//	the life of an interface on one network stack   1-2 min    17-22 min (33 beside other work)
//	40 burns of a ConnectX-3, each interrupted      7 min      two boots and burns each: over an hour
//	238 answers of mstflint and mstconfig           3 min      no ConnectX-5
//	28 scenarios of cards, SMs, ports, refusals     4 min      a boot of one or two machines each
//	192 answers of infiniband-diags, with opensm    1.5 min    one of four states: acctest/kernels_contract_test.go
//	the evidence of a fabric, broken in seven ways  9 min      the main job only, 10 min: make reallab
//
// Two more systems, Bookworm and Trixie, have every network stack of Debian; a
// host's own stack configures it there, its IPoIB interfaces included. Those of the
// hosts of a test are on one subnet, and ping, iperf3 and qperf measure between them.
//
// What is real: kernel, systemd, sshd, sudo, dash, flock, systemd-run and
// systemd-inhibit, mstflint, mstconfig and lspci, opensm and infiniband-diags of
// Debian 12, boot ids, every access of the tools to the chip's registers, and
// every management datagram; netplan, systemd-networkd, NetworkManager, ifupdown,
// udev, iproute2, nftables, ping, iperf3 and qperf of Debian 12 and 13, and every
// packet that these send. What is not, and where exactly it ends:
//
//   - /etc/os-release of Firmware says Ubuntu 24.04, a family that the provider
//     knows; apt, systemd and dpkg are of the same family. The others say Debian.
//   - An IPoIB interface is a veth. The kernel keeps it as Ethernet and its packets
//     are such. Programs are told otherwise: sysfs is served (netsys.go, wire.go),
//     and a library in /etc/ld.so.preload rewrites what netlink says of it and
//     refuses an MTU as ib_ipoib does (shim/ipoib.c). systemd-networkd, udev and
//     NetworkManager ("NMDeviceInfiniband") take it for what it stands for; a
//     program that is linked statically, or asks through SIOCGIFHWADDR, does not.
//     The neighbour table and the link-local address show the six bytes of a MAC.
//   - Such an interface has the driver's name and limits, and the queues, checksum
//     offloads and queueing discipline of a veth.
//   - What is between such interfaces is a bridge of the operator's, which forwards
//     65520 bytes in one piece. How fast is a matter of the machine. A veth receives
//     up to four bytes more than its MTU, the length of a VLAN tag, and nothing longer;
//     ib_ipoib in connected mode receives up to 65520 whatever its MTU is. What is too
//     long for the other end is lost, and no path MTU is learned. The bridge carries
//     packets whatever the state of the ports is: that a subnet manager is missing is
//     seen at the ports, not by ping. A cable that is taken out takes both.
//   - It is there while its port speaks InfiniBand, from the moment at which the
//     driver is told or the host boots so.
//   - It is not below the card in /sys/devices, so that udev makes no name of its
//     PCI address: it has its name from the beginning. There is carrier from the
//     beginning too, as a broadcast group of 2048-byte packets would give it.
//   - P_Key children cannot be made.
//   - Capabilities of the function are those that lspci shows of a ConnectX-3: the
//     link and the vital product data, as the board's maker writes them. Power
//     management and MSI-X are not there.
//   - The driver is a picture: /sys/class/infiniband and the driver link show
//     what the card booted. Modules of InfiniBand are said to be compiled into the
//     kernel: /sys/module shows them, and modprobe finds nothing to do. There is no
//     libibverbs device, and no RDMA: perftest (ib_write_bw and its kin) and the RDMA
//     tests of qperf find no device and end.
//   - Of traffic there are management datagrams: umad and issm files at
//     /dev/infiniband (see package umad), with the fabric of machines with real kernels
//     behind them (packages reallab/fabric and reallab/wire). Real opensm and
//     infiniband-diags use them as on any host, and sysfs shows what the ports say. All
//     ports are those of a ConnectX-3: FDR, 4X, an MTU of 4096.
//   - Of the firmware's command interface (0x80780) there is what mstconfig uses:
//     capabilities, defaults, and the registers of the non-volatile
//     configuration. Every other command ends with "bad opcode". The link types
//     are the model's; other settings are kept and change nothing.
//   - ConnectX-4 and later give their non-volatile configuration to the tools
//     through a capability of the vendor's (0x9) in the configuration space. The
//     emulated function has none, as the flash would then be reached by it too.
//     mstconfig asks register 0x9030 (NVQC), finds no way, and ends with "-E- Error
//     when trying to check if NV access registers are supported", status 3.
//   - Power that fails takes the processes and the flash operation under way,
//     half done; what the host's disk had not synced is not lost.
//   - Reboots and power cuts take under a second, and no firmware of a machine
//     runs in between.
//   - Operations of the flash take no time unless a test makes them.
//   - ConnectX-4 (FS3) and ConnectX-5 (FS4): mstflint 4.21 queries, verifies, reads
//     back, burns and sets GUIDs to the end. Their firmware answers no command, so
//     that Fs3IsfuActivateImage fails and every burn says "-W- Failed to update FW
//     boot address", as on a card whose firmware knows no such command. An image
//     that says fw_ctrl is burned directly for the same reason: FsCtrlOperations
//     finds no MCC register. How such firmware writes is not shown here.
//   - Tried by hand with the same flash: ConnectX-4 Lx, Connect-IB, ConnectX-6,
//     6 Dx and 6 Lx burn like these. On ConnectX-7 every command stops at "No valid
//     FS4 image found" in FsVerifyAux (FindAllImageStart): the flash of that chip is
//     not behind the gateway at 0xf0400.
//
// Scenarios of internal/acctest run here unchanged (see acctest.Testbed): a Pool
// lends hosts to one test after another, with the cards that the test describes.
// Hosts with a network stack of their own are made for one test.
// Everything that a run starts or mounts is in namespaces of its own and ends
// with it, also if it is killed; what it keeps is the installed systems below the
// user's cache directory, and empty control groups that the next run takes away.
package testbed
