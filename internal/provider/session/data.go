package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/runlog"
)

// Data is what the provider hands to its resources and data sources. It is
// shared by all of them and safe for concurrent use.
type Data struct {
	Set   *hosts.Set
	Hosts map[string]HostConfig
	// Ready is false while the provider's configuration holds values that are
	// not known yet; nothing can be reached then.
	Ready     bool
	Fabrics   attribute.Fabrics
	NodeNames map[ib.GUID]string // of switches and cards
	NamesOpen bool               // some of them are not known yet
	BackupDir string
	Approved  Approved
	RunLog    *runlog.Log
	Planned   *planned.Walk
	Cards     *hca.Ops
	Turns     *Turns
	Restores  *planned.Restores
	Confirm   time.Duration // see provider.Tuning
	Began     time.Time     // when the provider was configured
	// Lock serialises the writers of one machine within this process. It takes the name that
	// planned.Walk.Machine gives.
	Lock func(ctx context.Context, host string) (unlock func(), err error)

	// Files are the files of this machine that this walk writes.
	Files planned.Files
	// ImageFiles holds the firmware files of this machine that were read.
	ImageFiles memo.Map[string, ImageFile]

	known   knownSnapshots
	marked  sync.Map // the jobs whose failure this process has marked on hosts
	unseen  unseen
	fabrics memo.Map[string, view]          // what is around, by host and port that looked
	looking memo.Map[string, []lookingPort] // the ports through which hosts can look at fabrics
}

// Approved is the list of images that may be burned; the zero value allows all.
type Approved struct {
	File   string
	SHA256 map[string]bool
}

// Lacks gives the list if an image is not on it; empty if the image may be burned.
func (a Approved) Lacks(sha256 string) string {
	if a.SHA256[sha256] {
		return ""
	}
	return a.File
}

// ImageFile is what reading a firmware file of this machine gave. The parsed
// image is shared and must not be modified.
type ImageFile struct {
	SHA256 string
	Size   int64
	Parsed *fwimage.Image
}

// HostConfig is the part of a host's configuration that resources need.
type HostConfig struct {
	Observe       bool
	Keep          bool // what the state has of it stays while it does not answer
	RebootAllowed bool
	Reboot        reboot.Policy
	// Pending is true while a value of the host's configuration is not known.
	Pending bool
}

// unknownHost says that a name is no key of the provider's hosts map; known are sorted.
func unknownHost(name string, known []string) error {
	what := fmt.Sprintf("Host %q is not in the provider's hosts map, which is empty.", name)
	if len(known) > 0 {
		what = fmt.Sprintf("Host %q is not in the provider's hosts map; known hosts: %s.", name, strings.Join(known, ", "))
	}
	return &explain.Failure{What: what, Check: "Check the spelling, or add the host to the hosts map of the provider " +
		"block.\n\n" + retired}
}

// retired is what helps if a host was in the hosts map before.
const retired = "To retire a host, remove its resources first and apply, then its entry. If the host is gone for " +
	"good, take its resources out of the state: " +
	"terraform state rm ADDRESS, or a removed block with lifecycle { destroy = false }.\n\n" +
	"If only the key was renamed, a plan recognises the host by its cards, unless it is made with -refresh=false or no " +
	"card tells who it is."

// unseen are the hosts with unreachable = "keep" that did not answer in this walk.
type unseen struct {
	mu     sync.Mutex
	reason map[string]error // of those that no warning has named
	told   map[string]bool
}

// knownSnapshots says which snapshots the index of identities was made from.
type knownSnapshots struct {
	mu      sync.Mutex
	from    map[string]*inventory.Snapshot
	changes uint64 // of the set, when the index was made
	whole   bool
	missing map[string]error // the hosts that it lacks
	told    string           // the names of those that a warning has named
}

// Fork is the same session with some of its hosts for another walk: what was read of them
// is shared, what is planned is not.
func (d *Data) Fork(names []string) *Data {
	some := make(map[string]HostConfig, len(names))
	for _, name := range names {
		some[name] = d.Hosts[name]
	}
	return &Data{Set: d.Set, Hosts: some, Ready: d.Ready, Fabrics: d.Fabrics,
		NodeNames: d.NodeNames, NamesOpen: d.NamesOpen, BackupDir: d.BackupDir, RunLog: d.RunLog, Cards: d.Cards,
		Planned: planned.NewWalk(), Turns: NewTurns(1), Restores: planned.NewRestores(), Confirm: d.Confirm, Lock: d.Lock}
}

// HostNames returns the names of all configured hosts, sorted.
func (d *Data) HostNames() []string {
	return slices.Sorted(maps.Keys(d.Hosts))
}

// HostReady reports whether a host can be asked: the provider is configured, and
// the name and the host's configuration are known. An unknown name counts as
// ready, so that it is reported.
func (d *Data) HostReady(name types.String) bool {
	return d != nil && d.Ready && !name.IsUnknown() && !name.IsNull() && !d.Hosts[name.ValueString()].Pending
}

// Readable reports whether a refresh can ask a host. The state of one that is not
// in the hosts map any more stays as it is, so that its resources can be removed
// together with it; a plan that needs the host says so.
func (d *Data) Readable(name types.String) bool {
	return d.HostReady(name) && d.InMap(name.ValueString()) == nil
}

