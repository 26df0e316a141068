package found

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
)

// View is what a fabric says of its subnet managers through one of its ports.
type View struct {
	// NotReady says why the fabric is asked at apply only; empty if it was asked.
	NotReady string
	// Ruled is whether a subnet manager answers for the fabric as its master.
	Ruled fact.Bool
	// Master is the one that answered; the zero value if none did.
	Master saquery.Manager
	// Managers are those that are known, the one that answered included.
	Managers []saquery.Manager
	// Listed is whether the master has said which others there are; known also where
	// there never was a master to ask, or where it ran on this port. One that has ended
	// elsewhere may have a standby.
	Listed fact.Bool
	// Duplicate are GUIDs that two nodes have. They are looked for where no master
	// answers: one that rules has set up the fabric.
	Duplicate fact.Of[[]ib.GUID]
}

// Duplicates are those that are known.
func (v View) Duplicates() []ib.GUID { return v.Duplicate.Or(nil) }

// Groups are the ports of a fabric that are to join broadcast groups, as far as the hosts do not show
// their MTU.
type Groups struct {
	Why    string                // why the fabric could not be asked; empty if it was
	Ports  map[string]MemberPort // by GUID as the partition file writes it
	Silent []string              // those that did not say their MTU
}
