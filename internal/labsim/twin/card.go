package twin

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

var chips = []card.Chip{card.ConnectX3, card.ConnectX3Pro, card.ConnectX4, card.ConnectX5, card.ConnectX6, card.ConnectX6Dx,
	card.ConnectX6Lx, card.ConnectX7}

// address is a PCI address with its domain.
var address = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// cards are those that the kernel has listed, those with two functions once.
func (b *builder) cards() (list []labsim.CardConfig) {
	virtual := map[string]bool{}
	for _, line := range b.words["virtual"] {
		name, _, _ := strings.Cut(line, " ")
		virtual[name] = true
	}
	for _, bdf := range b.words["pci"] {
		if !address.MatchString(bdf) { // the lab shows it in commands to paste
			b.lacks("a card at %q, which is no PCI address", bdf)
			continue
		}
		if virtual[bdf] {
			b.lacks("the virtual function %s, which the lab does not simulate", bdf)
			continue
		}
		if i := slices.IndexFunc(list, func(c labsim.CardConfig) bool {
			return c.Chip.Driver() == "mlx5_core" && c.BDF[:len(c.BDF)-1] == bdf[:len(bdf)-1]
		}); i >= 0 {
			list[i].Functions = 2
			continue
		}
		if c, ok := b.card(bdf); ok {
			list = append(list, c)
		}
	}
	return list
}

// model is how the kernel sees the card, whoever has made its board.
func (b *builder) model(bdf string, chip card.Chip) *labsim.Model {
	m := labsim.MLX4()
	if chip.Driver() == "mlx5_core" {
		m = labsim.MLX5()
		m.Name, m.Device = chip.Family, chip.PCIDevice
	}
	m.Subsystem = b.number(bdf, "subsystem_vendor")
	return m
}

// number is the number in a file of a PCI function.
func (b *builder) number(bdf, file string) uint16 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(b.values["/sys/bus/pci/devices/"+bdf+"/"+file], "0x"), 16, 16)
	return uint16(n)
}

func (b *builder) card(bdf string) (labsim.CardConfig, bool) {
	vendor, device := b.number(bdf, "vendor"), b.number(bdf, "device")
	i := slices.IndexFunc(chips, func(c card.Chip) bool { return vendor == 0x15b3 && (c.PCIDevice == device || c.Recovery == device) })
	var c labsim.CardConfig
	switch {
	case i >= 0:
		config, ok := b.firmware(bdf, chips[i])
		if !ok {
			return c, false
		}
		c = labsim.CardConfig{BDF: bdf, Config: config, Model: b.model(bdf, chips[i])}
	case vendor == 0x1077 && device == labsim.QIB().Device:
		c = labsim.WithoutFlash(bdf, labsim.QIB(), [3]uint16{}, "", b.guids(bdf))
	case vendor == 0x15b3 && device == labsim.MTHCA().Device:
		rdma := b.rdma(bdf)
		psid := b.values[rdma+"/board_id"]
		c = labsim.WithoutFlash(bdf, labsim.MTHCA(), versionOf(b.values[rdma+"/fw_ver"]), b.psid(psid), b.guids(bdf))
	default:
		b.lacks("the card %s with the PCI ids %04x:%04x, which the lab does not simulate", bdf, vendor, device)
		return c, false
	}
	vpd := rows(b.runs["vpd "+bdf].text)
	c.Product, c.PartNumber, c.SerialNumber = vpd["Product Name"], vpd["[PN] Part number"], vpd["[SN] Serial number"]
	c.SubsystemID = b.number(bdf, "subsystem_device")
	b.settings(&c)
	b.slot(&c)
	return c, true
}

// slot says what the card's place on the board gives it.
func (b *builder) slot(c *labsim.CardConfig) {
	const files = "/sys/bus/pci/devices/"
	c.LinkWidth, _ = strconv.Atoi(b.values[files+c.BDF+"/current_link_width"])
	speed, most := b.values[files+c.BDF+"/current_link_speed"], b.values[files+c.BDF+"/max_link_speed"]
	if speed != most {
		c.SlotSpeed = speed
	}
	for _, line := range b.words["net"] {
		bdf, name, _ := strings.Cut(line, " ")
		if m := slotName.FindStringSubmatch(name); bdf == c.BDF && m != nil {
			c.Slot = m[1]
		}
	}
}

