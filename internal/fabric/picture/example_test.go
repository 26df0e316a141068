package picture_test

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric/picture"
)

// Two cards, and the cable between their first ports.
func ExampleMermaid() {
	card := func(name string) *fabric.Port {
		port := &fabric.Port{Number: 1, State: "Active", Physical: "LinkUp"}
		port.Node = &fabric.Node{Name: name, PortCount: 1, Ports: []*fabric.Port{port}}
		return port
	}
	one, other := card("intel9 mlx4_0"), card("xeon2zfs mlx4_0")
	fmt.Print(picture.Mermaid(&fabric.Fabric{Nodes: []*fabric.Node{one.Node, other.Node},
		Links: []*fabric.Link{{A: one, B: other}}}, nil))
	// Output:
	// flowchart TD
	//   h0("intel9<br/>mlx4#95;0"):::card
	//   h1("xeon2zfs<br/>mlx4#95;0"):::card
	//   h0 ---|"1 ·  · 1"| h1
	//   linkStyle 0 stroke:#64748b,stroke-width:2px
	//   classDef switch fill:#1e293b,stroke:#0f172a,color:#f8fafc
	//   classDef card fill:#f8fafc,stroke:#94a3b8,color:#0f172a
	//   classDef master fill:#ecfdf5,stroke:#059669,color:#0f172a,stroke-width:2px
}
