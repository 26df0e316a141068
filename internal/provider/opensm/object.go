package opensm

import (
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

type step = managed.Step[model, ops.Request, *found.Look]

// object is what only subnet managers do.
type object struct{ *session.Resource }
