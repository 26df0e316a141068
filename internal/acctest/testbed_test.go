//go:build testbed && linux

package acctest

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed"
)

// yard makes the testbed a ground for worlds.
type yard struct{ *testbed.Yard }

func (y yard) Site(hosts []labs.Host) (Site, string, error) { return y.Yard.Site(hosts) }

func init() {
	if !OnTestbed() {
		return
	}
	parallel = "4"
	enter = func(run func() int) {
		UseGround(yard{testbed.NewYard(6)})
		testbed.Main(run, testbed.Bases...)
	}
}
