package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/lspci"
)

// readCards reads the cards, as the kernel and as the tool shows them. An answer about
// one card that is not understood is kept with that card, so that it does not hide the
// others.
func readCards(s *inventory.Snapshot, a *collect.Answer) error {
	for _, d := range a.Devices {
		c, err := card(d, a)
		if err != nil {
			return in("card "+d.Address, err)
		}
		readFlash(&c, s, a)
		readVPD(&c, a)
		s.Cards = append(s.Cards, c)
	}
	slices.SortFunc(s.Cards, func(x, y inventory.Card) int { return x.PCI.Compare(y.PCI) })
	return nil
}

// card reads the kernel's view.
func card(d collect.Device, a *collect.Answer) (inventory.Card, error) {
	dir := "/sys/bus/pci/devices/" + d.Address + "/"
	pci, err := ib.ParsePCIAddress(d.Address)
	if err != nil {
		return inventory.Card{}, err
	}
	c := inventory.Card{PCI: pci, Driver: d.Driver, RDMADevice: d.RDMA, Virtual: d.Virtual}
	for _, id := range []struct {
		file string
		to   *uint16
	}{{"vendor", &c.VendorID}, {"device", &c.DeviceID}, {"subsystem_vendor", &c.SubVendorID},
		{"subsystem_device", &c.SubDevice}} {
		n, err := number(a, dir+id.file, 0)
		if err != nil {
			return inventory.Card{}, err
		}
		*id.to = uint16(n)
	}
	identify(&c)
	if c.Virtual {
		c.Physical = physical(d)
	}
	c.PCIe = inventory.PCIe{
		Width: lanes(a, dir+"current_link_width"), MaxWidth: lanes(a, dir+"max_link_width"),
		Speed: speed(a, dir+"current_link_speed"), MaxSpeed: speed(a, dir+"max_link_speed"),
	}
	c.Celsius = temperatures(a, dir)
	c.MaxVFs, _ = strconv.Atoi(a.Values[dir+"sriov_totalvfs"].Text) // no file: not set up for any
	if d.RDMA != "" {
		if err := readRDMA(&c, a); err != nil {
			return inventory.Card{}, err
		}
	}
	readTypes(&c, a)
	return c, nil
}

// physical reads of which function a virtual one is.
func physical(d collect.Device) fact.Of[ib.PCIAddress] {
	pci, err := ib.ParsePCIAddress(d.Physical)
	if err != nil {
		return fact.Unknown[ib.PCIAddress]("sysfs does not say of which card " + d.Address + " is a virtual function")
	}
	return fact.Known(pci)
}

// identify finds the chip. A guest of a hypervisor sees a virtual function without its
// physical one, and only the device id tells it. It checks the vendor first: the tool knows
// the device id alone, and other vendors use the same numbers.
// The chip of a card in recovery mode is told by an id of its own, such as 0x01f6 for 0x1003.
func identify(c *inventory.Card) {
	if c.VendorID != ib.MellanoxVendor {
		return
	}
	if chip, ok := ib.ChipByPCI(c.DeviceID); ok {
		c.Chip = chip
	} else if chip, ok := ib.ChipByRecoveryPCI(c.DeviceID); ok {
		c.Chip, c.Livefish = chip, true
	}
	c.Virtual = c.Virtual || ib.IsVirtualFunction(c.DeviceID)
}

// lanes gives 0 for what the kernel does not know.
func lanes(a *collect.Answer, path string) int {
	n, err := strconv.Atoi(a.Values[path].Text)
	if err != nil || n > 32 {
		return 0 // 63 and 255 mean that the port does not say
	}
	return n
}

// speed gives "8.0 GT/s"; empty for "Unknown".
func speed(a *collect.Answer, path string) string {
	text := strings.TrimSuffix(a.Values[path].Text, " PCIe")
	if !strings.HasSuffix(text, "GT/s") {
		return ""
	}
	return text
}

