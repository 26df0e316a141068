package registers

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Registers of firmware that writes its own flash. Learned from what mstflint 4.21 and the
// kernel's mlxfw send and expect.
const (
	regMCAM = 0x907f // which registers there are
	regMGIR = 0x9020 // what the card is and runs
	regMCQS = 0x9060 // the components of its firmware
	regMCQI = 0x9061 // one of them
	regMCC  = 0x9062 // the update, see card.Update
	regMCDA = 0x9063 // data for it
	regMQIS = 0x9064 // texts
	regMVTS = 0x902c // time stamps
)

// Groups of the configuration that hold the identity of the card.
const (
	groupAddresses = 2
	groupCounts    = 3
)

const (
	statusNoTimeStamp = 0x20
	bootImage         = 1 // index and identifier: the kernel takes one for the other
	bytesAtOnce       = 128
)

// driverWords holds the longest of these registers as a driver sends it: MCDA with its data.
const driverWords = 48

// DriverRegister reads or writes a register of the running firmware's own way for the driver of
// the card, whose commands have no heads; false if it is none of these. Its only error is
// card.ErrPowerLost.
func (r *Registers) DriverRegister(id uint16, register []byte, write bool) (status uint32, is bool, err error) {
	whole := make([]byte, 4*driverWords)
	copy(whole, register)
	body := make([]uint32, driverWords)
	for i := range body {
		body[i] = binary.BigEndian.Uint32(whole[4*i:])
	}
	status, is, err = r.updateRegister(uint32(id), body, write, card.OwnerDriver)
	for i, v := range body {
		binary.BigEndian.PutUint32(whole[4*i:], v)
	}
	copy(register, whole)
	return status, is, err
}

// updateRegister reads or writes a register of the running firmware's own way; false if it
// is none of these.
func (r *Registers) updateRegister(id uint32, body []uint32, write bool, by card.Owner) (status uint32, is bool, err error) {
	u := r.card.Update()
	if u == nil {
		return 0, false, nil
	}
	switch id {
	case regMCAM:
		r.knownRegisters(body)
	case regMGIR:
		r.information(body)
	case regMCQS:
		components(body, u)
	case regMCQI:
		status = r.component(body)
	case regMCC:
		status, err = controlUpdate(body, u, write, by)
	case regMCDA:
		status = sendData(body, u)
	case regMQIS:
		r.text(body)
	case regMVTS:
		status = statusNoTimeStamp
	default:
		return 0, false, nil
	}
	return status, true, err
}

// knownRegisters sets a bit for each register of group 0; group 2 has none.
func (r *Registers) knownRegisters(body []uint32) {
	clear(body[2:6])
	if body[0]&0xff != 0 {
		return
	}
	for _, reg := range []uint32{regMGIR, regNVDA, regNVDI, regMVTS, regNVQC, regNVQGC, regMCQS, regMCQI, regMCC, regMCDA, regMQIS} {
		bit := reg & 0x7f
		octet := 15 - bit/8
		body[2+octet/4] |= 1 << (bit%8 + 8*(3-octet%4))
	}
}

// information fills MGIR.
func (r *Registers) information(body []uint32) {
	img := r.card.Booted()
	clear(body[:40])
	body[0] = uint32(r.card.Rev)<<16 | uint32(r.card.Chip.PCIDevice)
	body[1] = uint32(r.card.Functions) << 16
	body[2] = uint32(r.card.Chip.HWID)
	mac := img.TOC.OrigMAC.Base
	body[4], body[5] = uint32(mac>>32), uint32(mac)
	body[7] = 1000 // seconds since the start
	attributes, _ := img.Security()
	switch {
	case attributes[0] == 's' && attributes[1] == 'e': // secure-fw
		body[8] = 3 << 24
	case attributes[0] == 's': // signed-fw
		body[8] = 1 << 25
	}
	putText(body[12:16], img.PSID)
	body[17], body[18], body[19] = uint32(img.Version[0]), uint32(img.Version[1]), uint32(img.Version[2])
	roms := img.ROMs[:min(len(img.ROMs), 4)]
	for i, rom := range roms {
		at := len(roms) - 1 - i // tools show the last one first
		body[25] |= romKind(rom) << (24 - 8*at)
		body[26+at] = packedVersion(rom.Version)
	}
}

// romKind gives the processor and the kind of a boot ROM as numbers.
func romKind(rom card.ROM) uint32 {
	kind := map[string]uint32{"PXE": 1, "UEFI": 2, "CLP": 3, "NVMe": 4}[rom.Type]
	return map[string]uint32{"AMD64": 1, "AARCH64": 2, "AMD64,AARCH64": 3}[rom.CPU]<<4 | kind
}

// packedVersion is a version of three numbers in one word.
func packedVersion(text string) uint32 {
	var v [3]uint32
	if n, err := fmt.Sscanf(text, "%d.%d.%d", &v[0], &v[1], &v[2]); n != 3 || err != nil {
		return 0
	}
	return v[0]<<24 | v[1]<<16 | v[2]
}

// components fills MCQS: the boot image is the second and last one.
func components(body []uint32, u *card.Update) {
	index := body[0] & 0xffff
	clear(body[1:4])
	body[0] = index
	if index < bootImage {
		return
	}
	outcome, by := u.Outcome()
	body[0] |= 1 << 31
	body[1] = bootImage
	body[2] = 2<<4 | outcome // it is in use
	body[3] = uint32(by) << 28
}

// Types of information on a component.
const (
	infoCapabilities = 0
	infoVersion      = 1
	infoActivation   = 5
)

