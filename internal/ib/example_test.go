package ib_test

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// The GUIDs of a card follow from the MAC on its label.
func ExampleGUIDsFromBase() {
	mac, err := ib.ParseMAC("E4-1D-2D-E4-4E-D0")
	if err != nil {
		panic(err)
	}
	node, port1, _, _, err := ib.GUIDsFromBase(ib.GUIDFromMAC(mac))
	fmt.Println(node, port1, err)
	// Output: 0xe41d2d0300e44ed0 0xe41d2d0300e44ed1 <nil>
}

// Two identities are of one card only if enough of what is known agrees. What is not known
// is not "no".
func ExampleCompare() {
	recorded := ib.Identity{Serial: "MT1234X00001", Part: "MCX354A-FCBT"}
	for _, found := range []ib.Identity{recorded, {Serial: "MT1234X00002", Part: "MCX354A-FCBT"}, {}} {
		like, _ := ib.Compare(recorded, found)
		fmt.Println(like == ib.Same, like == ib.Other)
	}
	// Output:
	// true false
	// false true
	// false false
}
