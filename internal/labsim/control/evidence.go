package control

import (
	"fmt"
	"net/http"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// HostStatus is what clients did to a host.
type HostStatus struct {
	Up         bool             `json:"up"`
	Boots      int              `json:"boots"`
	Counters   labsim.Counters  `json:"counters"`
	Fault      labsim.FaultSpec `json:"fault"`
	Violations []string         `json:"violations"`
}

func (s *Server) status(*http.Request) (any, error) {
	out := map[string]HostStatus{}
	for _, m := range s.lab.Machines() {
		out[m.Name] = HostStatus{Up: m.Ready(), Boots: m.Boots(), Counters: m.Counters(), Fault: m.Faults.Get(),
			Violations: m.Violations()}
	}
	return out, nil
}

// CardEvidence is the state of a card and its ports, read from the model and not
// through any tool.
type CardEvidence struct {
	BDF            string         `json:"pci_address"`
	FlashPSID      string         `json:"flash_psid"`
	FlashVersion   string         `json:"flash_version"`
	FlashBootable  bool           `json:"flash_bootable"`
	RunningPSID    string         `json:"running_psid"`
	RunningVersion string         `json:"running_version"`
	GUIDs          []string       `json:"guids"` // of the flash: node, port 1, port 2, system image
	MACs           []string       `json:"macs"`
	FlashOps       int            `json:"flash_operations"`
	Ports          []PortEvidence `json:"ports"`
}

// PortEvidence is the state of a port.
type PortEvidence struct {
	Number    int    `json:"number"`
	LinkType  string `json:"link_type"`
	State     int    `json:"state"`          // 1 down, 2 initialize, 4 active
	PhysState int    `json:"physical_state"` // 2 polling, 3 disabled, 5 link up
	LID       uint16 `json:"lid"`
	SMLID     uint16 `json:"sm_lid"`
	IsSM      bool   `json:"is_sm"`
}

// NetdevEvidence is an interface of a card.
type NetdevEvidence struct {
	Name      string   `json:"name"`
	Mode      string   `json:"mode,omitempty"`
	MTU       int      `json:"mtu"`
	Carrier   bool     `json:"carrier"`
	Addresses []string `json:"addresses"`
}

// HostEvidence is all of a host.
type HostEvidence struct {
	Cards   []CardEvidence   `json:"cards"`
	Netdevs []NetdevEvidence `json:"interfaces"`
}

func (s *Server) evidence(*http.Request) (any, error) {
	out := map[string]HostEvidence{}
	for _, m := range s.lab.Machines() {
		out[m.Name] = hostEvidence(m)
	}
	return out, nil
}

func hostEvidence(m *labsim.Machine) HostEvidence {
	var h HostEvidence
	for _, c := range m.Cards() {
		h.Cards = append(h.Cards, cardEvidence(c))
	}
	for _, d := range m.Netdevs() {
		if d.Port == nil {
			continue
		}
		e := NetdevEvidence{Name: d.Name, Mode: d.Mode, MTU: d.MTU, Carrier: m.Carrier(&d)}
		for _, a := range d.Addrs {
			e.Addresses = append(e.Addresses, a.String())
		}
		h.Netdevs = append(h.Netdevs, e)
	}
	return h
}

func cardEvidence(c *labsim.Card) CardEvidence {
	run := c.Running()
	e := CardEvidence{BDF: c.Config.BDF, RunningPSID: run.PSID, RunningVersion: card.VersionText(run.Version),
		FlashOps: c.Flash.Operations()}
	if img, err := c.Flash.Active(); err == nil {
		e.FlashPSID, e.FlashVersion, e.FlashBootable = img.PSID, card.VersionText(img.Version), img.Verify() == nil
		for _, g := range img.GUIDs {
			e.GUIDs = append(e.GUIDs, fmt.Sprintf("0x%016x", g))
		}
		for _, mac := range img.MACs {
			e.MACs = append(e.MACs, fmt.Sprintf("%012x", mac))
		}
	}
	for _, p := range c.Ports {
		v := p.View()
		e.Ports = append(e.Ports, PortEvidence{
			Number: v.Number, LinkType: v.LinkType, State: v.State, PhysState: v.PhysState, LID: v.LID, SMLID: v.SMLID,
			IsSM: v.IsSM,
		})
	}
	return e
}
