package nodenames

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "The names of `node_name_map` of the provider block on one host: `iblinkinfo`, `ibnetdiscover`, " +
	"`ibqueryerrors` and the logs of opensm then call switches and cards as this configuration does.\n\nThe names are " +
	"written to `/etc/rdma/ib-node-name-map`, and where opensm is installed to `/etc/opensm/ib-node-name-map`. " +
	"infiniband-diags reads them each time, opensm only at its start. Programs of others that parse the output of these " +
	"tools see the names in place of the node descriptions; this provider does not. Destroying the resource removes " +
	"the files."

var (
	times = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "writing the files, with the wait for other changes of the host",
		AtEnd: "After that time the apply fails; the next apply does the rest.",
	}
	removal = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "the removal of the files, with the wait for other changes of the host",
		AtEnd: "After that time the destroy fails, and the resource stays in the state.",
	}
)

func (o object) Schema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":       attribute.IDAttribute("`host`"),
			"host":     attribute.HostAttribute(),
			"timeouts": attribute.TimeoutsAttribute(ctx, times, &removal),
			"names": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Names by node GUID: those of `node_name_map`; after a refresh those on the host."},
			"files": schema.ListAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Files that hold the names."},
		},
	}
}
