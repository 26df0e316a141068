//go:build linux

package connectx4

import (
	"bytes"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
)

// badPacket is the status of a datagram that the firmware does not answer.
const badPacket = 0x30

// Offsets in PortInfo (InfiniBand Architecture 14.2.5.6).
const (
	infoPrefix, infoLID, infoMaster, infoCapabilities = 8, 16, 18, 20
	infoWidth, infoState, infoPhysical, infoLMC       = 31, 32, 33, 34
	infoSpeed, infoMTU, infoTimeout, infoExtended     = 35, 36, 51, 62
)

// Where in a command a datagram is, and the LID that it came from, if the driver says so.
const (
	madAt   = 0x10
	madFrom = 0x08
)

// mad has the firmware answer a datagram, and tells the driver what it has changed: mlx5
// does not look into it, as mlx4 does.
func (h *hca) mad(r *request) byte {
	p, in := h.c.port, r.in[madAt:madAt+fabric.MADSize:madAt+fabric.MADSize]
	before, keys := p.Info(), p.PKeys()
	out, answered := p.MAD(in, be.Uint16(r.in[madFrom:]), r.opMod&1 != 0)
	if !answered {
		return badPacket
	}
	copy(r.out[madAt:], out)
	if !bytes.Equal(before[infoPrefix:infoCapabilities], p.Info()[infoPrefix:infoCapabilities]) {
		h.portEvent(portLID)
	}
	if !slices.Equal(keys, p.PKeys()) {
		h.portEvent(portPKeys)
	}
	if asksToReregister(in) {
		h.portEvent(portReregister)
	}
	return ok
}

// asksToReregister reports whether a datagram sets the bit of PortInfo that asks clients
// to join their groups again.
func asksToReregister(m []byte) bool {
	const class, method, attribute, data = 1, 3, 16, 64
	return m[class]&0x7f == 1 && m[method] == 2 && be.Uint16(m[attribute:]) == 0x15 && m[data+infoTimeout]&0x80 != 0
}

// Offsets in the context of a port of InfiniBand (struct mlx5_ifc_hca_vport_context_bits).
const (
	vportAt                                       = 0x10 // in a command and in an answer
	vportHas, vportPhysical, vportStates          = 0x20, 0x22, 0x23
	vportSystem, vportPortGUID, vportNode         = 0x28, 0x30, 0x38
	vportCapabilities, vportSelect, vportLID      = 0x40, 0x44, 0x60
	vportLMC, vportMaster, vportMasterSL          = 0x63, 0x64, 0x66
	vportHasSubnet, vportHasRaw              byte = 1 << 6, 1 << 5
)

// settable are the capabilities of a port that a driver may set: that it has a subnet
// manager, and services of the host.
const settable = 1<<1 | 1<<16 | 1<<19 | 1<<20 | 1<<21

func (h *hca) vport(r *request) byte {
	o, i, fw := r.out[vportAt:], h.c.port.Info(), h.c.Model.Running()
	o[vportHas] = vportHasSubnet | vportHasRaw
	o[vportPhysical] = i[infoPhysical] & 0xf0
	o[vportStates] = i[infoState]&0xf<<4 | i[infoState]&0xf
	be.PutUint64(o[vportSystem:], fw.GUIDs[0])
	be.PutUint64(o[vportPortGUID:], h.c.guid())
	be.PutUint64(o[vportNode:], h.c.guid())
	copy(o[vportCapabilities:], i[infoCapabilities:infoCapabilities+4])
	be.PutUint32(o[vportSelect:], settable)
	copy(o[vportLID:], i[infoLID:infoLID+2])
	o[vportLMC] = i[infoLMC]&7<<5 | i[infoTimeout]&0x1f
	copy(o[vportMaster:], i[infoMaster:infoMaster+2])
	o[vportMasterSL] = i[infoMTU] & 0xf << 4
	return ok
}

func (h *hca) setVport(r *request) byte {
	c := r.in[vportAt:]
	mask := be.Uint32(c[vportSelect:])
	old := be.Uint32(h.c.port.Info()[infoCapabilities:])
	h.c.port.SetCapabilities(old&^mask | be.Uint32(c[vportCapabilities:])&mask)
	return ok
}

// Queries of tables name an entry, or all.
const (
	tableIndex = 0x0e
	tableAt    = 0x10
	wholeTable = 0xffff
	gids       = 8
)

// vportGID answers entries of the GID table, which has one.
func (h *hca) vportGID(r *request) byte {
	index, n := be.Uint16(r.in[tableIndex:]), uint16(1)
	if index == wholeTable {
		n = gids
	}
	be.PutUint16(r.out[0x0c:], n)
	if gid := h.c.port.GID(); index == 0 || index == wholeTable {
		copy(r.out[tableAt:], gid[:])
	}
	return ok
}

// vportPKey answers entries of the P_Key table.
func (h *hca) vportPKey(r *request) byte {
	keys, index := h.c.port.PKeys(), int(be.Uint16(r.in[tableIndex:]))
	switch {
	case index == wholeTable:
	case index >= len(keys):
		return badParam
	default:
		keys = keys[index : index+1]
	}
	for i, k := range keys {
		be.PutUint16(r.out[tableAt+4*i+2:], k)
	}
	return ok
}

// vportState tells that the port is up to the host.
func (h *hca) vportState(r *request) byte {
	const administrative = 1
	r.out[0x0f] = administrative<<4 | byte(flag(h.c.port.Wire().Up()))
	return ok
}

// Offsets in the context of a port of Ethernet (struct mlx5_ifc_nic_vport_context_bits).
const (
	nicSystem, nicPortGUID, nicNode, nicAddress = 0x28, 0x30, 0x38, 0xf4
	nicMTU                                      = 0x26
	nicSelect, nicSelectMTU, nicSetAt           = 0x0c, 1 << 6, 0x100
	ethernetMTU                                 = 1522 // with Ethernet's headers and checksum
)

func (h *hca) ethernetVport(r *request) byte {
	o, fw := r.out[vportAt:], h.c.Model.Running()
	be.PutUint16(o[nicMTU:], h.ethernetMTU)
	be.PutUint64(o[nicSystem:], fw.GUIDs[0])
	be.PutUint64(o[nicPortGUID:], h.c.guid())
	be.PutUint64(o[nicNode:], h.c.guid())
	be.PutUint64(o[nicAddress:], fw.MACs[0]+uint64(h.c.index))
	return ok
}

// setEthernetVport takes the MTU. There is no link that the rest would count for.
func (h *hca) setEthernetVport(r *request) byte {
	if be.Uint32(r.in[nicSelect:])&nicSelectMTU != 0 {
		h.ethernetMTU = be.Uint16(r.in[nicSetAt+nicMTU:])
	}
	return ok
}
