package pseudonym

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// split gives the first three bytes of an address, which are those of its maker, and the last three. A
// GUID that was made of a MAC address has those of the address, whatever stands between them; some
// programs print a MAC address with zeros in front, and some set a bit where they put ff:fe between.
func split(value uint64, bits int) (maker, number uint32) {
	number = uint32(value & 0xffffff)
	switch {
	case bits == 64 && value>>48 == 0:
		bits = 48
	case bits == 64 && value>>24&0xffff == 0xfffe && value>>56&2 != 0:
		value ^= 2 << 56
	}
	return uint32(value >> (bits - 24)), number
}

// isPlaceholder reports whether many have this address: none, all ones, what firmware comes with,
// a broadcast or a multicast address.
func isPlaceholder(value uint64, bits int) bool {
	maker, _ := split(value, bits)
	all := ^uint64(0) >> (64 - bits)
	return maker == 0 || value == all || maker&0x010000 != 0 || bits == 64 && (value>>8 == 0x0002c9000100d0 ||
		value>>48 == 0xfe80)
}

// learnAddress notes an address of a maker, so that what stands for its addresses keeps their order.
func (t *Table) learnAddress(value uint64, bits int) {
	if isPlaceholder(value, bits) {
		return
	}
	maker, number := split(value, bits)
	reach, known := t.makers[maker]
	if !known {
		reach = [2]uint32{number, number}
	}
	t.makers[maker] = [2]uint32{min(reach[0], number), max(reach[1], number)}
}

// shift is what is added to the numbers of a maker: whole pages, so that what stands for the
// addresses of one card is counted as before, and never beyond the last number.
func (t *Table) shift(maker uint32) uint32 {
	if by, known := t.shifts[maker]; known {
		return by
	}
	reach, known := t.makers[maker]
	if !known {
		return 0
	}
	down, up := reach[0]>>8, (0xffff00-reach[1]&0xffff00)>>8
	pages := int64(t.number("maker", strconv.Itoa(int(maker)), down+up+1)) - int64(down)
	if pages == 0 {
		pages = 1
		if up == 0 {
			pages = -1
		}
	}
	t.shifts[maker] = uint32(pages<<8) & 0xffffff
	return t.shifts[maker]
}

// address is what stands for an address of a maker.
func (t *Table) address(value uint64, bits int) uint64 {
	if isPlaceholder(value, bits) {
		return value
	}
	maker, number := split(value, bits)
	return value&^0xffffff | uint64((number+t.shift(maker))&0xffffff)
}

// hexAddress replaces an address without marks.
func (t *Table) hexAddress(digits string, bits int) string {
	value, err := strconv.ParseUint(digits, 16, bits)
	if err != nil {
		return digits
	}
	is := fmt.Sprintf("%0*x", len(digits), t.address(value, bits))
	if digits != strings.ToLower(digits) {
		is = strings.ToUpper(is)
	}
	return t.note(digits, is)
}

// colons is an address with marks: of Ethernet, of IPoIB, a GUID, or of IPv6.
func (t *Table) colons(token string) string {
	switch n := grouped(token, 2); {
	case n == 6 || n == 8:
		return t.marked(token, 0, 8*n)
	case n == 20 && isBroadcast(token):
		return t.broadcastKey(token)
	case n == 20: // queue pair, prefix, GUID
		return t.marked(token, 12, 64)
	}
	if grouped(token, 4) == 4 {
		return t.marked(token, 0, 64)
	}
	return t.written6(token)
}

// grouped is the number of groups of an address that has so many digits in each, and one mark between two; 0
// for any other text, such as one with the length of a prefix.
func grouped(token string, digits int) int {
	groups := strings.FieldsFunc(token, func(c rune) bool { return c == ':' || c == '-' })
	for _, g := range groups {
		if len(g) != digits || strings.Trim(g, "0123456789abcdefABCDEF") != "" {
			return 0
		}
	}
	if len(token) != len(groups)*(digits+1)-1 {
		return 0
	}
	return len(groups)
}

// written6 is an address of IPv6, with or without the length of its prefix and a colon behind it.
func (t *Table) written6(token string) string {
	address, length, slash := strings.Cut(token, "/")
	text := address
	if !strings.HasSuffix(address, "::") {
		text = strings.TrimSuffix(address, ":")
	}
	a, err := netip.ParseAddr(text)
	if bits, _ := strconv.Atoi(length); err != nil || !a.Is6() || slash && bits < 48 {
		return token
	}
	is := t.ipv6(a)
	if is == a {
		return token
	}
	with := is.String()
	if len(text) == len("fe80:0000:0000:0000:0000:0000:0000:0000") {
		with = is.StringExpanded()
	}
	return t.note(text, with) + token[len(text):]
}

// marked replaces an address of bits that begins behind skip bytes, and keeps the marks.
func (t *Table) marked(token string, skip, bits int) string {
	plain := strings.NewReplacer(":", "", "-", "").Replace(token)
	is := plain[:2*skip] + t.hexAddress(plain[2*skip:2*skip+bits/4], bits) + plain[2*skip+bits/4:]
	var out strings.Builder
	for i := range len(token) {
		if token[i] == ':' || token[i] == '-' {
			out.WriteByte(token[i])
			continue
		}
		out.WriteByte(is[0])
		is = is[1:]
	}
	return out.String()
}

