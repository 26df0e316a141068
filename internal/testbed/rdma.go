//go:build testbed && linux

package testbed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed/ibsim"
)

// rdmaFiles is the RDMA device as mlx4_ib shows it.
func (d *Device) rdmaFiles() map[string]entry {
	fw := d.Card().Running()
	return map[string]entry{
		"node_guid": line("%s", sysfsGUID(fw.GUIDs[0])), "sys_image_guid": line("%s",
			sysfsGUID(fw.GUIDs[3])), "node_desc": line("%s", d.Description), "node_type": line("1: CA"),
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
	for name, text := range map[string]func(ibsim.PortInfo) string{
		"state": func(p ibsim.PortInfo) string { return fmt.Sprintf("%d: %s", p.State(), portStates[p.State()]) },
		"phys_state": func(p ibsim.PortInfo) string {
			return fmt.Sprintf("%d: %s", p.Physical(), physicalStates[p.Physical()])
		},
		"rate": rate, "lid": func(p ibsim.PortInfo) string { return fmt.Sprintf("0x%x", p.LID()) },
		"sm_lid":         func(p ibsim.PortInfo) string { return fmt.Sprintf("0x%x", p.SMLID()) },
		"lid_mask_count": func(p ibsim.PortInfo) string { return strconv.Itoa(p.LMC()) },
		"sm_sl":          func(p ibsim.PortInfo) string { return strconv.Itoa(p.SMSL()) },
		"cap_mask":       func(p ibsim.PortInfo) string { return fmt.Sprintf("0x%08x", p.CapMask()) },
	} {
		files[name] = entry{text: func() string { return text(d.portInfo(i)) + "\n" }}
	}
	files["link_layer"] = line("InfiniBand")
	files["gids"] = dir(func() map[string]entry {
		return map[string]entry{"0": line("%s:%s", sysfsGUID(cmp.Or(d.portInfo(i).GIDPrefix(), defaultPrefix)),
			sysfsGUID(fw.GUIDs[i+1]))}
	})
	if keys := d.HCA.PKeys(); i == 0 && keys != nil {
		files["pkeys"] = dir(func() map[string]entry {
			all := map[string]entry{}
			for k, v := range keys {
				all[strconv.Itoa(k)] = line("0x%04x", v)
			}
			return all
		})
	}
	return files
}

// defaultPrefix is that of a port's GID before a subnet manager gives another.
const defaultPrefix = 0xfe80 << 48

// table is a directory with one entry.
func table(first string) entry {
	return dir(func() map[string]entry { return map[string]entry{"0": line("%s", first)} })
}

// unplugged is a port without a cable that no subnet manager has seen.
var unplugged = ibsim.PortInfo{8: 0xfe, 9: 0x80, 20: 0x02, 21: 0x59, 22: 0x48, 23: 0x68, 31: 2, 32: 1, 33: 2 << 4,
	35: 1 << 4}

// served is a port whose cable is a wire of the host: no fabric is behind it, and
// all is as if one were.
var served = func() ibsim.PortInfo {
	p := unplugged
	p[17], p[19], p[32], p[33], p[35] = 1, 1, 4, 5<<4, 4<<4
	return p
}()

func (d *Device) portInfo(i int) ibsim.PortInfo {
	p, err := d.HCA.Port(i + 1)
	switch {
	case err == nil:
		return p
	case slices.Contains(slices.Collect(maps.Values(d.Netdevs)), i+1):
		return served
	}
	return unplugged
}

// Words of the kernel (Linux drivers/infiniband/core/sysfs.c).
var (
	portStates     = []string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER", 15: ""}
	physicalStates = []string{"", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
		"LinkErrorRecovery", "Phy Test", 15: ""}
)

// rate is lanes and speed, in the words of the same file.
func rate(p ibsim.PortInfo) string {
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

// umads are the ports that speak InfiniBand, in the order in which ib_umad
// numbers them.
func umads(slots map[string]*Device) []umad {
	var all []umad
	for _, bdf := range slices.Sorted(maps.Keys(slots)) {
		d := slots[bdf]
		if !d.Card().Running().Loaded {
			continue
		}
		for i := range d.Card().Chip.Ports {
			if d.isIB(i) {
				all = append(all, umad{d, i})
			}
		}
	}
	return all
}

// madFiles is what stands at /sys/class/infiniband_mad.
func madFiles(slots map[string]*Device) map[string]entry {
	all := map[string]entry{"abi_version": line("%d", ibsim.ABIVersion)}
	for n, u := range umads(slots) {
		files := dir(func() map[string]entry {
			return map[string]entry{"ibdev": line("%s", u.device.RDMA), "port": line("%d", u.port+1)}
		})
		all[fmt.Sprint("umad", n)], all[fmt.Sprint("issm", n)] = files, files
	}
	return all
}
