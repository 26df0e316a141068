package provider

import (
	"context"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// Server returns the provider as the engine talks to it. Every diagnostic and every
// value passes here, so this is the one place that keeps what hosts print from acting
// on a terminal.
func Server(p provider.Provider) tfprotov6.ProviderServer {
	server := providerserver.NewProtocol6(p)()
	lists, _ := server.(tfprotov6.ListResourceServer) // every server of the framework is one, and the next
	actions, _ := server.(tfprotov6.ActionServer)
	if own, ok := p.(*Provider); ok {
		server = &renamingServer{ProviderServer: &keepingServer{ProviderServer: server, provider: own}, provider: own}
	}
	return &plainServer{ProviderServer: server, lists: lists, actions: actions}
}

// plainServer overrides every method that answers with diagnostics; a test compares
// them with the protocol.
type plainServer struct {
	tfprotov6.ProviderServer
	lists   tfprotov6.ListResourceServer
	actions tfprotov6.ActionServer
	types   schemas
}

// Engines find list resources and actions by these interfaces, which plugin-go has not
// joined to ProviderServer yet.
var _ wholeServer = &plainServer{}

type wholeServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
}

// plain makes the texts of a response's diagnostics plain. The responses of the
// protocol share a field and no interface.
func plain[T any](resp *T, err error) (*T, error) {
	if resp == nil {
		return resp, err
	}
	diags, _ := reflect.ValueOf(resp).Elem().FieldByName("Diagnostics").Interface().([]*tfprotov6.Diagnostic)
	for _, d := range diags {
		if d != nil {
			d.Summary, d.Detail = diagnostic.Plain(d.Summary), diagnostic.Plain(d.Detail)
		}
	}
	if found := reflect.ValueOf(resp).Elem().FieldByName("Diagnostics"); len(diags) > 0 {
		sayNull(diags)
		found.Set(reflect.ValueOf(wholeNumbers(diags)))
	}
	return resp, err
}

// fraction is the framework's message on mtu = 1.5, and on a port of 21 digits. It comes twice,
// reads like a fault of the provider, and precedes our validators.
var fraction = regexp.MustCompile(
	`Value %!s\(\*big\.Float=([^)]+)\) (is not an integer|cannot be represented as a 64-bit integer)`)

// wholeNumbers rewords that, once for each attribute.
func wholeNumbers(diags []*tfprotov6.Diagnostic) []*tfprotov6.Diagnostic {
	said := map[string]bool{}
	return slices.DeleteFunc(diags, func(d *tfprotov6.Diagnostic) bool {
		if d == nil {
			return false
		}
		found := fraction.FindStringSubmatch(d.Detail)
		if found == nil {
			return false
		}
		d.Summary, d.Detail = "Invalid number", found[1]+" is not a whole number."
		if found[2] != "is not an integer" {
			d.Detail = found[1] + " is beyond every number that this argument takes."
		}
		key := d.Attribute.String() + d.Detail
		again := said[key]
		said[key] = true
		return again
	})
}

// required is the framework's title where the expression of a required argument gives null.
// An argument that is left out is refused by the engine, before the provider is asked.
const required = "Missing Configuration for Required Attribute"

// sayNull rewords that. The framework's text sends the reader to the developers.
func sayNull(diags []*tfprotov6.Diagnostic) {
	for _, d := range diags {
		if d == nil || d.Summary != required {
			continue
		}
		name := "A required argument"
		if steps := d.Attribute.Steps(); len(steps) > 0 {
			if last, ok := steps[len(steps)-1].(tftypes.AttributeName); ok {
				name = string(last)
			}
		}
		d.Summary = "No value for " + name
		d.Detail = name + " is null. It needs a value.\n\nLook at what its expression refers to: a variable, or an " +
			"attribute of another object that has no value now."
		if name == "port_guid" {
			d.Detail = name + " is null. " + attribute.NoPortGUID + " If the port is to be Ethernet, remove this resource " +
				"from the configuration."
		}
	}
}

func (s *plainServer) GetMetadata(
	ctx context.Context, req *tfprotov6.GetMetadataRequest,
) (*tfprotov6.GetMetadataResponse, error) {
	return plain(s.ProviderServer.GetMetadata(ctx, req))
}

