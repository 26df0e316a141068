//go:build testbed && linux

package testbed

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/fusetree"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
)

type entry = fusetree.Entry

func dir(list func() map[string]entry) entry { return entry{Dir: list} }

func line(format string, args ...any) entry { return fusetree.Line(format, args...) }

// pciTree is what stands at /sys/bus/pci/devices: one function per slot.
func pciTree(slots func() map[string]*Device) entry {
	return dir(func() map[string]entry {
		all := map[string]entry{}
		for bdf, d := range slots() {
			all[bdf] = dir(d.pciFiles)
		}
		return all
	})
}

// pciFiles is one function as linux-pci and mlx4_core show it.
func (d *Device) pciFiles() map[string]entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil
	}
	files := map[string]entry{
		"vendor": line("0x%04x", registers.PCIVendor), "device": line("0x%04x", registers.DeviceID(d.card)), "class": line("0x%06x",
			registers.Class(d.card)), "revision": line("0x00"),
		"subsystem_vendor": line("0x%04x", registers.PCIVendor), "subsystem_device": line("0x%04x", registers.PCISubsystem), "irq": line("16"),
		"current_link_speed": line("8.0 GT/s PCIe"), "current_link_width": line("8"), "max_link_speed": line("8.0 GT/s PCIe"),
		"max_link_width": line("8"),
		// lspci insists on the file; all regions are unused.
		"resource": line("%s", strings.TrimSuffix(strings.Repeat("0x0000000000000000 0x0000000000000000 0x0000000000000000\n",
			7), "\n")),
		"config": {Regs: d},
	}
	if data := d.Board.VPD(); data != nil {
		files["vpd"] = entry{Value: data}
	}
	if !d.card.Running().Loaded {
		return files
	}
	driver := d.card.Chip.Driver()
	// The link's target is beside it: /sys/bus/pci/drivers has no mlx4_core here.
	files["driver"] = entry{Link: ".drivers/" + driver}
	files[".drivers"] = dir(func() map[string]entry {
		return map[string]entry{driver: dir(nothing)}
	})
	files["infiniband"] = dir(func() map[string]entry {
		return map[string]entry{d.RDMA: dir(nothing)}
	})
	if d.card.Chip.Format != card.FS2 {
		return files // mlx5 has no files for the types of ports
	}
	for i := range d.links {
		file := line("%s", d.links[i])
		file.Set = func(s string) syscall.Errno { return d.setLink(i, strings.TrimSpace(s)) }
		files[fmt.Sprintf("mlx4_port%d", i+1)] = file
	}
	return files
}

func nothing() map[string]entry { return nil }

func (d *Device) link(i int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.links[i]
}

// setLink changes the type of a port as mlx4_core does; Ethernet-only firmware
// cannot (Linux drivers/net/ethernet/mellanox/mlx4/main.c, set_port_type).
func (d *Device) setLink(i int, s string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case s != "ib" && s != "eth" && s != "auto":
		return syscall.EINVAL
	case s != "eth" && !d.card.Running().VPI:
		return syscall.EOPNOTSUPP
	case s == "auto":
		s = "auto (eth)"
	}
	d.links[i] = s
	return 0
}

// classTree is what stands at /sys/class: what the drivers show of the cards. The
// interfaces of the container are mounted over net.
func classTree(slots func() map[string]*Device) entry {
	// Listed anew at each look: a directory that is known to the kernel keeps the
	// entry that it had first.
	rdma := func() map[string]entry {
		all := map[string]entry{}
		for _, d := range slots() {
			if d.Card().Running().Loaded {
				all[d.RDMA] = dir(d.rdmaFiles)
			}
		}
		return all
	}
	return dir(func() map[string]entry {
		all := map[string]entry{"net": dir(nothing)}
		if len(rdma()) > 0 {
			all["infiniband"] = dir(rdma)
		}
		return all
	})
}

// rdmaFiles is the RDMA device as mlx4_ib shows it, of which the provider learns what
// the card runs.
func (d *Device) rdmaFiles() map[string]entry {
	fw := d.Card().Running()
	return map[string]entry{
		"node_guid": line("%s", sysfsGUID(fw.GUIDs[0])), "sys_image_guid": line("%s", sysfsGUID(fw.GUIDs[3])),
		"fw_ver":   line("%d.%d.%d", fw.Version[0], fw.Version[1], fw.Version[2]),
		"hw_rev":   line("%x", d.Card().Rev),
		"hca_type": line("MT%d", fw.Device), "board_id": line("%s", fw.PSID),
		"ports": dir(func() map[string]entry {
			ports := map[string]entry{}
			for i := range d.Card().Chip.Ports {
				ports[strconv.Itoa(i+1)] = dir(func() map[string]entry { return d.portFiles(i) })
			}
			return ports
		}),
	}
}

// portFiles are those of a port without a cable. No subnet manager is bound to it.
func (d *Device) portFiles(i int) map[string]entry {
	fw := d.Card().Running()
	layer, id := "Ethernet", fw.MACs[i]>>24<<40|0xfffe<<24|fw.MACs[i]&0xffffff
	if strings.Contains(d.link(i), "ib") {
		layer, id = "InfiniBand", fw.GUIDs[i+1]
	}
	return map[string]entry{
		"link_layer": line("%s", layer), "state": line("1: DOWN"), "phys_state": line("2: Polling"), "cap_mask": line("0x0"),
		"gids": dir(func() map[string]entry {
			return map[string]entry{"0": line("fe80:0000:0000:0000:%s", sysfsGUID(id))}
		}),
	}
}

// sysfsGUID writes a GUID in four groups.
func sysfsGUID(g uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", g>>48, g>>32&0xffff, g>>16&0xffff, g&0xffff)
}