// ipv6 is what stands for an address of IPv6: another network, and behind it what stands for the
// address of the interface.
func (t *Table) ipv6(a netip.Addr) netip.Addr {
	b := a.As16()
	if b[0] == 0xff && b[2] == 0x40 && b[3] == 0x1b { // a group of IPoIB has the P_Key
		key := t.pkey(binary.BigEndian.Uint16(b[4:]))
		binary.BigEndian.PutUint16(b[4:], key)
		return netip.AddrFrom16(b)
	}
	if a.IsMulticast() || a.IsLoopback() || a.IsUnspecified() || a.Is4In6() {
		return a
	}
	if !a.IsLinkLocalUnicast() {
		h := t.hash("net6", string(b[:6]))
		if a.IsPrivate() {
			copy(b[1:6], h)
		} else {
			copy(b[:6], []byte{0x20, 0x01, 0x0d, 0xb8, h[0], h[1]})
		}
	}
	binary.BigEndian.PutUint64(b[8:], t.interfaceID(binary.BigEndian.Uint64(b[8:])))
	return netip.AddrFrom16(b)
}

// interfaceID is what stands for the last half of an address: that of a MAC address, of a GUID as it
// is or as IPoIB writes it, or one that somebody has chosen.
func (t *Table) interfaceID(id uint64) uint64 {
	const local = uint64(2) << 56
	if id>>24&0xffff == 0xfffe {
		mac := (id^local)>>40<<24 | id&0xffffff
		is := t.address(mac, 48)
		return (is>>24<<40 | 0xfffe<<24 | is&0xffffff) ^ local
	}
	for _, flip := range []uint64{0, local} {
		maker, _ := split(id^flip, 64)
		if _, known := t.makers[maker]; known {
			return t.address(id^flip, 64) ^ flip
		}
	}
	if id < 1<<32 {
		return id
	}
	return binary.BigEndian.Uint64(t.hash("id6", strconv.FormatUint(id, 16)))
}

// private are the ranges of which an address stays in its own.
var private = [3]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16")}

// isNobodys reports whether an address of IPv4 says nothing of a network.
func isNobodys(a netip.Addr) bool {
	first := a.As4()[0]
	return first == 0 || first == 127 || first >= 224 || a.IsLinkLocalUnicast()
}

// ipv4 is what stands for an address, with or without the length of its prefix. The part of the host
// stays.
func (t *Table) ipv4(token string) string {
	text, length, slash := strings.Cut(token, "/")
	a, err := netip.ParseAddr(text)
	if err != nil || isNobodys(a) {
		return token
	}
	bits, _ := strconv.Atoi(length)
	if slash && bits == 0 {
		return token
	}
	is := t.note(text, t.ip4(a).String())
	if slash {
		is += "/" + length
	}
	return is
}

func (t *Table) ip4(a netip.Addr) netip.Addr {
	if isNobodys(a) {
		return a
	}
	b := a.As4()
	for i, in := range private {
		if in.Contains(a) {
			binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])^t.mask(i))
			return netip.AddrFrom4(b)
		}
	}
	// What is reserved for tests of networks stands for everything public.
	from := netip.PrefixFrom(a, 24).Masked()
	to, known := t.public[from]
	if !known {
		n := len(t.public)
		to = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + n>>8&1), byte(n), 0}), 24)
		t.public[from] = to
	}
	with := to.Addr().As4()
	with[3] = b[3]
	return netip.AddrFrom4(with)
}

// mask are the bits that change in a private range: those that the networks there have in common
// with nothing but their prefix.
func (t *Table) mask(i int) uint32 {
	own := private[i].Bits()
	width := t.masks[i] - own
	if width <= 0 {
		return 0
	}
	n := 1 + t.number("net4", private[i].String(), 1<<width-1)
	return n << (32 - t.masks[i])
}

// learnNetwork notes the prefix of a network, so that addresses of one network stay in one.
func (t *Table) learnNetwork(address string, bits int) {
	a, err := netip.ParseAddr(address)
	if err != nil || bits <= 0 {
		return
	}
	for i, in := range private {
		if in.Contains(a) && bits < t.masks[i] {
			t.masks[i] = bits
		}
	}
}

// route is a line of the kernel's tables.
func (t *Table) route(token string) string {
	words := strings.Fields(token)
	for i, w := range words[2:] {
		raw, err := hex.DecodeString(w)
		switch {
		case err != nil:
		case len(raw) == 4 && i != 1: // the second one is the mask
			words[2+i] = t.little(w)
		case len(raw) == 16:
			words[2+i] = t.note(w, hex.EncodeToString(t.ipv6(netip.AddrFrom16([16]byte(raw))).AsSlice()))
		}
	}
	return strings.Join(words, " ")
}

// little is what stands for an address of IPv4 as the kernel prints it.
func (t *Table) little(digits string) string {
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != 4 {
		return digits
	}
	is := t.ip4(netip.AddrFrom4([4]byte{raw[3], raw[2], raw[1], raw[0]})).As4()
	return t.note(digits, fmt.Sprintf("%02X%02X%02X%02X", is[3], is[2], is[1], is[0]))
}

// socket is what stands for both ends of a connection.
func (t *Table) socket(token string) string {
	words := strings.Fields(token)
	for i, w := range words[:2] {
		address, port, _ := strings.Cut(w, ":")
		if len(address) == 8 {
			words[i] = t.little(address) + ":" + port
			continue
		}
		raw, err := hex.DecodeString(address)
		if err != nil || len(raw) != 16 {
			continue
		}
		is := t.ipv6(netip.AddrFrom16([16]byte(swapped(raw))))
		words[i] = strings.ToUpper(hex.EncodeToString(swapped(is.AsSlice()))) + ":" + port
	}
	return strings.Join(words, " ")
}

// swapped turns the bytes of each word around.
func swapped(raw []byte) []byte {
	out := make([]byte, len(raw))
	for i := range raw {
		out[i] = raw[i&^3+3-i&3]
	}
	return out
}
