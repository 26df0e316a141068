// Package historydata is the data source infiniband_history: what was changed on a host,
// by whom, and how it ended.
//
// It must not change a host, or open a card.
package historydata

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// New returns the data source.
func New() datasource.DataSource {
	return &session.ReadOnly[model]{Name: "infiniband_history", Describe: describe, Fill: fill}
}

type model struct {
	ID      types.String `tfsdk:"id"`
	Host    types.String `tfsdk:"host"`
	Changes types.List   `tfsdk:"changes"`
}

var changeTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
	"time": types.StringType, "what": types.StringType, "object": types.StringType, "from": types.StringType,
	"to": types.StringType, "by": types.StringType, "result": types.StringType, "failure": types.StringType,
	"text":     types.StringType,
	"identity": types.StringType, "backup_path": types.StringType, "job": types.StringType,
}}

func describe() schema.Schema {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return schema.Schema{
		MarkdownDescription: "Lists what this provider has changed on a host: when, by whom, what, from what to what, and " +
			"how it ended. Every change is noted on its host, whatever machine it came from. So is the result of a benchmark, " +
			"on its client. The command `history` shows the same. " +
			"Reading opens no card and takes no lock.",
		Attributes: map[string]schema.Attribute{
			"id": text("The name of the host."),
			"host": schema.StringAttribute{Required: true,
				MarkdownDescription: "Key of the host in the provider's `hosts` map."},
			"changes": schema.ListNestedAttribute{Computed: true,
				MarkdownDescription: "Changes, oldest first. Those of firmware and GUIDs are all kept, of the others the newest, " +
					"several hundred at least.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"time": text("When it began, by the clock of the host, as `2026-01-02T03:04:05Z`; `unknown` if that is not " +
						"noted."),
					"what": text("`burn`, `restore` or `guids` of a card, or the resource without its prefix: `link_type`, `port`, " +
						"`opensm`, `ipoib_interface`, `benchmark`."),
					"object": text("Card, port or interface; the test of a benchmark."),
					"from":   text("What was there before; `none`, or `unknown` if that is not noted. Of a benchmark, the client."),
					"to":     text("What was asked for; `none` for a removal. Of a benchmark, the server with its address."),
					"by":     text("User, machine and process of the apply."),
					"result": text("How it ended: `verified` (read back, as asked for), `undone` (the host has what it had before), " +
						"`failed`, or `begun` (the change still runs, or its apply was killed). For firmware and GUIDs also `running`, " +
						"`burned`, `differs`, `refused`, `interrupted` and `unclear`, as `watch` says."),
					"failure": text("Whether the same command may succeed after a write of firmware or GUIDs that did not: " +
						"`passing` (it may be tried again) or `lasting` (a retry does not help). Null if the cause is not known."),
					"text":     text("More on the result, such as that of a benchmark; null if there is nothing to say."),
					"identity": text("Identity of the card, for firmware and GUIDs."),
					"backup_path": text("Directory with what the change replaced, on the machine that ran the apply; null if " +
						"there is none."),
					"job": text("Id of the job on the host, for firmware and GUIDs."),
				}}},
		},
	}
}

// fill reads the notes of the host in one command.
func fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	name := m.Host.ValueString()
	if s.Waits("host", m.Host, "read history of host "+name, diags) {
		return false
	}
	h, _, err := s.Host(name)
	var look record.Look
	if err == nil {
		look, err = record.Read(ctx, h)
	}
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "read history of host "+name, err)
		return false
	}
	if look.Unread != "" {
		diags.AddAttributeError(path.Root("host"), "Unable to read history of host "+name,
			"Changes may be missing, because notes of the host could not be read. Mend what is named here.\n\nReason: "+
				diagnostic.Line(look.Unread))
		return false
	}
	if look.Damaged > 0 {
		diags.AddAttributeWarning(path.Root("host"), "History of host "+name+" may lack changes",
			fmt.Sprintf("%d of the notes on the host cannot be understood. A full disk or a loss of power has cut them, or a "+
				"later release of the provider has written them.", look.Damaged))
	}
	m.ID = m.Host
	changes := []attr.Value{}
	for _, c := range look.Changes(diagnostic.Line) {
		changes = append(changes, changeValue(c))
	}
	m.Changes = types.ListValueMust(changeTypes, changes)
	return true
}

func changeValue(c record.Change) types.Object {
	text := types.StringValue
	return types.ObjectValueMust(changeTypes.AttrTypes, map[string]attr.Value{
		"time": text(c.Time), "what": text(c.What), "object": text(c.Object), "from": text(c.From), "to": text(c.To),
		"by": text(c.By), "result": text(c.Result), "failure": attribute.OrNull(c.Failure), "text": attribute.OrNull(c.Text),
		"identity": attribute.OrNull(c.Identity), "backup_path": attribute.OrNull(c.Backup), "job": attribute.OrNull(c.Job),
	})
}
