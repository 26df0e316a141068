package planned

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Claim says that a resource of the configuration manages an object, such as the
// flash of a card or a port.
type Claim struct {
	Kind string // type of the resource, "infiniband_firmware"
	Key  string // the object; equal under all names and spellings of it, see CardKey
	Name string // how the resource names it, "nas/0000:01:00.0"
	// Config is the configuration of the resource.
	Config tftypes.Value
	// Exists is true if the resource is in the state.
	Exists bool
	// Shared is the argument that resources of one object must agree on where there
	// may be more than one; empty where there may not.
	Shared string
	// HostIn is the argument with the host, for resources that remove something from the
	// old host when they move; empty for others.
	HostIn string
}

type claimKey struct{ kind, key string }

// claims are what the resources of one walk manage. The protocol does not tell a
// provider which resource it plans, and core plans a replaced one twice: with its
// state, then without, and with one configuration. Two resources are told from that by
// what they ask for, by the order, and by the count of validations: core validates each
// resource once in a walk.
type claims struct {
	made      map[claimKey][]Claim
	validated map[claimKey]int // by the text of the configuration
	machines  []machine
	names     map[string]string // of hosts: the first name of the same machine
	told      map[string]bool   // names of hosts of which SecondName has told
}

// machine is the first name under which a machine was met.
type machine struct {
	name string
	snap *inventory.Snapshot
}

func newClaims() claims {
	return claims{made: map[claimKey][]Claim{}, validated: map[claimKey]int{}, names: map[string]string{},
		told: map[string]bool{}}
}

// fate is what a walk does to an object. The state may have one object of a host twice: a
// deposed one beside the one that replaced it, or that of a renamed block. A destroy sees
// its own state alone, and core orders such two in no way.
type fate struct {
	stays, goes bool     // one in the state is kept, one is destroyed
	made        bool     // one was made or changed in this walk
	shown       []string // values of one that was removed in this walk, which the plan has shown to end
}

// place is what a walk knows of the slot of a card. Core reads and plans resources in no
// order that helps here: what is made anew has no prior state, and the resource that has
// recorded another card in the slot may be read later. So both sides are noted.
type place struct {
	recorded []ib.Identity // cards that the state has, while another one is in the slot
	taken    []ib.Identity // that the card in the slot was taken for; empty: for whatever is there
	adopted  *ib.Identity  // what an infiniband_card of the slot says of the card; nil without one
	imported bool          // this walk imports the infiniband_card by its place alone
}
