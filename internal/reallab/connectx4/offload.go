//go:build linux

package connectx4

// What IPoIB leaves to the card: checksums, and parting a long segment of TCP into packets.
// A packet begins with the four bytes of IPoIB's own header: the type, as Ethernet has it.
const (
	encapsulation              = 4
	typeIPv4, typeIPv6         = 0x0800, 0x86dd
	protocolTCP, protocolUDP   = 6, 17
	ipv4Length, ipv4ID         = 2, 4
	ipv4Protocol, ipv4Checksum = 9, 10
	ipv4Source, ipv4Header     = 12, 20
	ipv6Length, ipv6Protocol   = 4, 6
	ipv6Source, ipv6Header     = 8, 40
	tcpSequence, tcpFlags      = 4, 13
	tcpChecksum, tcpHeader     = 16, 20
	udpLength, udpChecksum     = 4, 6
	udpHeader                  = 8
	tcpFin, tcpPush            = 0x01, 0x08
)

// Bounds of what comes as one segment, in bytes, and of the packets that it becomes.
const (
	logSegment  = 16
	maxSegments = 2048
)

// sum adds the words of b to a sum, as the Internet's checksum does.
func sum(v uint64, b []byte) uint64 {
	for ; len(b) >= 2; b = b[2:] {
		v += uint64(b[0])<<8 | uint64(b[1])
	}
	if len(b) == 1 {
		v += uint64(b[0]) << 8
	}
	return v
}

// fold makes 16 bits of a sum.
func fold(v uint64) uint16 {
	for v>>16 != 0 {
		v = v&0xffff + v>>16
	}
	return uint16(v)
}

// layers are the places of the headers of a packet of IPoIB.
type layers struct {
	ip       []byte // from its header to the end
	four     bool
	protocol byte
	l4       int // in ip; 0 if it is none that is known, or a fragment
}

// layersOf finds the headers; ip is nil if it is no packet of IP.
func layersOf(data []byte) (l layers) {
	if len(data) < encapsulation {
		return l
	}
	ip := data[encapsulation:]
	switch {
	case be.Uint16(data) == typeIPv4 && len(ip) >= ipv4Header && ip[0]>>4 == 4:
		l = layers{ip: ip, four: true, protocol: ip[ipv4Protocol], l4: int(ip[0]&0xf) * 4}
		if isFragment(ip) || l.l4 < ipv4Header {
			l.l4 = 0
		}
	case be.Uint16(data) == typeIPv6 && len(ip) >= ipv6Header && ip[0]>>4 == 6:
		l = layers{ip: ip, protocol: ip[ipv6Protocol], l4: ipv6Header}
	default:
		return l
	}
	if !l.hasPorts() {
		l.l4 = 0
	}
	return l
}

// isFragment reports whether a packet of IPv4 is a part of another.
func isFragment(ip []byte) bool { return be.Uint16(ip[6:])&0x3fff != 0 }

// hasPorts reports whether the packet is long enough for a header of TCP or UDP.
func (l *layers) hasPorts() bool {
	need := map[byte]int{protocolTCP: tcpHeader, protocolUDP: udpHeader}[l.protocol]
	return need != 0 && l.l4+need <= len(l.ip)
}

// addresses are source and destination.
func (l *layers) addresses() []byte {
	if l.four {
		return l.ip[ipv4Source : ipv4Source+8]
	}
	return l.ip[ipv6Source : ipv6Source+32]
}

// calculate fills in the checksums of a packet: of the header of IPv4, and of TCP or UDP.
func calculate(data []byte, l3, l4 bool) {
	l := layersOf(data)
	if l.ip == nil {
		return
	}
	if head := int(l.ip[0]&0xf) * 4; l3 && l.four && head >= ipv4Header && head <= len(l.ip) {
		be.PutUint16(l.ip[ipv4Checksum:], 0)
		be.PutUint16(l.ip[ipv4Checksum:], ^fold(sum(0, l.ip[:head])))
	}
	if !l4 || l.l4 == 0 {
		return
	}
	body, at := l.ip[l.l4:], tcpChecksum
	if l.protocol == protocolUDP {
		at = udpChecksum
	}
	be.PutUint16(body[at:], 0)
	v := ^fold(sum(sum(uint64(l.protocol)+uint64(len(body)), l.addresses()), body))
	if v == 0 && l.protocol == protocolUDP {
		v = 0xffff // 0 would say that there is none
	}
	be.PutUint16(body[at:], v)
}

// segments parts data into packets of at most size bytes behind a copy of head. Lengths,
// sequence numbers and flags go on from one to the next; checksums are left to calculate.
func segments(head, data []byte, size int) (all [][]byte) {
	if size <= 0 || len(data) > size*maxSegments {
		return nil
	}
	for at := 0; at < len(data); at += size {
		part := data[at:min(at+size, len(data))]
		packet := append(append(make([]byte, 0, len(head)+len(part)), head...), part...)
		l := layersOf(packet)
		if l.ip == nil {
			return nil
		}
		if l.four {
			be.PutUint16(l.ip[ipv4Length:], uint16(len(l.ip)))
			be.PutUint16(l.ip[ipv4ID:], be.Uint16(l.ip[ipv4ID:])+uint16(at/size))
		} else {
			be.PutUint16(l.ip[ipv6Length:], uint16(len(l.ip)-ipv6Header))
		}
		if l.l4 != 0 && l.protocol == protocolTCP {
			tcp := l.ip[l.l4:]
			be.PutUint32(tcp[tcpSequence:], be.Uint32(tcp[tcpSequence:])+uint32(at))
			if at+size < len(data) {
				tcp[tcpFlags] &^= tcpFin | tcpPush
			}
		}
		if l.l4 != 0 && l.protocol == protocolUDP {
			be.PutUint16(l.ip[l.l4+udpLength:], uint16(len(l.ip)-l.l4))
		}
		all = append(all, packet)
	}
	return all
}
