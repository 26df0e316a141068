package middleware

import "strconv"

var otherMethods = map[string]method{
	"rdma.capable_protocols": {role: "NETWORK_INTERFACE_READ", call: func(s *Server, _ []any) (any, error) {
		return s.capable, nil
	}},
	// Private methods work for full administrators and are logged.
	"datastore.query": {role: fullAdmin, call: (*Server).datastoreQuery, params: []field{
		{name: "name", kind: kindString, required: true},
		queryParams[0], queryParams[1],
	}},
	"datastore.update": {role: fullAdmin, call: (*Server).datastoreUpdate, params: []field{
		{name: "name", kind: kindString, required: true},
		{name: "id", kind: kindInt, required: true},
		{name: "data", kind: kindAny, required: true},
		{name: "options", kind: kindAny},
	}},
}

func notFoundID(what string, id int) ValidationErrors {
	return notFound(what + " " + strconv.Itoa(id) + " does not exist")
}

const interfaceTable = "network.interfaces"

func (s *Server) datastoreQuery(args []any) (any, error) {
	if args[0] != interfaceTable {
		name, _ := args[0].(string)
		s.sys.Unsimulated("datastore " + name)
		return nil, &CallError{"EFAULT", "datastore " + name + " is not simulated"}
	}
	rows := make([]*Object, 0, len(s.db.net.rows))
	for _, r := range s.db.net.rows {
		rows = append(rows, rowObject(r))
	}
	filters, _ := args[1].([]any)
	return runQuery(rows, filters, asMap(args[2]))
}

func rowObject(r row) *Object {
	var mtu any
	if r.mtu != nil {
		mtu = *r.mtu
	}
	addr, mask, version := "", any(""), any("")
	if len(r.aliases) > 0 {
		a := r.aliases[0]
		addr, mask, version = a.ip, a.netmask, 4
		if a.v6 {
			version = 6
		}
	}
	return Obj("id", r.id, "int_interface", r.name, "int_name", r.desc, "int_dhcp", r.dhcp,
		"int_address", addr, "int_address_b", "", "int_version", version, "int_netmask", mask,
		"int_ipv6auto", r.auto6, "int_vip", nil, "int_vhid", nil, "int_critical", false, "int_group", nil, "int_mtu", mtu)
}

// datastoreUpdate passes by every validator: this is how an MTU above 9216
// gets into a row.
func (s *Server) datastoreUpdate(args []any) (any, error) {
	name, _ := args[0].(string)
	data, ok := args[2].(map[string]any)
	if name != interfaceTable || !ok || !only(data, "int_mtu") {
		s.sys.Unsimulated("datastore.update " + name + " " + encode(args[2]))
		return nil, &CallError{"EFAULT", "this datastore.update is not simulated"}
	}
	for i := range s.db.net.rows {
		r := &s.db.net.rows[i]
		if r.id != args[1] {
			continue
		}
		r.mtu = nil
		if n, isInt := data["int_mtu"].(int); isInt {
			r.mtu = &n
		}
		return r.id, nil
	}
	return nil, ErrMatchNotFound
}

func only(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok && len(m) == 1
}

// OfferRDMA makes the host one of the maker's own, on which these protocols can go over RDMA:
// "NFS", "ISER", "NVMET". The Community Edition has none.
func (s *Server) OfferRDMA(protocols ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capable = protocols
}