// component fills MCQI with a part of the information on a component.
func (r *Registers) component(body []uint32) uint32 {
	index, pending, kind := body[0]&0xffff, body[0]>>31 != 0, body[2]&0x1f
	img, staged := r.card.Booted(), r.card.Staged()
	if index > bootImage || pending && (index != bootImage || staged == nil) {
		return regBadParameter
	}
	if pending {
		img = staged
	}
	var info []byte
	switch {
	case kind == infoCapabilities:
		info = capabilityInfo(index)
	case index != bootImage:
		return regBadParameter
	case kind == infoVersion:
		info = versionInfo(img)
	case kind == infoActivation && staged != nil:
		info = binary.BigEndian.AppendUint32(nil, 1<<2|1<<3) // a reset of the chip, a restart of the host
	case kind == infoActivation:
		info = make([]byte, 4)
	default:
		return regBadParameter
	}
	at, size := int(body[4]), int(body[5]&0xffff)
	body[3] = uint32(len(info))
	clear(body[6 : 6+bytesAtOnce/4-1])
	if at > len(info) || size > bytesAtOnce {
		return regBadParameter
	}
	part := info[at:min(len(info), at+size)]
	body[5] = uint32(len(part))
	putBytes(body[6:], part)
	return 0
}

// capabilityInfo has which information there is, the size, how data are sent, and that the
// board and the chip have to fit.
func capabilityInfo(index uint32) []byte {
	b := make([]byte, 20)
	binary.BigEndian.PutUint32(b[12:], 2<<28|bytesAtOnce)
	if index != bootImage {
		binary.BigEndian.PutUint32(b, 1<<infoCapabilities)
		return b
	}
	binary.BigEndian.PutUint32(b, 1<<infoCapabilities|1<<infoVersion|1<<infoActivation)
	binary.BigEndian.PutUint32(b[4:], card.FlashSize/2)
	binary.BigEndian.PutUint32(b[8:], card.FlashSize/2)
	binary.BigEndian.PutUint32(b[16:], 7<<28) // signed, for this chip and board
	return b
}

func versionInfo(img *card.Image) []byte {
	b := make([]byte, 124)
	text := img.Product
	b[3] = byte(len(text) + 1) // with the end of the text
	b[0] = 1 << 5              // the date counts
	v := img.Version
	binary.BigEndian.PutUint32(b[4:], uint32(v[0])<<24|uint32(v[1])<<16|uint32(v[2]))
	binary.BigEndian.PutUint32(b[12:], img.Date)
	copy(b[0x20:], text)
	return b
}

// controlUpdate reads or writes MCC. A sender repeats what has failed with the answer of the
// first time, so that the instruction stays in it.
func controlUpdate(body []uint32, u *card.Update, write bool, by card.Owner) (status uint32, err error) {
	if write {
		status, err = u.Do(card.Instruction(body[0]&0xff), by, body[2]&0xffffff, body[4])
	}
	v := u.View()
	body[2] = v.Handle
	body[3] = uint32(v.Owner)<<28 | v.Progress<<16 | uint32(v.Refusal)<<8 | uint32(v.State)
	return status, err
}

// sendData takes data of MCDA, whose words are swapped relative to the file.
func sendData(body []uint32, u *card.Update) uint32 {
	size := int(body[2] & 0xffff)
	if size > bytesAtOnce || size%4 != 0 {
		return regBadParameter
	}
	data := make([]byte, size)
	for i := range size / 4 {
		binary.LittleEndian.PutUint32(data[4*i:], body[4+i])
	}
	return u.Send(body[0]&0xffffff, body[1], data)
}

// text fills MQIS with eight bytes of a text.
func (r *Registers) text(body []uint32) {
	img := r.card.Booted()
	full := map[uint32]string{1: img.TOC.Part, 2: img.TOC.Text, 3: img.TOC.ImageVSD, 4: img.VSD}[body[0]&0xff]
	at, size := int(body[2]>>16), int(body[2]&0xffff)
	part := full[min(at, len(full)):min(at+min(size, 8), len(full))]
	body[1] = uint32(len(full))
	body[2] = uint32(at)<<16 | uint32(len(part))
	clear(body[4:6])
	putBytes(body[4:6], []byte(part))
}

// identityGroup reads or writes the groups of the configuration that hold GUIDs and MACs;
// false if it is none of these.
func (r *Registers) identityGroup(m *mailbox, write bool) (status uint32, is bool) {
	kind := m.get(groupType, 32)
	if r.card.Update() == nil || kind != groupAddresses && kind != groupCounts {
		return 0, false
	}
	data := m[groupData/32:]
	img, err := r.card.Flash.Active()
	switch {
	case err != nil || write && kind != groupAddresses:
		return regBadParameter, true
	case write:
		mac, guid := uint64(data[0])<<32|uint64(data[1]), uint64(data[2])<<32|uint64(data[3])
		keep := func(now, want uint64) uint64 { return cmp.Or(want, now) }
		if r.card.SetUID(func(now uint64) uint64 { return keep(now, guid) },
			func(now uint64) uint64 { return keep(now, mac) }, func(string) {}) != nil {
			return regBadParameter, true
		}
	case kind == groupAddresses:
		m.put(groupLength, 9, 16)
		mac, guid := img.TOC.MAC.Base, img.TOC.GUID.Base
		data[0], data[1], data[2], data[3] = uint32(mac>>32), uint32(mac), uint32(guid>>32), uint32(guid)
	default:
		m.put(groupLength, 9, 8)
		data[0], data[1] = 3<<30, uint32(img.TOC.GUID.Count)<<16|uint32(img.TOC.MAC.Count)
	}
	return 0, true
}

func putBytes(words []uint32, data []byte) {
	for i, b := range data {
		words[i/4] |= uint32(b) << (24 - 8*(i%4))
	}
}

func putText(words []uint32, text string) {
	clear(words)
	putBytes(words, []byte(text)[:min(len(text), 4*len(words))])
}
