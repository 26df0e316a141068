//go:build linux

package connectx4

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"

// hca is the card since its last reset.
type hca struct {
	transport.Held
	c            *Function
	queue        uint64 // bus address of the command queue
	capabilities []byte
	given        []uint64 // pages that the driver has given the firmware
	translations uint64   // bytes of all tables of memory keys
	lists        *budget
	eqs          *objects[*eq]
	cqs          *objects[*cq]
	mkeys        *objects[*mkey]
	qps          *objects[*qp]
	shared       *objects[*receiveQueue] // shared receive queues
	rqs          *objects[*receiveQueue]
	sqs          *objects[*rawSender]
	plain        map[uint16]*objects[struct{}] // objects that are a number only, by the command that makes them
	transports   *objects[uint32]              // queue pair of a TIS
	receivers    *objects[receiver]            // TIRs
	indirect     *objects[[]uint32]            // RQTs: numbers of receive queues
	tables       *objects[*flowTable]
	flowGroups   int               // of all flow tables, as
	flows        int               // their entries
	roots        map[uint32]uint32 // flow table of a queue pair
	groups       map[[16]byte]map[uint32]bool
	special      [2]uint32 // the queue pairs that management goes to
	ethernetMTU  uint16
}

// Numbers of objects have 24 bits. Shared receive queues are of two kinds, whose numbers
// the driver has in one table.
const (
	firstXRC   = 0x800000
	lastNumber = 0xffffff
)

func newHCA(c *Function) *hca {
	lists := new(budget)
	h := &hca{c: c, lists: lists, capabilities: c.capabilities(), eqs: newObjects[*eq](4, 0xff, lists), cqs: newObjects[*cq](0x80, lastNumber, lists),
		mkeys: newObjects[*mkey](0x1000, lastNumber, lists), qps: newObjects[*qp](0x48, lastNumber, lists),
		shared: newObjects[*receiveQueue](1, firstXRC-1, lists), rqs: newObjects[*receiveQueue](0x100000, 0x1fffff, lists),
		sqs: newObjects[*rawSender](0x200000, 0x2fffff, lists), plain: map[uint16]*objects[struct{}]{},
		transports: newObjects[uint32](1, lastNumber, lists), receivers: newObjects[receiver](1, lastNumber, lists),
		indirect: newObjects[[]uint32](1, lastNumber, lists), tables: newObjects[*flowTable](1, lastNumber, lists), roots: map[uint32]uint32{},
		groups: map[[16]byte]map[uint32]bool{}, ethernetMTU: ethernetMTU}
	for op := range pairs {
		h.plain[op] = newObjects[struct{}](1, lastNumber, lists)
	}
	h.plain[opCreateXRCSRQ] = newObjects[struct{}](firstXRC, lastNumber, lists)
	h.plain[opAllocUAR] = newObjects[struct{}](firstUAR, bar0Size/pageSize-1, lists)
	return h
}

