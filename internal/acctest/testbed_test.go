//go:build testbed && linux

package acctest

import (
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed"
)

// pool makes the testbed what labs stand on.
type pool struct{ *testbed.Pool }

func (y pool) Lend(hosts []labs.Host) (Loan, string, error) { return y.Pool.Lend(hosts) }

func init() {
	if os.Getenv(LabVariable) != "testbed" {
		return
	}
	parallel = "4"
	enter = func(run func() int) {
		UseTestbed(pool{testbed.NewPool(6)})
		testbed.Main(run)
	}
}
