package middleware

// database is the part of the configuration database that is simulated.
type database struct {
	net           netTables
	scripts       []*Object
	tunables      []*Object
	kernelOptions string
	nextScript    int
	nextTunable   int
}

// netTables are the tables that a pending change snapshots and a rollback
// restores, all of them together.
type netTables struct {
	rows    []row
	nextRow int
	gateway string
}

// row is one row of network.interfaces with its aliases.
type row struct {
	id      int
	name    string
	dhcp    bool
	auto6   bool
	aliases []alias
	desc    string
	mtu     *int
}

type alias struct {
	v6      bool
	ip      string
	netmask int
}

func newDatabase() *database {
	return &database{nextScript: 1, nextTunable: 1, net: netTables{nextRow: 1}}
}

func (t netTables) clone() netTables {
	c := t
	c.rows = make([]row, len(t.rows))
	for i, r := range t.rows {
		c.rows[i] = r
		c.rows[i].aliases = append([]alias(nil), r.aliases...)
		if r.mtu != nil {
			m := *r.mtu
			c.rows[i].mtu = &m
		}
	}
	return c
}

func (t *netTables) row(name string) *row {
	for i := range t.rows {
		if t.rows[i].name == name {
			return &t.rows[i]
		}
	}
	return nil
}

func (t *netTables) add(name string) *row {
	t.rows = append(t.rows, row{id: t.nextRow, name: name})
	t.nextRow++
	return &t.rows[len(t.rows)-1]
}

func (t *netTables) remove(name string) {
	kept := t.rows[:0]
	for _, r := range t.rows {
		if r.name != name {
			kept = append(kept, r)
		}
	}
	t.rows = kept
}

// SeedRow is an interface row that a host begins with.
type SeedRow struct {
	Name        string
	Description string
	DHCP        bool
	Addrs       []Addr
	MTU         int // 0: not set
}

// Seed adds a row without a pending change.
func (s *Server) Seed(r SeedRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dst := s.db.net.add(r.Name)
	dst.desc, dst.dhcp = r.Description, r.DHCP
	for _, a := range r.Addrs {
		dst.aliases = append(dst.aliases, alias{v6: a.V6(), ip: a.IP, netmask: a.Prefix})
	}
	if r.MTU != 0 {
		dst.mtu = &r.MTU
	}
}
