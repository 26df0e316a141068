package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// keepingServer keeps what the state has of hosts that are down, where unreachable = "keep" asks
// for it. It is here, and not in each resource, because the answer is the same for all of them:
// a request that failed and could not reach its hosts is answered from what the engine sent.
type keepingServer struct {
	tfprotov6.ProviderServer
	provider *Provider
	applying atomic.Bool
}

// unseenKey is where private data names the host that a plan was made without. A refresh leaves it
// in the state, because the engine plans once more at apply and forgets what the plan has left.
const unseenKey = "unseen"

// importKey is the framework's, of an object that is imported and was not read yet.
const importKey = ".import_before_read"

// watched is one request whose hosts are watched.
type watched struct {
	server *keepingServer
	data   *session.Data
	losses *hosts.Losses
}

func (s *keepingServer) watch(ctx context.Context) (context.Context, *watched) {
	ctx, losses := hosts.WithLosses(ctx)
	return ctx, &watched{server: s, data: s.provider.session, losses: losses}
}

// keeps reports whether the answer is to be what the state has, with the host that was not seen.
func (w *watched) keeps(ctx context.Context, diags []*tfprotov6.Diagnostic) (host string, ok bool) {
	lost := w.losses.All()
	if !hasError(diags) || w.data == nil || !w.data.Keeps(lost) {
		return "", false
	}
	if !w.server.applying.Load() { // a host that an apply writes to may be starting
		w.data.SeekUnseen(ctx, lost)
	}
	return slices.Min(slices.Collect(maps.Keys(lost))), true
}

// tell adds the warning of the walk, if it has to name a host.
func (w *watched) tell(diags []*tfprotov6.Diagnostic) []*tfprotov6.Diagnostic {
	if w.data == nil {
		return diags
	}
	if summary, detail, ok := w.data.TellUnseen(); ok {
		diags = append(diags, &tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityWarning, Summary: summary,
			Detail: detail})
	}
	return diags
}

func isError(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }

func hasError(diags []*tfprotov6.Diagnostic) bool { return slices.ContainsFunc(diags, isError) }

func (s *keepingServer) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	ctx, w := s.watch(ctx)
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	if err != nil {
		return resp, err
	}
	had := notesOf(req.Private)
	_, imports := had[importKey]
	if host, ok := w.keeps(ctx, resp.Diagnostics); ok && !imports {
		resp.NewState, resp.NewIdentity = req.CurrentState, req.CurrentIdentity
		resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, isError)
		resp.Private, err = withUnseen(req.Private, host)
	} else if _, unseen := had[unseenKey]; unseen && !hasError(resp.Diagnostics) {
		resp.Private, err = withUnseen(resp.Private, "")
	}
	resp.Diagnostics = w.tell(resp.Diagnostics)
	return resp, err
}

func (s *keepingServer) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	ctx, w := s.watch(ctx)
	resp, err := s.ProviderServer.PlanResourceChange(ctx, req)
	if err != nil {
		return resp, err
	}
	if host := s.leaves(ctx, w, req); host != "" && !hasError(resp.Diagnostics) {
		resp.PlannedPrivate, err = withUnseen(resp.PlannedPrivate, host)
	}
	if host, ok := w.keeps(ctx, resp.Diagnostics); ok && resp.PlannedState != nil {
		// The framework gives the configuration with what is computed as unknown. What a host that is
		// back gives at apply must not contradict it.
		resp.Diagnostics = append(slices.DeleteFunc(resp.Diagnostics, isError), s.refuseKeys(ctx, req, host)...)
		resp.PlannedPrivate, err = withUnseen(resp.PlannedPrivate, host)
	}
	resp.Diagnostics = w.tell(resp.Diagnostics)
	return resp, err
}

// refuseKeys refuses new keys of a subnet manager whose host was not seen: the apply would change those of the others
// of its fabric, fail for this one, and leave two masters.
func (s *keepingServer) refuseKeys(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
	host string) []*tfprotov6.Diagnostic {
	const name = "keys_version"
	was, exists := s.values(ctx, req.TypeName, req.PriorState, name)[name]
	is, stays := s.values(ctx, req.TypeName, req.ProposedNewState, name)[name]
	if !exists || !stays || was.Equal(is) {
		return nil
	}
	f := finding.FabricKeysDiffer.Find("Host %s was not seen. The apply would change the keys of other subnet managers "+
		"of the fabric, and this one would keep its own.", host)
	f.WayOut = "Start the host and plan again, or leave keys_version of all of them as it is until then."
	var diags diag.Diagnostics
	diagnostic.AddFindings(ctx, &diags, "change subnet manager on host "+host, []finding.Finding{f})
	return []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: diags[0].Summary(),
		Detail: diags[0].Detail(), Attribute: tftypes.NewAttributePath().WithAttributeName(name)}}
}

