// Package testbed has containers that boot Debian with systemd, each with a card that exists
// only as registers. It is about what is in a flash. The flash is the model of labsim/card;
// here the vendor's own tools read and write it, through the configuration space of a PCI
// function whose "config" file is served by FUSE.
//
// It needs Linux and root, and is compiled with the build tag "testbed" only.
// It must not decide what the provider should do, nor hold a second model of a
// card; the shipped binary must never link it. What it makes ends with its process, also if
// that is killed, but for the installed system below the user's cache directory and empty
// control groups that the next run takes away.
//
// Machines whose kernel is real, too, are in package reallab. They have all that is about
// networks, fabrics and drivers. Containers stay for two reasons: the time that it takes
// there, and a ConnectX-5, of which machines have none. The scenarios are the same (acctest).
// Times, on two cores:
//
//	                                           here     machines
//	a boot, until sshd answers                 4 s      23 s; two copies of a booted one 15 s
//	a burn of a ConnectX-3 and its mending     20 s     two boots and burns: over two minutes
//	238 answers of mstflint and mstconfig      3 min    no ConnectX-5
//	a scenario of a card, beside three others  2 min    a boot of one or two machines each
//	make testbed                               14 min
//	  with ALL=1, as each week has it          half an hour
//
// What is real: systemd, sshd, sudo, dash, flock, systemd-run and systemd-inhibit, mstflint,
// mstconfig and lspci of Debian 12, boot ids, and every access of the tools to the chip's
// registers. What is not, and where exactly it ends:
//
//   - /etc/os-release says Ubuntu 24.04, a family that the provider knows; apt, systemd and
//     dpkg are of the same family.
//   - The kernel is the machine's, and there is no driver. /sys/bus/pci, /sys/class/infiniband
//     and the files of the ports' types show what the card booted. A port says DOWN: there
//     is no fabric, no interface of the card and no module.
//   - Capabilities of the function are those that lspci shows of a ConnectX-3: the
//     link and the vital product data, as the board's maker writes them. Power
//     management and MSI-X are not there.
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
//     boot address", as on a card whose firmware knows no such command. Firmware
//     that writes its own flash (fw_ctrl) answers the registers of an update.
//   - ConnectX-6, 6 Dx and 6 Lx whose firmware writes its own flash. Tried by hand with
//     the same flash, written directly: these, ConnectX-4 Lx and Connect-IB. On ConnectX-7
//     every command that reads the flash stops at "No valid FS4 image found" in FsVerifyAux
//     (FindAllImageStart): it is not behind the gateway at 0xf0400. Of that chip there are
//     the commands that a card with secure firmware answers.
//
// Scenarios of internal/acctest run here unchanged (see acctest.Testbed): a Pool
// lends hosts to one test after another, with the cards that the test describes.
package testbed
