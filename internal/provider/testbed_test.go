//go:build testbed && linux

package provider_test

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed"
)

// yard makes the testbed a ground for worlds.
type yard struct{ *testbed.Yard }

func (y yard) Site(hosts []labs.Host) (acctest.Site, string, error) { return y.Yard.Site(hosts) }

func init() {
	if acctest.OnTestbed() {
		enter = func(run func() int) {
			acctest.UseGround(yard{testbed.NewYard(4)})
			testbed.Main(run)
		}
	}
}