// ApplyResourceChange refuses a change that was planned without its host: nothing of it was
// checked or announced. The host is not asked.
func (s *keepingServer) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	s.applying.Store(true)
	host, unseen := notesOf(req.PlannedPrivate)[unseenKey]
	if !unseen {
		return s.ProviderServer.ApplyResourceChange(ctx, req)
	}
	var name string
	if err := json.Unmarshal(host, &name); err != nil {
		return nil, fmt.Errorf("reading what the plan left of %s: %w", req.TypeName, err)
	}
	return &tfprotov6.ApplyResourceChangeResponse{
		NewState: req.PriorState, Private: req.PlannedPrivate, NewIdentity: req.PlannedIdentity,
		Diagnostics: []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError,
			Summary: "Unable to change " + s.identity(ctx, req) + ": the plan has not seen host " + name,
			Detail: "The host did not answer when this change was planned, so the change was not checked. Nothing was " +
				"changed.\n\nStart the host and plan again, without -refresh=false.\n\n" + diagnostic.GoneForGood}},
	}, nil
}

// leaves gives the host of an object that is planned to go, if that host is down: a for_each over what answers has
// no key of it any more. Engines plan such an object before they read it, so that no read has noted the host.
func (s *keepingServer) leaves(ctx context.Context, w *watched, req *tfprotov6.PlanResourceChangeRequest) string {
	gone, err := req.ProposedNewState.IsNull()
	if err != nil || !gone || w.data == nil || s.applying.Load() {
		return ""
	}
	state := s.texts(ctx, req.TypeName, req.PriorState, "host", "card_id", "id")
	host, _, _ := strings.Cut(cmp.Or(state["host"], state["card_id"], state["id"]), "/")
	if !w.data.Hosts[host].Keep {
		return ""
	}
	_, _, _, err = w.data.Look(ctx, host)
	if lost := map[string]error{host: err}; err != nil && w.data.Keeps(lost) {
		w.data.SeekUnseen(ctx, lost)
		return host
	}
	return ""
}

// identity names an object by its type and the id that the state has of it.
func (s *keepingServer) identity(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) string {
	values := s.texts(ctx, req.TypeName, req.PriorState, "id")
	if values == nil {
		return "a new " + req.TypeName
	}
	return strings.TrimSpace(req.TypeName + " " + values["id"])
}

// texts are those of the named attributes that an object has and that are known; nil if there is no object.
func (s *keepingServer) texts(ctx context.Context, kind string, object *tfprotov6.DynamicValue,
	names ...string) map[string]string {
	values := s.values(ctx, kind, object, names...)
	if values == nil {
		return nil
	}
	texts := map[string]string{}
	for name, value := range values {
		var text string
		if value.IsKnown() && !value.IsNull() && value.As(&text) == nil {
			texts[name] = text
		}
	}
	return texts
}

// values are the named attributes that an object has; nil if there is no object.
func (s *keepingServer) values(ctx context.Context, kind string, object *tfprotov6.DynamicValue,
	names ...string) map[string]tftypes.Value {
	schema, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return map[string]tftypes.Value{}
	}
	state, err := object.Unmarshal(schema.ResourceSchemas[kind].ValueType())
	if err == nil && state.IsNull() {
		return nil
	}
	values := map[string]tftypes.Value{}
	for _, name := range names {
		at, _, pathErr := tftypes.WalkAttributePath(state, tftypes.NewAttributePath().WithAttributeName(name))
		if value, ok := at.(tftypes.Value); errors.Join(err, pathErr) == nil && ok {
			values[name] = value
		}
	}
	return values
}

func (s *keepingServer) ReadDataSource(
	ctx context.Context, req *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	ctx, w := s.watch(ctx)
	resp, err := s.ProviderServer.ReadDataSource(ctx, req)
	if err != nil {
		return resp, err
	}
	if _, ok := w.keeps(ctx, resp.Diagnostics); ok {
		// No state has it. Null is what is not known; an empty list would say that there is nothing.
		resp.State = req.Config
		resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, isError)
	}
	resp.Diagnostics = w.tell(resp.Diagnostics)
	return resp, nil
}

// notesOf are the entries of private data, which the framework keeps as an object of JSON.
func notesOf(private []byte) map[string][]byte {
	notes := map[string][]byte{}
	if json.Unmarshal(private, &notes) != nil {
		return map[string][]byte{}
	}
	return notes
}

// withUnseen notes the host that was not seen, or takes the note back.
func withUnseen(private []byte, host string) ([]byte, error) {
	notes := notesOf(private)
	delete(notes, unseenKey)
	if host != "" {
		name, err := json.Marshal(host)
		if err != nil {
			return nil, fmt.Errorf("noting host %s: %w", host, err)
		}
		notes[unseenKey] = name
	}
	if len(notes) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(notes)
	if err != nil {
		return nil, fmt.Errorf("noting host %s: %w", host, err)
	}
	return text, nil
}
