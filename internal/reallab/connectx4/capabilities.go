//go:build linux

package connectx4

// Limits that several answers have in common, as powers of two.
const (
	logMessage  = 24
	logQueuePRs = 15 // requests in a queue of a queue pair
	logFlows    = 16
)

// Kinds of capabilities (enum mlx5_cap_type).
const (
	capGeneral     = 0
	capEthernet    = 1
	capFlows       = 7
	capAccelerated = 6
)

// general are the capabilities that a driver asks for first (struct
// mlx5_ifc_cmd_hca_cap_bits).
var general = fields{
	{0x80, 8}:   15,          // log_max_srq_sz
	{0x88, 8}:   logQueuePRs, // log_max_qp_sz
	{0x9b, 5}:   18,          // log_max_qp
	{0xab, 5}:   16,          // log_max_srq
	{0xc0, 8}:   30,          // max_sgl_for_optimized_performance
	{0xc8, 8}:   logQueue,    // log_max_cq_sz
	{0xdb, 5}:   16,          // log_max_cq
	{0xe0, 8}:   logQueue,    // log_max_eq_sz
	{0xea, 6}:   24,          // log_max_mkey
	{0xfc, 4}:   7,           // log_max_eq
	{0x100, 8}:  4,           // max_indirection
	{0x109, 7}:  40,          // log_max_mrw_sz
	{0x11a, 6}:  16,          // log_max_klm_list_size
	{0x14a, 6}:  4,           // log_max_ra_req_qp
	{0x15a, 6}:  4,           // log_max_ra_res_qp
	{0x170, 16}: 0,           // gid_table_size: 8
	{0x190, 16}: 0,           // pkey_table_size: 128
	{0x1a2, 1}:  1,           // ib_virt
	{0x1ab, 5}:  16,          // local_ca_ack_delay
	{0x1b8, 8}:  1,           // num_ports
	{0x1c3, 5}:  logMessage,  // log_max_msg
	{0x1cc, 4}:  1,           // max_tc
	{0x1e0, 16}: 0x3f,        // stat_rate_support
	{0x1fc, 4}:  0,           // cqe_version
	{0x200, 1}:  1,           // compact_address_vector
	{0x220, 1}:  1,           // cq_oi
	{0x221, 1}:  1,           // cq_resize
	{0x228, 1}:  1,           // block_lb_mc
	{0x22c, 1}:  1,           // cd
	{0x230, 1}:  1,           // umr_ptr_rlky
	{0x236, 1}:  1,           // qkv
	{0x237, 1}:  1,           // pkv
	{0x23c, 1}:  1,           // xrc: without it mlx5_ib ends with ENOMEM
	{0x23d, 1}:  1,           // ud
	{0x23f, 1}:  1,           // rc
	{0x24a, 6}:  logBAR,      // uar_sz
	{0x258, 8}:  12,          // log_pg_sz
	{0x260, 1}:  1,           // bf
	{0x26b, 5}:  9,           // log_bf_reg_size
	{0x290, 16}: 1024,        // max_wqe_sz_sq
	{0x2b0, 16}: 512,         // max_wqe_sz_rq
	{0x2e7, 25}: maxMembers,  // max_qp_mcg
	{0x318, 8}:  13,          // log_max_mcg
	{0x323, 5}:  16,          // log_max_transport_domain
	{0x32b, 5}:  16,          // log_max_pd
	{0x33b, 5}:  16,          // log_max_xrcd
	{0x363, 5}:  16,          // log_max_rq
	{0x36b, 5}:  16,          // log_max_sq
	{0x373, 5}:  16,          // log_max_tir
	{0x37b, 5}:  16,          // log_max_tis
	{0x383, 5}:  16,          // log_max_rmp
	{0x38b, 5}:  16,          // log_max_rqt
	{0x393, 5}:  7,           // log_max_rqt_size
	{0x39b, 5}:  0,           // log_max_tis_per_sq
	{0x3a3, 5}:  13,          // log_max_stride_sz_rq
	{0x3ab, 5}:  4,           // log_min_stride_sz_rq
	{0x3b3, 5}:  6,           // log_max_stride_sz_sq
	{0x3bb, 5}:  6,           // log_min_stride_sz_sq
	{0x3db, 5}:  15,          // log_max_wq_sz
	{0x3f3, 5}:  13,          // log_max_current_mc_list
	{0x3fb, 5}:  7,           // log_max_current_uc_list
	{0x470, 16}: 64,          // max_num_eqs
	{0x483, 5}:  7,           // log_max_l2_table
	{0x4c0, 32}: clockMHz,    // device_frequency_mhz
	{0x4e0, 32}: clockMHz * 1000,
}

