package nodenames

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/nodenames"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID       types.String   `tfsdk:"id"`
	Host     types.String   `tfsdk:"host"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`

	Names types.Map  `tfsdk:"names"`
	Files types.List `tfsdk:"files"`
}

// request is what a plan or a state asks for.
func (m *model) request() ops.Request {
	q := ops.Request{Host: m.Host.ValueString(), Names: ops.Names{}}
	for text, name := range m.Names.Elements() {
		if guid, err := ib.ParseGUID(text); err == nil {
			q.Names[guid] = attribute.StringOf(name)
		}
	}
	return q
}

func stringMap(names map[ib.GUID]string) types.Map {
	texts := make(map[string]string, len(names))
	for guid, name := range names {
		texts[guid.String()] = name
	}
	return attribute.StringMap(texts)
}