// slotName is an interface that udev has named by the number of its slot.
var slotName = regexp.MustCompile(`^(?:en|ib)s(\d+)(?:d\d+|np\d+|f\d+.*)?$`)

// rdma is the directory of the RDMA device of a card.
func (b *builder) rdma(bdf string) string {
	for _, line := range b.words["rdma"] {
		if at, name, _ := strings.Cut(line, " "); at == bdf {
			return "/sys/class/infiniband/" + name
		}
	}
	return ""
}

// guids are those that the driver shows: of node, ports and system.
func (b *builder) guids(bdf string) (all [4]uint64) {
	rdma := b.rdma(bdf)
	all[0], all[3] = guid(b.values[rdma+"/node_guid"]), guid(b.values[rdma+"/sys_image_guid"])
	for port := 1; port <= 2; port++ {
		if gid := b.values[fmt.Sprintf("%s/ports/%d/gids/0", rdma, port)]; len(gid) > 20 {
			all[port] = guid(gid[20:])
		}
	}
	return all
}

func guid(text string) uint64 {
	n, _ := strconv.ParseUint(strings.ReplaceAll(strings.TrimPrefix(text, "0x"), ":", ""), 16, 64)
	return n
}

func versionOf(text string) (v [3]uint16) {
	for i, part := range strings.SplitN(text, ".", 3) {
		n, _ := strconv.ParseUint(part, 10, 16)
		v[i] = uint16(n)
	}
	return v
}

// psid is the PSID that an image of this lab has: a made-up image never has that of a real board, because
// somebody could burn it.
func (b *builder) psid(board string) string {
	if len(board) != 13 || board[3] == '9' {
		return board
	}
	made := board[:3] + "9" + board[4:]
	b.lacks("the firmware of PSID %s, for which %s stands", board, made)
	return made
}

