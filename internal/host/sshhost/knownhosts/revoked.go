package knownhosts

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // key revocation lists name keys by it
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/ssh"
)

// revokedKeys is the file of RevokedHostKeys: a list of public keys, or a key
// revocation list as `ssh-keygen -k` makes it. nil revokes nothing.
type revokedKeys struct {
	file   string
	keys   [][]byte
	sha1   [][]byte
	sha256 [][]byte
	certs  []revokedCerts
}

// revokedCerts are certificates of one authority, or of any if it is not named.
type revokedCerts struct {
	authority []byte
	serials   []serialRange
	bitmaps   []serialBitmap
	ids       []string
}

type serialRange struct{ from, to uint64 }

type serialBitmap struct {
	from uint64
	bits *big.Int
}

// maxRevoked bounds the file.
const maxRevoked = 64 << 20

const krlMagic = "SSHKRL\n\x00"

// readRevoked reads the file, if there is one. ssh refuses every host if it cannot
// be read, and so does this.
func readRevoked(file string) (*revokedKeys, error) {
	if file == "" {
		return nil, nil
	}
	data, err := ReadFile(file, maxRevoked)
	if err != nil {
		return nil, fmt.Errorf("the RevokedHostKeys of the SSH client configuration cannot be read: %w", err)
	}
	r := &revokedKeys{file: file}
	if bytes.HasPrefix(data, []byte(krlMagic)) {
		err = r.list(data)
	} else {
		err = r.text(data)
	}
	if err != nil {
		return nil, fmt.Errorf("the RevokedHostKeys %s: %w", file, err)
	}
	return r, nil
}

func (r *revokedKeys) text(data []byte) error {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(line)
		if err != nil {
			return fmt.Errorf("line %d is not a public key: %w", i+1, err)
		}
		r.keys = append(r.keys, key.Marshal())
	}
	return nil
}

// names returns where a key is revoked.
func (r *revokedKeys) names(key ssh.PublicKey) (where string, ok bool) {
	if r == nil {
		return "", false
	}
	for _, part := range partsOf(key) {
		blob := part.Marshal()
		one, two := sha1.Sum(blob), sha256.Sum256(blob) //nolint:gosec // see the import
		if holds(r.keys, blob) || holds(r.sha1, one[:]) || holds(r.sha256, two[:]) {
			return r.file, true
		}
	}
	cert, ok := key.(*ssh.Certificate)
	if ok && slices.ContainsFunc(r.certs, func(c revokedCerts) bool { return c.names(cert) }) {
		return r.file, true
	}
	return "", false
}

func holds(list [][]byte, want []byte) bool {
	return slices.ContainsFunc(list, func(b []byte) bool { return bytes.Equal(b, want) })
}

// A serial of 0 is one that the authority did not give; OpenSSH ignores it too (krl.c).
func (c revokedCerts) names(cert *ssh.Certificate) bool {
	if len(c.authority) > 0 && !bytes.Equal(c.authority, cert.SignatureKey.Marshal()) {
		return false
	}
	serial := cert.Serial
	return slices.Contains(c.ids, cert.KeyId) ||
		serial != 0 && (slices.ContainsFunc(c.serials,
			func(r serialRange) bool { return r.from <= serial && serial <= r.to }) ||
			slices.ContainsFunc(c.bitmaps, func(b serialBitmap) bool {
				// The length first: a serial far above the map does not fit an int.
				return serial >= b.from && serial-b.from < uint64(b.bits.BitLen()) && b.bits.Bit(int(serial-b.from)) == 1
			}))
}

// Kinds of sections of a key revocation list, from OpenSSH's PROTOCOL.krl.
const (
	krlCertificates = 1
	krlKeys         = 2
	krlSHA1         = 3
	krlSignature    = 4
	krlSHA256       = 5
	krlSerials      = 0x20
	krlSerialRange  = 0x21
	krlSerialBitmap = 0x22
	krlKeyIDs       = 0x23
)

var errKRL = errors.New("the key revocation list is damaged or of a kind that is not known")

// list reads a key revocation list. A section that is not known is an error, because
// it may revoke the key.
func (r *revokedKeys) list(data []byte) error {
	in := cryptobyte.String(data)
	var version uint32
	var rest cryptobyte.String
	// Three numbers of 8 bytes: that of the list, its date, its flags. Then a reserved string and the
	// comment (PROTOCOL.krl).
	if !in.Skip(len(krlMagic)) || !in.ReadUint32(&version) || version != 1 || !in.Skip(3*8) ||
		!readString(&in, &rest) || !readString(&in, &rest) {
		return errKRL
	}
	for !in.Empty() {
		var kind uint8
		var section cryptobyte.String
		if !in.ReadUint8(&kind) || !readString(&in, &section) || !r.section(kind, section) {
			return errKRL
		}
	}
	return nil
}

func (r *revokedKeys) section(kind uint8, in cryptobyte.String) bool {
	switch kind {
	case krlKeys:
		return blobs(in, &r.keys)
	case krlSHA1:
		return blobs(in, &r.sha1)
	case krlSHA256:
		return blobs(in, &r.sha256)
	case krlSignature:
		return true // vouches for the list itself; ssh does not check it either
	case krlCertificates:
		var authority, reserved cryptobyte.String
		if !readString(&in, &authority) || !readString(&in, &reserved) {
			return false
		}
		c := revokedCerts{authority: authority}
		for !in.Empty() {
			var part uint8
			var section cryptobyte.String
			if !in.ReadUint8(&part) || !readString(&in, &section) || !c.section(part, section) {
				return false
			}
		}
		r.certs = append(r.certs, c)
		return true
	}
	return false
}

func (c *revokedCerts) section(kind uint8, in cryptobyte.String) bool {
	var from, to uint64
	switch kind {
	case krlSerials:
		for !in.Empty() {
			if !in.ReadUint64(&from) {
				return false
			}
			c.serials = append(c.serials, serialRange{from, from})
		}
		return true
	case krlSerialRange:
		c.serials = append(c.serials, serialRange{from, to})
		last := &c.serials[len(c.serials)-1]
		return in.ReadUint64(&last.from) && in.ReadUint64(&last.to) && in.Empty()
	case krlSerialBitmap:
		var bits cryptobyte.String
		if !in.ReadUint64(&from) || !readString(&in, &bits) {
			return false
		}
		c.bitmaps = append(c.bitmaps, serialBitmap{from, new(big.Int).SetBytes(bits)})
		return in.Empty()
	case krlKeyIDs:
		var ids [][]byte
		ok := blobs(in, &ids)
		for _, id := range ids {
			c.ids = append(c.ids, string(id))
		}
		return ok
	}
	return false
}

// blobs reads strings to the end.
func blobs(in cryptobyte.String, out *[][]byte) bool {
	for !in.Empty() {
		var b cryptobyte.String
		if !readString(&in, &b) {
			return false
		}
		*out = append(*out, b)
	}
	return true
}

// readString reads a string of SSH: its length, and its bytes.
func readString(in *cryptobyte.String, out *cryptobyte.String) bool {
	var n uint32
	var b []byte
	if !in.ReadUint32(&n) || uint64(n) > uint64(len(*in)) || !in.ReadBytes(&b, int(n)) {
		return false
	}
	*out = b
	return true
}
