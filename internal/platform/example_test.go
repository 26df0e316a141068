package platform_test

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// What a feature needs on a host, and lacks there, is said in the names of its distribution.
func ExampleMissingPackages() {
	snapshot := &inventory.Snapshot{OS: inventory.OS{ID: "debian", VersionID: "12"},
		Packages: map[string]string{"mstflint": "4.21.0"}}
	p, err := platform.Of(snapshot)
	if err != nil {
		panic(err)
	}
	fmt.Println(platform.MissingPackages(p, snapshot, platform.FeatureFirmware),
		platform.MissingPackages(p, snapshot, platform.FeatureOpenSM))
	// Output: [] [opensm]
}
