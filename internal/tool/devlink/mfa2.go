package devlink

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/ulikunitz/xz"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Folder is where the kernel looks for the file that a flash names.
const Folder = "/lib/firmware/"

// Flash has the driver of a card send a package to its firmware. file is its name in Folder.
func Flash(pci ib.PCIAddress, file string) shellcmd.Command {
	return shellcmd.New("devlink", "dev", "flash", "pci/"+pci.String(), "file", file).AsRoot().Changes()
}

// What an MFA2 package begins with, and each component in its block (Linux drivers/net/ethernet/mellanox/mlxfw).
const (
	magicPackage = "MLNX.MFA2.XZ.00!"
	magicBlock   = "#BIN.COMPONENT!#"
)

// Types of the parts of a package.
const (
	partMulti      = 0x01
	partPackage    = 0x02
	partComponent  = 0x04
	partComponents = 0x22 // of a device, each with its number
	partPSID       = 0x2a
)

// bootImage is what the firmware calls its own image among the components of a card.
const bootImage = 1

// Package wraps a component, an image as the firmware takes it, for the cards of one PSID.
func Package(psid ib.PSID, component []byte) ([]byte, error) {
	block := append([]byte(magicBlock), component...)
	var packed bytes.Buffer
	w, err := xz.WriterConfig{CheckSum: xz.CRC32}.NewWriter(&packed) // the kernel knows no other check
	if err == nil {
		_, err = w.Write(block)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress an image of %d bytes: %w", len(component), err)
	}
	device := multi(part(partPSID, []byte(psid)), part(partComponents, words16(0, 0), words32(0)))
	// At the offset stands the magic, which is not of the length.
	about := multi(part(partComponent, words16(0, bootImage), words32(0, 0, uint32(len(component)))))
	before := len(magicPackage) + len(multi(describe(0, 0, 0))) + len(device) + len(about)
	return bytes.Join([][]byte{[]byte(magicPackage), multi(describe(before, packed.Len(), len(block))), device, about,
		packed.Bytes()}, nil), nil
}

// describe is the part on the package as a whole: where its block is, and how long, packed and unpacked.
func describe(at, packed, size int) []byte {
	return part(partPackage, words16(1, 1), words32(uint32(at), uint32(packed), 0, uint32(size)), []byte{0, 0, 0, 1},
		words32(0))
}

// part is a version, a type, a length, and the content, filled up to four bytes.
func part(kind byte, content ...[]byte) []byte {
	data := bytes.Join(content, nil)
	head := append([]byte{0, kind}, words16(uint16(len(data)))...)
	return append(append(head, data...), make([]byte, -len(data)&3)...)
}

// multi is a part with others behind it, the first of which is not counted.
func multi(parts ...[]byte) []byte {
	all := bytes.Join(parts, nil)
	return append(part(partMulti, words16(uint16(len(parts)-1), uint16(len(all)))), all...)
}

func words16(all ...uint16) (b []byte) {
	for _, w := range all {
		b = binary.BigEndian.AppendUint16(b, w)
	}
	return b
}

func words32(all ...uint32) (b []byte) {
	for _, w := range all {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}
