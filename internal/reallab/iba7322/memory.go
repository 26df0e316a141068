//go:build linux

package iba7322

// newEEPROM is the memory of the board as struct qib_flash of qib_common.h has it: 128 bytes.
func newEEPROM(guid uint64, ports int, serial string) []byte {
	const version, length = 2, 82
	b := make([]byte, 128)
	b[0], b[2] = version, length
	be.PutUint64(b[3:], guid)
	b[11] = byte(ports)
	copy(b[12:24], serial)
	copy(b[24:], "20110101") // made
	copy(b[32:], "20110101") // tested
	copy(b[46:], "Tested successfully")
	b[1] = ^sum(b[:length])
	return b
}

// newCable is the memory of a copper cable of three metres, without equalisation, as
// qib_refresh_qsfp_cache of qib_qsfp.c reads it: 256 bytes.
func newCable() []byte {
	const qsfp, flat, metres, copper = 0x0d, 1 << 2, 3, 10 << 4
	b := make([]byte, 256)
	b[0], b[2] = qsfp, flat
	b[128], b[146], b[147] = qsfp, metres, copper
	copy(b[148:], "reallab         ")
	copy(b[168:], "QSFP-QDR-CU3    ")
	copy(b[184:], "A ")
	b[186], b[187] = 4, 6 // attenuation
	b[191] = sum(b[128:191])
	copy(b[196:], "0000000000000001")
	copy(b[212:], "110101")
	b[223] = sum(b[192:223])
	return b
}

func sum(b []byte) (s byte) {
	for _, v := range b {
		s += v
	}
	return s
}
