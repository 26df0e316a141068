package change

import (
	"cmp"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

// Options tune the waiting; the zero value is what users get.
type Options struct {
	// ProofTimeout is how long the port may take to become Active; zero means
	// 75 seconds, which covers a takeover from another SM (60 seconds).
	ProofTimeout time.Duration
	// Poll is the pause between two looks; zero means half a second.
	Poll time.Duration
	// Lab has the ports of all managed hosts, by which messages name the ports of the
	// fabric.
	Lab found.Lab
}

// withDefaults fills in what is left out.
func (o Options) withDefaults() Options {
	return Options{cmp.Or(o.ProofTimeout, 75*time.Second), cmp.Or(o.Poll, 500*time.Millisecond), o.Lab}
}

// Result is what Apply and Remove did. Its look is nil if the host could not be read after the change.
type Result = managed.Result[*found.Look]
