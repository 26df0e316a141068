package session

import (
	"context"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Name is how an import names an object: by an id, or by an identity, whose
// attributes are the parts of that id.
type Name struct {
	Parts []Part
	// From are the attributes of the state that the id is made of.
	From []string
	// Canonical checks an id and gives its usual spelling.
	Canonical func(id string) (string, error)
}

// Part is one part of an id. The last one may hold slashes.
type Part struct {
	Name, Description string
	Optional, Number  bool
}

var (
	hostPart = Part{Name: "host", Description: "Key of the host in the provider's `hosts` map."}
	// PlaceParts say where a card is.
	PlaceParts = []Part{hostPart, {Name: "pci_address", Description: "PCI address of the card, `0000:01:00.0`."}}
	portParts  = []Part{hostPart, {Name: "port_guid", Description: "GUID of the port."}}
)

// CardNamed is the name of what a card has. from is the attribute with the id of the
// card.
func CardNamed(from string) Name {
	serial := Part{
		Name: "serial_number", Optional: true,
		Description: "Serial number of the card, or what `infiniband_card.….id` has in its place. Another card at this " +
			"address is refused then.",
	}
	return Name{Parts: append(PlaceParts[:2:2], serial), From: []string{from},
		Canonical: canonicalID(attribute.ParseCardName)}
}

// PortNamed is the name of what is on a port. more are parts that may follow.
func PortNamed(more ...Part) Name {
	return Name{Parts: append(portParts[:2:2], more...), From: []string{"id"},
		Canonical: canonicalID(attribute.ParsePortRef)}
}

// ImageNamed is the name of a copy of an image: a host and the file on this machine.
func ImageNamed() Name {
	file := Part{Name: "source", Description: "Path of the file on this machine."}
	return Name{Parts: []Part{hostPart, file}, From: []string{"host", "source"},
		Canonical: func(id string) (string, error) {
			if host, source, _ := strings.Cut(id, "/"); host == "" || source == "" {
				return "", errors.New("the id must be host/path/of/the/file, for example intel9/images/fw.bin, or " +
					"intel9//home/ops/fw.bin with an absolute path")
			}
			return id, nil
		}}
}

// HostNamed is the name of what a host has once.
func HostNamed() Name {
	return Name{Parts: []Part{hostPart}, From: []string{"host"}, Canonical: func(id string) (string, error) {
		if id == "" {
			return "", errors.New("the id must be a key of the provider's hosts map, for example intel9")
		}
		return id, nil
	}}
}

// FileNamed is the name of a file on this machine: its path.
func FileNamed() Name {
	file := Part{Name: "file_path", Description: "Path of the file on this machine."}
	return Name{Parts: []Part{file}, From: []string{"file_path"},
		Canonical: func(id string) (string, error) {
			if id == "" {
				return "", errors.New("the id must be the path of the file, for example fabric.svg")
			}
			return id, nil
		}}
}

func canonicalID[T interface{ String() string }](parse func(string) (T, error)) func(string) (string, error) {
	return func(id string) (string, error) {
		name, err := parse(id)
		return name.String(), err
	}
}

// WithImport is what a resource with Importable is for the framework.
type WithImport interface {
	resource.ResourceWithConfigure
	resource.ResourceWithModifyPlan
	resource.ResourceWithIdentity
	resource.ResourceWithImportState
}

// Importable is embedded by resources that an import can name.
type Importable struct {
	Resource
	By Name
}

// NewResource is the head of a resource that an import can name.
func NewResource(kind string, by Name) Importable {
	return Importable{Resource: Resource{Kind: kind}, By: by}
}

// Metadata implements resource.Resource. A card may move, and its resources follow it,
// so that an identity may change.
func (r *Importable) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.Kind
	resp.ResourceBehavior.MutableIdentity = true
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Importable) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	attrs := map[string]identityschema.Attribute{}
	for _, p := range r.By.Parts {
		if p.Number {
			attrs[p.Name] = identityschema.Int64Attribute{RequiredForImport: !p.Optional, OptionalForImport: p.Optional,
				Description: p.Description}
			continue
		}
		attrs[p.Name] = identityschema.StringAttribute{RequiredForImport: !p.Optional, OptionalForImport: p.Optional,
			Description: p.Description}
	}
	resp.IdentitySchema = identityschema.Schema{Attributes: attrs}
}