func (s *plainServer) GetProviderSchema(
	ctx context.Context, req *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	return plain(s.ProviderServer.GetProviderSchema(ctx, req))
}

func (s *plainServer) GetResourceIdentitySchemas(
	ctx context.Context, req *tfprotov6.GetResourceIdentitySchemasRequest,
) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return plain(s.ProviderServer.GetResourceIdentitySchemas(ctx, req))
}

func (s *plainServer) ValidateProviderConfig(
	ctx context.Context, req *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return plain(s.ProviderServer.ValidateProviderConfig(ctx, req))
}

func (s *plainServer) ConfigureProvider(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return plain(s.ProviderServer.ConfigureProvider(ctx, req))
}

func (s *plainServer) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return plain(s.ProviderServer.ValidateResourceConfig(ctx, req))
}

func (s *plainServer) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return plain(s.ProviderServer.UpgradeResourceState(ctx, req))
}

func (s *plainServer) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	if err == nil {
		err = s.resource(ctx, req.TypeName, resp.NewState, req.CurrentState)
		// The framework checks the values of a state as those of a configuration. A finding about
		// the host, such as another card, is at an attribute too.
		for _, d := range resp.Diagnostics {
			if d != nil && d.Attribute != nil && strings.HasPrefix(d.Summary, attribute.InvalidValue) {
				d.Detail = session.ForeignState(d.Detail)
			}
		}
	}
	return plain(resp, err)
}

func (s *plainServer) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := s.ProviderServer.PlanResourceChange(ctx, req)
	if err == nil && !isSame(resp.PlannedState, req.PriorState) {
		err = s.resource(ctx, req.TypeName, resp.PlannedState, req.Config)
	}
	return plain(resp, err)
}

func (s *plainServer) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := s.ProviderServer.ApplyResourceChange(ctx, req)
	if err == nil {
		if bad := s.resource(ctx, req.TypeName, resp.NewState, req.Config); bad != nil {
			// What was done must reach the state, even in another spelling.
			resp.Diagnostics = append(resp.Diagnostics, &tfprotov6.Diagnostic{
				Severity: tfprotov6.DiagnosticSeverityWarning, Summary: "Values were not cleaned of control characters",
				Detail: bad.Error(),
			})
		}
	}
	return plain(resp, err)
}

func (s *plainServer) ImportResourceState(
	ctx context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	resp, err := s.ProviderServer.ImportResourceState(ctx, req)
	for i := 0; err == nil && i < len(resp.ImportedResources); i++ {
		imported := resp.ImportedResources[i]
		err = s.resource(ctx, imported.TypeName, imported.State, nil)
	}
	return plain(resp, err)
}

func (s *plainServer) MoveResourceState(
	ctx context.Context, req *tfprotov6.MoveResourceStateRequest,
) (*tfprotov6.MoveResourceStateResponse, error) {
	return plain(s.ProviderServer.MoveResourceState(ctx, req))
}

func (s *plainServer) UpgradeResourceIdentity(
	ctx context.Context, req *tfprotov6.UpgradeResourceIdentityRequest,
) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return plain(s.ProviderServer.UpgradeResourceIdentity(ctx, req))
}

func (s *plainServer) GenerateResourceConfig(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return plain(s.ProviderServer.GenerateResourceConfig(ctx, req))
}

func (s *plainServer) ValidateDataResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest,
) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return plain(s.ProviderServer.ValidateDataResourceConfig(ctx, req))
}

func (s *plainServer) ReadDataSource(
	ctx context.Context, req *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	resp, err := s.ProviderServer.ReadDataSource(ctx, req)
	if err == nil {
		err = s.dataSource(ctx, req.TypeName, resp.State, req.Config)
	}
	return plain(resp, err)
}

func (s *plainServer) ValidateEphemeralResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateEphemeralResourceConfigRequest,
) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return plain(s.ProviderServer.ValidateEphemeralResourceConfig(ctx, req))
}

func (s *plainServer) OpenEphemeralResource(
	ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest,
) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return plain(s.ProviderServer.OpenEphemeralResource(ctx, req))
}

func (s *plainServer) RenewEphemeralResource(
	ctx context.Context, req *tfprotov6.RenewEphemeralResourceRequest,
) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return plain(s.ProviderServer.RenewEphemeralResource(ctx, req))
}

