package ib

import (
	"fmt"
	"strings"
)

// LinkType is the protocol of one port.
type LinkType string

// The link types of a VPI port. "auto" lets the card sense the cable.
const (
	LinkTypeIB   LinkType = "ib"
	LinkTypeETH  LinkType = "eth"
	LinkTypeAuto LinkType = "auto"
)

// ParseLinkType reads "ib", "eth" and "auto" in any case.
func ParseLinkType(s string) (LinkType, error) {
	switch t := LinkType(strings.ToLower(s)); t {
	case LinkTypeIB, LinkTypeETH, LinkTypeAuto:
		return t, nil
	}
	return "", fmt.Errorf("invalid link type %q: want ib, eth or auto", s)
}

// String gives the link type as it is.
func (t LinkType) String() string { return string(t) }

// IPoIBMode is the transport of an IP-over-InfiniBand interface.
type IPoIBMode string

// The modes as /sys/class/net/*/mode spells them.
const (
	ModeDatagram  IPoIBMode = "datagram"
	ModeConnected IPoIBMode = "connected"
)

// ParseIPoIBMode reads "datagram" and "connected" in any case.
func ParseIPoIBMode(s string) (IPoIBMode, error) {
	switch m := IPoIBMode(strings.ToLower(s)); m {
	case ModeDatagram, ModeConnected:
		return m, nil
	}
	return "", fmt.Errorf("invalid IPoIB mode %q: want datagram or connected", s)
}

// String gives the mode as it is.
func (m IPoIBMode) String() string { return string(m) }

const (
	// ConnectedMaxMTU is IPOIB_CM_MTU of Linux (drivers/infiniband/ulp/ipoib):
	// 65536 minus 16 bytes of headroom.
	ConnectedMaxMTU = 65520
	// DatagramOverhead is the encapsulation header of RFC 4391 that the IB MTU
	// must hold besides the packet.
	DatagramOverhead = 4
)

// MaxMTU gives the largest interface MTU in bytes. In datagram mode it is the
// IB MTU (256, 512, 1024, 2048 or 4096) less the encapsulation header: 2044 for
// 2048, 4092 for 4096. In connected mode ibMTU does not matter. It returns 0
// if the mode is unknown or, in datagram mode, if ibMTU is no InfiniBand MTU.
func MaxMTU(mode IPoIBMode, ibMTU int) int {
	switch mode {
	case ModeConnected:
		return ConnectedMaxMTU
	case ModeDatagram:
		switch ibMTU {
		case 256, 512, 1024, 2048, 4096:
			return ibMTU - DatagramOverhead
		}
	}
	return 0
}
