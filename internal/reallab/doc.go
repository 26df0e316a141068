// Package reallab is a lab of real kernels: machines that boot Debian with its stock
// kernel in QEMU, each with an emulated card in a slot, and switches between the
// cards. Everything above the PCI bus is the real thing: the drivers, their sysfs and
// module parameters, the initramfs, IPoIB, mstflint and mstconfig on the card's registers,
// opensm and infiniband-diags on the fabric, restarts and power cuts of a whole machine.
//
// What is emulated, and so proves nothing of the hardware:
//
//   - The card behaves as its driver expects, not as silicon does: a ConnectX-3, a ConnectX-3
//     Pro or a ConnectX-4 (packages connectx3 and connectx4), whose flash and firmware are the
//     model of labsim/card, an InfiniHost III (package infinihost3), whose firmware no tool
//     reads, or a QLogic IBA7322 (package iba7322), which has none.
//   - The wire (package wire) has no lanes, no credits and no time. Widths and speeds are
//     agreed on, and cables can be pulled, limited or made to lose packets.
//   - The switch (package fabric) forwards by the tables that opensm writes.
//   - Of transports there are unreliable datagrams and reliable connections, without
//     atomics; an IBA7322 leaves them to its driver. A port in Ethernet mode has an
//     interface and never a link.
//   - There are kernels of Debian 12 and 13 only, on one emulated processor. KVM is used
//     where a trial shows that it boots a stock kernel.
//   - Of a kernel's modules those are missing that no server with such a card needs (sound,
//     graphics, USB, wireless), and the initial RAM disk has the drivers of these machines
//     instead of all. It is made by Debian's own tool.
//
// A machine begins as a copy of one that has booted, with an identity of its own, and its
// cards are plugged in while it runs. From its first restart on it boots as any other
// does. A power cut ends QEMU: lost is what the system had not written to its disk. The
// disk itself loses nothing that it has taken, so a missing flush does not show.
//
// Of this module the tree imports what the simulated lab has of a card (labsim/card,
// labsim/registers), and the network stacks of a Debian (labsim/netstack). With a card come
// its images (labsim/synth) and GUIDs (ib). Nothing of the tree is in the shipped binary.
package reallab
