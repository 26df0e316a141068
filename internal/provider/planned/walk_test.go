package planned

import (
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

func TestPlanned_rival_SMs(t *testing.T) {
	port := func(i int) attribute.PortRef {
		return attribute.PortRef{Host: fmt.Sprintf("host%d", i), GUID: ib.GUID(i + 1)}
	}
	p := NewWalk()
	for i := range 1000 {
		p.SetSM(port(i), SM{Priority: 1, Master: true})
	}
	if some, total := p.RivalSMs(port(7), 3); len(some) != 0 || total != 0 {
		t.Errorf("masters of fabrics of their own are rivals: %v, %d", some, total)
	}
	p.SetSM(port(2000), SM{Priority: 1})
	p.SetSM(port(2001), SM{Priority: 1})
	p.SetSM(port(2002), SM{Priority: 2})
	if some, total := p.RivalSMs(port(2000), 3); len(some) != 3 || total != 1001 {
		t.Errorf("of one that does not run yet: %v, %d", some, total)
	}
	if some, total := p.RivalSMs(port(7), 3); len(some) != 2 || total != 2 {
		t.Errorf("of a master: %v, %d", some, total)
	}
	p.SetSM(port(2000), SM{Priority: 3}) // planned again, with another priority
	if some, total := p.RivalSMs(port(7), 3); len(some) != 1 || some[0] != port(2001) || total != 1 {
		t.Errorf("after a change: %v, %d", some, total)
	}
	if some, total := p.RivalSMs(port(2002), 3); len(some) != 0 || total != 0 {
		t.Errorf("of another priority: %v, %d", some, total)
	}
	p.SetSM(port(3000), SM{Priority: 4, Fabric: "a"})
	p.SetSM(port(3001), SM{Priority: 4, Fabric: "b"})
	p.SetSM(port(3002), SM{Priority: 4})
	if some, total := p.RivalSMs(port(3001), 3); len(some) != 1 || some[0] != port(3002) || total != 1 {
		t.Errorf("of a fabric with a name: %v, %d", some, total)
	}
	if some, total := p.RivalSMs(port(3002), 3); len(some) != 2 || total != 2 || !p.SMsApart(port(3000), port(3001)) {
		t.Errorf("of a fabric without one: %v, %d", some, total)
	}
	if some, total := p.RivalSMs(port(9999), 3); some != nil || total != 0 {
		t.Errorf("of one that is not planned: %v, %d", some, total)
	}
}