// ImportID gives the id by which an import names the object, in its usual spelling.
// what is verb and thing, "import card". An identity is the same as the id that it
// stands for; both are stored. It is not ok if there can be no such object.
func (r *Importable) ImportID(ctx context.Context, what string, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) (id string, ok bool) {
	given := req.ID
	if given == "" && req.Identity != nil {
		given = r.By.join(fields(req.Identity.Raw))
	}
	id, err := r.By.Canonical(given)
	if err == nil && r.By.Parts[0] == hostPart {
		err = r.InMap(hostOf(id))
	}
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, what+" "+given, err)
		return "", false
	}
	resp.Diagnostics.Append(r.By.store(ctx, id, resp.Identity)...)
	return id, !resp.Diagnostics.HasError()
}

// Identify stores the identity of the state. Engines require it to stay the same for
// the same object, so an object that was imported without an optional part stays
// without it.
func (r *Importable) Identify(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity,
	diags *diag.Diagnostics) {
	if diags.HasError() || state.Raw.IsNull() || identity == nil {
		return
	}
	had := fields(state.Raw)
	parts := make([]string, len(r.By.From))
	for i, name := range r.By.From {
		parts[i] = had[name]
	}
	id, err := r.By.Canonical(strings.Join(parts, "/"))
	switch {
	case err != nil && identity.Raw.IsNull(): // without an identity the framework blames the provider
		AddForeignState(diags, "identify the object of this resource", err)
	case err == nil && !r.By.same(fields(identity.Raw), id):
		diags.Append(r.By.store(ctx, id, identity)...)
	}
}

// AddForeignState adds the error of a state that holds what this provider does not write, unless
// there is an error already. what is verb, thing and identity, as for diagnostic.AddError.
func AddForeignState(diags *diag.Diagnostics, what string, err error) {
	if err != nil && !diags.HasError() {
		diags.AddError("Unable to "+what, ForeignState(err.Error()))
	}
}

// ForeignState is the detail of an error about a state that holds what this provider does not
// write.
func ForeignState(problem string) string {
	return "The state is not as this provider writes it. " + diagnostic.Sentence(problem) +
		" Somebody has edited the state, or a part of it was lost. Nothing was changed on a host.\n\nPut an older state " +
		"back: Terraform keeps one in terraform.tfstate.backup, and a remote backend may keep versions. Or take the " +
		"resource out of the state with terraform state rm and its address, and import it again."
}

// split gives the parts of an id by their names.
func (n Name) split(id string) map[string]string {
	texts, out := strings.SplitN(id, "/", len(n.Parts)), map[string]string{}
	for i, text := range texts {
		out[n.Parts[i].Name] = text
	}
	return out
}

// join is the id that is made of parts.
func (n Name) join(parts map[string]string) string {
	var texts []string
	for _, p := range n.Parts {
		if text := parts[p.Name]; text != "" || !p.Optional {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "/")
}

// same reports whether an identity may be that of an id.
func (n Name) same(identity map[string]string, id string) bool {
	now := n.split(id)
	for _, p := range n.Parts {
		was, is := identity[p.Name], now[p.Name]
		if open := p.Optional && (was == "" || is == ""); was != is && !open {
			return false
		}
	}
	return true
}

// store writes an id into an identity.
func (n Name) store(ctx context.Context, id string, to *tfsdk.ResourceIdentity) (diags diag.Diagnostics) {
	parts := n.split(id)
	for _, p := range n.Parts {
		text := attribute.OrNull(parts[p.Name])
		if number, err := strconv.ParseInt(text.ValueString(), 10, 64); p.Number && err == nil {
			diags.Append(to.SetAttribute(ctx, path.Root(p.Name), number)...)
			continue
		}
		diags.Append(to.SetAttribute(ctx, path.Root(p.Name), text)...)
	}
	return diags
}

// fields are the texts and whole numbers of an object; it may be null.
func fields(object tftypes.Value) map[string]string {
	var attrs map[string]tftypes.Value
	out := map[string]string{}
	if object.As(&attrs) != nil {
		return out
	}
	for name, v := range attrs {
		var (
			text   string
			number big.Float
		)
		switch {
		case v.IsNull() || !v.IsKnown():
		case v.Type().Is(tftypes.String) && v.As(&text) == nil:
			out[name] = text
		case v.Type().Is(tftypes.Number) && v.As(&number) == nil:
			out[name] = number.Text('f', -1)
		}
	}
	return out
}
