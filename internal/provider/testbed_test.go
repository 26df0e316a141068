//go:build testbed && linux

package provider_test

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed"
)

// pool makes the testbed what labs stand on.
type pool struct{ *testbed.Pool }

func (y pool) Lend(hosts []labs.Host) (acctest.Loan, string, error) { return y.Pool.Lend(hosts) }

func init() {
	if acctest.OnTestbed() {
		enter = func(run func() int) {
			acctest.UseTestbed(pool{testbed.NewPool(4)})
			testbed.Main(run)
		}
	}
}