// Commands.
const (
	opQueryCap, opQueryAdapter, opInit, opTeardown           = 0x100, 0x101, 0x102, 0x103
	opEnable, opDisable, opQueryPages, opManagePages         = 0x104, 0x105, 0x107, 0x108
	opSetCap, opQueryISSI, opSetISSI, opDriverVersion        = 0x109, 0x10a, 0x10b, 0x10d
	opCreateMkey, opDestroyMkey, opSpecialContexts           = 0x200, 0x202, 0x203
	opCreateEQ, opDestroyEQ                                  = 0x301, 0x302
	opCreateCQ, opDestroyCQ, opModifyCQ                      = 0x400, 0x401, 0x403
	opCreateQP, opDestroyQP, opResetToInit, opInitToRTR      = 0x500, 0x501, 0x502, 0x503
	opRTRToRTS, opRTSToRTS, opSQEToRTS, opToError            = 0x504, 0x505, 0x506, 0x507
	opToReset, opQueryQP, opSQDToRTS, opMAD, opInitToInit    = 0x50a, 0x50b, 0x50c, 0x50d, 0x50e
	opCreatePSV, opDestroyPSV                                = 0x600, 0x601
	opCreateXRCSRQ, opDestroyXRCSRQ, opArmXRCSRQ, opArmRQ    = 0x705, 0x706, 0x708, 0x703
	opVportState, opSetVportState, opNICVport, opSetNICVport = 0x750, 0x751, 0x754, 0x755
	opHCAVport, opSetHCAVport, opVportGID, opVportPKey       = 0x762, 0x763, 0x764, 0x765
	opVNICEnv, opVportCounter                                = 0x76f, 0x770
	opAllocCounter, opDropCounter, opQueryCounter            = 0x771, 0x772, 0x773
	opAllocPD, opDropPD, opAllocUAR, opDropUAR               = 0x800, 0x801, 0x802, 0x803
	opRegister, opAttach, opDetach, opNop                    = 0x805, 0x806, 0x807, 0x80d
	opAllocXRCD, opDropXRCD, opAllocTD, opDropTD             = 0x80e, 0x80f, 0x816, 0x817
	opSetL2, opDropL2                                        = 0x829, 0x82b
	opCreateTIR, opModifyTIR, opDestroyTIR                   = 0x900, 0x901, 0x902
	opCreateSQ, opModifySQ, opDestroySQ                      = 0x904, 0x905, 0x906
	opCreateRQ, opModifyRQ, opDestroyRQ                      = 0x908, 0x909, 0x90a
	opCreateRMP, opModifyRMP, opDestroyRMP                   = 0x90c, 0x90d, 0x90e
	opCreateTIS, opModifyTIS, opDestroyTIS                   = 0x912, 0x913, 0x914
	opCreateRQT, opModifyRQT, opDestroyRQT                   = 0x916, 0x917, 0x918
	opSetRoot, opCreateFlows, opDestroyFlows                 = 0x92f, 0x930, 0x931
	opCreateGroup, opDestroyGroup, opSetFlow, opDropFlow     = 0x933, 0x934, 0x936, 0x938
	opModifyFlows                                            = 0x93c
)

// pairs are the commands that make and destroy what is a number only.
var pairs = map[uint16]uint16{opAllocPD: opDropPD, opAllocUAR: opDropUAR, opAllocXRCD: opDropXRCD, opAllocTD: opDropTD,
	opAllocCounter: opDropCounter, opCreateXRCSRQ: opDestroyXRCSRQ}

// ignored are commands that have nothing to do here, and succeed.
var ignored = []uint16{opEnable, opSetISSI, opDriverVersion, opDestroyPSV, opArmXRCSRQ, opArmRQ, opSetVportState,
	opVNICEnv, opVportCounter, opQueryCounter, opNop, opModifyTIR, opModifyRMP, opModifyTIS, opSetL2, opDropL2}

// handler runs a command, and gives the status.
type handler func(*hca, *request) byte

var handlers = allHandlers()