func (s *plainServer) CloseEphemeralResource(
	ctx context.Context, req *tfprotov6.CloseEphemeralResourceRequest,
) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return plain(s.ProviderServer.CloseEphemeralResource(ctx, req))
}

func (s *plainServer) GetFunctions(
	ctx context.Context, req *tfprotov6.GetFunctionsRequest,
) (*tfprotov6.GetFunctionsResponse, error) {
	return plain(s.ProviderServer.GetFunctions(ctx, req))
}

func (s *plainServer) ValidateListResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateListResourceConfigRequest,
) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	return plain(s.lists.ValidateListResourceConfig(ctx, req))
}

func (s *plainServer) ListResource(
	ctx context.Context, req *tfprotov6.ListResourceRequest,
) (*tfprotov6.ListResourceServerStream, error) {
	stream, err := s.lists.ListResource(ctx, req)
	if err != nil {
		return stream, err
	}
	results := stream.Results
	stream.Results = func(push func(tfprotov6.ListResourceResult) bool) {
		for result := range results {
			if !push(s.listed(ctx, req.TypeName, result)) {
				return
			}
		}
	}
	return stream, nil
}

// listed makes the texts of one result plain.
func (s *plainServer) listed(ctx context.Context, kind string,
	result tfprotov6.ListResourceResult) tfprotov6.ListResourceResult {
	result.DisplayName = diagnostic.Visible(result.DisplayName)
	if err := s.resource(ctx, kind, result.Resource, nil); err != nil {
		result.Diagnostics = append(result.Diagnostics, &tfprotov6.Diagnostic{
			Severity: tfprotov6.DiagnosticSeverityError, Summary: "Unable to list " + kind, Detail: err.Error(),
		})
	}
	_, _ = plain(&result, nil)
	return result
}

func (s *plainServer) ValidateActionConfig(
	ctx context.Context, req *tfprotov6.ValidateActionConfigRequest,
) (*tfprotov6.ValidateActionConfigResponse, error) {
	return plain(s.actions.ValidateActionConfig(ctx, req))
}

func (s *plainServer) PlanAction(
	ctx context.Context, req *tfprotov6.PlanActionRequest,
) (*tfprotov6.PlanActionResponse, error) {
	return plain(s.actions.PlanAction(ctx, req))
}

func (s *plainServer) InvokeAction(
	ctx context.Context, req *tfprotov6.InvokeActionRequest,
) (*tfprotov6.InvokeActionServerStream, error) {
	stream, err := s.actions.InvokeAction(ctx, req)
	if err != nil {
		return stream, err
	}
	events := stream.Events
	stream.Events = func(push func(tfprotov6.InvokeActionEvent) bool) {
		for event := range events {
			switch of := event.Type.(type) {
			case tfprotov6.ProgressInvokeActionEventType:
				event.Type = tfprotov6.ProgressInvokeActionEventType{Message: diagnostic.Plain(of.Message)}
			case tfprotov6.CompletedInvokeActionEventType:
				_, _ = plain(&of, nil)
				event.Type = of
			}
			if !push(event) {
				return
			}
		}
	}
	return stream, nil
}

// walker is the provider for a walk of its own over hosts that are known already: what
// can be adopted is found out by imports and plans.
type walker struct {
	Provider
	data *session.Data
}

// walk serves the objects of the provider with other data than those of a configuration.
func walk(data *session.Data) tfprotov6.ProviderServer { return Server(&walker{data: data}) }

// Configure hands over the data; the configuration is empty.
func (w *walker) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData, resp.DataSourceData = w.data, w.data
}

// resource makes the texts of a resource's value plain.
func (s *plainServer) resource(ctx context.Context, name string, value, written *tfprotov6.DynamicValue) error {
	if err := s.types.read(ctx, s.ProviderServer); err != nil {
		return err
	}
	return plainValue(s.types.resources[name], value, written)
}

// dataSource makes the texts of a data source's value plain.
func (s *plainServer) dataSource(ctx context.Context, name string, value, written *tfprotov6.DynamicValue) error {
	if err := s.types.read(ctx, s.ProviderServer); err != nil {
		return err
	}
	return plainValue(s.types.data[name], value, written)
}
