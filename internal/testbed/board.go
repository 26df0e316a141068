//go:build testbed && linux

package testbed

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
)

// Board is what the maker wrote about a board into its vital product data.
type Board = registers.Board

// Capabilities of the function, where ConnectX-3 has them. That of the vendor is the way to
// firmware that writes its own flash. Others have none here: with it the tools would take
// another way to the registers.
const (
	capVPD     = 0x48
	capExpress = 0x60
	capVendor  = 0xa0
)

// capabilities writes the list of capabilities behind a header.
func putCapabilities(h []byte, controlled bool) {
	le := binary.LittleEndian
	le.PutUint16(h[0x06:], 0x0010) // there is a list
	h[0x34] = capVPD
	h[capVPD], h[capVPD+1] = 0x03, capExpress
	h[capExpress] = 0x10
	if controlled {
		h[capExpress+1] = capVendor
		h[capVendor], h[capVendor+2] = registers.VendorID, registers.VendorSize
	}
	le.PutUint16(h[capExpress+0x02:], 0x0002)               // version 2, endpoint
	le.PutUint32(h[capExpress+0x0c:], 8<<24|8<<4|3)         // port 8, 8 lanes, 8 GT/s
	le.PutUint16(h[capExpress+0x12:], 8<<4|3)               // as it is now
	le.PutUint32(h[capExpress+0x2c:], (1<<1 | 1<<2 | 1<<3)) // the speeds that it can do
}