func allHandlers() map[uint16]handler {
	all := map[uint16]handler{
		opQueryCap: (*hca).queryCapabilities, opSetCap: (*hca).setCapabilities, opQueryAdapter: (*hca).queryAdapter,
		opInit: (*hca).switchPort, opTeardown: (*hca).switchPort, opDisable: (*hca).switchPort,
		opQueryPages: (*hca).queryPages, opManagePages: (*hca).managePages, opQueryISSI: (*hca).queryISSI,
		opSpecialContexts: (*hca).specialContexts, opCreatePSV: (*hca).createPSV,
		opCreateMkey: (*hca).createMkey, opDestroyMkey: (*hca).destroyMkey,
		opCreateEQ: (*hca).createEQ, opDestroyEQ: (*hca).destroyEQ,
		opCreateCQ: (*hca).createCQ, opDestroyCQ: dropper(func(h *hca) *objects[*cq] { return h.cqs }), opModifyCQ: (*hca).modifyCQ,
		opCreateQP: (*hca).createQP, opDestroyQP: (*hca).destroyQP, opQueryQP: (*hca).queryQP,
		opMAD: (*hca).mad, opVportState: (*hca).vportState, opHCAVport: (*hca).vport, opSetHCAVport: (*hca).setVport,
		opVportGID: (*hca).vportGID, opVportPKey: (*hca).vportPKey, opRegister: (*hca).accessRegister,
		opNICVport: (*hca).ethernetVport, opSetNICVport: (*hca).setEthernetVport,
		opAttach: (*hca).attach, opDetach: (*hca).detach,
		opCreateRMP: (*hca).createShared, opDestroyRMP: dropper(func(h *hca) *objects[*receiveQueue] { return h.shared }),
		opCreateRQ: (*hca).createRQ, opModifyRQ: (*hca).modifyRQ,
		opDestroyRQ: dropper(func(h *hca) *objects[*receiveQueue] { return h.rqs }),
		opCreateSQ:  (*hca).createSQ, opModifySQ: (*hca).modifySQ,
		opDestroySQ: dropper(func(h *hca) *objects[*rawSender] { return h.sqs }),
		opCreateTIS: (*hca).createTIS, opDestroyTIS: dropper(func(h *hca) *objects[uint32] { return h.transports }),
		opCreateTIR: (*hca).createTIR, opDestroyTIR: dropper(func(h *hca) *objects[receiver] { return h.receivers }),
		opCreateRQT: (*hca).createRQT, opModifyRQT: (*hca).modifyRQT,
		opDestroyRQT: dropper(func(h *hca) *objects[[]uint32] { return h.indirect }),
		opSetRoot:    (*hca).setRoot, opCreateFlows: (*hca).createFlows, opModifyFlows: (*hca).modifyFlows,
		opDestroyFlows: (*hca).destroyFlows, opCreateGroup: (*hca).createGroup, opDestroyGroup: (*hca).destroyGroup,
		opSetFlow: (*hca).setFlow, opDropFlow: (*hca).dropFlow,
	}
	for op := range transitions {
		all[op] = (*hca).changeQP
	}
	for _, op := range ignored {
		all[op] = func(*hca, *request) byte { return ok }
	}
	for first, last := range pairs {
		all[first] = func(h *hca, r *request) byte {
			return h.plain[first].make(r, func(uint32) struct{} { return struct{}{} })
		}
		all[last] = func(h *hca, r *request) byte { return h.plain[first].drop(r) }
	}
	return all
}

func dropper[T any](of func(*hca) *objects[T]) handler {
	return func(h *hca, r *request) byte { return of(h).drop(r) }
}

// queryAdapter tells the board's PSID.
func (h *hca) queryAdapter(r *request) byte {
	const vendor, psid, psidBytes = 0x10 + 0x18, 0x10 + 0xf0, 16
	be.PutUint32(r.out[vendor:], 0x2c9)
	copy(r.out[psid:psid+psidBytes], h.c.Model.Running().PSID)
	return ok
}

// queryISSI offers the versions 0 and 1 of the driver's interface.
func (h *hca) queryISSI(r *request) byte {
	be.PutUint32(r.out[0x6c:], 1<<0|1<<1)
	return ok
}

func (h *hca) specialContexts(r *request) byte {
	be.PutUint32(r.out[0x0c:], reservedKey)
	return ok
}

// createPSV gives numbers for protection of data, which nothing here has.
func (h *hca) createPSV(r *request) byte {
	for i := range uint32(4) {
		be.PutUint32(r.out[0x10+4*i:], 1+i)
	}
	return ok
}

// queryPages says how many pages the firmware wants at boot and at start.
func (h *hca) queryPages(r *request) byte {
	be.PutUint32(r.out[0x0c:], map[uint16]uint32{1: 16, 2: 48}[r.opMod])
	return ok
}

// managePages takes pages of the driver, or gives them back.
func (h *hca) managePages(r *request) byte {
	const give, take = 1, 2
	n := int(be.Uint32(r.in[0x0c:]))
	switch r.opMod {
	case give:
		list := r.tail(0x10)
		if n > len(list)/8 || len(h.given)+n > maxObjects {
			return badParam
		}
		for i := range n {
			h.given = append(h.given, be.Uint64(list[8*i:]))
		}
	case take:
		n = min(n, len(h.given), max(0, len(r.out)-slack-0x10)/8)
		for i, addr := range h.given[:n] {
			be.PutUint64(r.out[0x10+8*i:], addr)
		}
		h.given = h.given[n:]
		r.answer(uint32(n))
	}
	return ok
}

// switchPort brings the link up when the driver starts, and down when it ends. A port of
// Ethernet has no cable here.
func (h *hca) switchPort(r *request) byte {
	h.c.port.Enable(r.op == opInit && h.c.infiniBand())
	return ok
}
