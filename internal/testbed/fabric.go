//go:build testbed && linux

package testbed

import (
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed/ibsim"
)

// Fabric is a fabric of ibsim that hosts of a bed are plugged into.
type Fabric struct {
	*ibsim.Fabric
	hosts []*Host
}

// Plug runs ibsim on a net file and puts hosts in the place of nodes of it, by the
// nodes' names ("H-e41d2d0300e44ed0"). The cards must have the GUIDs that the net
// says. The caller closes the fabric.
func (b *Testbed) Plug(net string, nodes map[string]string) (*Fabric, error) {
	sim, err := ibsim.Start(b.Dir, net)
	if err != nil {
		return nil, err
	}
	f := &Fabric{Fabric: sim}
	for host, node := range nodes {
		h := b.Hosts[host]
		if h == nil {
			return nil, errors.Join(fmt.Errorf("testbed: plug %s into %s: no such host", host, node), f.Close())
		}
		f.hosts = append(f.hosts, h)
		if err := h.Device.HCA.Attach(sim, node); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// Close ends the fabric.
func (f *Fabric) Close() error {
	for _, h := range f.hosts {
		h.Device.HCA.Detach()
	}
	return f.Stop()
}
