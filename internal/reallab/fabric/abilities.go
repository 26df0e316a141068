package fabric

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// Abilities are what the ports of an older chip can do. The zero value is that of chips
// since ConnectX-3.
type Abilities struct {
	Speeds       wire.Speeds // by bits
	MTU          byte        // as PortInfo numbers them
	PKeys        int
	Capabilities uint32 // before a driver adds its own
}

// limit makes a port that was reset one of an older chip.
func (p *HCAPort) limit(a Abilities) {
	if a == (Abilities{}) {
		return
	}
	i := &p.info
	i[atState] = a.Speeds.Basic<<4 | i[atState]&0xf
	i[atSpeed] = highest(a.Speeds.Basic)<<4 | a.Speeds.Basic
	i[atExtended] = highest(a.Speeds.Extended)<<4 | a.Speeds.Extended
	i[atExtendedEnabled] = a.Speeds.Extended
	i[atMTU] = a.MTU<<4 | i[atMTU]&0xf
	i[atMTUCap] = i[atMTUCap]&0xf0 | a.MTU
	p.pkeys = p.pkeys[:a.PKeys]
	be.PutUint32(i[atCapabilities:], a.Capabilities)
}
