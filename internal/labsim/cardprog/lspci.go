package cardprog

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// lspci knows [-D] [-n|-nn] [-v|-vv|-vvv] [-s SLOT] [-d VENDOR:[DEVICE]].
func lspci(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) > 0 {
		return p.Unknown("operand " + f.Args[0])
	}
	if want := f.Get("d"); want != "" && !strings.Contains(want, ":") {
		return p.Unknown("filter " + want)
	}
	if match(f, "0000:00:1f.6", 0x8086, 0x15b8) {
		printDevice(p, f, "0000:00:1f.6", "Ethernet controller", "0200", "Intel Corporation Ethernet Connection (2) I219-V",
			0x8086, 0x15b8)
	}
	for _, c := range p.Machine.Cards() {
		fw, model := c.Running(), c.Config.Model
		device, class, code := c.Chip.PCIDevice, "Ethernet controller", "0200"
		name := model.Maker + " " + c.Chip.Family
		switch {
		case model.Class == "0x0c0600":
			class, code = "InfiniBand", "0c06"
		case model.Class == "0x020700":
			class, code = "Infiniband controller", "0207"
		case !fw.Loaded:
			device, class, code = c.Chip.Recovery, "Memory controller", "0580"
			name = "Mellanox Technologies " + c.Chip.Family + " Flash Recovery"
		case fw.VPI:
			class, code = "Network controller", "0280"
		}
		if !match(f, c.Config.BDF, model.Vendor, device) {
			continue
		}
		printDevice(p, f, c.Config.BDF, class, code, name, model.Vendor, device)
		if f.Has("v") {
			printDetails(p, f, c)
		}
	}
	return 0
}

func match(f *labsim.Flags, bdf string, vendor, device uint16) bool {
	if s := f.Get("s"); s != "" && s != bdf && "0000:"+s != bdf {
		return false
	}
	if want := f.Get("d"); want != "" {
		v, d, _ := strings.Cut(want, ":")
		if v != "" && v != fmt.Sprintf("%04x", vendor) || d != "" && d != fmt.Sprintf("%04x", device) {
			return false
		}
	}
	return true
}

func printDevice(p *labsim.Proc, f *labsim.Flags, bdf, class, code, name string, vendor, device uint16) {
	slot := bdf
	if !f.Has("D") {
		slot = strings.TrimPrefix(bdf, "0000:")
	}
	switch len(f.All("n")) {
	case 0:
		p.Printf("%s %s: %s\n", slot, class, name)
	case 1:
		p.Printf("%s %s: %04x:%04x\n", slot, code, vendor, device)
	default:
		p.Printf("%s %s [%s]: %s [%04x:%04x]\n", slot, class, code, name, vendor, device)
	}
}

// printDetails prints what -vv shows to root: link, vital product data, driver.
func printDetails(p *labsim.Proc, f *labsim.Flags, c *labsim.Card) {
	p.Printf("\tSubsystem: %s Device %04x\n", subsystems[c.Config.Model.Subsystem], c.Config.SubsystemID)
	if c.Config.Slot != "" {
		p.Printf("\tPhysical Slot: %s\n", c.Config.Slot)
	}
	verbose := len(f.All("v"))
	if c.Config.Node > 0 && verbose > 1 {
		p.Printf("\tNUMA node: %d\n", c.Config.Node-1)
	}
	switch {
	case p.UID != 0:
		p.Printf("\tCapabilities: <access denied>\n")
	case verbose > 1 && c.Config.PartNumber == "": // no vital product data
		p.Printf("\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n")
		p.Printf("\t\tLnkSta:\tSpeed %s, Width x%d\n", linkSpeed(c), c.Config.LinkWidth)
	case verbose > 1:
		p.Printf("\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n")
		p.Printf("\t\tLnkCap:\tPort #8, Speed %s, Width x%d, ASPM L0s, Exit Latency L0s unlimited\n", linkSpeed(c),
			c.Config.Model.Lanes)
		p.Printf("\t\tLnkSta:\tSpeed %s, Width x%d\n", linkSpeed(c), c.Config.LinkWidth)
		p.Printf("\tCapabilities: [48] Vital Product Data\n\t\tProduct Name: %s\n\t\tRead-only fields:\n", c.Config.Product)
		p.Printf("\t\t\t[PN] Part number: %s\n\t\t\t[EC] Engineering changes: A4\n\t\t\t[SN] Serial number: %s\n",
			c.Config.PartNumber, c.Config.SerialNumber)
		p.Printf("\t\t\t[V0] Vendor specific: PCIe Gen3 x8\n\t\t\t[RV] Reserved: checksum good, 0 byte(s) " +
			"reserved\n\t\tEnd\n")
	}
	if c.Bound() {
		p.Printf("\tKernel driver in use: %s\n", c.Config.Model.Driver)
	}
	if p.Machine.ModuleKnown(c.Config.Model.Driver) {
		p.Printf("\tKernel modules: %s\n", c.Config.Model.Driver)
	}
	p.Printf("\n")
}

// subsystems are the makers of boards.
var subsystems = map[uint16]string{
	0x15b3: "Mellanox Technologies", 0x103c: "Hewlett-Packard Company", 0x1077: "QLogic Corp.",
}

// linkSpeed turns "8.0 GT/s PCIe" into lspci's "8GT/s".
func linkSpeed(c *labsim.Card) string {
	speed, _, _ := strings.Cut(c.Config.Model.PCIe, " ")
	return strings.TrimSuffix(speed, ".0") + "GT/s"
}
