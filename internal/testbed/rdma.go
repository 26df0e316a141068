//go:build testbed && linux

package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed/umad"
)

// rdmaFiles is the RDMA device as mlx4_ib shows it.
func (d *Device) rdmaFiles() map[string]entry {
	fw := d.Card().Running()
	return map[string]entry{
		"node_guid": line("%s", sysfsGUID(fw.GUIDs[0])), "sys_image_guid": line("%s",
			sysfsGUID(fw.GUIDs[3])), "node_desc": line("%s", d.nodeName()), "node_type": line("1: CA"),
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

// isIB reports whether a port speaks InfiniBand.
func (d *Device) isIB(i int) bool { return strings.Contains(d.link(i), "ib") }

// portFiles are those of a port, which the fabric tells if there is one.
func (d *Device) portFiles(i int) map[string]entry {
	fw := d.Card().Running()
	files := map[string]entry{
		"link_layer": line("Ethernet"), "state": line("1: DOWN"), "phys_state": line("3: Disabled"),
		"rate": line("10 Gb/sec (4X SDR)"),
		"lid":  line("0x0"), "sm_lid": line("0x0"), "lid_mask_count": line("0"), "sm_sl": line("0"),
		"cap_mask": line("0x00010000"),
		"gids":     table("fe80:0000:0000:0000:" + sysfsGUID(fw.MACs[i]>>24<<40|0xfffe<<24|fw.MACs[i]&0xffffff)),
		"pkeys":    table("0xffff"),
	}
	if !d.isIB(i) {
		return files
	}
	for name, text := range map[string]func(umad.PortInfo) string{
		"state": func(p umad.PortInfo) string { return fmt.Sprintf("%d: %s", p.State(), portStates[p.State()]) },
		"phys_state": func(p umad.PortInfo) string {
			return fmt.Sprintf("%d: %s", p.Physical(), physicalStates[p.Physical()])
		},
		"rate": rate, "lid": func(p umad.PortInfo) string { return fmt.Sprintf("0x%x", p.LID()) },
		"sm_lid":         func(p umad.PortInfo) string { return fmt.Sprintf("0x%x", p.SMLID()) },
		"lid_mask_count": func(p umad.PortInfo) string { return strconv.Itoa(p.LMC()) },
		"sm_sl":          func(p umad.PortInfo) string { return strconv.Itoa(p.SMSL()) },
		"cap_mask":       func(p umad.PortInfo) string { return fmt.Sprintf("0x%08x", p.CapMask()) },
	} {
		files[name] = entry{text: func() string { return text(d.portInfo(i)) + "\n" }}
	}
	files["link_layer"] = line("InfiniBand")
	files["gids"] = dir(func() map[string]entry {
		return map[string]entry{"0": line("%s:%s", sysfsGUID(d.portInfo(i).GIDPrefix()),
			sysfsGUID(fw.GUIDs[i+1]))}
	})
	files["pkeys"] = dir(func() map[string]entry {
		all := map[string]entry{}
		for k := range umad.PKeys {
			all[strconv.Itoa(k)] = entry{text: func() string { return fmt.Sprintf("0x%04x\n", d.HCA.Port(i+1).PKey(k)) }}
		}
		return all
	})
	return files
}

// table is a directory with one entry.
func table(first string) entry {
	return dir(func() map[string]entry { return map[string]entry{"0": line("%s", first)} })
}

func (d *Device) portInfo(i int) umad.PortInfo { return d.HCA.Port(i + 1).Info() }

// Words of the kernel (Linux drivers/infiniband/core/sysfs.c).
var (
	portStates     = []string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER", 15: ""}
	physicalStates = []string{"", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
		"LinkErrorRecovery", "Phy Test", 15: ""}
)

// rate is lanes and speed, in the words of the same file.
func rate(p umad.PortInfo) string {
	speed, tenths := " SDR", 25
	switch {
	case p.ExtendedSpeed() == 1:
		speed, tenths = " FDR", 140
	case p.ExtendedSpeed() == 2:
		speed, tenths = " EDR", 250
	case p.ExtendedSpeed() == 4:
		speed, tenths = " HDR", 500
	case p.Speed() == 2:
		speed, tenths = " DDR", 50
	case p.Speed() == 4:
		speed, tenths = " QDR", 100
	}
	half, total := "", tenths*p.Lanes()
	if total%10 != 0 {
		half = ".5"
	}
	return fmt.Sprintf("%d%s Gb/sec (%dX%s)", total/10, half, p.Lanes(), speed)
}

// ibPorts are the ports that speak InfiniBand, in the order in which ib_umad
// numbers them.
func ibPorts(slots map[string]*Device) []ibPort {
	var all []ibPort
	for _, bdf := range slices.Sorted(maps.Keys(slots)) {
		d := slots[bdf]
		if !d.Card().Running().Loaded {
			continue
		}
		for i := range d.Card().Chip.Ports {
			if d.isIB(i) {
				all = append(all, ibPort{d, i + 1})
			}
		}
	}
	return all
}

// madFiles is what stands at /sys/class/infiniband_mad.
func madFiles(slots map[string]*Device) map[string]entry {
	all := map[string]entry{"abi_version": line("%d", umad.ABIVersion)}
	for n, p := range ibPorts(slots) {
		files := dir(func() map[string]entry {
			return map[string]entry{"ibdev": line("%s", p.device.RDMA), "port": line("%d", p.number)}
		})
		all[fmt.Sprint("umad", n)], all[fmt.Sprint("issm", n)] = files, files
	}
	return all
}
