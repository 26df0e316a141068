package rdmaready

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/rdma"
)

// model has plain values where the schema only computes: nil is null, and an empty list is empty.
type model struct {
	ID        types.String      `tfsdk:"id"`
	Host      types.String      `tfsdk:"host"`
	Purposes  types.Set         `tfsdk:"purposes"`
	Ready     *bool             `tfsdk:"ready"`
	Problems  []problem         `tfsdk:"problems"`
	Modules   map[string]bool   `tfsdk:"modules"`
	Memlock   *string           `tfsdk:"memlock"`
	Rping     *bool             `tfsdk:"rping"`
	NFS       *bool             `tfsdk:"nfs_server"`
	Port      *int              `tfsdk:"nfs_rdma_port"`
	Mounts    []mount           `tfsdk:"mounts"`
	Listeners []listener        `tfsdk:"listeners"`
	TrueNAS   *[]string         `tfsdk:"truenas_protocols"`
	GPUs      []gpu             `tfsdk:"gpus"`
	VRFs      map[string]string `tfsdk:"vrfs"`
}

type problem struct {
	Kind    string `tfsdk:"kind"`
	Where   string `tfsdk:"where"`
	Message string `tfsdk:"message"`
}

type mount struct {
	Source    string       `tfsdk:"source"`
	Directory string       `tfsdk:"directory"`
	Interface types.String `tfsdk:"interface"`
	Protocol  types.String `tfsdk:"protocol"`
	RDMA      bool         `tfsdk:"rdma"`
}

type listener struct {
	Kind    string       `tfsdk:"kind"`
	Name    string       `tfsdk:"name"`
	Address types.String `tfsdk:"address"`
	RDMA    *bool        `tfsdk:"rdma"`
	Enabled *bool        `tfsdk:"enabled"`
}

type gpu struct {
	PCI    attribute.PCI `tfsdk:"pci_address"`
	Driver types.String  `tfsdk:"driver"`
	NUMA   *int          `tfsdk:"numa_node"`
	Cards  []card        `tfsdk:"cards"`
}

type card struct {
	PCI    attribute.PCI `tfsdk:"pci_address"`
	NUMA   *int          `tfsdk:"numa_node"`
	Shares *string       `tfsdk:"shares"`
}

// known gives a fact, or nil, which is null.
func known[T any](f interface{ Get() (T, bool) }) *T {
	if v, ok := f.Get(); ok {
		return &v
	}
	return nil
}

func (m *model) observe(s *inventory.Snapshot, f *rdma.Facts, problems []rdma.Problem) {
	m.ID, m.Ready, m.Rping = m.Host, known(rdma.Ready(problems)), &f.Rping
	m.Memlock, m.NFS, m.Port, m.VRFs = known(f.Memlock), known(f.NFS), known(f.Port), f.VRFs
	m.Problems, m.Mounts, m.Listeners, m.GPUs = []problem{}, []mount{}, []listener{}, []gpu{}
	for _, p := range problems {
		m.Problems = append(m.Problems, problem(p))
	}
	m.Modules = map[string]bool{}
	for name, there := range f.Modules {
		if yes, ok := there.Get(); ok {
			m.Modules[name] = yes
		}
	}
	for _, n := range rdma.NFS(s) {
		m.Mounts = append(m.Mounts, mount{n.What, n.Where, attribute.OrNull(n.Dev.Or("")), attribute.OrNull(n.Protocol),
			rdma.OverRDMA(n)})
	}
	for _, l := range f.Listeners {
		m.Listeners = append(m.Listeners, listener{l.Kind, l.Name, attribute.OrNull(l.Address), known(l.RDMA),
			known(l.Enabled)})
	}
	if f.Protocols != nil {
		m.TrueNAS = known(*f.Protocols)
	}
	for _, g := range f.GPUs {
		m.GPUs = append(m.GPUs, gpuOf(s, f, g))
	}
}

func gpuOf(s *inventory.Snapshot, f *rdma.Facts, g rdma.GPU) gpu {
	v := gpu{attribute.PCIText(g.PCI), attribute.OrNull(g.Driver), known(f.Places[g.PCI].NUMA), []card{}}
	for i := range s.Cards {
		if c := &s.Cards[i]; c.RDMADevice != "" {
			v.Cards = append(v.Cards, card{attribute.PCIText(c.PCI), known(f.Places[c.PCI].NUMA), known(f.Common(g.PCI, c.PCI))})
		}
	}
	return v
}
