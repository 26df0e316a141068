// Package listing is the list resources: for each type that can be adopted, what of it
// is on the hosts, for engines that have "terraform query".
//
// It must not change a host, or say what can be adopted, which provider/adoption does.
package listing

import (
	"context"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var _ list.ListResourceWithConfigure = &List{}

// List lists the objects of one type.
type List struct {
	session.Resource
	serve adoption.Serve
}

// All are the list resources of every type that can be adopted. serve starts the provider
// for a walk of its own.
func All(serve adoption.Serve) (all []func() list.ListResource) {
	for _, kind := range adoption.Types() {
		all = append(all, func() list.ListResource {
			return &List{Resource: session.Resource{Kind: kind}, serve: serve}
		})
	}
	return all
}

// Metadata implements list.ListResource.
func (l *List) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = l.Kind
}

// ListResourceConfigSchema implements list.ListResource.
func (l *List) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest,
	resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists each `" + l.Kind + "` that is on the hosts and can be imported. Each host is read once. " +
			"A host that cannot be read is a warning.",
		Attributes: map[string]schema.Attribute{
			"hosts": schema.ListAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Names of the hosts to ask; all if left out, none with `[]`."},
		},
	}
}

type model struct {
	Hosts types.List `tfsdk:"hosts"`
}

// List gives what is on the hosts, one by one.
func (l *List) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var (
		m     model
		diags diag.Diagnostics
	)
	if !req.Config.Raw.IsNull() { // a list block without config
		diags.Append(req.Config.Get(ctx, &m)...)
	}
	if diags.HasError() || l.Data == nil {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	lab, start := adoption.OfSession(ctx, l.Data, l.HostsOf(m.Hosts), l.serve, &diags)
	if lab == nil {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = l.results(ctx, req, lab, start)
}

// results begins with the hosts that are left out. They are warnings: an engine ends a list
// at its first error.
func (l *List) results(ctx context.Context, req list.ListRequest, lab *adoption.Lab,
	start adoption.Starter) iter.Seq[list.ListResult] {
	return func(push func(list.ListResult) bool) {
		for _, host := range lab.FailedHosts() {
			if !push(warning("Host "+host.Name+" is left out: "+host.Error.Summary, host.Error.Detail)) {
				return
			}
		}
		left := req.Limit
		for o, err := range lab.Each(ctx, l.Kind, start) {
			switch {
			case err != nil:
				var diags diag.Diagnostics
				diagnostic.AddError(&diags, "list "+l.Kind, err)
				push(list.ListResult{Diagnostics: diags})
				return
			case o.Reason != nil:
				if !push(warning(o.ID+" is left out: "+o.Reason.Summary, o.Reason.Detail)) {
					return
				}
				continue
			}
			left--
			if !push(resultOf(ctx, req, o)) || left == 0 {
				return
			}
		}
	}
}

func warning(summary, detail string) list.ListResult {
	return list.ListResult{Diagnostics: diag.Diagnostics{diag.NewWarningDiagnostic(summary, detail)}}
}

// resultOf is one object with its identity and, if it is asked for, its state.
func resultOf(ctx context.Context, req list.ListRequest, o *adoption.Object) list.ListResult {
	result := req.NewListResult(ctx)
	result.DisplayName = o.Title()
	identity, err := o.Identity(result.Identity.Raw.Type())
	if err != nil {
		diagnostic.AddError(&result.Diagnostics, "list "+o.Type+" "+o.ID, err)
		return result
	}
	result.Identity.Raw = identity
	if req.IncludeResource {
		result.Resource.Raw = o.State()
	}
	return result
}