var (
	words  = regexp.MustCompile(`\b[0-9a-f]{12,16}\b`)
	months = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)$`)
)

// date is day.month.year as the images have it.
func date(text string) uint32 {
	m := months.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseUint(fmt.Sprintf("%04s%02s%02s", m[3], m[2], m[1]), 16, 32)
	return uint32(n)
}

// firmware is a made-up image with what mstflint has said of the one in flash.
func (b *builder) firmware(bdf string, chip card.Chip) (card.Config, bool) {
	said := b.runs["flash "+bdf]
	q := rows(said.text)
	if said.status != 0 || q["PSID"] == "" {
		b.lacks("the flash of card %s (%s); it has what the card runs", bdf, cmp.Or(strings.TrimSpace(said.text), "mstflint did not answer"))
		if q = b.running(bdf); q["PSID"] == "" {
			b.lacks("the firmware that card %s runs, so that it is not in the twin", bdf)
			return card.Config{}, false
		}
	}
	version := versionOf(q["FW Version"])
	config := card.Config{Chip: chip, Image: b.given(bdf, q["PSID"], version)}
	if chip.Format == card.FS2 {
		copy(config.GUIDs[:], hexes(q["GUIDs"]))
		copy(config.MACs[:], hexes(q["MACs"]))
		if config.Image != nil {
			return config, true
		}
		config.Image = b.build(bdf, func() []byte {
			return card.Build(card.Spec{PSID: b.psid(q["PSID"]), Version: version, Product: q["Product Version"],
				Date: date(q["FW Release Date"]), Device: chip.PCIDevice, HWIDs: []uint32{uint32(chip.HWID)}, VSD: q["VSD"],
				PRS: "recorded.prs", GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true, Code: code})
		})
		return config, config.Image != nil
	}
	copy(config.GUIDs[:1], hexes(q["Base GUID"]))
	copy(config.MACs[:1], hexes(q["Base MAC"]))
	if config.Image != nil {
		return config, true
	}
	spec := card.TOCSpec{Format: chip.Format, PSID: b.psid(q["PSID"]), Version: version, Product: q["Product Version"],
		Date: date(q["FW Release Date"]), Device: chip.PCIDevice, HWIDs: []uint32{uint32(chip.HWID)}, PRS: "recorded.prs",
		Part: cmp.Or(q["Part Number"], rows(b.runs["vpd "+bdf].text)["[PN] Part number"]), Log: 17, Code: code}
	if made := q["Orig PSID"]; made != "" && made != "N/A" {
		spec.OrigPSID = b.psid(made)
	}
	attributes := q["Security Attributes"]
	for word, flag := range map[string]uint16{"secure-fw": card.FlagSecure, "signed-fw": card.FlagSigned} {
		if strings.Contains(attributes, word) {
			spec.Flags, spec.Signed = spec.Flags|flag, true
		}
	}
	if q["Image type"] == "FSCTRL" {
		spec.Flags, spec.Signed = spec.Flags|card.FlagControlled, true
	}
	config.Image = b.build(bdf, func() []byte { return card.BuildTOC(spec) })
	return config, config.Image != nil
}

// build makes an image; nil if nothing can be made of what the recording says, which somebody may have edited.
func (b *builder) build(bdf string, from func() []byte) (image []byte) {
	defer func() {
		if why := recover(); why != nil {
			b.lacks("firmware of card %s from which an image can be made (%v), so that it is not in the twin", bdf, why)
			image = nil
		}
	}()
	return from()
}

// running is what the driver says of the firmware of a card, in the words of mstflint.
func (b *builder) running(bdf string) map[string]string {
	rdma, g := b.rdma(bdf), b.guids(bdf)
	if g[2] == 0 {
		g[2] = g[1] + 1
	}
	return map[string]string{"PSID": b.values[rdma+"/board_id"], "FW Version": b.values[rdma+"/fw_ver"],
		"GUIDs":     fmt.Sprintf("%016x %016x %016x %016x", g[0], g[1], g[2], g[3]),
		"Base GUID": fmt.Sprintf("%016x", g[0]), "FW Release Date": "1.1.2000"}
}

// given is the firmware of a card that the recording has, or a file of it that somebody has given.
func (b *builder) given(bdf, psid string, version [3]uint16) []byte {
	fits := func(data []byte) error {
		image, err := card.Parse(data)
		if err == nil && (image.Version != version || strings.TrimRight(image.PSID, "\x00") != psid) {
			err = fmt.Errorf("it has firmware %v of PSID %s", image.Version, image.PSID)
		}
		return err
	}
	if flash, there := b.flashes[bdf]; there {
		err := fits(flash)
		if err == nil {
			return flash
		}
		b.lacks("a copy of the flash of card %s that can be used: %v", bdf, err)
	}
	if i := slices.IndexFunc(b.images, func(data []byte) bool { return fits(data) == nil }); i >= 0 {
		return b.images[i]
	}
	return nil
}

// code is the size of the made-up code.
const code = 0x8000

func hexes(text string) (all []uint64) {
	for _, word := range words.FindAllString(text, -1) {
		n, _ := strconv.ParseUint(word, 16, 64)
		all = append(all, n)
	}
	return all
}

// settings are what a card has stored, where it is not what its firmware brings. The last column of the table of
// mstconfig is what the next boot takes.
func (b *builder) settings(c *labsim.CardConfig) {
	table, asked := b.tables[c.BDF]
	if !asked || table.status != 0 {
		return
	}
	c.Settings = card.Settings{}
	for line := range strings.Lines(table.text) {
		f := strings.Fields(strings.TrimPrefix(line, "*"))
		if len(f) < 3 || len(f) > 4 || !settingName.MatchString(f[0]) || f[1] == f[len(f)-1] {
			continue
		}
		name, value := f[0], f[len(f)-1]
		if port, ok := strings.CutPrefix(name, "LINK_TYPE_P"); ok {
			n, _ := strconv.Atoi(port)
			if m := number.FindStringSubmatch(value); m != nil && n >= 1 && n <= len(c.Stored.LinkType) {
				c.Stored.LinkType[n-1], _ = strconv.Atoi(m[1])
			}
			continue
		}
		c.Settings[name] = value
	}
}

var (
	settingName = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)
	number      = regexp.MustCompile(`\((\d+)\)$`) // behind the word of a value, such as IB(1)
)
