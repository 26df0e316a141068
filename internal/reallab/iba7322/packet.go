//go:build linux

package iba7322

import (
	"errors"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Sizes of headers (InfiniBand Architecture, chapters 7, 8 and 9): local route, global
// route, base transport, datagram, RDMA, acknowledgement, immediate data.
const (
	sizeLRH, sizeGRH, sizeBTH, sizeDETH, sizeRETH, sizeAETH, sizeImm = 8, 40, 12, 8, 16, 4, 4
)

// What follows the local route header.
const followsGRH, followsBTH = 3, 2

// managementLane is the virtual lane of subnet management.
const managementLane = 15

// extensions are the headers between the base transport header and the data.
type extensions struct{ datagram, rdma, ack, immediate bool }

// operations that the wire knows, of connections, whether they are reliable or not.
var operations = map[uint8]extensions{
	wire.SendFirst: {}, wire.SendMiddle: {}, wire.SendLast: {}, wire.SendOnly: {},
	wire.SendLastImm: {immediate: true}, wire.SendOnlyImm: {immediate: true},
	wire.WriteFirst: {rdma: true}, wire.WriteMiddle: {}, wire.WriteLast: {}, wire.WriteOnly: {rdma: true},
	wire.WriteLastImm: {immediate: true}, wire.WriteOnlyImm: {rdma: true, immediate: true},
	wire.ReadRequest: {rdma: true}, wire.ReadFirst: {ack: true}, wire.ReadMiddle: {},
	wire.ReadLast: {ack: true}, wire.ReadOnly: {ack: true}, wire.Acknowledge: {ack: true},
}

// operationBits are those of an opcode that do not name the transport.
const operationBits, datagramBits = 0x1f, 0x60

func extensionsOf(opcode uint8) (x extensions, known bool) {
	if opcode&^operationBits == datagramBits {
		immediate := opcode == wire.UDSendImm
		return extensions{datagram: true, immediate: immediate}, immediate || opcode == wire.UDSend
	}
	x, known = operations[opcode&operationBits]
	return x, known && opcode&^operationBits <= 0x20
}

func (x extensions) size() (n int) {
	for _, h := range []struct {
		there bool
		size  int
	}{{x.datagram, sizeDETH}, {x.rdma, sizeRETH}, {x.ack, sizeAETH}, {x.immediate, sizeImm}} {
		if h.there {
			n += h.size
		}
	}
	return n
}

var (
	errShort   = errors.New("a packet that is too short")
	errUnknown = errors.New("a packet that the wire does not know")
)

// decode reads a packet from its local route header on, without checksums.
func decode(b []byte) (*wire.Packet, error) {
	if len(b) < sizeLRH+sizeBTH {
		return nil, errShort
	}
	k := &wire.Packet{SL: b[1] >> 4, DLID: be.Uint16(b[2:]), SLID: be.Uint16(b[6:])}
	next := b[1] & 3
	b = b[sizeLRH:]
	if next == followsGRH {
		if len(b) < sizeGRH+sizeBTH {
			return nil, errShort
		}
		k.GRH, b = b[:sizeGRH], b[sizeGRH:]
	}
	k.Opcode, k.Solicited, k.PKey = b[0], b[1]&0x80 != 0, be.Uint16(b[2:])
	k.DestQP, k.PSN, k.AckRequest = be.Uint32(b[4:])&0xffffff, be.Uint32(b[8:])&0xffffff, b[8]&0x80 != 0
	pad := int(b[1] >> 4 & 3)
	b = b[sizeBTH:]
	x, known := extensionsOf(k.Opcode)
	switch {
	case !known || next < followsBTH:
		return nil, errUnknown
	case len(b) < x.size()+pad:
		return nil, errShort
	}
	k.Payload = x.decode(k, b[:len(b)-pad])
	return k, nil
}

// decode reads the headers that an opcode has, and gives what follows them.
func (x extensions) decode(k *wire.Packet, b []byte) []byte {
	if x.datagram {
		k.QKey, k.SrcQP = be.Uint32(b), be.Uint32(b[4:])&0xffffff
		b = b[sizeDETH:]
	}
	if x.rdma {
		k.Address, k.RKey, k.Length = be.Uint64(b), be.Uint32(b[8:]), be.Uint32(b[12:])
		b = b[sizeRETH:]
	}
	if x.ack {
		k.Syndrome, k.MessageSequence = b[0], be.Uint32(b)&0xffffff
		b = b[sizeAETH:]
	}
	if x.immediate {
		v := be.Uint32(b)
		k.Immediate = &v
		b = b[sizeImm:]
	}
	return b
}

// encode writes a packet: its headers, and its data with what fills them up to words of
// four bytes.
func encode(k *wire.Packet) (header, payload []byte) {
	x, _ := extensionsOf(k.Opcode)
	pad := -len(k.Payload) & 3
	payload = slices.Concat(k.Payload, make([]byte, pad))
	words := (sizeLRH + len(k.GRH) + sizeBTH + x.size() + len(payload) + checksum) / 4
	lane, next := byte(0), byte(followsBTH)
	if k.DestQP == 0 {
		lane = managementLane
	}
	if k.GRH != nil {
		next = followsGRH
	}
	b := []byte{lane << 4, k.SL<<4 | next}
	b = be.AppendUint16(b, k.DLID)
	b = be.AppendUint16(b, uint16(words))
	b = be.AppendUint16(b, k.SLID)
	b = append(b, k.GRH...)
	b = append(b, k.Opcode, flag(k.Solicited, 0x80)|byte(pad)<<4)
	b = be.AppendUint16(b, k.PKey)
	b = be.AppendUint32(b, k.DestQP)
	b = be.AppendUint32(b, uint32(flag(k.AckRequest, 0x80))<<24|k.PSN)
	return x.encode(k, b), payload
}

func flag(is bool, v byte) byte {
	if is {
		return v
	}
	return 0
}

// encode adds the headers that an opcode has.
func (x extensions) encode(k *wire.Packet, b []byte) []byte {
	if x.datagram {
		b = be.AppendUint32(b, k.QKey)
		b = be.AppendUint32(b, k.SrcQP)
	}
	if x.rdma {
		b = be.AppendUint64(b, k.Address)
		b = be.AppendUint32(b, k.RKey)
		b = be.AppendUint32(b, k.Length)
	}
	if x.ack {
		b = be.AppendUint32(b, uint32(k.Syndrome)<<24|k.MessageSequence)
	}
	if x.immediate {
		var v uint32
		if k.Immediate != nil {
			v = *k.Immediate
		}
		b = be.AppendUint32(b, v)
	}
	return b
}
