package fact_test

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// What could not be read is neither yes nor no, and has the reason.
func ExampleUnknown() {
	runs := fact.Unknown[bool]("systemd did not answer")
	fmt.Println(fact.Yes(runs), fact.No(runs), runs.Why())
	// Output: false false systemd did not answer
}

// One yes decides. Without one, a single unknown answer leaves the whole unknown.
func ExampleAny() {
	unknown := fact.Unknown[bool]("no answer")
	fmt.Println(fact.Yes(fact.Any(unknown, fact.Known(true))), fact.Any(unknown, fact.Known(false)).Known())
	// Output: true false
}
