package twin

import (
	"encoding/json"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/middleware"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
)

// nasInterface is an interface as the middleware shows it.
type nasInterface struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	DHCP        bool   `json:"ipv4_dhcp"`
	MTU         *int   `json:"mtu"`
	Aliases     []struct {
		Address string `json:"address"`
		Netmask int    `json:"netmask"`
	} `json:"aliases"`
}

// middleware fills the database of a host with TrueNAS.
func (b *builder) middleware(m *labsim.Machine) {
	var interfaces []nasInterface
	var advanced struct {
		Options string `json:"kernel_extra_options"`
	}
	b.decode("interface.query", &interfaces)
	b.decode("system.advanced.config", &advanced)
	var rows []middleware.SeedRow
	for _, i := range interfaces {
		row := middleware.SeedRow{Name: i.Name, Description: i.Description, DHCP: i.DHCP}
		if i.MTU != nil {
			row.MTU = *i.MTU
		}
		for _, a := range i.Aliases {
			row.Addrs = append(row.Addrs, middleware.Addr{IP: a.Address, Prefix: a.Netmask})
		}
		if row.Description != "" || row.DHCP || row.MTU != 0 || len(row.Addrs) > 0 {
			rows = append(rows, row)
		}
	}
	calls := map[string][]map[string]any{
		"tunable.create": b.objects("tunable.query", "type", "var", "value", "comment", "enabled"),
		"initshutdownscript.create": b.objects("initshutdownscript.query", "type", "command", "script", "when", "enabled",
			"timeout", "comment"),
	}
	if advanced.Options != "" {
		calls["system.advanced.update"] = []map[string]any{{"kernel_extra_options": advanced.Options}}
	}
	truenas.FreshDatabase(m)
	if err := truenas.Fill(m, rows, calls); err != nil {
		b.lacks("a part of its middleware's database: %v", err)
	}
}

func (b *builder) decode(method string, to any) {
	if err := json.Unmarshal([]byte(b.runs["midclt "+method].text), to); err != nil {
		b.lacks("what its middleware answers to %s", method)
	}
}

// objects are those that a method lists, with these fields.
func (b *builder) objects(method string, fields ...string) (out []map[string]any) {
	var all []map[string]any
	b.decode(method, &all)
	for _, o := range all {
		with := map[string]any{}
		for _, f := range fields {
			if v := o[f]; v != nil {
				with[f] = v
			}
		}
		out = append(out, with)
	}
	return out
}