// Capabilities that depend on the type of the port.
var (
	capPortType      = field{0x1b6, 2} // 0 InfiniBand, 1 Ethernet
	capEnhanced      = field{0x203, 1} // accelerated IPoIB, which is datagram only
	capFlowTable     = field{0x1a6, 1}
	capOffloads      = field{0x21c, 1}
	capEthernetVport = field{0x1a3, 1}
)

// capManagement says that there is a register that says which others there are. The driver asks
// for those of an update only with it.
var capManagement = field{0x1a9, 1}

// kept are what a driver may set of the general capabilities (SET_HCA_CAP).
var kept = []field{{0x9b, 5}, {0x190, 16}, {0x210, 2}, {0x490, 16}}

// offloads are those of the accelerated data path (struct
// mlx5_ifc_per_protocol_networking_offload_caps_bits).
var offloads = fields{
	{0x00, 1}: 1,          // csum_cap
	{0x01, 1}: 1,          // vlan_cap
	{0x0b, 5}: logSegment, // max_lso_cap
	{0x12, 2}: 2,          // wqe_inline_mode: none is required
	{0x14, 4}: 7,          // rss_ind_tbl_cap
}

// flows are the properties of tables for packets that come in (struct
// mlx5_ifc_flow_table_prop_layout_bits), which begin at flowsAt.
var flows = fields{
	{0x00, 1}:  1, // ft_support
	{0x03, 1}:  1, // flow_modify_en
	{0x04, 1}:  1, // modify_root
	{0x05, 1}:  1, // identified_miss_table_mode
	{0x06, 1}:  1, // flow_table_modify
	{0x22, 6}:  logFlows,
	{0x38, 8}:  64, // max_ft_level
	{0x78, 8}:  16, // log_max_ft_num
	{0x98, 8}:  10, // log_max_destination
	{0xb8, 8}:  logFlows,
	{0x102, 1}: 1, // outer_ether_type
	{0x103, 1}: 1, // outer_ip_version
	{0x10c, 1}: 1, // outer_sip
	{0x10d, 1}: 1, // outer_dip
	{0x10f, 1}: 1, // outer_ip_protocol
	{0x112, 1}: 1, // outer_udp_sport
	{0x113, 1}: 1, // outer_udp_dport
	{0x114, 1}: 1, // outer_tcp_sport
	{0x115, 1}: 1, // outer_tcp_dport
}

const flowsAt = 0x40

// capabilities are the general ones of a card that has booted.
func (f *Function) capabilities() []byte {
	b := make([]byte, 0x1000)
	general.put(b)
	ib := f.infiniBand()
	fields{capPortType: flag(!ib), capEnhanced: flag(ib), capFlowTable: flag(!ib), capOffloads: flag(!ib),
		capEthernetVport: flag(!ib), capManagement: flag(f.Model.Update() != nil)}.put(b)
	return b
}

// queryCapabilities answers for a kind; those that are not known here are all zero.
func (h *hca) queryCapabilities(r *request) byte {
	o := r.out[0x10:]
	switch r.opMod >> 1 {
	case capGeneral:
		copy(o, h.capabilities)
	case capEthernet, capAccelerated:
		offloads.put(o)
	case capFlows:
		flows.put(o[flowsAt:])
	}
	return ok
}

func (h *hca) setCapabilities(r *request) byte {
	if r.opMod>>1 != capGeneral {
		return ok
	}
	for _, f := range kept {
		f.put(h.capabilities, f.get(r.in[0x10:]))
	}
	return ok
}
