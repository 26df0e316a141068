package card

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// PSIDs of the synthetic boards: MT_9… so that no real board ever takes them.
const (
	PSIDEN    = "MT_9200111023" // ConnectX-3 Pro, Ethernet only
	PSIDVPI   = "MT_9090111019" // ConnectX-3 Pro, VPI
	PSIDCX3   = "MT_9090120019" // ConnectX-3, VPI
	PSIDOther = "MT_9100111019" // ConnectX-3 Pro, VPI, another board
	PSIDHP    = "HP_9380110017" // HP's ConnectX-3 Pro, VPI
	PSIDCX4   = "MT_9180110032" // ConnectX-4, one port
	PSIDCX4B  = "MT_9190110032" // ConnectX-4, another board
	PSIDCX5   = "MT_9000000012" // ConnectX-5
	PSIDCX6   = "MT_9000000222" // ConnectX-6
)

// imageCode is the size of the made-up code: enough to span two stripes of flash.
var imageCode = 0x98000

// SmallImages makes the images of this package as small as may be, for labs in
// which reading them takes time: of FS2 they have 2.5 kilobytes, most of which is not code.
// It must be called before the first is built.
func SmallImages() { imageCode, laterCode = 0x100, 0x100 }

// laterCode is the same of the images of later chips.
var laterCode = 0x8000

func proSpec(psid, prs string, version [3]uint16, date uint32) Spec {
	return Spec{
		PSID: psid, Version: version, Product: fmt.Sprintf("%02d.%02d.%02d.%02d", version[0], version[1], version[2]/100,
			version[2]%100),
		Date: date, Device: 0x1007, HWIDs: []uint32{0x1f7}, VSD: "n/a", PRS: prs,
		GUIDs: PlaceholderGUIDs, MACs: PlaceholderMACs, Failsafe: true, Code: imageCode,
	}
}

var current = [3]uint16{2, 42, 5000}

// Images are built once: hundreds of cards share their bytes, which nobody may change.
var (
	// EN is the Ethernet-only firmware that the lab's cards are delivered with.
	EN = sync.OnceValue(func() []byte {
		return Build(proSpec(PSIDEN, "synthetic_cx3pro_en.prs", [3]uint16{2, 40, 5032}, 0x20170116))
	})
	// OldEN is an older version of EN.
	OldEN = sync.OnceValue(func() []byte {
		return Build(proSpec(PSIDEN, "synthetic_cx3pro_en.prs", [3]uint16{2, 36, 5000}, 0x20160114))
	})
	// VPI is the firmware of the lab's main scenario.
	VPI = sync.OnceValue(func() []byte { return Build(vpiSpec()) })
	// OldVPI is an older version of VPI.
	OldVPI = sync.OnceValue(func() []byte {
		return Build(proSpec(PSIDVPI, "synthetic_cx3pro_vpi.prs", [3]uint16{2, 36, 5000}, 0x20160114))
	})
	// NonFailsafeVPI is VPI without the two-slot layout, as some vendor files are.
	NonFailsafeVPI = sync.OnceValue(func() []byte {
		s := vpiSpec()
		s.Failsafe = false
		return Build(s)
	})
	// CX3 is for the chip before: it does not fit a ConnectX-3 Pro.
	CX3 = sync.OnceValue(func() []byte {
		s := proSpec(PSIDCX3, "synthetic_cx3_vpi.prs", current, 0x20170905)
		s.Device, s.HWIDs = 0x1003, []uint32{0x1f5, 0x101f5}
		return Build(s)
	})
)

func vpiSpec() Spec { return proSpec(PSIDVPI, "synthetic_cx3pro_vpi.prs", current, 0x20170905) }

// HP is the firmware of an OEM's board: VPI, with the OEM's PSID and version data.
var HP = sync.OnceValue(func() []byte {
	s := proSpec(PSIDHP, "synthetic_hp_544flr.prs", [3]uint16{2, 42, 5700}, 0x20180618)
	s.VSD = "764285-B21"
	return Build(s)
})

// CX4 is an image of ConnectX-4.
func CX4(psid string, version [3]uint16) []byte { return BuildTOC(CX4Spec(psid, version)) }

// CX4Spec describes an image of ConnectX-4.
func CX4Spec(psid string, version [3]uint16) TOCSpec {
	return TOCSpec{
		Format: FS3, PSID: psid, Version: version, Product: fmt.Sprintf("%d.%d.%04d", version[0], version[1],
			version[2]), Date: 0x20200915,
		Device: 0x1013, HWIDs: []uint32{0x209}, PRS: "synthetic_cx4.prs", Part: "MCX455A-ECA_Ax", Log: 17, Code: laterCode,
	}
}

// CX5 is an image of ConnectX-5: as long as the flash, because its device data lie
// at the end.
func CX5(version [3]uint16) []byte {
	s := CX4Spec(PSIDCX5, version)
	s.Format, s.Device, s.HWIDs, s.PRS, s.Part = FS4, 0x1017, []uint32{0x20d}, "synthetic_cx5.prs", "MCX555A-ECA_Ax"
	return BuildTOC(s)
}

// corruptVPI is VPI with one byte of its code changed.
func corruptVPI() []byte {
	b := append([]byte{}, VPI()...)
	b[len(b)/2] ^= 0x40
	return b
}

// TruncatedVPI is VPI as a broken download leaves it.
func TruncatedVPI() []byte {
	data := VPI()
	return data[:min(0x40000, len(data)/2&^3)]
}

// File is an image written for the user.
type File struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
}

// Files are the images that WriteImages makes, by file name.
func Files() map[string][]byte {
	return map[string][]byte{
		"fw-ConnectX3Pro-en.bin":            EN(),
		"fw-ConnectX3Pro-vpi.bin":           VPI(),
		"fw-ConnectX3Pro-vpi-2_36_5000.bin": OldVPI(),
		"fw-ConnectX3Pro-vpi-nofs.bin":      NonFailsafeVPI(),
		"fw-ConnectX3-vpi.bin":              CX3(),
		"fw-ConnectX3Pro-vpi-corrupt.bin":   corruptVPI(),
		"fw-ConnectX3Pro-vpi-short.bin":     TruncatedVPI(),
		"fw-ConnectX4.bin":                  CX4(PSIDCX4, [3]uint16{12, 28, 4706}),
		"fw-ConnectX4-12_18_1000.bin":       CX4(PSIDCX4, [3]uint16{12, 18, 1000}),
		"fw-ConnectX4-other-board.bin":      CX4(PSIDCX4B, [3]uint16{12, 28, 4706}),
		"fw-ConnectX5.bin":                  CX5([3]uint16{16, 35, 8008}),
	}
}

// image is one of Files with its hash.
type image struct {
	data   []byte
	sha256 string
}

// made are the images of this process: each lab of a test writes them.
var made = sync.OnceValue(func() map[string]image {
	all := map[string]image{}
	for name, data := range Files() {
		sum := sha256.Sum256(data)
		all[name] = image{data, hex.EncodeToString(sum[:])}
	}
	return all
})

// WriteImages writes every image into a directory and returns them by name.
func WriteImages(dir string) (map[string]File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("card: make image directory: %w", err)
	}
	out := map[string]File{}
	for name, i := range made() {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, i.data, 0o644); err != nil {
			return nil, fmt.Errorf("card: write image: %w", err)
		}
		out[name] = File{Name: name, Path: file, SHA256: i.sha256, Size: len(i.data)}
	}
	return out, nil
}