// temperatures reads the sensors that a driver shows, as hwmon/hwmon2/temp1_input in thousandths of a
// degree. mlx5_core does so since Linux 6.7, and calls them "asic" and "Module0".
func temperatures(a *collect.Answer, dir string) (all map[string]float64) {
	for _, path := range slices.Sorted(maps.Keys(a.Values)) {
		sensor, ok := strings.CutSuffix(path, "_input")
		milli, err := strconv.Atoi(a.Values[path].Text)
		if !ok || err != nil || !strings.HasPrefix(path, dir+"hwmon/") {
			continue
		}
		number := sensor[strings.LastIndex(sensor, "/")+1:]
		name := cmp.Or(a.Values[sensor+"_label"].Text, number)
		if _, taken := all[name]; taken {
			name += " " + number
		}
		if all == nil {
			all = map[string]float64{}
		}
		all[name] = float64(milli) / 1000
	}
	return all
}

// readRDMA reads what the driver says is running.
func readRDMA(c *inventory.Card, a *collect.Answer) error {
	dir := "/sys/class/infiniband/" + c.RDMADevice + "/"
	board := a.Values[dir+"board_id"].Text
	if a, ok := c.Adapter(); ok && a.Driver == "ib_qib" {
		// It is the name of the board, of which nothing else is known, and no PSID.
		c.PartNumber = board
	} else {
		c.RunningPSID, _ = ib.ParsePSID(board)
	}
	c.RunningFW = a.Values[dir+"fw_ver"].Text
	// mlx4 prints 2.42.500 where the tool prints 2.42.0500. ib_qib has no
	// version, and others' need not have three numbers.
	if v, err := ib.ParseFWVersion(c.RunningFW); err == nil {
		c.RunningFW = v.String()
	}
	for file, to := range map[string]*ib.GUID{"node_guid": &c.NodeGUID, "sys_image_guid": &c.SystemGUID} {
		if err := guid(a, dir+file, to); err != nil {
			return err
		}
	}
	// Ports count from 1 without a gap.
	for number := 1; ; number++ {
		p, ok, err := port(a, dir+"ports/"+strconv.Itoa(number)+"/", number)
		if err != nil || !ok {
			return err
		}
		c.Ports = append(c.Ports, p)
	}
}

func guid(a *collect.Answer, path string, to *ib.GUID) error {
	v, ok := a.Values[path]
	if !ok {
		return nil
	}
	g, err := ib.ParseGUID(v.Text)
	if err != nil {
		return fmt.Errorf("line %d: %s: %w", v.Line, path, err)
	}
	*to = g
	return nil
}

// unsetLID is what ib_qib shows for a port without one; others show 0.
const unsetLID = 0xffff

// isSM is the bit of the capability mask that says that a subnet manager is
// bound to the port.
const isSM = 0x2

func port(a *collect.Answer, dir string, n int) (inventory.Port, bool, error) {
	state, ok := a.Values[dir+"state"]
	// A file that is there and cannot be read is a port all the same.
	if !ok && !a.Denied[dir+"state"] {
		return inventory.Port{}, false, nil
	}
	p := inventory.Port{
		Number: n, State: stateName(state.Text), Physical: behindColon(a.Values[dir+"phys_state"].Text),
		Rate: a.Values[dir+"rate"].Text, LinkLayer: a.Values[dir+"link_layer"].Text,
	}
	lid, err1 := number(a, dir+"lid", 0)
	smLID, err2 := number(a, dir+"sm_lid", 0)
	capabilities, err3 := number(a, dir+"cap_mask", 0)
	if err := errors.Join(err1, err2, err3); err != nil {
		return inventory.Port{}, false, err
	}
	if lid != unsetLID {
		p.LID = uint16(lid)
	}
	if smLID != unsetLID {
		p.SMLID = uint16(smLID)
	}
	p.IsSM = fact.Known(capabilities&isSM != 0)
	if _, read := a.Values[dir+"cap_mask"]; !read {
		p.IsSM = fact.Unknown[bool](dir + "cap_mask could not be read")
	}
	// On Ethernet the first GID holds an address made of the MAC.
	if gid, ok := a.Values[dir+"gids/0"]; ok && p.LinkLayer != "Ethernet" {
		// sysfs prints a GID in full, never shortened. Port GUIDs are read here and not counted from the node GUID: mlx4
		// counts from it, qib begins with it, and nobody promises either.
		const prefix = len("fe80:0000:0000:0000:")
		if len(gid.Text) < prefix {
			return inventory.Port{}, false, fmt.Errorf("line %d: GID %q is too short", gid.Line, gid.Text)
		}
		g, err := ib.ParseGUID(gid.Text[prefix:])
		if err != nil {
			return inventory.Port{}, false, fmt.Errorf("line %d: %sgids/0: %w", gid.Line, dir, err)
		}
		p.PortGUID = g
		if p.Prefix, err = ib.ParseGUID(gid.Text[:prefix-1]); err != nil {
			return inventory.Port{}, false, fmt.Errorf("line %d: %sgids/0: %w", gid.Line, dir, err)
		}
	}
	return p, true, nil
}