// InMap is an error if the provider's hosts map has no such host.
func (d *Data) InMap(name string) error {
	if d == nil || !d.Ready {
		return nil // the map is not known yet
	}
	if _, ok := d.Hosts[name]; !ok {
		return unknownHost(name, d.HostNames())
	}
	return nil
}

// CanLeave reports whether a resource can move to another host: what it made on the old
// one must be removed there. The argument at holds the name of the host or an id that
// begins with it; to is the new host, empty for a destroy.
func (d *Data) CanLeave(what, at string, state tfsdk.State, to string, diags *diag.Diagnostics) bool {
	if d == nil || !d.Ready || state.Raw.IsNull() {
		return true
	}
	var attrs map[string]tftypes.Value
	var id string
	if state.Raw.As(&attrs) != nil || attrs[at].As(&id) != nil || hostOf(id) == to {
		return true // a null one has never been anywhere
	}
	from := hostOf(id)
	err := d.InMap(from)
	if err == nil && to != "" && d.Hosts[from].Observe {
		err = &host.ObserveError{Host: from, Command: what}
	}
	diagnostic.AddError(diags, what, err)
	return err == nil
}

// NoCard explains that a host has no card at an address.
func NoCard(s *inventory.Snapshot, ref attribute.CardRef) string {
	if len(s.Cards) == 0 {
		return fmt.Sprintf("The host %s answers and has no InfiniBand card.\n\nCheck that the card is seated and shown by "+
			"lspci.", ref.Host)
	}
	known := make([]string, len(s.Cards))
	for i, c := range s.Cards {
		known[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s", c.PCI, c.Chip.Name, c.PartNumber))
	}
	return fmt.Sprintf("The host %s answers and has no card at %s.\n\nIts cards are: %s.", ref.Host, ref.PCI,
		strings.Join(known, "; "))
}

// Host returns a host and its configuration without dialling. An unknown name
// is an error.
func (d *Data) Host(name string) (*hosts.Host, HostConfig, error) {
	cfg, ok := d.Hosts[name]
	if !ok {
		return nil, HostConfig{}, unknownHost(name, d.HostNames())
	}
	h, err := d.Set.Host(name)
	if err != nil {
		return nil, cfg, err
	}
	return h, cfg, nil
}

// Look returns a host, its configuration and what is on it.
func (d *Data) Look(ctx context.Context, name string) (*hosts.Host, HostConfig, *inventory.Snapshot, error) {
	h, cfg, err := d.Host(name)
	if err != nil {
		return nil, cfg, nil, err
	}
	snap, err := h.Snapshot(ctx)
	if err != nil {
		return h, cfg, nil, err
	}
	return h, cfg, snap, nil
}

// Resource is embedded by resources; it takes the provider's data.
type Resource struct {
	*Data
	Kind string // its type, for those that an import can name
}

// Configure implements resource.ResourceWithConfigure.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.Data = dataFrom(req.ProviderData, &resp.Diagnostics)
}

// DataSource is embedded by data sources; it takes the provider's data.
type DataSource struct{ *Data }

// Configure implements datasource.DataSourceWithConfigure.
func (s *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.Data = dataFrom(req.ProviderData, &resp.Diagnostics)
}

// Waits says that a host cannot be asked yet, because the provider's entry of it waits for
// a value. at is the argument that names it, and what cannot be done is as in "read host nas".
func (s *DataSource) Waits(at string, name types.String, what string, diags *diag.Diagnostics) bool {
	if _, known := s.Hosts[name.ValueString()]; !known || s.HostReady(name) {
		return false
	}
	diags.AddAttributeError(path.Root(at), "Unable to "+what,
		"The provider's entry of this host has a value that is not known yet, so the host cannot be asked. Let the data "+
			"source depend on the resource that gives the value.")
	return true
}

// Look is Data.Look for a data source. One that the apply reads shows what the hosts are
// after the changes that it waited for, also those of other hosts.
func (s *DataSource) Look(ctx context.Context, name string) (*hosts.Host, HostConfig, *inventory.Snapshot, error) {
	s.Set.ForgetOlder()
	return s.Data.Look(ctx, name)
}

// LookNamed is Look at the host that an argument names. It adds an error there if that fails.
func (s *DataSource) LookNamed(ctx context.Context, at string, name types.String, what string,
	diags *diag.Diagnostics) (*hosts.Host, *inventory.Snapshot, bool) {
	if s.Waits(at, name, what, diags) {
		return nil, nil, false
	}
	h, _, snap, err := s.Look(ctx, name.ValueString())
	diagnostic.AddErrorAt(diags, path.Root(at), what, err)
	return h, snap, err == nil
}

// HostsOf gives the hosts of an argument, or all of the provider's if it is left out.
func (d *Data) HostsOf(of interface {
	IsNull() bool
	Elements() []attr.Value
}) []string {
	if of.IsNull() {
		return d.HostNames()
	}
	return attribute.Texts(of)
}

// dataFrom is nil while Terraform only validates.
func dataFrom(v any, diags *diag.Diagnostics) *Data {
	if v == nil {
		return nil
	}
	data, ok := v.(*Data)
	if !ok {
		diags.AddError("Unable to configure resource infiniband",
			fmt.Sprintf("The provider handed over %T. This is a bug in the provider.", v))
		return nil
	}
	return data
}
