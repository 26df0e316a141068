package fwimage

// Section types of FS2.
const (
	kindBoot  = 0 // not in a section chain; stands for the boot blocks
	kindEMT   = 4 // the only one whose size is stored in bytes
	kindROM   = 5
	kindGUID  = 6
	kindInfo  = 10
	maxKnown  = 12
	blankCRC  = 0xffff
	nameBoot  = "BOOT2"
	nameImage = "Full Image"
)

var sectionNames = [...]string{
	nameBoot, "DDR", "Configuration", "Jump addresses", "EMT Service", "ROM", "GUID", "BOARD ID",
	"User Data", "FW Configuration", "Image Info", "DDRZ", "Hash File",
}

// section is a boot block or a section of the chain.
type section struct {
	kind   uint32
	offset int64 // of the header
	size   int64 // with header and CRC
	toc    bool  // kind is one of FS3 and FS4
}

func (s section) name() string {
	if s.toc {
		return tocSectionName(uint8(s.kind))
	}
	if s.kind <= maxKnown {
		return sectionNames[s.kind]
	}
	return "UNKNOWN"
}

func (s section) end() int64 { return s.offset + s.size }

// Section types of FS3 and FS4 that are looked into.
const (
	tocImageInfo    = 0x10
	tocROM          = 0x18
	tocSignature256 = 0xa0
	tocKeys2048     = 0xa1
	tocSignature512 = 0xa3
	tocKeys4096     = 0xa4
	tocMfgInfo      = 0xe0
	tocDevInfo      = 0xe1
)

// tocSectionNames are those of `mstflint v`.
var tocSectionNames = map[uint8]string{
	0x01: "BOOT_CODE", 0x02: "PCI_CODE", 0x03: "MAIN_CODE", 0x04: "PCIE_LINK_CODE", 0x05: "IRON_PREP_CODE",
	0x06: "POST_IRON_BOOT_CODE", 0x07: "UPGRADE_CODE", 0x08: "HW_BOOT_CFG", 0x09: "HW_MAIN_CFG", 0x0a: "PHY_UC_CODE",
	0x0b: "PHY_UC_CONSTS", 0x0c: "PCIE_PHY_UC_CODE", 0x0f: "BOOT3_CODE",
	tocImageInfo: "IMAGE_INFO", 0x11: "FW_BOOT_CFG", 0x12: "FW_MAIN_CFG", tocROM: "ROM_CODE", 0x20: "RESET_INFO",
	0x30: "DBG_FW_INI", 0x32: "DBG_FW_PARAMS", 0x33: "FW_ADB",
	tocSignature256: "IMAGE_SIGNATURE_256", tocKeys2048: "PUBLIC_KEYS_2048", 0xa2: "FORBIDDEN_VERSIONS",
	tocSignature512: "IMAGE_SIGNATURE_512", tocKeys4096: "PUBLIC_KEYS_4096", 0xa5: "HMAC_DIGEST", 0xa6: "RSA_PUBLIC_KEY",
	0xa7: "RSA_4096_SIGNATURES", tocMfgInfo: "MFG_INFO", tocDevInfo: "DEV_INFO", 0xe2: "NV_DATA", 0xe3: "VPD_R0",
	0xe4: "NV_DATA", 0xe5: "FW_NV_LOG", 0xe6: "NV_DATA", 0xe9: "CRDUMP_MASK_DATA", 0xea: "FW_INTERNAL_USAGE",
	0xeb: "PROGRAMMABLE_HW_FW", 0xec: "PROGRAMMABLE_HW_FW", 0xed: "DIGITAL_CERT_PTR", 0xee: "DIGITAL_CERT_RW",
	0xf2: "CERT_CHAIN_0", 0xf3: "DIGITAL_CACERT_RW",
}

func tocSectionName(kind uint8) string {
	if name, ok := tocSectionNames[kind]; ok {
		return name
	}
	return "UNKNOWN"
}
