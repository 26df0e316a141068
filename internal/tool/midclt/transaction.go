package midclt

import (
	_ "embed" // the script
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

//go:embed transaction.sh
var transactionScript string

// Step is one call of a Transaction.
type Step []string

// Store is the step that stores the configuration of an interface.
func Store(name string, u Update) Step { return Step{"interface.update", argument(name), argument(u)} }

// Drop is the step that removes the stored configuration of an interface.
func Drop(name string) Step { return Step{"interface.delete", argument(name)} }

// StoreRowMTU is the step that stores an MTU past the API's validation, by a
// private method; the middleware applies the value like any other. A step that
// stores the interface has to precede it, so that there is a state to go back to.
func StoreRowMTU(row, mtu int) Step {
	return Step{"datastore.update", argument("network.interfaces"), argument(row), argument(map[string]int{"int_mtu": mtu})}
}

// Transaction stores and commits in one run on the host. The middleware undoes
// it unless Checkin follows within timeout. It is one command because stored and
// uncommitted changes have no timer: a provider that dies between the two would
// leave them for the next boot, or for someone else's commit.
func Transaction(timeout time.Duration, steps ...Step) shellcmd.Command {
	args := []string{argument(map[string]any{"rollback": true, "checkin_timeout": int(timeout.Seconds())})}
	for _, s := range steps {
		args = append(args, s...)
	}
	return shellcmd.Script("store-and-commit", transactionScript, args...).
		AsRoot().Changes().WithTimeout(commitTimeout + time.Minute)
}