// stateName gives the name that ibstat uses for "4: ACTIVE".
func stateName(text string) string {
	switch number, _, _ := strings.Cut(text, ":"); number {
	case "1":
		return "Down"
	case "2":
		return "Initializing"
	case "3":
		return "Armed"
	case "4":
		return "Active"
	}
	return behindColon(text)
}

func behindColon(text string) string {
	if _, name, ok := strings.Cut(text, ": "); ok {
		return name
	}
	return text
}

// readTypes reads mlx4's link types. While the driver has no RDMA device they are the
// only sign of a port.
func readTypes(c *inventory.Card, a *collect.Answer) {
	for n := 1; n <= 2; n++ {
		v, ok := a.Values["/sys/bus/pci/devices/"+c.PCI.String()+"/mlx4_port"+strconv.Itoa(n)]
		if !ok {
			continue
		}
		p, known := c.Port(n)
		if !known {
			// Without an RDMA device nothing can send management datagrams.
			isSM := fact.Known(false)
			if c.RDMADevice != "" {
				isSM = fact.Unknown[bool](fmt.Sprintf("%s shows no port %d", c.RDMADevice, n))
			}
			c.Ports = append(c.Ports, inventory.Port{Number: n, IsSM: isSM})
			p = &c.Ports[len(c.Ports)-1]
		}
		p.TypeNow = v.Text
		// What the driver gave the port: the largest that any group may have.
		if mtu, ok := a.Values["/sys/bus/pci/devices/"+c.PCI.String()+"/mlx4_port"+strconv.Itoa(n)+"_mtu"]; ok {
			if bytes, err := strconv.Atoi(mtu.Text); err == nil {
				p.IBMTU = bytes
			}
		}
	}
	slices.SortFunc(c.Ports, func(x, y inventory.Port) int { return x.Number - y.Number })
}

// linkPorts gives each port its interface.
func linkPorts(s *inventory.Snapshot, _ *collect.Answer) error {
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		// A P_Key child has the dev_port of its parent.
		if n.Parent != "" || !n.PCI.IsValid() {
			continue
		}
		c, ok := s.Card(n.PCI)
		if !ok {
			continue
		}
		if p, ok := c.Port(n.DevPort + 1); ok {
			p.Netdev = n.Name
		}
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// readVPD reads part and serial number, or why there is none, which is common after a
// cross-flash.
func readVPD(c *inventory.Card, a *collect.Answer) {
	unread := func(why string) { c.Serial = fact.Unknown[string](why) }
	run, ok := a.Runs["vpd "+c.PCI.String()]
	switch {
	case !ok && !a.Commands["lspci"]:
		unread("lspci is not installed")
		return
	case !ok:
		unread("the vital product data of such a device is not read")
		return
	case run.Status != 0:
		unread(fmt.Sprintf("lspci ended with status %d", run.Status))
		return
	}
	d, err := lspci.Parse(run.Output)
	// lspci prints it only where the firmware of the machine tells it.
	if n, bad := strconv.Atoi(d.NUMANode); bad == nil {
		c.NUMA = fact.Known(n)
	}
	switch {
	case err != nil:
		unread("the output of lspci was not understood: " + err.Error())
	case strings.ContainsFunc(d.PartNumber+d.SerialNumber, unprintable):
		// A card is known by these two, so they are not recorded in another spelling.
		unread("the vital product data has characters that no part or serial number has")
		return
	case d.SerialNumber == "":
		unread("lspci shows no serial number in the vital product data")
	case ib.Identity{Serial: d.SerialNumber}.Empty():
		unread(fmt.Sprintf("the vital product data has %q in its place, which tells no card from another", d.SerialNumber))
	default:
		c.Serial = fact.Known(d.SerialNumber)
	}
	// A QLogic card has its board's name there already.
	c.PartNumber = cmp.Or(d.PartNumber, c.PartNumber)
}
