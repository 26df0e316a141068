package fwimage

const headerFS2 = 0x38

type section struct {
	kind   uint32
	offset int64 // of the header
	size   int64 // with header and CRC
}

func parseFS2File(_ []byte, loc location) (*Image, error) {
	return nil, &UnsupportedFormatError{Format: loc.format, Offset: loc.first()}
}

func parseFS2Flash(_ []byte, loc location) (*Flash, error) {
	return nil, &UnsupportedFormatError{Format: loc.format, Offset: loc.first()}
}
