package fwimage

import (
	"fmt"
	"io"
)

// maxSize is the largest file in bytes that is read: twice the largest flash
// of the supported chips. It bounds memory.
const maxSize = 64 << 20

// Parse reads and verifies the image in the first size bytes of r. A file that
// it accepts has correct checksums throughout, and every field of the result
// comes from bytes under such a checksum.
//
// Errors are *Error, and whatever r returns.
func Parse(r io.ReaderAt, size int64) (*Image, error) {
	data, err := load(r, size)
	if err != nil {
		return nil, err
	}
	loc, err := locate(data)
	if err != nil {
		return nil, err
	}
	switch loc.format {
	case FS2:
		return parseFS2File(data, loc)
	case FS3, FS4:
		return parseTOCFile(data, loc)
	default:
		return nil, unsupported(loc.format, loc.first())
	}
}

// load reads the whole file after its first bytes have shown that it may be an image. A
// file that is too large is usually no image at all, and the message should say that.
func load(r io.ReaderAt, size int64) ([]byte, error) {
	if size <= 0 {
		return nil, notAnImage(KindEmpty, "the file has no content: fetch it again")
	}
	head := make([]byte, min(size, recognizeLen))
	if err := readFull(r, head); err != nil {
		return nil, err
	}
	if err := recognize(head); err != nil {
		return nil, err
	}
	if size > maxSize {
		return nil, notAnImage(KindTooLarge, fmt.Sprintf("%d bytes are more than the flash of any supported card holds (%d)",
			size, int64(maxSize)))
	}
	data := make([]byte, size)
	if err := readFull(r, data); err != nil {
		return nil, err
	}
	return data, nil
}

func readFull(r io.ReaderAt, buf []byte) error {
	n, err := r.ReadAt(buf, 0)
	if n == len(buf) {
		return nil // io.ReaderAt may report io.EOF together with the last byte
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading the image at offset %d: %w", n, err)
}
